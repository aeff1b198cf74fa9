// SPDX-License-Identifier: Apache-2.0
// Choosing a body with a click; pulling it on a spring with Ctrl (or Cmd) and drag, or by a second press on a chosen one; twisting it with
// Shift and drag.
import * as THREE from './three.module.js';
import { OP } from './stream.js';

const STILL = 4, TWICE = 350; // pixels, ms

export class Mouse {
  constructor(canvas, scene, eye, stream, worlds, onselect) {
    Object.assign(this, { canvas, scene, eye, stream, worlds, onselect, selected: null, pull: null, pressed: null, before: 0 });
    this.ray = new THREE.Raycaster();
    this.spring = new THREE.Line(new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]),
                                 new THREE.LineBasicMaterial({ color: 0xe08a00, depthTest: false }));
    this.spring.visible = this.spring.frustumCulled = false;
    this.spring.renderOrder = 20;
    // while a body is twisted: a ring around it, square to the torque
    const ring = Array.from({ length: 65 }, (_, i) => new THREE.Vector3(Math.cos(i * Math.PI / 32), Math.sin(i * Math.PI / 32), 0));
    this.ring = new THREE.Line(new THREE.BufferGeometry().setFromPoints(ring), this.spring.material);
    this.ring.visible = this.ring.frustumCulled = false;
    this.ring.renderOrder = 20;
    scene.root.add(this.spring, this.ring);
    // before the camera's own listener, which must not see a pull
    canvas.addEventListener('pointerdown', e => this.down(e), { capture: true });
    canvas.addEventListener('pointermove', e => this.move(e));
    canvas.addEventListener('pointerup', e => this.up(e));
    canvas.addEventListener('pointercancel', () => this.release());
  }

  aim(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2(2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height);
    this.ray.setFromCamera(at, this.eye.camera);
  }

  hit(event) {
    this.aim(event);
    return this.ray.intersectObjects([...this.scene.geoms, ...this.worlds.meshes].filter(g => g.visible), false)[0] ?? null;
  }

  down(event) {
    if (event.button !== 0) return;
    const hit = this.hit(event), body = hit?.object.userData.body;
    this.pressed = { x: event.clientX, y: event.clientY, hit };
    const twice = performance.now() - this.before < TWICE && body === this.selected?.body;
    this.before = performance.now();
    const pulls = event.ctrlKey || event.metaKey || event.shiftKey || twice;
    if (!hit || hit.object.isInstancedMesh || !this.scene.description.bodies[body].moves || !pulls) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    const normal = this.eye.camera.getWorldDirection(new THREE.Vector3());
    this.pull = { body, twist: event.shiftKey, quat: this.scene.bodies[body].quaternion.clone(), x: event.clientX, y: event.clientY, point: this.scene.bodies[body].worldToLocal(hit.point.clone()), target: hit.point.clone(),
                  plane: new THREE.Plane().setFromNormalAndCoplanarPoint(normal, hit.point) };
    this.select(hit);
    this.send();
  }

  move(event) {
    if (!this.pull) return;
    if (this.pull.twist) this.turn(event);
    else {
      this.aim(event);
      this.ray.ray.intersectPlane(this.pull.plane, this.pull.target);
    }
    this.send();
  }

  /** As if the mouse rolled the body: half a turn for the height of the picture. */
  turn(event) {
    const { pull } = this, { camera } = this.eye, angle = Math.PI / this.canvas.clientHeight;
    for (const [axis, moved] of [[new THREE.Vector3(0, 1, 0), event.clientX - pull.x], [new THREE.Vector3(1, 0, 0), event.clientY - pull.y]])
      pull.quat.premultiply(new THREE.Quaternion().setFromAxisAngle(axis.applyQuaternion(camera.quaternion), moved * angle));
    Object.assign(pull, { x: event.clientX, y: event.clientY });
  }

  send() {
    const { body, twist, quat, point, target } = this.pull;
    if (twist) this.stream.send(OP.TWIST, body, quat.w, quat.x, quat.y, quat.z);
    else this.stream.send(OP.DRAG, body, ...point.toArray(), ...target.toArray());
  }

  up(event) {
    if (this.pull) return this.release();
    const p = this.pressed;
    if (p && Math.hypot(event.clientX - p.x, event.clientY - p.y) < STILL) {
      if (p.hit?.object.isInstancedMesh) this.worlds.choose(this.worlds.at(p.hit.instanceId), true);
      else this.select(p.hit);
    }
    this.pressed = null;
  }

  release() {
    if (this.pull) this.stream.send(OP.RELEASE);
    this.pull = null;
  }

  select(hit) {
    this.glow(0);
    this.selected = hit ? hit.object.userData : null;
    this.glow(0x553300);
    this.onselect(this.selected);
  }

  /** Selects a body by its number. */
  choose(body) {
    this.select({ object: this.scene.geoms.find(g => g.userData.body === body) ?? { userData: { kind: 'body', index: body, body, solid: true } } });
  }

  glow(hex) {
    if (!this.selected?.solid) return;
    this.scene.geoms.filter(g => g.userData.body === this.selected.body).forEach(g => g.material.emissive.setHex(hex));
  }

  /** wrench: force (N) and torque (N m) on the body, as the simulation has them. */
  update(wrench) {
    this.spring.visible = !!this.pull && !this.pull.twist;
    this.ring.visible = !!this.pull?.twist;
    if (!this.pull) return;
    if (this.pull.twist) {
      const torque = new THREE.Vector3(...(wrench ?? []).slice(3, 6)), radius = 1.2 * this.pull.point.length() || 0.1 * this.scene.description.extent;
      this.ring.position.copy(this.scene.bodies[this.pull.body].position);
      if (torque.length() > 0) this.ring.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), torque.normalize());
      this.ring.scale.setScalar(radius);
      return;
    }
    const at = this.scene.bodies[this.pull.body].localToWorld(this.pull.point.clone()), p = this.spring.geometry.attributes.position;
    p.setXYZ(0, at.x, at.y, at.z);
    p.setXYZ(1, this.pull.target.x, this.pull.target.y, this.pull.target.z);
    p.needsUpdate = true;
  }
}
