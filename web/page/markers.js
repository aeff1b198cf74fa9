// SPDX-License-Identifier: Apache-2.0
// Shapes, text and camera that a program asks for, and force or torque of the mouse.
import * as THREE from './three.module.js';
import { TYPE } from './shapes.js';

const ARROW = 100, ROW = 20;
const sphere = new THREE.SphereGeometry(1, 24, 16), box = new THREE.BoxGeometry(2, 2, 2);
const cylinder = new THREE.CylinderGeometry(1, 1, 2, 24).rotateX(Math.PI / 2), cone = new THREE.ConeGeometry(1, 2, 24).rotateX(Math.PI / 2);

/** Parts of a shape: geometry, scale, shift along z. */
function parts(type, [a, b, c]) {
  const head = Math.min(6 * a, 0.5 * c);
  switch (type) {
    case TYPE.SPHERE: return [[sphere, [a, a, a], 0]];
    case TYPE.CAPSULE: return [[sphere, [a, a, a], b], [sphere, [a, a, a], -b], [cylinder, [a, a, b], 0]];
    case TYPE.ELLIPSOID: return [[sphere, [a, b, c], 0]];
    case TYPE.CYLINDER: return [[cylinder, [a, a, b], 0]];
    case TYPE.BOX: return [[box, [a, b, c], 0]];
    case ARROW: return [[cylinder, [a, a, (c - head) / 2], (c - head) / 2], [cone, [2.5 * a, 2.5 * a, head / 2], c - head / 2]];
    default: return [];
  }
}

export class Markers {
  constructor(scene, eye, mouse, stage) {
    Object.assign(this, { scene, eye, mouse, list: [], labels: [], asked: 0 });
    this.pen = document.createElement('div');
    this.pen.className = 'names';
    this.note = document.createElement('pre');
    this.note.id = 'note';
    this.pull = document.createElement('span');
    this.pull.id = 'pull';
    stage.append(this.pen, this.note, this.pull);
  }

  make(type) {
    const group = new THREE.Group(), material = new THREE.MeshLambertMaterial();
    for (const [geometry] of parts(type, [1, 1, 1])) group.add(new THREE.Mesh(geometry, material));
    group.userData = { type, material };
    this.scene.root.add(group);
    return group;
  }

  place(group, row) {
    const { material, type } = group.userData, m = row.subarray(11, 20);
    material.color.setRGB(row[1], row[2], row[3], THREE.SRGBColorSpace);
    Object.assign(material, { opacity: row[4], transparent: row[4] < 1, depthWrite: row[4] >= 0.99 });
    parts(type, row.subarray(5, 8)).forEach(([, scale, z], i) => {
      group.children[i].scale.set(...scale.map(x => Math.max(x, 1e-9)));
      group.children[i].position.set(0, 0, z);
    });
    group.matrix.set(m[0], m[1], m[2], row[8], m[3], m[4], m[5], row[9], m[6], m[7], m[8], row[10], 0, 0, 0, 1);
    group.matrixAutoUpdate = false;
  }

  update(frame) {
    const rows = frame.MARK ?? new Float32Array(), n = rows.length / ROW;
    for (let i = 0; i < n; i++) {
      const row = rows.subarray(ROW * i, ROW * (i + 1));
      if (this.list[i]?.userData.type !== row[0]) {
        if (this.list[i]) this.scene.root.remove(this.list[i]);
        this.list[i] = this.make(row[0]);
      }
      this.place(this.list[i], row);
    }
    this.list.splice(n).forEach(group => (this.scene.root.remove(group), group.userData.material.dispose()));
    this.labels = (frame.MLAB ?? '').split('\n').map((text, i) => [text, this.list[i]]).filter(([text, group]) => text && group);
    this.note.textContent = frame.NOTE ?? '';
    this.note.hidden = !frame.NOTE;
    this.wrench = frame.PULL ? Array.from(frame.PULL) : null;
    this.look(frame.EYES);
  }

  /** Where a program wants pages to look from, once for each time that it asks. */
  look(eyes) {
    if (!eyes || eyes[0] === this.asked) return;
    this.asked = eyes[0];
    this.eye.choose(eyes[1]);
    document.getElementById('camera').value = eyes[1];
    if (eyes[1] < 0) this.eye.from(eyes.subarray(2, 5), eyes[5], eyes[6], eyes[7]);
  }

  draw(camera) {
    const at = new THREE.Vector3(), set = (label, text, p) => {
      if (label.textContent !== text) label.textContent = text;
      label.hidden = !(p.z > -1 && p.z < 1);
      label.style.left = `${50 * (1 + p.x)}%`;
      label.style.top = `${50 * (1 - p.y)}%`;
    };
    while (this.pen.childElementCount < this.labels.length) this.pen.append(document.createElement('span'));
    while (this.pen.childElementCount > this.labels.length) this.pen.lastElementChild.remove();
    this.labels.forEach(([text, group], i) => set(this.pen.children[i], text, at.setFromMatrixPosition(group.matrix).project(camera)));
    this.pull.hidden = true;
    const { pull } = this.mouse, size = pull && this.wrench ? Math.hypot(...this.wrench.slice(pull.twist ? 3 : 0, pull.twist ? 6 : 3)) : 0;
    if (size > 0) set(this.pull, `${size.toPrecision(3)} ${pull.twist ? 'N m' : 'N'}`, at.copy(pull.target).project(camera));
  }
}
