// SPDX-License-Identifier: Apache-2.0
// Geometries of geoms, from the scene's description.
import * as THREE from './three.module.js';
import { toCreasedNormals } from './BufferGeometryUtils.js';

export const TYPE = { PLANE: 0, HFIELD: 1, SPHERE: 2, CAPSULE: 3, ELLIPSOID: 4, CYLINDER: 5, BOX: 6, MESH: 7 };
const upright = geometry => geometry.rotateX(Math.PI / 2); // three's cylinders are along y

/** Where in meshes.bin the texture coordinates, the faces' indices into them, and the pixels begin. */
export function places(scene) {
  const coord = 12 * (scene.nmeshvert + scene.nmeshface) + 4 * scene.nhfielddata + 12 * (scene.nskinface + scene.nskin);
  const face = coord + 8 * scene.ncoord;
  const look = face + 12 * scene.nmeshface; // skins
  return { coord, face, look, pixel: look + 12 * (scene.nlookvert + scene.nlookface) + 8 * scene.nlookcoord + 40 * scene.nbone + 8 * scene.nbonevert };
}

function mesh(scene, data, id) {
  const m = scene.meshes[id], geometry = new THREE.BufferGeometry();
  const vert = new Float32Array(data, 12 * m.vert, 3 * m.nvert);
  const face = new Uint32Array(data, 12 * (scene.nmeshvert + m.face), 3 * m.nface);
  geometry.setAttribute('position', new THREE.BufferAttribute(vert, 3));
  geometry.setIndex(new THREE.BufferAttribute(face, 1));
  if (m.ncoord) return toCreasedNormals(printed(scene, data, m, geometry), 40 * Math.PI / 180);
  return toCreasedNormals(geometry, 40 * Math.PI / 180);
}

/** With texture coordinates of its own for each corner of the faces. */
function printed(scene, data, m, indexed) {
  const at = places(scene), geometry = indexed.toNonIndexed();
  const coord = new Float32Array(data, at.coord + 8 * m.coord, 2 * m.ncoord), face = new Uint32Array(data, at.face + 12 * m.face, 3 * m.nface);
  const uv = new Float32Array(2 * face.length);
  face.forEach((c, i) => { uv[2 * i] = coord[2 * c], uv[2 * i + 1] = coord[2 * c + 1]; });
  geometry.setAttribute('uv', new THREE.BufferAttribute(uv, 2));
  geometry.userData.printed = true;
  return geometry;
}

function heights(scene, data, id) {
  const h = scene.hfields[id], z = new Float32Array(data, 12 * (scene.nmeshvert + scene.nmeshface) + 4 * h.start, h.rows * h.cols);
  const geometry = new THREE.PlaneGeometry(2 * h.size[0], 2 * h.size[1], h.cols - 1, h.rows - 1);
  const pos = geometry.attributes.position;
  for (let r = 0; r < h.rows; r++) // three's first row is at +y, ours at -y
    for (let c = 0; c < h.cols; c++) pos.setZ((h.rows - 1 - r) * h.cols + c, h.size[2] * z[r * h.cols + c]);
  geometry.computeVertexNormals();
  return geometry;
}

export class Shapes {
  constructor(scene, data) {
    this.scene = scene;
    this.data = data;
    this.cache = new Map();
  }

  /** The geometry of a geom or site; equal ones are shared. */
  get(type, size, id = -1) {
    const name = [type, id, ...(type === TYPE.MESH || type === TYPE.HFIELD ? [] : size)].join();
    if (!this.cache.has(name)) this.cache.set(name, this.make(type, size, id));
    return this.cache.get(name);
  }

  make(type, [a, b, c], id) {
    const far = 20 * this.scene.extent;
    switch (type) {
      case TYPE.PLANE: return new THREE.PlaneGeometry(2 * (a || far), 2 * (b || far));
      case TYPE.HFIELD: return heights(this.scene, this.data, id);
      case TYPE.SPHERE: return new THREE.SphereGeometry(a, 32, 20);
      case TYPE.CAPSULE: return upright(new THREE.CapsuleGeometry(a, 2 * b, 10, 28));
      case TYPE.ELLIPSOID: return new THREE.SphereGeometry(1, 32, 20).scale(a, b, c);
      case TYPE.CYLINDER: return upright(new THREE.CylinderGeometry(a, a, 2 * b, 36));
      case TYPE.BOX: return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
      default: return mesh(this.scene, this.data, id);
    }
  }
}
