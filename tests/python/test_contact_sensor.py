# SPDX-License-Identifier: Apache-2.0
"""The contact sensor, in both layouts, against values computed here from the list of contacts, closed forms and MuJoCo."""
import itertools

import numpy as np
import pytest

import stiction

FIELDS = {"found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3, "linvel": 3, "angvel": 3}
START = dict(zip(FIELDS, np.cumsum([0, *FIELDS.values()])))
ALL = " ".join(FIELDS)
STILL = " ".join(list(FIELDS)[:7])  # what netforce may have
REDUCE = ("none", "mindist", "maxforce", "netforce")
G = 9.81

# A crate whose hand touches it, on a floor; a ball at its side, a slab that stands still, a chain of balls, a loner.
WORLD = """
<option timestep="0.005"/>
<worldbody>
  <geom name="floor" type="plane" size="9 9 1" condim="6" friction=".8 .02 .01"/>
  <site name="zone" type="box" size=".2 .2 .06" pos=".05 0 .02" euler="0 0 10"/>
  <site name="drum" type="cylinder" size=".16 .03"/>
  <site name="pill" type="capsule" size=".06 .1" pos=".1 .1 .01" euler="0 90 30"/>
  <site name="egg" type="ellipsoid" size=".2 .08 .1" pos="0 .1 0"/>
  <site name="far" size=".1" pos="0 0 7"/>
  <body name="slab" pos=".6 0 0"><geom name="slab" type="box" size=".1 .1 .02"/></body>
  <body name="crate" pos="0 0 .0995" euler=".15 .1 20">
    <freejoint/><geom name="crate" type="box" size=".1 .1 .1" mass="2" condim="4" friction=".8 .02 .01"/>
    <geom name="lid" size=".03" pos="0 0 .12" mass=".1"/>
    <body name="arm" pos="0 0 .2"><joint axis="0 1 0"/><geom type="capsule" size=".01 .03" mass=".1" contype="0" conaffinity="0"/>
      <body name="hand" pos=".118 0 -.15"><joint axis="1 0 0"/><geom name="hand" size=".02" mass=".2"/>
        <site name="palm" size=".03"/></body></body>
  </body>
  <body name="ball" pos="-.161 .02 .0597"><freejoint/><geom name="ball" size=".06" mass=".5" condim="6" friction=".8 .02 .01"/></body>
  <body name="one" pos=".6 .01 .0698"><freejoint/><geom name="one" size=".05" mass=".3"/></body>
  <body name="two" pos=".6 .015 .1694"><freejoint/><geom name="two" type="capsule" size=".05 .02" mass=".3" euler="0 90 0"/></body>
  <body name="loner" pos="3 3 3"><freejoint/><geom name="loner" size=".1"/><site name="lonely" size=".2"/></body>
</worldbody>"""
QVEL_SEED = 7


def build(sensors, extra=""):
    """Model and data of the scene in motion, evaluated; sensors are elements as text."""
    xml = f"<mujoco>{WORLD}{extra}<sensor>{''.join(sensors)}</sensor></mujoco>"
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    data.qvel[:] = np.random.default_rng(QVEL_SEED).uniform(-.4, .4, model.nv)
    stiction.forward(model, data)
    return xml, model, data


def sensor(name, match="", data="found", num=1, reduce="none"):
    return f'<contact name="{name}" {match} data="{data}" num="{num}" reduce="{reduce}"/>'


# ---- the same from the list of contacts ------------------------------------------------------------------------------

def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def is_object(model, kind, index, geom, body):
    if kind == "geom":
        return geom == index
    if kind == "body":
        return body == index
    if kind == "subtree":
        while body != index and body != 0:
            body = model.body_parentid[body]
        return body == index
    return True


def is_inside(model, data, site, pos):
    p = data.site_xmat[site].reshape(3, 3).T @ (pos - data.site_xpos[site])
    size, kind = model.site_size[site], model.site_type[site]
    if kind == 2:
        return p @ p <= size[0] ** 2
    if kind == 3:
        return p[0] ** 2 + p[1] ** 2 + max(abs(p[2]) - size[1], 0) ** 2 <= size[0] ** 2
    if kind == 4:
        return ((p / size) ** 2).sum() <= 1
    if kind == 5:
        return abs(p[2]) <= size[1] and p[0] ** 2 + p[1] ** 2 <= size[0] ** 2
    return (abs(p) <= size).all()


class Match:
    """Objects of a sensor from the attributes that name them."""

    def __init__(self, model, text):
        pairs = [part.split("=") for part in text.split()]
        self.objects = {1: ("", -1), 2: ("", -1)}
        for attribute, name in pairs:
            name = name.strip('"')
            if attribute == "site":
                self.objects[1] = ("site", model.site(name).id)
            else:
                kind, side = attribute[:-1], int(attribute[-1])
                self.objects[side] = (kind, (model.geom if kind == "geom" else model.body)(name).id)
        self.model = model

    def __call__(self, data, c):
        """1, -1 for the other way round, or 0."""
        model, (kind1, id1), (kind2, id2) = self.model, self.objects[1], self.objects[2]
        if kind1 == "site" and not is_inside(model, data, id1, c.pos):
            return 0
        if is_object(model, kind1, id1, c.geom1, c.body1) and is_object(model, kind2, id2, c.geom2, c.body2):
            return 1
        if is_object(model, kind1, id1, c.geom2, c.body2) and is_object(model, kind2, id2, c.geom1, c.body1):
            return -1
        return 0

    def site_alone(self):
        return self.objects[1][0] == "site" and self.objects[2][0] == ""


def body_velocity(model, data, body, pos):
    """Of the point of a body at pos: linear, angular. From the joints, outermost first."""
    lin, ang = np.zeros(3), np.zeros(3)
    while body > 0:
        for j in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            dof = model.jnt_dofadr[j]
            if model.jnt_type[j] == 0:
                turn = data.xmat[body].reshape(3, 3) @ data.qvel[dof + 3:dof + 6]
                lin += data.qvel[dof:dof + 3] + cross(turn, pos - data.xpos[body])
            else:
                turn = data.xaxis[j] * data.qvel[dof]
                lin += cross(turn, pos - data.xanchor[j])
            ang += turn
        body = model.body_parentid[body]
    return lin, ang


def read(model, data, c, sign):
    """All fields of a contact as its sensor sees it."""
    frame = c.frame.reshape(3, 3)
    # turned half around the second tangent if it is the other way round; what the first does to the second
    axes = np.array([sign * frame[0], sign * frame[1], frame[2]])
    force, torque = sign * frame.T @ c.force[:3], sign * frame.T @ c.force[3:]
    v1, w1 = body_velocity(model, data, c.body1, c.pos)
    v2, w2 = body_velocity(model, data, c.body2, c.pos)
    return np.concatenate([[0], axes @ force, axes @ torque, [c.dist], c.pos, axes[0], axes[1],
                           axes @ (sign * (v2 - v1)), axes @ (sign * (w2 - w1))])


def onto_thing(model, data, site, c):
    """The sign with which a contact acts on the thing at a site."""
    moves = [model.body_dofnum[b] > 0 or model.body_weldid[b] > 0 for b in (c.body1, c.body2)]
    at = model.site_bodyid[site]
    if model.body_weldid[at] > 0 and at in (c.body1, c.body2) and c.body1 != c.body2:
        return 1 if c.body2 == at else -1
    if moves[0] != moves[1]:
        return 1 if moves[1] else -1
    far = [np.linalg.norm(data.xipos[b] - data.site_xpos[site]) for b in (c.body1, c.body2)]
    return -1 if far[0] < far[1] else 1


def net(contacts, signs):
    """Force, torque and centre of several contacts, in the world."""
    weight = np.array([np.linalg.norm(c.force[:3]) for c in contacts])
    if not weight.sum() > 0:
        return np.zeros(3), np.zeros(3), np.zeros(3)
    centre = sum(w * c.pos for w, c in zip(weight, contacts)) / weight.sum()
    force, torque = np.zeros(3), np.zeros(3)
    for c, sign in zip(contacts, signs):
        f, t = sign * c.frame.reshape(3, 3).T @ c.force[:3], sign * c.frame.reshape(3, 3).T @ c.force[3:]
        force += f
        torque += t + cross(c.pos - centre, f)
    return force, torque, centre


def expect(model, data, match, num, reduce):
    """Slots x 23 of MuJoCo's layout, how many are used, and force and torque of the array's net force."""
    found = [(c, match(data, c)) for c in data.contact]
    found = [(c, sign) for c, sign in found if sign]
    slots = np.zeros((num, 23))
    if reduce == "netforce":
        contacts, signs = [c for c, _ in found], [s for _, s in found]
        force, torque, centre = net(contacts, signs)
        if found:
            slots[0] = np.concatenate([[len(found)], force, torque, [0], centre, [1, 0, 0], [0, 1, 0], np.zeros(6)])
        if match.site_alone():
            signs = [onto_thing(model, data, match.objects[1][1], c) for c in contacts]
            force, torque, _ = net(contacts, signs)
        return slots, min(len(found), 1), force, torque
    if reduce == "mindist":
        found.sort(key=lambda x: x[0].dist)
    if reduce == "maxforce":
        found.sort(key=lambda x: -np.sqrt(x[0].force[0] ** 2 + x[0].force[1] ** 2 + x[0].force[2] ** 2))
    for k, (c, sign) in enumerate(found[:num]):
        slots[k] = read(model, data, c, sign)
        slots[k, 0] = len(found)
    return slots, min(len(found), num), None, None


def columns(words):
    return np.concatenate([np.arange(START[w], START[w] + FIELDS[w]) for w in FIELDS if w in words])


def check(model, data, index, name, words, expected, reduce):
    slots, used, force, torque = expected
    start, dim = model.sensor_adr[index], model.sensor_dim[index]
    picked = columns(words)
    assert dim == len(slots) * len(picked), name
    got = data.sensordata[start:start + dim].reshape(len(slots), -1)
    assert np.allclose(got, slots[:, picked], rtol=1e-12, atol=1e-9), (name, got, slots[:, picked])
    array = model.get_sensor_value(name, data)
    rest = columns([w for w in words if w != "found"]) if set(words) != {"found"} else np.zeros(0, int)
    values = slots[:1 if reduce == "netforce" else None].copy()
    if reduce == "netforce":
        values[0, 1:4], values[0, 4:7] = force, torque
    assert array.dtype == np.float32 and array.shape == (1 + len(values) * len(rest),), name
    assert array[0] == (1 if reduce == "netforce" else used), name
    assert np.allclose(array[1:], values[:, rest].ravel(), rtol=1e-6, atol=1e-6), (name, array, values[:, rest])


# ---- every combination -----------------------------------------------------------------------------------------------

FIRST = {"": "", "geom": 'geom1="crate"', "body": 'body1="crate"', "subtree": 'subtree1="crate"', "site": 'site="zone"'}
SECOND = {"": "", "geom": 'geom2="floor"', "body": 'body2="world"', "subtree": 'subtree2="world"'}
MANY = 40


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", SECOND)
def test_every_data_reduce_and_num(first, second):
    """All subsets of data x reduce x num below, at and above the number of contacts, for every kind of match."""
    match = f"{FIRST[first]} {SECOND[second]}"
    subsets = [words for n in range(1, 10) for words in itertools.combinations(FIELDS, n)]
    cases = [(words, reduce, num) for words in subsets for reduce in REDUCE for num in (1, 3, MANY)
             if reduce != "netforce" or not {"linvel", "angvel"} & set(words)]
    rng = np.random.default_rng(1)
    text = [sensor(i, match, " ".join(rng.permutation(words)), num, reduce) for i, (words, reduce, num) in enumerate(cases)]
    _, model, data = build(text)
    matched = Match(model, match)
    expected = {(reduce, num): expect(model, data, matched, num, reduce) for reduce in REDUCE for num in (1, 3, MANY)}
    count = expected["none", MANY][1]
    assert 3 < count < MANY  # so that num is below and above it
    for i, (words, reduce, num) in enumerate(cases):
        check(model, data, i, str(i), words, expected[reduce, num], reduce)


def test_every_match():
    """Objects of all kinds that touch much, little, themselves, or nothing, in both orders."""
    objects = {"geom": ("floor", "crate", "hand", "slab", "loner"), "body": ("world", "crate", "slab", "one", "loner"),
               "subtree": ("world", "crate", "ball", "loner")}
    first = [""] + [f'{kind}1="{name}"' for kind in objects for name in objects[kind]]
    first += [f'site="{name}"' for name in ("zone", "drum", "pill", "egg", "far", "palm", "lonely")]
    second = [""] + [f'{kind}2="{name}"' for kind in objects for name in objects[kind]]
    cases = [(f"{a} {b}", reduce, num) for a in first for b in second for reduce in REDUCE for num in (1, 2, MANY)]
    text = [sensor(i, match, STILL if reduce == "netforce" else ALL, num, reduce) for i, (match, reduce, num) in enumerate(cases)]
    _, model, data = build(text)
    counts = set()
    for i, (match, reduce, num) in enumerate(cases):
        expected = expect(model, data, Match(model, match), num, reduce)
        check(model, data, i, str(i), (STILL if reduce == "netforce" else ALL).split(), expected, reduce)
        counts.add(int(expected[0][0, 0]))
    assert {0, 1, 2, 4} <= counts and max(counts) == data.ncon


def test_scene_is_rich():
    """What the tests above stand on: sliding and torques, self-collision, contacts in each site."""
    _, model, data = build([])
    c = data.contact
    assert data.ncon >= 8 and (abs(c.force[:, 1:3]).max(1) > 1e-3).sum() >= 4 and (abs(c.force[:, 3:]).max(1) > 1e-5).sum() >= 3
    hand, crate = model.geom("hand").id, model.geom("crate").id
    assert ((c.geom1 == hand) & (c.geom2 == crate) | (c.geom1 == crate) & (c.geom2 == hand)).any()
    for site in ("zone", "drum", "pill", "egg", "palm"):
        inside = [is_inside(model, data, model.site(site).id, p) for p in c.pos]
        assert any(inside) and not all(inside), site


def test_layouts_of_the_document():
    pair = 'geom1="floor" geom2="crate"'
    _, model, data = build([
        sensor("full", pair, "found force pos normal tangent", 4), sensor("most", pair, "found force pos", 5, "maxforce"),
        sensor("touch", pair), sensor("net", pair, "found force pos normal tangent", 10, "netforce"), '<contact/>'])
    sizes = [model.get_sensor_value(name, data).shape for name in ("full", "most", "touch", "net")]
    assert sizes == [(49,), (31,), (1,), (13,)]
    assert model.get_sensor_value("touch", data)[0] == 1
    full = model.get_sensor_value("full", data)
    tangent1 = cross(full[7:10], full[10:13])  # the second tangent, and the force in the world
    force = full[1] * full[7:10] + full[2] * full[10:13] + full[3] * tangent1
    c = data.contact[0]
    assert np.allclose(force, c.frame.reshape(3, 3).T @ c.force[:3], rtol=1e-5)
    with pytest.raises(KeyError):
        model.get_sensor_value("nobody", data)


def test_ties_keep_contact_order():
    """Four corners at one depth."""
    model = stiction.Model.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/><geom type='box' size='.1 .1 .1'/>"
        "</body></worldbody><sensor><contact name='a' data='dist pos' num='3' reduce='mindist'/></sensor></mujoco>")
    data = stiction.Data(model)
    stiction.forward(model, data)
    assert len(set(data.contact.dist)) == 1 and data.ncon == 4
    assert np.allclose(data.sensordata.reshape(3, 4)[:, 1:], data.contact.pos[:3], atol=0)


