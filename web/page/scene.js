// SPDX-License-Identifier: Apache-2.0
// The scene as three.js objects: a group per body that frames move; geoms and sites hang on it.
import * as THREE from './three.module.js';
import { Shapes, TYPE } from './shapes.js';
import { Textures } from './textures.js';

const CHECKER = 2;
const srgb = rgb => new THREE.Color().setRGB(rgb[0], rgb[1], rgb[2], THREE.SRGBColorSpace);
const css = rgb => '#' + srgb(rgb).getHexString();

/** 1, 2 or 5 times a power of ten. */
function round(x) {
  const p = 10 ** Math.floor(Math.log10(x));
  return x >= 5 * p ? 5 * p : x >= 2 * p ? 2 * p : p;
}

/** Two by two squares, or a grid line along two sides. */
function pattern(first, second, grid) {
  const n = 128, canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  canvas.width = canvas.height = n;
  pen.fillStyle = first;
  pen.fillRect(0, 0, n, n);
  pen.fillStyle = second;
  if (grid) pen.fillRect(0, 0, n, 2), pen.fillRect(0, 0, 2, n);
  else pen.fillRect(0, 0, n / 2, n / 2), pen.fillRect(n / 2, n / 2, n / 2, n / 2);
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.anisotropy = 8;
  return texture;
}

export class Scene {
  constructor(description, data) {
    this.description = description;
    this.root = new THREE.Scene();
    const dark = matchMedia('(prefers-color-scheme: dark)'), haze = new THREE.Color();
    const tint = () => haze.set(dark.matches ? 0x16191d : 0xe3e9ee);
    dark.addEventListener('change', tint);
    tint();
    this.root.background = haze;
    this.root.fog = new THREE.Fog(haze, 6 * description.extent, 22 * description.extent); // where floors end
    this.root.fog.color = haze;
    this.shapes = new Shapes(description, data);
    this.textures = new Textures(description, data);
    this.bodies = description.bodies.map(() => new THREE.Group());
    this.bodies.forEach(body => this.root.add(body));
    this.sites = new Set();
    this.geoms = description.geoms.map((g, i) => this.addGeom(g, i));
    description.sites.forEach((s, i) => this.addSite(s, i));
    this.addFrames();
    this.addLights();
    this.addCameras();
    this.addTendons();
    this.show('sites', false), this.show('frames', false), this.show('cameras', false), this.show('lights', false);
    this.groups = [true, true, true, false, false, false];
    this.showGroups();
  }

  // ---- what is there ------------------------------------------------------------------------------

  material(item) {
    const m = this.description.materials[item.material] ?? { specular: 0.5, shininess: 0.5, emission: 0, reflectance: 0 };
    const [r, g, b, alpha] = item.rgba, color = srgb([r, g, b]);
    const material = new THREE.MeshPhongMaterial({ color, specular: new THREE.Color().setScalar(0.35 * m.specular),
      shininess: 4 + 60 * m.shininess, transparent: alpha < 1, opacity: alpha, depthWrite: alpha >= 0.99 });
    if (m.emission > 0) material.emissive.copy(color), material.emissiveIntensity = m.emission;
    return material;
  }

  /** A floor has its checker, or else a grid. */
  floor(geom, material) {
    const { extent, materials, textures } = this.description, m = materials[geom.material];
    const texture = textures[m?.texture], checker = texture?.builtin === CHECKER, unit = round(extent / 4);
    const soft = (a, b) => a.map((x, k) => 0.5 * (x + b[k]) + 0.35 * (x - b[k])); // a floor should not shout
    const color = geom.rgba.slice(0, 3), line = color.map(x => 0.7 * x);
    material.map = checker ? pattern(css(soft(texture.rgb1, texture.rgb2)), css(soft(texture.rgb2, texture.rgb1)))
                           : pattern(css(color), css(line), true);
    if (!checker) material.color.set(0xffffff);
    material.map.repeat.set(...[0, 1].map(k => {
      const half = geom.size[k] || 20 * extent, cell = checker ? Math.min(5 * unit, Math.max(0.05 * unit, (geom.size[k] || 0.5) / (m.repeat[k] || 1))) * 2 : unit;
      return 2 * half / cell;
    }));
    material.side = THREE.DoubleSide;
    material.specular.setScalar(0);
  }

