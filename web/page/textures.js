// SPDX-License-Identifier: Apache-2.0
// Textures on geoms: pictures by coordinates, cubes by the direction from the geom's middle, as src/record/scene.c lays them.
import * as THREE from './three.module.js';
import { TYPE, places } from './shapes.js';

const PICTURE = 0, CUBE = 1, CHECKER = 2;

function smooth(texture, wrap) {
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.wrapS = texture.wrapT = wrap;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.magFilter = THREE.LinearFilter;
  texture.generateMipmaps = true;
  texture.anisotropy = 8;
  texture.needsUpdate = true;
  return texture;
}

export class Textures {
  constructor(scene, data) {
    this.scene = scene;
    this.data = data;
    this.cache = new Map();
  }

  /** Rows of a texture as four bytes a pixel. */
  pixels({ width, start }, row, rows) {
    const n = width * rows, rgb = new Uint8Array(this.data, places(this.scene).pixel + start + 3 * width * row, 3 * n), out = new Uint8Array(4 * n);
    for (let i = 0; i < n; i++) out[4 * i] = rgb[3 * i], out[4 * i + 1] = rgb[3 * i + 1], out[4 * i + 2] = rgb[3 * i + 2], out[4 * i + 3] = 255;
    return out;
  }

  make(texture) {
    const { type, width, height } = texture, square = i => new THREE.DataTexture(this.pixels(texture, height > width ? i * width : 0, width), width, width);
    if (type === PICTURE) return smooth(new THREE.DataTexture(this.pixels(texture, 0, height), width, height), THREE.RepeatWrapping);
    return smooth(new THREE.CubeTexture([0, 1, 2, 3, 4, 5].map(square)), THREE.ClampToEdgeWrapping);
  }

  get(id) {
    if (!this.cache.has(id)) this.cache.set(id, this.make(this.scene.textures[id]));
    return this.cache.get(id);
  }

  /** The geom's texture, if it has one that is drawn: planes have a checker of their own. */
  of(geom) {
    const id = this.scene.materials[geom.material]?.texture ?? -1, texture = this.scene.textures[id];
    if (!texture?.width || texture.type > CUBE) return -1;
    return geom.type === TYPE.PLANE && texture.type === PICTURE && texture.builtin === CHECKER ? -1 : id;
  }

  /** Half sizes along x, y and z. */
  half({ type, size: [a, b, c] }) {
    const round = [TYPE.SPHERE, TYPE.CAPSULE, TYPE.CYLINDER].includes(type);
    return [a, round ? a : b, type === TYPE.SPHERE ? a : round ? b : c].map(x => x || 1);
  }

  /** Repetitions of a picture around a primitive, or a metre along x and y, and what is added. */
  picture(geom) {
    const { uniform, repeat } = this.scene.materials[geom.material], half = this.half(geom), wrap = WRAP[geom.type] ?? 0;
    const times = [0, 1].map(k => repeat[k] * (uniform ? half[k] : 1));
    if (wrap) return { wrap, half, map: times, shift: [0, 0] };
    const edge = k => geom.type === TYPE.PLANE && geom.size[k] > 0;
    return { wrap, half, map: [0.5 * times[0] / half[0], -0.5 * times[1] / half[1]], shift: [0, 1].map(k => edge(k) ? 0.5 * times[k] : 0.5) };
  }

  /** Puts the geom's texture on its material. */
  put(geom, material, geometry) {
    const id = this.of(geom);
    if (id < 0) return;
    const texture = this.get(id), half = this.half(geom);
    if (texture.isCubeTexture) {
      const primitive = geom.type >= TYPE.SPHERE && geom.type <= TYPE.BOX;
      const scale = half.map(x => primitive && !this.scene.materials[geom.material].uniform ? 1 / x : 1);
      shade(material, 'cube', { cube: texture, cubeScale: new THREE.Vector3(...scale) }, 'uniform samplerCube cube; uniform vec3 cubeScale;',
        'texture(cube, cubeScale * vLocal).rgb');
    } else if (geometry.userData.printed) material.map = texture;
    else {
      const { wrap, map, shift } = this.picture(geom);
      shade(material, 'picture', { picture: texture, half_: new THREE.Vector3(...half), map_: new THREE.Vector2(...map), shift_: new THREE.Vector2(...shift), wrap_: wrap },
        LAID, 'laid(vLocal)');
    }
  }
}

// 0: along x and y; 1: on the sides of a box; 2: around a ball; 3: around a cylinder; 4: around a capsule
const WRAP = { [TYPE.BOX]: 1, [TYPE.SPHERE]: 2, [TYPE.ELLIPSOID]: 2, [TYPE.CYLINDER]: 3, [TYPE.CAPSULE]: 4 };

const LAID = `
uniform sampler2D picture; uniform vec3 half_; uniform vec2 map_, shift_; uniform int wrap_;
float polar(vec2 across, float z) { return atan(length(across), z) / 3.14159265; }
vec2 place(vec3 q) {
  vec3 d = q / half_, size = abs(d);
  float z = q.z - clamp(q.z, -half_.z, half_.z), turn = atan(d.y, d.x) / 6.2831853;
  if (turn < 0.0) turn += 1.0;
  if (wrap_ == 0) return map_ * q.xy + shift_;
  if (wrap_ == 1) {
    if (size.z >= max(size.x, size.y)) return map_ * (0.5 + 0.5 * vec2(d.x, -d.y));
    return map_ * (0.5 + 0.5 * vec2(size.x >= size.y ? d.y : d.x, -d.z));
  }
  if (wrap_ == 2) return map_ * vec2(turn, polar(d.xy, d.z));
  if (wrap_ == 3 && size.z > 0.9999) return map_ * (0.5 + 0.5 * d.xy);
  if (wrap_ == 4 && z != 0.0) return map_ * vec2(turn, 2.0 * polar(q.xy, z) - (z < 0.0 ? 1.0 : 0.0));
  return map_ * vec2(turn, 0.5 - 0.5 * d.z);
}
vec3 laid(vec3 q) { // where the picture comes round its coordinate jumps, which is no sign of being far
  vec2 uv = place(q), x = dFdx(uv), y = dFdy(uv), other = vec2(fract(uv.x / max(map_.x, 1e-6) + 0.5) * map_.x, uv.y), ox = dFdx(other), oy = dFdy(other);
  if (wrap_ >= 2 && abs(ox.x) + abs(oy.x) < abs(x.x) + abs(y.x)) x = ox, y = oy;
  return textureGrad(picture, uv, x, y).rgb;
}`;

/** Multiplies the material's colour by what an expression of vLocal, the place in the geom's axes, says. */
function shade(material, key, uniforms, head, expression) {
  material.onBeforeCompile = shader => {
    for (const [name, value] of Object.entries(uniforms)) shader.uniforms[name] = { value };
    shader.vertexShader = shader.vertexShader.replace('#include <common>', '#include <common>\nvarying vec3 vLocal;')
      .replace('#include <begin_vertex>', '#include <begin_vertex>\nvLocal = position;');
    shader.fragmentShader = shader.fragmentShader.replace('#include <common>', `#include <common>\nvarying vec3 vLocal;\n${head}`)
      .replace('#include <map_fragment>', `#include <map_fragment>\ndiffuseColor.rgb *= ${expression};`);
  };
  material.customProgramCacheKey = () => key;
}
