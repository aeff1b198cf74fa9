// SPDX-License-Identifier: Apache-2.0
// Contact points and forces as instanced spheres and arrows, in the two schemes of docs/viewer.md.
import * as THREE from './three.module.js';

export const LOOK = { NONE: 0, FORCE: 1, FRAME: 2, SCENE: 3 };
const COLOR = { red: 0xd92b2b, green: 0x1f9d3a, blue: 0x2457d6, white: 0xffffff };
const ROW = 19, MOST = 4096, PLENTY = 200; // contacts; above PLENTY arrows are thinned

/** A pool of one shape whose instances are placed and coloured anew in every frame. */
class Pool {
  constructor(root, geometry, count = MOST) {
    // drawn over what hides it, as contacts lie inside
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true });
    this.mesh = new THREE.InstancedMesh(geometry, material, count);
    this.mesh.setColorAt(0, new THREE.Color());
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 10;
    this.mesh.count = 0;
    root.add(this.mesh);
  }

  put(matrix, color) {
    if (this.mesh.count >= this.mesh.instanceMatrix.count) return;
    this.mesh.setMatrixAt(this.mesh.count, matrix);
    this.mesh.setColorAt(this.mesh.count++, color);
  }

  done() {
    this.mesh.instanceMatrix.needsUpdate = true;
    this.mesh.instanceColor.needsUpdate = true;
  }
}

const colors = Object.fromEntries(Object.entries(COLOR).map(([name, hex]) => [name, new THREE.Color(hex)]));
const up = new THREE.Vector3(0, 1, 0);

export class Contacts {
  constructor(scene) {
    const { weight, extent, meansize } = scene.description;
    this.description = scene.description;
    this.perNewton = 0.6 * extent / Math.max(weight, 1e-9); // the whole weight is as long as 0.6 of the scene
    this.factor = 1;
    this.longest = extent; // no arrow is longer than the scene
    this.cell = 0.04 * extent;
    this.size = Math.min(0.06 * meansize + 0.004 * extent, 0.02 * extent);
    this.points = new Pool(scene.root, new THREE.SphereGeometry(1, 16, 10));
    this.shafts = new Pool(scene.root, new THREE.CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0), 3 * MOST);
    this.heads = new Pool(scene.root, new THREE.ConeGeometry(1, 1, 14).translate(0, 0.5, 0), 3 * MOST);
    this.list = []; // what is drawn, for selection and tests
    this.dummy = new THREE.Object3D();
    this.spin = new THREE.Quaternion();
  }

  /** Of the second body if it says so itself, else of the first, else of the scene. */
  look(frame, geom1, geom2) {
    const own = [geom2, geom1].filter(g => g >= 0).map(g => frame.LOOK[1 + this.description.geoms[g].body]).find(look => look !== LOOK.SCENE);
    return own ?? frame.LOOK[0];
  }

  point(at, radius, color) {
    this.dummy.position.copy(at);
    this.dummy.quaternion.identity();
    this.dummy.scale.setScalar(radius);
    this.dummy.updateMatrix();
    this.points.put(this.dummy.matrix, color);
  }

  arrow(at, direction, force, color) {
    const length = Math.min(Math.abs(force) * this.perNewton * this.factor, this.longest), width = 0.35 * this.size;
    if (length < 0.2 * this.size) return 0;
    const head = Math.min(3.5 * width, 0.5 * length);
    this.spin.setFromUnitVectors(up, direction);
    this.dummy.quaternion.copy(this.spin);
    this.dummy.position.copy(at);
    this.dummy.scale.set(width, length - head, width);
    this.dummy.updateMatrix();
    this.shafts.put(this.dummy.matrix, color);
    this.dummy.position.addScaledVector(direction, length - head);
    this.dummy.scale.set(2.2 * width, head, 2.2 * width);
    this.dummy.updateMatrix();
    this.heads.put(this.dummy.matrix, color);
    return length;
  }

  update(frame) {
    const rows = frame.CONT;
    for (const pool of [this.points, this.shafts, this.heads]) pool.mesh.count = 0;
    this.list = [];
    for (const i of this.choose(rows)) this.draw(frame, rows.subarray(i, i + ROW));
    for (const pool of [this.points, this.shafts, this.heads]) pool.done();
  }

  /** Where the rows begin that are drawn: all, or of hundreds the strongest in each cell of a grid. */
  choose(rows) {
    const all = [];
    for (let i = 0; i + ROW <= rows.length; i += ROW) all.push(i);
    if (all.length <= PLENTY) return all;
    const best = new Map(), force = i => Math.hypot(rows[i + 16], rows[i + 17], rows[i + 18]);
    for (const i of all) {
      const name = [7, 8, 9].map(k => Math.floor(rows[i + k] / this.cell)).join();
      if (!best.has(name) || force(best.get(name)) < force(i)) best.set(name, i);
    }
    return [...best.values()];
  }

  draw(frame, row) {
    const look = this.look(frame, row[0], row[1]);
    if (look === LOOK.NONE) return;
    const at = new THREE.Vector3(row[7], row[8], row[9]), normal = new THREE.Vector3(row[10], row[11], row[12]);
    const t1 = new THREE.Vector3(row[13], row[14], row[15]), t2 = new THREE.Vector3().crossVectors(normal, t1);
    const [fn, f1, f2] = [row[16], row[17], row[18]], ft = Math.hypot(f1, f2);
    const item = { look, geom1: row[0], geom2: row[1], normal: fn, tangent: ft, length: 0 };
    if (look === LOOK.FORCE) {
      const friction = new THREE.Vector3().addScaledVector(t1, f1).addScaledVector(t2, f2);
      const share = Math.min(1, Math.hypot(fn, ft) * this.perNewton / (0.6 * this.description.extent));
      this.point(at, this.size * (0.4 + 1.2 * Math.sqrt(share)), colors.red);
      item.length = this.arrow(at, normal, fn, colors.blue);
      if (ft > 0) this.arrow(at, friction.divideScalar(ft), ft, colors.green);
    } else {
      item.length = this.arrow(at, normal, fn, colors.green);
      this.arrow(at, f1 < 0 ? t1.negate() : t1, f1, colors.red);
      this.arrow(at, f2 < 0 ? t2.negate() : t2, f2, colors.blue);
      this.point(at, 0.7 * this.size, colors.white);
    }
    this.list.push(item);
  }
}
