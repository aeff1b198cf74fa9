// SPDX-License-Identifier: Apache-2.0
// The eye: a free camera that the mouse turns, or one of the model's.
import * as THREE from './three.module.js';
import { OrbitControls } from './OrbitControls.js';

export class Eye {
  constructor(scene, canvas) {
    const { extent, center, fovy, azimuth, elevation } = scene.description, rad = Math.PI / 180;
    this.scene = scene;
    this.free = new THREE.PerspectiveCamera(fovy, 1, 0.005 * extent, 60 * extent);
    this.free.up.set(0, 0, 1);
    const level = Math.cos(elevation * rad), forward = new THREE.Vector3(level * Math.cos(azimuth * rad), level * Math.sin(azimuth * rad), Math.sin(elevation * rad));
    this.free.position.fromArray(center).addScaledVector(forward, -1.5 * extent);
    this.controls = new OrbitControls(this.free, canvas);
    this.controls.target.fromArray(center);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.2;
    this.controls.zoomToCursor = true;
    this.controls.update();
    this.choice = -1;
    this.follow = -1;
    this.last = new THREE.Vector3();
    // a level floor at the top of the world's planes: the free camera stays above it
    const floors = scene.description.geoms.filter(g => g.type === 0 && g.body === 0 && Math.abs(g.quat[1]) + Math.abs(g.quat[2]) < 1e-6);
    this.floor = floors.length ? Math.min(...floors.map(g => g.pos[2])) + 0.01 * extent : -Infinity;
  }

  /** Shows all bodies, and other things that are given, from the same side. */
  frameAll(more = []) {
    const box = new THREE.Box3();
    more.filter(m => m.visible).forEach(m => { m.computeBoundingBox(); box.expandByObject(m); });
    this.scene.geoms.filter(g => g.visible && g.userData.solid).forEach(g => box.expandByObject(g));
    this.lookAt(box);
  }

  /** At the start: shows all that moves, if a part of it is outside the picture now. */
  frameFirst(aspect, softs) {
    this.update(aspect);
    this.free.updateMatrixWorld();
    this.scene.root.updateMatrixWorld();
    const view = new THREE.Frustum().setFromProjectionMatrix(new THREE.Matrix4().multiplyMatrices(this.free.projectionMatrix, this.free.matrixWorldInverse));
    const inside = ({ min, max }) => view.planes.every(p => p.distanceToPoint(new THREE.Vector3(p.normal.x < 0 ? max.x : min.x, p.normal.y < 0 ? max.y : min.y, p.normal.z < 0 ? max.z : min.z)) > 0);
    const geoms = this.scene.geoms.filter(g => g.visible && g.userData.solid && this.scene.description.bodies[g.userData.body].moves);
    const boxes = [...geoms, ...softs.skins.map(s => s.mesh)].map(g => new THREE.Box3().setFromObject(g, true));
    if (!boxes.every(inside)) this.lookAt(boxes.reduce((all, box) => all.union(box)));
  }

  /** Shows one body. */
  frameBody(body) {
    const box = new THREE.Box3();
    this.scene.geoms.filter(g => g.userData.body === body).forEach(g => box.expandByObject(g));
    this.lookAt(box);
  }

  lookAt(box) {
    if (box.isEmpty()) return;
    const sphere = box.getBoundingSphere(new THREE.Sphere()), away = this.free.position.clone().sub(this.controls.target).normalize();
    const half = Math.min(this.free.fov, this.free.fov * this.free.aspect) * Math.PI / 360;
    this.controls.target.copy(sphere.center);
    this.free.position.copy(sphere.center).addScaledVector(away, 1.1 * Math.max(sphere.radius, 1e-3) / Math.sin(half));
    this.controls.update();
  }

  /** MuJoCo's place of the free camera: what it looks at, distance (0: as it is) and angles in degrees. */
  from(lookat, distance, azimuth, elevation) {
    const rad = Math.PI / 180, level = Math.cos(elevation * rad), away = distance || this.free.position.distanceTo(this.controls.target);
    const forward = new THREE.Vector3(level * Math.cos(azimuth * rad), level * Math.sin(azimuth * rad), Math.sin(elevation * rad));
    this.controls.target.fromArray(lookat);
    this.free.position.copy(this.controls.target).addScaledVector(forward, -away);
    this.controls.update();
  }

  /** Shifts the free camera and what it looks at. */
  move([x, y]) {
    for (const v of [this.free.position, this.controls.target]) v.x += x, v.y += y;
    this.controls.update();
  }

  get camera() { return this.choice < 0 ? this.free : this.scene.cameras[this.choice].camera; }

  choose(index) {
    this.choice = index;
    this.controls.enabled = index < 0;
  }

  /** Keeps the free camera at the same place relative to a body. */
  track(body) {
    this.follow = body;
    if (body >= 0) this.last.copy(this.scene.bodies[body].position);
  }

  update(aspect) {
    if (this.follow >= 0) {
      const at = this.scene.bodies[this.follow].position, shift = at.clone().sub(this.last);
      this.free.position.add(shift);
      this.controls.target.add(shift);
      this.last.copy(at);
    }
    this.controls.update();
    if (this.free.position.z < this.floor) {
      this.free.position.z = this.floor;
      this.free.lookAt(this.controls.target);
    }
    const camera = this.camera;
    if (camera.aspect !== aspect) camera.aspect = aspect, camera.updateProjectionMatrix();
    this.scene.head.position.setFromMatrixPosition(camera.matrixWorld);
    this.scene.head.target.position.copy(this.controls.target);
  }
}
