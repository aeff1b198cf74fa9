# SPDX-License-Identifier: Apache-2.0
"""What a step says about itself against the certificate computed outside the solver, from its capsule."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import scenes_contact  # noqa: E402

import stiction  # noqa: E402

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize("solver", ["sap", "apgd", "newton"])
@pytest.mark.parametrize("tol", [2e-4, 1e-8])
@pytest.mark.parametrize("name", ["spheres", "boxes"])
def test_certificates_of_steps(name, tol, solver, tmp_path):
    """Poured things that land and come to rest: no step is worse than it says and was asked for."""
    xml = scenes_contact.spheres(40, 0.01) if name == "spheres" else scenes_contact.boxes(20, 0.01)
    model = stiction.Model.from_xml_string(xml)
    model.opt.contact_tol, model.opt.contact_solver = tol, solver
    model.opt.certificate_limit = 0  # so that all steps leave a capsule
    data = stiction.Data(model)
    data.set_capsules(tmp_path, 200, ["certificate"])
    for _ in range(4):
        stiction.step(model, data, 25)  # 1 s
    judged = []
    for path in sorted(tmp_path.glob("*.h5")):
        with h5py.File(path) as file:
            group = file["stiction_capsule"]
            if "v" not in group:
                continue
            v, g, said = group["v"][:], group["g"][:], float(np.ravel(group["headline"][()])[0])
        true = stiction.certify(stiction.Problem.from_file(path), v, g, coulomb="exact")
        judged.append((said, true.headline, true.cone))
    said, true, cone = np.array(judged).T
    assert len(said) > 60
    assert (true <= 1.001 * tol).all(), true.max()
    assert (said <= 1.001 * tol).all()
    assert np.allclose(said, true, rtol=1e-3, atol=1e-13), np.abs(said - true).max()
    assert cone.max() < 1e-12