  place(object, item, body) {
    object.position.fromArray(item.pos);
    object.quaternion.set(item.quat[1], item.quat[2], item.quat[3], item.quat[0]);
    this.bodies[body].add(object);
    return object;
  }

  addGeom(geom, index) {
    const material = this.material(geom), solid = geom.type !== TYPE.PLANE;
    if (!solid && this.textures.of(geom) < 0) this.floor(geom, material);
    const shape = this.shapes.get(geom.type, geom.size, geom.data);
    this.textures.put(geom, material, shape);
    const mesh = new THREE.Mesh(shape, material);
    if (!solid) material.side = THREE.DoubleSide;
    mesh.castShadow = solid && geom.rgba[3] > 0.9;
    mesh.receiveShadow = true;
    mesh.userData = { kind: 'geom', index, body: geom.body, solid };
    return this.place(mesh, geom, geom.body);
  }

  addSite(site, index) {
    const mesh = new THREE.Mesh(this.shapes.get(site.type, site.size, site.data), this.material(site));
    mesh.userData = { kind: 'site', index, body: site.body, class: 'sites' };
    let object = mesh;
    if (site.meshpos) { // a mesh is kept about its middle, but drawn where its file has it
      mesh.position.fromArray(site.meshpos);
      mesh.quaternion.set(site.meshquat[1], site.meshquat[2], site.meshquat[3], site.meshquat[0]);
      object = new THREE.Group().add(mesh);
    }
    this.sites.add(this.place(object, site, site.body));
  }

  addFrames() {
    const size = 0.6 * this.description.meansize;
    this.frames = this.bodies.map((body, i) => {
      const axes = new THREE.AxesHelper(i ? size : 2 * size);
      body.add(axes);
      return axes;
    });
  }

  addLights() {
    const { lights, headlight, ambient, extent, center } = this.description, scale = 2.3;
    this.root.add(new THREE.HemisphereLight(0xffffff, 0xb9b2a8, 1.2 + 2 * Math.max(...ambient)));
    this.head = new THREE.DirectionalLight(0xffffff, scale * Math.max(...headlight));
    this.root.add(this.head, this.head.target);
    const list = lights.length ? lights : [{ directional: 1, shadow: 1, active: 1, diffuse: [0.7, 0.7, 0.7], free: true }];
    let shadows = 1; // one light with shadows is enough for a browser without a graphics card
    this.lights = list.map(light => {
      const lamp = new THREE.DirectionalLight(new THREE.Color(...light.diffuse), light.active ? scale / Math.sqrt(list.length) : 0);
      const marker = new THREE.Mesh(new THREE.SphereGeometry(0.03 * extent, 12, 8), new THREE.MeshBasicMaterial({ color: 0xffcc33 }));
      lamp.castShadow = light.active && light.shadow && shadows-- > 0;
      Object.assign(lamp.shadow.camera, { left: -1.3 * extent, right: 1.3 * extent, top: 1.3 * extent, bottom: -1.3 * extent, near: 0.01 * extent, far: 12 * extent });
      lamp.shadow.mapSize.set(2048, 2048);
      lamp.shadow.normalBias = 0.004 * extent;
      lamp.shadow.bias = -0.0002;
      lamp.position.set(center[0] + extent, center[1] - 0.7 * extent, center[2] + 2.5 * extent);
      lamp.target.position.fromArray(center);
      this.root.add(lamp, lamp.target, marker);
      return { lamp, marker, ...light };
    });
  }

  addCameras() {
    const size = 0.08 * this.description.extent;
    this.cameras = this.description.cameras.map(c => {
      const camera = new THREE.PerspectiveCamera(c.fovy, 4 / 3, 0.01 * this.description.extent, 100 * this.description.extent);
      const box = new THREE.Mesh(new THREE.ConeGeometry(0.7 * size, size, 4).rotateX(Math.PI / 2), new THREE.MeshPhongMaterial({ color: 0x4a6a8a }));
      camera.matrixAutoUpdate = false;
      this.root.add(camera, box);
      return { camera, box };
    });
  }

