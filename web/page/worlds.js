// SPDX-License-Identifier: Apache-2.0
// The worlds of a batch beside the chosen one: every geom once, with an instance for each of them, in a square grid.
import * as THREE from './three.module.js';
import { OP } from './stream.js';
import { TYPE } from './shapes.js';

const $ = id => document.getElementById(id);

export class Worlds {
  constructor(scene, eye, stream) {
    Object.assign(this, { scene, eye, stream, factor: 1, meshes: [], shift: null });
    this.distance = scene.description.extent;
    this.matrix = new THREE.Matrix4();
    $('world').onchange = () => this.choose(+$('world').value);
    $('beside').onchange = () => stream.send(OP.GRID, Math.max(1, Math.min(256, Math.round(+$('beside').value) || 1)));
    $('distance').oninput = () => { this.factor = +$('distance').value; if (this.last) this.update(this.last); };
  }

  /** Shows a world in full. kept: the camera sees the same as before, from a click in the grid. */
  choose(world, kept = false) {
    this.shift = kept ? world : null;
    this.stream.send(OP.WORLD, Math.max(0, Math.round(world) || 0));
  }

  /** Floors stay as they are: those of all worlds would lie in each other. */
  make(room) {
    this.meshes.forEach(mesh => (this.scene.root.remove(mesh), mesh.dispose()));
    this.meshes = this.scene.geoms.filter(g => this.scene.description.geoms[g.userData.index].type !== TYPE.PLANE).map(geom => {
      const mesh = new THREE.InstancedMesh(geom.geometry, geom.material.clone(), room);
      mesh.frustumCulled = false;
      mesh.userData = { kind: 'world', geom };
      this.scene.root.add(mesh);
      return mesh;
    });
    this.room = room;
  }

  /** Where a place of the grid is, relative to the chosen world. */
  offset(slot) {
    const d = this.distance * this.factor, cell = k => [k % this.columns, Math.floor(k / this.columns)];
    const [x, y] = cell(slot), [cx, cy] = cell(this.slot);
    return [d * (x - cx), d * (y - cy)];
  }

  update(frame) {
    this.last = frame;
    $('worlds').hidden = !frame.GRID;
    if (!frame.GRID) return;
    const [count, chosen, first, n] = frame.GRID, nbody = this.scene.bodies.length;
    if (this.shift === chosen && chosen >= this.first && chosen < this.first + this.slots.length + 1) this.eye.move(this.offset(chosen - this.first).map(x => -x));
    if (this.shift === chosen) this.shift = null;
    Object.assign(this, { count, chosen, first, columns: Math.ceil(Math.sqrt(n)), slot: chosen - first });
    this.slots = [...Array(n).keys()].filter(k => k !== this.slot);
    if (this.room === undefined || this.room < n - 1) this.make(n - 1);
    this.text();
    const bodies = this.slots.map((slot, i) => this.poses(frame.GRID.subarray(4 + 7 * nbody * i, 4 + 7 * nbody * (i + 1)), this.offset(slot)));
    for (const mesh of this.meshes) {
      const { geom } = mesh.userData;
      geom.updateMatrix();
      mesh.visible = geom.visible && n > 1;
      mesh.material.wireframe = geom.material.wireframe;
      mesh.count = n - 1;
      bodies.forEach((list, i) => mesh.setMatrixAt(i, this.matrix.multiplyMatrices(list[geom.userData.body], geom.matrix)));
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null; // of where they were
    }
  }

  poses(b, [x, y]) {
    const one = new THREE.Vector3(1, 1, 1);
    return this.scene.bodies.map((_, k) => new THREE.Matrix4().compose(new THREE.Vector3(b[7 * k] + x, b[7 * k + 1] + y, b[7 * k + 2]),
      new THREE.Quaternion(b[7 * k + 4], b[7 * k + 5], b[7 * k + 6], b[7 * k + 3]), one));
  }

  text() {
    $('world').max = this.count - 1;
    if (document.activeElement !== $('world')) $('world').value = this.chosen;
    const end = this.first + this.slots.length;
    $('worldcount').textContent = `worlds ${this.first} to ${end} of ${this.count}; click one to show it`;
  }

  /** The world at an instance. */
  at(instance) { return this.first + this.slots[instance]; }
}
