# SPDX-License-Identifier: Apache-2.0
"""<replicate>: the same objects, names and places as MuJoCo's."""
import mujoco
import numpy as np
import pytest

import stiction

RING = """<mujoco><compiler %s/><worldbody><body name="base"><frame pos="0 0 1" euler="0 0 .9">
  <replicate count="3" offset="1 .2 .3" euler="0 .1 .9" sep="-"><geom name="g" size=".1" pos="0 .5 0"/><site name="s"/>
    <body name="b" pos="0 0 1"><joint name="j"/><geom name="h" size=".1"/>
      <camera name="c" mode="targetbody" target="b"/></body></replicate></frame></body></worldbody>
  <contact><exclude name="x" body1="b" body2="base"/></contact>
  <tendon><spatial name="t"><site site="s"/><geom geom="h" sidesite="s"/><site site="s"/></spatial></tendon>
  <equality><joint name="e" joint1="j"/></equality>
  <actuator><motor name="a" joint="j"/><motor tendon="t"/></actuator>
  <sensor><jointpos name="p" joint="j"/><actuatorpos name="q" actuator="a"/><tendonpos name="tp" tendon="t"/>
    <framepos name="fp" objtype="body" objname="b" reftype="site" refname="s"/><subtreecom name="all" body="base"/></sensor></mujoco>"""
GRID = """<mujoco><worldbody><replicate count="2" offset="1 0 0"><replicate count="11" sep="_" offset="0 1 0"><body name="b">
  <freejoint name="f"/><geom name="g" size=".1"/></body></replicate><geom name="z" size=".1"/></replicate>
  <replicate count="0"><geom name="none" size="1"/></replicate><geom name="y" size=".2"/></worldbody>
  <sensor><framepos name="fp" objtype="body" objname="b"/><subtreecom name="all" body="world"/></sensor></mujoco>"""
KINDS = {"body": "body", "geom": "geom", "site": "site", "joint": "jnt", "camera": "cam", "tendon": "tendon",
         "actuator": "u", "sensor": "sensor", "equality": "eq", "exclude": "exclude"}
FIELDS = ("geom_pos", "geom_quat", "body_pos", "body_quat", "body_parentid", "site_pos", "cam_targetbodyid", "geom_bodyid",
          "wrap_objid", "actuator_trnid", "sensor_objid", "sensor_refid", "eq_obj1id")


@pytest.mark.parametrize("xml", [RING % "", RING % 'angle="radian"', RING % 'angle="radian" eulerseq="ZYx"', GRID])
def test_copies_are_mujocos(xml):
    theirs, ours = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    for kind, size in KINDS.items():
        count = getattr(theirs, "n" + size)
        assert getattr(ours, "n" + size) == count
        object_type = getattr(mujoco.mjtObj, "mjOBJ_" + kind.upper())
        assert [getattr(ours, kind)(i).name or None for i in range(count)] == \
            [mujoco.mj_id2name(theirs, object_type, i) for i in range(count)]
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=1e-14, err_msg=field)


def test_limits_of_a_load():
    xml = "<mujoco><worldbody><replicate count='50'><geom size='1'/></replicate></worldbody></mujoco>"
    assert stiction.Model.from_xml_string(xml, element_limit=200).ngeom == 50
    with pytest.raises(stiction.Error, match="element_limit"):
        stiction.Model.from_xml_string(xml, element_limit=100)
    with pytest.raises(stiction.Error, match="memory"):
        stiction.Model.from_xml_string(xml, memory_limit=1000)
    with pytest.raises(ValueError, match="negative"):
        stiction.Model.from_xml_string(xml, element_limit=-1)