# ---- physics ---------------------------------------------------------------------------------------------------------

REST = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="9 9 1"/>
<site name="mat" type="box" size=".3 .3 .02"/>
<body name="low" pos=".01 .02 .05"><freejoint/><geom name="low" type="box" size=".08 .07 .05" mass="2"/></body>
<body name="top" pos=".03 0 .13"><freejoint/><geom name="top" type="box" size=".04 .05 .03" mass=".7"/></body>
</worldbody><sensor>
<contact name="floor" geom1="floor" geom2="low" data="found force pos" num="8"/>
<contact name="net" geom1="floor" data="force torque pos" reduce="netforce"/>
<contact name="lid" body1="low" body2="top" data="force torque pos" reduce="netforce"/>
<contact name="mat" site="mat" data="force torque pos" reduce="netforce"/>
<touch name="touch" site="mat"/></sensor></mujoco>"""


def settle(module, xml, seconds=3):
    if module is stiction:
        model = stiction.Model.from_xml_string(xml)
        data = stiction.Data(model)
        stiction.step(model, data, round(seconds / model.opt.timestep))
        stiction.forward(model, data)
    else:
        model = module.MjModel.from_xml_string(xml)
        model.opt.cone, model.opt.tolerance = module.mjtCone.mjCONE_ELLIPTIC, 1e-12
        data = module.MjData(model)
        module.mj_step(model, data, round(seconds / model.opt.timestep))
        module.mj_forward(model, data)
    return model, data


def values(model, data, name):
    i = model.sensor(name).id
    return data.sensordata[model.sensor_adr[i]:model.sensor_adr[i] + model.sensor_dim[i]].copy()


def check_rest(model, data):
    weight, above = 2.7 * G, .7 * G
    slots = values(model, data, "floor").reshape(8, 7)
    used = slots[:, 0] > 0
    assert used.sum() == slots[0, 0] >= 3
    assert slots[used, 1].sum() == pytest.approx(weight, rel=1e-6)
    lowpos, toppos = data.body("low").xpos, data.body("top").xpos
    for name, load, masses in (("net", weight, ((2, lowpos), (.7, toppos))), ("lid", above, ((.7, toppos),)),
                               ("mat", weight, ((2, lowpos), (.7, toppos)))):
        force, torque, pos = values(model, data, name).reshape(3, 3)
        assert np.allclose(force, [0, 0, load], rtol=1e-6, atol=1e-6 * load), name
        # vertical forces only: the centroid lies under the centre of mass, and nothing twists
        com = sum(m * p for m, p in masses) / sum(m for m, _ in masses)
        assert np.allclose(pos[:2] * load + [-torque[1], torque[0]], com[:2] * load, atol=1e-6 * load), name
        assert np.allclose(pos[:2], com[:2], atol=1e-6) and abs(torque).max() < 1e-6 * load, name
    assert values(model, data, "touch")[0] == pytest.approx(weight, rel=1e-6)


def test_rest_is_exact():
    check_rest(*settle(stiction, REST))


def test_rest_agrees_with_mujoco():
    """Where the answer is known both give it: sums of normal forces, net force, centroid."""
    mujoco = pytest.importorskip("mujoco")
    theirs, their_data = settle(mujoco, REST)
    check_rest(theirs, their_data)
    ours, our_data = settle(stiction, REST)
    for name in ("net", "lid", "mat"):
        a, b = values(theirs, their_data, name), values(ours, our_data, name)
        assert np.allclose(a[:3], b[:3], rtol=1e-6, atol=1e-6 * G), name
        assert np.allclose(a[6:8], b[6:8], atol=1e-4), name  # MuJoCo's boxes creep and sink a little
    assert values(theirs, their_data, "touch")[0] == pytest.approx(values(ours, our_data, "touch")[0], rel=1e-6)


def test_pile_in_its_container():
    """Poured spheres: what the container exerts on them is their weight and the rate of their momentum, in every step."""
    rng = np.random.default_rng(3)
    balls = "".join(f'<body pos="{x[0]} {x[1]} {.1 + .05 * i}"><freejoint/><geom size="{.02 + .01 * x[2] ** 2 / .0025}" '
                    f'mass="{.1 + abs(x[2])}" condim="{(1, 3, 4, 6)[i % 4]}"/></body>'
                    for i, x in enumerate(rng.uniform(-.05, .05, (30, 3))))
    walls = "".join(f'<geom type="box" size="{s}" pos="{p}"/>' for s, p in (
        (".1 .1 .01", "0 0 -.01"), (".01 .1 1", ".11 0 1"), (".01 .1 1", "-.11 0 1"), (".1 .01 1", "0 .11 1"), (".1 .01 1", "0 -.11 1")))
    model = stiction.Model.from_xml_string(
        f'<mujoco><option timestep="0.005"/><worldbody><body name="container">{walls}</body>{balls}</worldbody><sensor>'
        '<contact name="on" body1="container" data="force torque pos" reduce="netforce"/>'
        '<contact name="by" body2="container" data="force torque pos" reduce="netforce"/></sensor></mujoco>')
    data = stiction.Data(model)
    mass = model.body_mass[2:]
    weight, worst, most = mass.sum() * G, 0, 0
    for _ in range(300):
        before = data.qvel.reshape(-1, 6)[:, :3].T @ mass
        stiction.step(model, data)
        rate = (data.qvel.reshape(-1, 6)[:, :3].T @ mass - before) / .005
        on, by = values(model, data, "on"), values(model, data, "by")
        error = on[:3] - [0, 0, weight] - rate
        worst = max(worst, abs(error).max() / max(weight, abs(on[:3]).max()))
        most = max(most, data.ncon)
        assert np.allclose(on[:6], -by[:6], rtol=0, atol=1e-12 * weight) and (on[6:] == by[6:]).all()
    assert most > 30 and worst < 1e-6, (most, worst)


def test_action_is_reaction():
    names = ("floor", "crate", "ball", "hand", "slab", "one", "two")
    pairs = list(itertools.permutations(names, 2))
    text = [sensor(f"{a} {b}", f'geom1="{a}" geom2="{b}"', "found force torque pos", 1, "netforce") for a, b in pairs]
    _, model, data = build(text)
    touching = 0
    for a, b in pairs:
        there, back = values(model, data, f"{a} {b}"), values(model, data, f"{b} {a}")
        assert there[0] == back[0] and np.allclose(there[1:7], -back[1:7], atol=1e-9) and np.allclose(there[7:], back[7:])
        touching += there[0] > 0
    assert touching >= 12


def test_runge_kutta_reads_one_instant():
    """Places and forces belong to the state before the step, also when the integrator has moved on."""
    _, model, data = build([sensor("a", 'site="zone"', "found pos linvel", 9), sensor("b", 'site="zone"')],
                           '<option integrator="RK4"/>')
    before = [data.sensordata.copy(), model.get_sensor_value("a", data)]
    stiction.step(model, data)
    assert np.allclose(data.sensordata, before[0], atol=1e-12) and np.allclose(model.get_sensor_value("a", data), before[1])


# ---- MuJoCo ----------------------------------------------------------------------------------------------------------

def test_geometry_agrees_with_mujoco():
    """Layout and all that is not a force, for every kind of match; MuJoCo's contacts may come in another order."""
    mujoco = pytest.importorskip("mujoco")
    words = "found dist pos normal tangent linvel angvel"
    cases = [f"{a} {b}" for a in list(FIRST.values()) + ['subtree1="world"', 'geom1="hand"', 'site="far"', 'site="pill"']
             for b in list(SECOND.values()) + ['subtree2="crate"', 'geom2="crate"', 'body2="slab"']]
    text = [sensor(f"{i} {reduce}", match, words, MANY, reduce) for i, match in enumerate(cases) for reduce in ("none", "mindist")]
    text += [sensor(f"net {i}", match, "found dist normal tangent", 2, "netforce") for i, match in enumerate(cases)]
    text += [sensor(f"count {i}", match, "found", 5) for i, match in enumerate(cases)]
    xml, ours, our_data = build(text)
    theirs = mujoco.MjModel.from_xml_string(xml)
    their_data = mujoco.MjData(theirs)
    their_data.qvel[:] = our_data.qvel
    mujoco.mj_forward(theirs, their_data)
    assert their_data.ncon == our_data.ncon
    for field in ("sensor_dim", "sensor_adr", "sensor_needstage", "sensor_datatype", "sensor_intprm", "sensor_objid", "sensor_refid"):
        assert (getattr(theirs, field) == getattr(ours, field)).all(), field
    for i in range(ours.nsensor):
        name = ours.sensor(i).name
        a, b = (values(m, d, i) for m, d in ((theirs, their_data), (ours, our_data)))
        if " none" in name or " mindist" in name:
            a, b = a.reshape(MANY, -1), b.reshape(MANY, -1)
            if " mindist" in name:
                assert np.allclose(a[:, 1], b[:, 1], atol=1e-9), name
            a, b = (x[np.lexsort(np.round(x[:, 2:5].T, 6))] for x in (a, b))
        assert np.allclose(a, b, atol=1e-9), (name, a, b)