  addTendons() {
    const count = this.description.tendons.length ? 2048 : 0;
    this.tendons = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2), new THREE.MeshPhongMaterial(), Math.max(1, count));
    this.tendons.count = 0;
    this.tendons.castShadow = true;
    this.tendons.frustumCulled = false;
    this.root.add(this.tendons);
  }

  // ---- what is shown ---------------------------------------------------------------------------------

  show(kind, on) {
    const all = { sites: () => [...this.sites], frames: () => this.frames, cameras: () => this.cameras.map(c => c.box),
                  lights: () => this.lights.map(l => l.marker), tendons: () => [this.tendons] };
    if (kind === 'shadows') this.lights.forEach(l => { l.lamp.castShadow = on && !!l.shadow && l === this.lights.find(x => x.shadow); });
    else all[kind]().forEach(object => { object.visible = on; });
  }

  showGroups() {
    this.geoms.forEach((mesh, i) => { mesh.visible = this.groups[this.description.geoms[i].group] && this.description.geoms[i].rgba[3] > 0.01; });
  }

  // ---- frames ---------------------------------------------------------------------------------------------

  update(frame) {
    const b = frame.BODY;
    this.bodies.forEach((body, i) => {
      body.position.set(b[7 * i], b[7 * i + 1], b[7 * i + 2]);
      body.quaternion.set(b[7 * i + 4], b[7 * i + 5], b[7 * i + 6], b[7 * i + 3]);
    });
    if (frame.CAMP) this.cameras.forEach((c, i) => this.moveCamera(c, frame.CAMP.subarray(3 * i), frame.CAMM.subarray(9 * i)));
    if (frame.LITP) this.lights.forEach((l, i) => this.moveLight(l, frame.LITP.subarray(3 * i), frame.LITD.subarray(3 * i)));
    if (frame.TEND) this.moveTendons(frame.TEND);
  }

  moveCamera({ camera, box }, p, m) {
    camera.matrix.set(m[0], m[1], m[2], p[0], m[3], m[4], m[5], p[1], m[6], m[7], m[8], p[2], 0, 0, 0, 1);
    camera.matrixWorldNeedsUpdate = true;
    camera.matrix.decompose(box.position, box.quaternion, box.scale);
  }

  /** Shadows cover the scene's extent around its centre, whatever the lamp's distance. */
  moveLight({ lamp, marker, directional }, p, d) {
    const { center, extent } = this.description, aim = new THREE.Vector3(d[0], d[1], d[2]), at = new THREE.Vector3(...center);
    marker.position.set(p[0], p[1], p[2]);
    if (!directional) aim.copy(at).sub(marker.position);
    if (aim.lengthSq() < 1e-12) aim.set(0, 0, -1);
    lamp.target.position.copy(at);
    lamp.position.copy(at).addScaledVector(aim.normalize(), -4 * extent);
  }

  moveTendons(pieces) {
    const n = Math.min(pieces.length / 7, this.tendons.instanceMatrix.count), dummy = new THREE.Object3D(), to = new THREE.Vector3();
    for (let i = 0; i < n; i++) {
      const [id, ax, ay, az, bx, by, bz] = pieces.subarray(7 * i, 7 * i + 7), tendon = this.description.tendons[id];
      dummy.position.set((ax + bx) / 2, (ay + by) / 2, (az + bz) / 2);
      dummy.lookAt(to.set(bx, by, bz));
      dummy.scale.set(tendon.width || 0.003, tendon.width || 0.003, Math.max(1e-6, Math.hypot(bx - ax, by - ay, bz - az)));
      dummy.updateMatrix();
      this.tendons.setMatrixAt(i, dummy.matrix);
      this.tendons.setColorAt(i, srgb(tendon.rgba));
    }
    this.tendons.count = n;
    this.tendons.instanceMatrix.needsUpdate = true;
    if (this.tendons.instanceColor) this.tendons.instanceColor.needsUpdate = true;
  }
}
