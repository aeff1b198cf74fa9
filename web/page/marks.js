// SPDX-License-Identifier: Apache-2.0
// What can be drawn over bodies: names, centres of mass with equivalent boxes of inertia, wireframes.
import * as THREE from './three.module.js';

const MOST = 200; // names on the screen at a time

/** Half sides of the box of even density that has this mass and these principal moments. */
export function inertiaBox(mass, [a, b, c]) {
  const side = x => Math.sqrt(Math.max(0, 1.5 * x / mass));
  return [side(b + c - a), side(a + c - b), side(a + b - c)];
}

export class Marks {
  constructor(scene, stage) {
    this.scene = scene;
    this.names = 'none';
    this.pen = document.createElement('div');
    this.pen.id = 'names';
    stage.append(this.pen);
    this.inertia = this.addInertia();
    this.inertia.forEach(group => { group.visible = false; });
  }

  addInertia() {
    const { bodies, meansize } = this.scene.description, list = [];
    bodies.forEach((b, i) => {
      if (!(b.mass > 0) || !b.moves) return;
      const group = new THREE.Group(), [x, y, z] = inertiaBox(b.mass, b.inertia);
      const box = new THREE.Mesh(new THREE.BoxGeometry(2 * x, 2 * y, 2 * z), new THREE.MeshBasicMaterial({ color: 0xb04bd0, transparent: true, opacity: 0.35, depthTest: false }));
      const dot = new THREE.Mesh(new THREE.SphereGeometry(0.12 * meansize, 16, 10), new THREE.MeshBasicMaterial({ color: 0xffc400, depthTest: false }));
      box.renderOrder = 7, dot.renderOrder = 8;
      group.add(box, dot);
      group.position.fromArray(b.com);
      group.quaternion.set(b.iquat[1], b.iquat[2], b.iquat[3], b.iquat[0]);
      group.userData = { body: i, half: [x, y, z] };
      this.scene.bodies[i].add(group);
      list.push(group);
    });
    return list;
  }

  show(kind, on) {
    if (kind === 'inertia') this.inertia.forEach(group => { group.visible = on; });
    if (kind === 'wireframe') this.scene.geoms.forEach(g => { if (g.userData.solid) g.material.wireframe = on; });
  }

  /** [name, object] of what has a name to show. */
  named() {
    const d = this.scene.description;
    if (this.names === 'bodies') return d.bodies.map((b, i) => [b.name, this.scene.bodies[i]]).slice(1);
    if (this.names === 'geoms') return d.geoms.map((g, i) => [g.name, this.scene.geoms[i]]).filter(([, mesh]) => mesh.visible);
    if (this.names === 'joints') return d.joints.map(j => [j.name, this.scene.bodies[j.body]]);
    return [];
  }

  update(camera) {
    const list = this.named().filter(([name]) => name).slice(0, MOST), at = new THREE.Vector3();
    while (this.pen.childElementCount < list.length) this.pen.append(document.createElement('span'));
    while (this.pen.childElementCount > list.length) this.pen.lastElementChild.remove();
    list.forEach(([name, object], i) => {
      const label = this.pen.children[i], p = object.getWorldPosition(at).project(camera);
      if (label.textContent !== name) label.textContent = name;
      label.hidden = !(p.z > -1 && p.z < 1);
      label.style.left = `${50 * (1 + p.x)}%`;
      label.style.top = `${50 * (1 - p.y)}%`;
    });
  }
}