def test_which_contacts_are_there():
    """Beyond the margin a gap has contacts without force; explicit pairs count though they move nothing."""
    mujoco = pytest.importorskip("mujoco")
    balls = "".join(f'<body pos="{i} 0 {z}"><freejoint/><geom size=".1"/></body>' for i, z in enumerate((.09, .103, .108, .112, .12)))
    xml = f"""<mujoco><worldbody><geom type="plane" size="99 9 1" margin=".005" gap=".01"/>{balls}
    <body pos="9 0 1"><freejoint/><geom name="a" size=".1"/><geom name="b" size=".1" pos="0 0 .1"/></body>
    <geom name="c" size=".1" pos="0 5 1"/><geom name="d" size=".1" pos="0 5 1.1"/></worldbody>
    <contact><pair geom1="a" geom2="b"/><pair geom1="c" geom2="d"/></contact>
    <sensor>{sensor("all", "", "found dist pos", 9, "mindist")}{sensor("net", "", "found force", 1, "netforce")}</sensor></mujoco>"""
    ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    our_data, their_data = stiction.Data(ours), mujoco.MjData(theirs)
    stiction.forward(ours, our_data)
    mujoco.mj_forward(theirs, their_data)
    a, b = values(theirs, their_data, "all").reshape(9, 5), values(ours, our_data, "all").reshape(9, 5)
    a, b = (x[np.lexsort((x[:, 2], np.round(x[:, 1], 9)))] for x in (a, b))
    assert a[-1, 0] == 6 and np.allclose(a, b, atol=1e-12)
    force = {round(c.pos[0]): c.force[0] for c in our_data.contact if c.geom1 == 0}
    assert force[0] > 0 and force[1] > 0 and force[2] == force[3] == 0 and len(force) == 4


