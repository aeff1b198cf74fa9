# SPDX-License-Identifier: Apache-2.0
"""Narrow phase against a proven reference, MuJoCo and coal at random poses: distance, normal and sign of every pair
of shapes.

Signed distance d and normal n of two convex shapes satisfy d = -h(n) = max over unit vectors of -h, with h the support
function of their difference. tests/collide_reference.h finds d by branch and bound over all directions, and proves it to
about 1e-12; our answer is compared with that. The others are compared with ours. Where they differ, -h of their normal, in
numpy, says why: "rough" is the same bottom of h with a less exact normal (its -h is within 1e-6 of d), "no answer" a
distance that is not finite, "wrong" a depth that is off by more than 1e-6, "twofold" a pose with two equally good
normals. The smaller coal's tolerance, the more exact its normals, and the more often it gives up or is far off: it is
asked with 1e-7, then with 1e-12 and 1e-9, and the first of these two counts that agrees with what it said before."""
import argparse
import itertools
import subprocess
import sys

import mujoco
import numpy as np

try:
    import coal
except ImportError:
    coal = None

TYPES = {"plane": 0, "sphere": 2, "capsule": 3, "ellipsoid": 4, "cylinder": 5, "box": 6, "mesh": 7}
VARIANTS = 8
TOLERANCE = 1e-6


def scene(rng):
    """MuJoCo model with some geoms of every type and the numbers of each type's geoms."""
    assets, geoms = [], []
    for name in TYPES:
        for k in range(VARIANTS):
            size = rng.uniform(0.05, 0.3, 3)
            text = " ".join(f"{x:.6g}" for x in size)
            if name == "mesh":
                points = rng.normal(size=(8 if k == 0 else 6 + 8 * k, 3))
                points *= 0.2 * rng.uniform(0.9, 1.1, (len(points), 1)) / np.linalg.norm(points, axis=1)[:, None]
                if k == 0:
                    points = np.array(list(itertools.product([-0.1, 0.1], [-0.2, 0.2], [-0.15, 0.15])))
                vertex = " ".join(f"{x:.7g}" for x in points.ravel())
                assets.append(f'<mesh name="m{k}" vertex="{vertex}"/>')
                geoms.append(f'<geom type="mesh" mesh="m{k}"/>')
            else:
                geoms.append(f'<geom type="{name}" size="{text}"/>')
    bodies = "".join(f"<body><freejoint/>{g}</body>" if "plane" not in g else g for g in geoms)
    xml = f'<mujoco><option ccd_tolerance="1e-16" ccd_iterations="1000"/><asset>{"".join(assets)}</asset>' \
          f"<worldbody>{bodies}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    return model, {n: np.flatnonzero(model.geom_type == t) for n, t in TYPES.items()}


def vertices(model, geom):
    mesh = model.geom_dataid[geom]
    start = model.mesh_vertadr[mesh]
    return model.mesh_vert[start:start + model.mesh_vertnum[mesh]].copy()


