// SPDX-License-Identifier: Apache-2.0
// Skins of soft bodies, stress on them, and the polygons on which pressure fields touch. Colours go from 0 to the scale's end.
import * as THREE from './three.module.js';
import { OP } from './stream.js';

const RAMP = [0x1b2a6b, 0x1f78b4, 0x2fb08a, 0xd8d23a, 0xe5772e, 0xb3121d].map(hex => new THREE.Color(hex));
const CREASE = Math.cos(40 * Math.PI / 180), BEAT = 1000; // ms: how often the server is asked for stress
export const GRADIENT = `linear-gradient(to right, ${RAMP.map(c => '#' + c.getHexString()).join(', ')})`;

/** Colour of a number between 0 and 1, into three floats. */
function paint(x, to, at) {
  const t = Math.min(1, Math.max(0, x)) * (RAMP.length - 1), i = Math.min(RAMP.length - 2, Math.floor(t)), a = RAMP[i], b = RAMP[i + 1], s = t - i;
  to[at] = a.r + s * (b.r - a.r);
  to[at + 1] = a.g + s * (b.g - a.g);
  to[at + 2] = a.b + s * (b.b - a.b);
}

/** The end of a scale: grows at once, shrinks slowly, so that colours do not flicker. */
class Scale {
  constructor() { this.end = 0; }

  see(most) {
    if (Number.isFinite(most)) this.end = Math.max(most, 0.97 * this.end);
    return this.end || 1;
  }
}

/** Corners of a vertex whose faces meet at more than 40 degrees at rest become vertices of their own: edges stay sharp. */
function split(rest, faces) {
  const groups = new Map(), from = [], index = new Uint32Array(faces.length), p = k => new THREE.Vector3().fromArray(rest, 3 * k);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [p(faces[f]), p(faces[f + 1]), p(faces[f + 2])], normal = b.sub(a).cross(c.sub(a)).normalize();
    for (let k = f; k < f + 3; k++) {
      const list = groups.get(faces[k]) ?? [];
      let group = list.find(g => g.normal.dot(normal) > CREASE);
      if (!group) groups.set(faces[k], [...list, group = { normal, vertex: from.push(faces[k]) - 1 }]);
      index[k] = group.vertex;
    }
  }
  return { from, index };
}

class Skin {
  constructor(scene, soft, rest, faces) {
    const { from, index } = split(rest, faces), geometry = new THREE.BufferGeometry();
    this.from = from; // of each vertex here: its place in the frame
    this.position = new THREE.BufferAttribute(new Float32Array(3 * from.length), 3).setUsage(THREE.DynamicDrawUsage);
    this.color = new THREE.BufferAttribute(new Float32Array(3 * from.length), 3).setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute('position', this.position);
    geometry.setAttribute('color', this.color);
    geometry.setIndex(new THREE.BufferAttribute(index, 1));
    this.plain = scene.material(soft);
    this.stressed = new THREE.MeshPhongMaterial({ vertexColors: true, specular: 0x111111 });
    this.mesh = new THREE.Mesh(geometry, this.plain);
    this.mesh.castShadow = soft.rgba[3] > 0.9;
    this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    scene.root.add(this.mesh);
    this.move(rest);
  }

  move(x) {
    const to = this.position.array;
    this.from.forEach((v, i) => { to[3 * i] = x[3 * v]; to[3 * i + 1] = x[3 * v + 1]; to[3 * i + 2] = x[3 * v + 2]; });
    this.position.needsUpdate = true;
    this.mesh.geometry.computeVertexNormals();
  }

  /** values: of the frame's vertices; null: its own colour. */
  tint(values, end) {
    this.mesh.material = values ? this.stressed : this.plain;
    if (!values) return;
    this.from.forEach((v, i) => paint(values[v] / end, this.color.array, 3 * i));
    this.color.needsUpdate = true;
  }
}

export class Softs {
  constructor(scene, data) {
    const d = scene.description, start = 12 * (d.nmeshvert + d.nmeshface) + 4 * d.nhfielddata;
    const faces = new Uint32Array(data, start, 3 * d.nskinface), rest = new Float32Array(data, start + 12 * d.nskinface, 3 * d.nskin);
    this.scene = scene;
    this.skins = d.softs.map(s => new Skin(scene, s, rest, faces.subarray(3 * s.face, 3 * (s.face + s.nface))));
    this.present = d.softs.length > 0 || d.geoms.some(g => g.compliant);
    this.stress = false;
    this.patches = true;
    this.count = 0; // polygons that are drawn
    this.stressScale = new Scale();
    this.pressureScale = new Scale();
    this.addPatches();
    this.showGroups();
  }

  addPatches() {
    const material = new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide, depthTest: false, transparent: true, opacity: 0.85 });
    this.polygons = new THREE.Mesh(new THREE.BufferGeometry(), material);
    this.polygons.frustumCulled = false;
    this.polygons.renderOrder = 9; // over what hides it, under the arrows
    this.polygons.visible = false;
    this.scene.root.add(this.polygons);
    this.room(1024);
  }

  /** Attributes for at least so many vertices. */
  room(n) {
    const g = this.polygons.geometry;
    if (g.attributes.position?.count >= n) return;
    g.dispose();
    for (const name of ['position', 'color']) g.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * 2 * n), 3).setUsage(THREE.DynamicDrawUsage));
  }

  showGroups() { this.skins.forEach((skin, i) => { const s = this.scene.description.softs[i]; skin.mesh.visible = this.scene.groups[s.group] && s.rgba[3] > 0.01; }); }

  /** Frames carry stress only for some seconds after a page has asked. */
  ask(stream, now) {
    if (!this.stress || now - (this.asked ?? -BEAT) < BEAT) return;
    this.asked = now;
    stream.send(OP.STRESS);
  }

  update(frame) {
    if (frame.SKIN) this.skins.forEach(skin => skin.move(frame.SKIN));
    const values = this.stress && frame.STRS ? frame.STRS : null, end = values ? this.stressScale.see(values.reduce((a, b) => Math.max(a, b), 0)) : 1;
    this.skins.forEach(skin => skin.tint(values, end));
    this.drawPatches(this.patches && frame.PTCH ? frame.PTCH : []);
  }

  drawPatches(rows) {
    let most = 0, triangles = 0, at = 0;
    this.count = 0;
    for (let i = 0; i < rows.length; i += 2 + 3 * rows[i + 1]) most = Math.max(most, rows[i]), triangles += rows[i + 1] - 2, this.count++;
    this.polygons.visible = triangles > 0;
    if (!triangles) return;
    this.room(3 * triangles);
    const { position, color } = this.polygons.geometry.attributes, end = this.pressureScale.see(most), rgb = [0, 0, 0];
    const put = (i, k) => { for (let c = 0; c < 3; c++) position.array[at] = rows[i + 2 + 3 * k + c], color.array[at++] = rgb[c]; };
    for (let i = 0; i < rows.length; i += 2 + 3 * rows[i + 1]) {
      paint(rows[i] / end, rgb, 0);
      for (let k = 2; k < rows[i + 1]; k++) put(i, 0), put(i, k - 1), put(i, k); // a fan
    }
    this.polygons.geometry.setDrawRange(0, 3 * triangles);
    position.needsUpdate = color.needsUpdate = true;
  }
}