def test_what_mujoco_refuses():
    """Neither way of reading a file allows these; both say so, we with the line and the attribute."""
    mujoco = pytest.importorskip("mujoco")
    for attributes, at in (('geom1="floor" body1="crate"', "body1"), ('site="zone" subtree1="crate"', "site"),
                           ('geom2="floor" subtree2="crate"', "subtree2"), ('geom1="none"', "geom1"), ('site="crate"', "site"),
                           ('num="0"', "num"), ('num="-1"', "num"), ('num="1.5"', "num"), ('data="depth"', "data"),
                           ('data="force force"', "data"), ('reduce="most"', "reduce"), ('geom1=""', "geom1"),
                           ('reduce="netforce" data="linvel"', "data")):
        xml = f"<mujoco>{WORLD}\n<sensor>\n<contact {attributes}/></sensor></mujoco>"
        with pytest.raises(ValueError):
            mujoco.MjModel.from_xml_string(xml)
        with pytest.raises(stiction.Error) as error:
            stiction.Model.from_xml_string(xml)
        assert (error.value.element, error.value.attribute) == ("contact", at), attributes
        assert error.value.line == len(xml.splitlines()), attributes


def test_words_in_any_order():
    """MuJoCo wants them in order; the values come in the same order anyhow."""
    _, model, data = build([sensor("a", "", "pos found force", 2), sensor("b", "", "found force pos", 2)])
    assert (values(model, data, "a") == values(model, data, "b")).all()


