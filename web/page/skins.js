// SPDX-License-Identifier: Apache-2.0
// Skins: each vertex moves with the weighted mean of its bones, as src/record/shape.c moves them.
import * as THREE from './three.module.js';
import { places } from './shapes.js';

class Skin {
  constructor(scene, skin, all) {
    this.skin = skin;
    this.all = all;
    this.rest = all.vert.subarray(3 * skin.vert, 3 * (skin.vert + skin.nvert));
    this.geometry = new THREE.BufferGeometry();
    this.position = new THREE.BufferAttribute(new Float32Array(3 * skin.nvert), 3).setUsage(THREE.DynamicDrawUsage);
    this.geometry.setAttribute('position', this.position);
    this.geometry.setIndex(new THREE.BufferAttribute(all.face.slice(3 * skin.face, 3 * (skin.face + skin.nface)), 1));
    const material = scene.material(skin), texture = scene.textures.of(skin);
    if (skin.coord >= 0) {
      this.geometry.setAttribute('uv', new THREE.BufferAttribute(all.coord.slice(2 * skin.coord, 2 * (skin.coord + skin.nvert)), 2));
      if (texture >= 0 && scene.description.textures[texture].type === 0) material.map = scene.textures.get(texture);
    }
    this.mesh = new THREE.Mesh(this.geometry, material);
    this.mesh.castShadow = skin.rgba[3] > 0.9;
    this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    scene.root.add(this.mesh);
  }

  /** body: seven numbers of each body, its place and quaternion. */
  move(body) {
    const { skin, all, rest } = this, to = this.position.array, turn = new THREE.Quaternion(), bind = new THREE.Quaternion(), at = new THREE.Vector3();
    const rot = new THREE.Matrix4();
    to.fill(0);
    for (let b = skin.bone; b < skin.bone + skin.nbone; b++) {
      const p = 7 * all.body[b], q = all.quat.subarray(4 * b, 4 * b + 4);
      bind.set(-q[1], -q[2], -q[3], q[0]).normalize();
      turn.set(body[p + 4], body[p + 5], body[p + 6], body[p + 3]).multiply(bind);
      rot.makeRotationFromQuaternion(turn);
      at.fromArray(all.pos, 3 * b).applyMatrix4(rot);
      const m = rot.elements, sx = body[p] - at.x, sy = body[p + 1] - at.y, sz = body[p + 2] - at.z;
      for (let i = all.start[b]; i < all.start[b] + all.count[b]; i++) {
        const v = 3 * all.of[i], w = all.weight[i], x = rest[v], y = rest[v + 1], z = rest[v + 2];
        to[v] += w * (m[0] * x + m[4] * y + m[8] * z + sx);
        to[v + 1] += w * (m[1] * x + m[5] * y + m[9] * z + sy);
        to[v + 2] += w * (m[2] * x + m[6] * y + m[10] * z + sz);
      }
    }
    this.geometry.computeVertexNormals();
    const n = this.geometry.attributes.normal.array;
    if (skin.inflate) for (let i = 0; i < to.length; i++) to[i] += skin.inflate * n[i];
    this.position.needsUpdate = true;
  }
}

export class Skins {
  constructor(scene, data) {
    const d = scene.description;
    let at = places(d).look;
    const take = (Type, n) => new Type(data, (at += 4 * n) - 4 * n, n);
    const all = { vert: take(Float32Array, 3 * d.nlookvert), face: take(Uint32Array, 3 * d.nlookface), coord: take(Float32Array, 2 * d.nlookcoord), body: take(Int32Array, d.nbone),
                  start: take(Int32Array, d.nbone), count: take(Int32Array, d.nbone), pos: take(Float32Array, 3 * d.nbone), quat: take(Float32Array, 4 * d.nbone),
                  of: take(Int32Array, d.nbonevert), weight: take(Float32Array, d.nbonevert) };
    this.scene = scene;
    this.list = d.skins.map(skin => new Skin(scene, skin, all));
  }

  update(frame) {
    for (const skin of this.list) {
      skin.mesh.visible = !!this.scene.groups[skin.skin.group];
      if (skin.mesh.visible) skin.move(frame.BODY);
    }
  }
}