def rotations(rng, n):
    q = rng.normal(size=(n, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    m = np.empty((n, 9))
    for i in range(n):
        mujoco.mju_quat2Mat(m[i], q[i])
    return m


def support(model, geom, mat, pos, d):
    """farthest point of one geom along d, by formula"""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    m = mat.reshape(3, 3)
    u = m.T @ d
    if kind == 2:
        return pos + size[0] * d
    if kind == 3:
        return pos + m[:, 2] * np.copysign(size[1], u[2]) + size[0] * d
    if kind == 4:
        return pos + m @ (size**2 * u / np.linalg.norm(size * u))
    if kind == 5:
        flat = np.hypot(u[0], u[1])
        xy = size[0] * u[:2] / flat if flat > 0 else np.zeros(2)
        return pos + m @ np.array([*xy, np.copysign(size[1], u[2])])
    if kind == 6:
        return pos + m @ np.copysign(size, u)
    v = vertices(model, geom).astype(float)
    return pos + m @ v[np.argmax(v @ u)]


def gap(model, geoms, mats, positions, n):
    """-h(n)"""
    if model.geom_type[geoms[0]] == 0:
        b = support(model, geoms[1], mats[1], positions[1], -n)
        return float((b - positions[0]) @ mats[0].reshape(3, 3)[:, 2])
    a = support(model, geoms[0], mats[0], positions[0], n)
    b = support(model, geoms[1], mats[1], positions[1], -n)
    return float(n @ (b - a))


def ours(program, model, meshes, pairs, mats, positions, field=np.zeros(2, "i4").tobytes()):
    record = np.dtype([("type", "i4"), ("mesh", "i4"), ("size", "f8", 3), ("pos", "f8", 3), ("mat", "f8", 9)])
    data = np.zeros((len(pairs), 2), record)
    for k in range(2):
        geom = pairs[:, k]
        data["type"][:, k] = model.geom_type[geom]
        data["mesh"][:, k] = [meshes.get(g, -1) for g in geom]
        data["size"][:, k] = model.geom_size[geom]
        data["pos"][:, k] = positions[:, k]
        data["mat"][:, k] = mats[:, k]
    head = [np.int32(len(meshes)).tobytes()]
    for g in meshes:
        v = vertices(model, g)
        head += [np.int32(len(v)).tobytes(), v.astype("f4").tobytes()]
    head += [field, np.int64(len(pairs)).tobytes()]
    out = subprocess.run([program, "reference"], input=b"".join(head) + data.tobytes(), stdout=subprocess.PIPE,
                         check=True).stdout
    return np.frombuffer(out).reshape(-1, 15)


def by_mujoco(model, data, pairs, mats, positions):
    out = np.zeros((len(pairs), 4))
    fromto = np.zeros(6)
    for i, (a, b) in enumerate(pairs):
        data.geom_xpos[a], data.geom_xpos[b] = positions[i]
        data.geom_xmat[a], data.geom_xmat[b] = mats[i]
        out[i, 0] = d = mujoco.mj_geomDistance(model, data, a, b, 1e3, fromto)
        if d:
            out[i, 1:] = (fromto[3:] - fromto[:3]) / d
    return out


def coal_shape(model, geom):
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == 0:
        return coal.Halfspace(np.array([0, 0, 1.0]), 0)
    if kind == 2:
        return coal.Sphere(size[0])
    if kind == 3:
        return coal.Capsule(size[0], 2 * size[1])
    if kind == 4:
        return coal.Ellipsoid(*size)
    if kind == 5:
        return coal.Cylinder(size[0], 2 * size[1])
    if kind == 6:
        return coal.Box(*(2 * size))
    points = coal.StdVec_Vec3s()
    for v in vertices(model, geom).astype(float):
        points.append(v)
    return coal.Convex.convexHull(points, False, "")


def by_coal(shapes, pairs, mats, positions):
    out = np.zeros((len(pairs), 4))
    requests = []
    for tolerance in (1e-7, 1e-12, 1e-9):
        request = coal.DistanceRequest()
        request.enable_signed_distance = True
        request.gjk_tolerance = request.epa_tolerance = tolerance
        request.gjk_max_iterations, request.epa_max_iterations = 1000, 1000
        requests.append(request)
    for i, (a, b) in enumerate(pairs):
        turn = [coal.Transform3s(mats[i, k].reshape(3, 3), positions[i, k]) for k in range(2)]
        for k, request in enumerate(requests):
            result = coal.DistanceResult()
            d = coal.distance(shapes[a], turn[0], shapes[b], turn[1], request, result)
            if k and not abs(d - out[i, 0]) < TOLERANCE:
                continue
            out[i] = d, *result.normal
            if k:
                break
    return out


def judge_ours(mine):
    """counts against the reference, and the worst error of the depth"""
    off = np.abs(mine[:, 0] - mine[:, 8])
    sign = (np.sign(mine[:, 0]) != np.sign(mine[:, 8])) & (np.abs(mine[:, 8]) > 1e-9)
    count = {"proven to": mine[:, 12].max(), "depth off by": off.max(), "> 1e-9": int((off > 1e-9).sum()),
             "> 1e-6": int((off > TOLERANCE).sum()), "wrong sign": int(sign.sum()),
             "normal not within 1e-6": int((mine[:, 13] > 1.1e-6).sum())}
    # the reference is no proof where h is nearly the same in all directions: spheres within each other
    return count, count["> 1e-6"] + count["wrong sign"] + (count["normal not within 1e-6"] > 0.01 * len(mine))


def judge(model, pairs, mats, positions, mine, other):
    """how another program's answers compare with ours"""
    depth = np.abs(mine[:, 0] - other[:, 0])
    away = np.linalg.norm(mine[:, 1:4] - other[:, 1:4], axis=1)
    answered = (np.abs(other[:, 0]) < 1e3) & np.isfinite(other).all(1)
    good = answered & (depth <= TOLERANCE)
    agree = good & ((away <= TOLERANCE) | (np.abs(mine[:, 0]) < 1e-5))
    count = {"agree": int(agree.sum()), "depths agree": int(good.sum()), "rough": 0, "twofold": 0,
             "wrong": int((answered & ~good).sum()), "no answer": int((~answered).sum()),
             "sign": int((good & (np.sign(mine[:, 0]) != np.sign(other[:, 0])) & (np.abs(mine[:, 0]) > 1e-6)).sum()),
             "better": 0, "normals off by": float(away[good & (np.abs(mine[:, 0]) >= 1e-5)].max(initial=0))}
    length = np.linalg.norm(other[:, 1:4], axis=1)
    for i in np.flatnonzero(answered & ~agree & (length > 0)):  # a wrong distance makes its normal too long or too short
        h = gap(model, pairs[i], mats[i], positions[i], other[i, 1:4] / length[i])
        if good[i] and h > mine[i, 0] - 1e-12 and away[i] > 1e-3:
            count["twofold"] += 1
        elif good[i]:
            count["rough"] += h > mine[i, 0] - TOLERANCE
        count["better"] += h > mine[i, 0] + TOLERANCE
    return count


def on_terrain(program, rng, n):
    """shapes on a bumpy height field: who touches, and the nearest distance, against mj_collision"""
    rows, cols = 21, 31
    y, x = np.mgrid[0:rows, 0:cols]
    height = 0.5 + 0.25 * np.sin(0.5 * x) * np.cos(0.4 * y) + 0.1 * rng.uniform(-1, 1, (rows, cols))
    kinds = {k: v for k, v in TYPES.items() if k not in ("plane", "mesh")}
    geoms = "".join(f'<body pos="0 0 {9 + i}"><freejoint/><geom type="{k}" size="0.1 0.12 0.08" margin="0.01"/></body>'
                    for i, k in enumerate(kinds))
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option ccd_tolerance="1e-16" ccd_iterations="1000"/><asset>'
        f'<hfield name="h" nrow="{rows}" ncol="{cols}" size="1.5 1 0.3 0.5"/></asset><worldbody>'
        f'<geom type="hfield" hfield="h"/>{geoms}</worldbody></mujoco>')
    scaled = (height - height.min()) / np.ptp(height)
    model.hfield_data[:] = scaled.ravel()
    data = mujoco.MjData(model)
    field = np.array([rows, cols], "i4").tobytes() + model.hfield_size[0].tobytes() + model.hfield_data.tobytes()
    failed = 0
    for index, kind in enumerate(kinds):
        found, pairs = np.full(n, np.inf), np.full((n, 2), [0, index + 1])
        mats, positions = np.tile(np.eye(3).ravel(), (n, 2, 1)), np.zeros((n, 2, 3))
        for i in range(n):
            q = rng.normal(size=4)
            spot = rng.uniform(-0.8, 0.8, 3) * [1.5, 1, 0]
            top = scaled[int((spot[1] + 1) / 2 * (rows - 1)), int((spot[0] + 1.5) / 3 * (cols - 1))] * 0.3
            mujoco.mj_resetData(model, data)
            data.qpos[7 * index:7 * index + 7] = *spot[:2], top + rng.uniform(0.05, 0.2), *(q / np.linalg.norm(q))
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            found[i] = data.contact.dist.min() if data.ncon else np.inf
            mats[i, 1], positions[i, 1] = data.geom_xmat[index + 1], data.geom_xpos[index + 1]
        mine = ours(program, model, {}, pairs, mats, positions, field)
        touch, theirs = mine[:, 0] < 0, found < 0
        both = touch & theirs & (mine[:, 0] > -0.02) & (found > -0.02)
        off = np.abs(mine[:, 0] - found)[both]
        unsure = (touch != theirs) & (np.abs(np.where(np.isfinite(found), found, mine[:, 0])) > 1e-6)
        print(f"hfield-{kind:<10} {np.median(mine[:, 7][touch]):6.0f} ns, {mine[:, 6][touch].mean():.1f} points | MuJoCo: "
              f"{both.sum()} shallow, {(off < TOLERANCE).sum()} agree, {(off > 1e-3).sum()} off by > 1 mm, "
              f"of {n} poses {(unsure & touch).sum()} touch only for us, {(unsure & theirs).sum()} only for MuJoCo", flush=True)
        failed += unsure.sum() > 0.01 * n
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the collide_pairs executable")
    parser.add_argument("-n", type=int, default=100_000, help="poses per pair")
    parser.add_argument("--only", default="", help="only pairs whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    model, of_type = scene(rng)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    meshes = {g: k for k, g in enumerate(of_type["mesh"])}
    shapes = {g: coal_shape(model, g) for g in range(model.ngeom)} if coal else {}
    failed = 0
    for one, two in itertools.combinations_with_replacement(TYPES, 2):
        if options.only not in f"{one}-{two}" or two == "plane":
            continue
        n = options.n
        pairs = np.stack([rng.choice(of_type[one], n), rng.choice(of_type[two], n)], 1)
        same = pairs[:, 0] == pairs[:, 1]
        if one == two:
            pairs[same, 1] = of_type[two][(pairs[same, 0] - of_type[two][0] + 1) % VARIANTS]
        mats = rotations(rng, 2 * n).reshape(n, 2, 9)
        positions = rng.normal(size=(n, 2, 3))
        positions[:, 1] *= (rng.uniform(0, 0.6, n) / np.linalg.norm(positions[:, 1], axis=1))[:, None]
        positions[:, 0] *= 0.01
        mine = ours(options.program, model, meshes, pairs, mats, positions)
        count, wrong = judge_ours(mine)
        failed += wrong
        line = f"{one}-{two}: {np.mean(mine[:, 0] < 0):.0%} overlap, {mine[:, 6][mine[:, 0] < 0].mean():.1f} points; "
        line += ", ".join(f"{k} {v:.0e}" if isinstance(v, float) else f"{k} {v}" for k, v in count.items())
        others = {"MuJoCo": by_mujoco(model, data, pairs, mats, positions)}
        if coal:
            others["coal"] = by_coal(shapes, pairs, mats, positions)
        for name, other in others.items():
            count = judge(model, pairs, mats, positions, mine, other)
            line += f" | {name}: " + ", ".join(f"{k} {v:.0e}" if isinstance(v, float) else f"{v} {k}" for k, v in count.items())
            failed += count["sign"] + count["better"]
        print(line, flush=True)
        failed += not np.isfinite(mine[:, :4]).all()
    if options.only in "hfield":
        failed += on_terrain(options.program, rng, options.n // 10)
    print("failed" if failed else "passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