# ---- the sensors that were there ---------------------------------------------------------------------------------------

TOUCH = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="9 9 1"/>
<body name="table" pos="0 0 .3"><freejoint/><geom type="box" size=".2 .15 .02" mass="3"/>
{legs}<body name="vase" pos=".05 .03 .06"><geom type="cylinder" size=".03 .04" mass="1"/><site name="vase" pos="0 0 -.04"/></body>
</body></worldbody><sensor>{sensors}<force name="vase" site="vase"/><torque name="vase torque" site="vase"/></sensor></mujoco>"""


def table():
    places = [(.15, .1), (-.15, .1), (.15, -.1), (-.15, -.1)]
    legs = "".join(f'<body name="leg{i}" pos="{x} {y} -.16"><geom type="capsule" size=".02 .12" mass=".2"/><site name="leg{i}" '
                   f'pos="0 0 .14"/><site name="foot{i}" pos="0 0 -.12" size=".03"/></body>' for i, (x, y) in enumerate(places))
    sensors = "".join(f'<touch name="foot{i}" site="foot{i}"/><force name="leg{i}" site="leg{i}"/><torque name="bend{i}" '
                      f'site="leg{i}"/>' for i in range(4))
    return TOUCH.format(legs=legs, sensors=sensors)


def test_table_on_its_legs():
    """Touch, force and torque sensors with contact: each leg carries to the table what its foot feels, less its weight."""
    mujoco = pytest.importorskip("mujoco")
    for module in (stiction, mujoco):
        model, data = settle(module, table())
        feet = np.array([values(model, data, f"foot{i}")[0] for i in range(4)])
        legs = np.array([values(model, data, f"leg{i}") for i in range(4)])
        assert feet.sum() == pytest.approx(4.8 * G, rel=1e-6) and (feet > 1).all()
        assert np.allclose(legs[:, 2], .2 * G - feet, atol=1e-5)
        up = data.site("vase").xmat.reshape(3, 3).T @ [0, 0, G]  # MuJoCo's table sinks askew
        assert np.allclose(values(model, data, "vase"), up, atol=1e-5)
        arm = data.body("vase").xpos - data.site("vase").xpos
        twist = data.site("vase").xmat.reshape(3, 3).T @ cross(arm, [0, 0, G])
        assert np.allclose(values(model, data, "vase torque"), twist, atol=1e-5)
        # moments about the centre of mass: the load of the vase goes to its corner
        x = np.array([.15, -.15, .15, -.15]) - .05 / 4.8
        y = np.array([.1, .1, -.1, -.1]) - .03 / 4.8
        assert max(abs(feet @ x), abs(feet @ y)) < (1e-4 if module is stiction else 3e-3)


LIMITS = """<mujoco><compiler angle="radian"/><option timestep="0.002"/><worldbody>
<body><joint name="h" axis="0 1 0" range="-.5 .6" margin=".1"/><geom size=".1" pos="1 0 0"/></body>
<body pos="0 3 0"><joint name="b" type="ball" range="0 .3" margin=".05"/><geom size=".1" pos="1 0 0"/></body>
<body pos="0 6 0"><joint name="s" type="slide" axis="1 0 0" range="-.1 .1" margin=".3"/><geom size=".1"/></body></worldbody>
<tendon><fixed name="t" range="-.4 .4"><joint joint="h" coef="1"/></fixed></tendon><sensor>{}</sensor></mujoco>"""


def test_limits_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco")
    text = "".join(f'<{kind}limit{what} name="{name}{what}" {kind}="{name}"/>' for kind, names in (("joint", "hbs"), ("tendon", "t"))
                   for name in names for what in ("pos", "vel", "frc"))
    xml = LIMITS.format(text)
    ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    assert (ours.sensor_needstage == theirs.sensor_needstage).all()
    our_data, their_data = stiction.Data(ours), mujoco.MjData(theirs)
    for hinge, angle in itertools.product((-.6, -.45, 0, .45, .55, .7), (.1, .26, .4)):
        for d in (our_data, their_data):
            d.qpos[:] = [hinge, np.cos(angle / 2), np.sin(angle / 2) * .6, np.sin(angle / 2) * .8, 0, .02]
            d.qvel[:] = [.3, .2, .5, -.4, .7]
        stiction.forward(ours, our_data)
        mujoco.mj_forward(theirs, their_data)
        for name in "hbst":
            for what in ("pos", "vel"):
                a, b = values(theirs, their_data, name + what), values(ours, our_data, name + what)
                assert np.allclose(a, b, atol=1e-12), (name, what, hinge, angle)
