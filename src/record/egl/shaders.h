/* SPDX-License-Identifier: Apache-2.0 */
/* Shaders of the pictures by EGL: the formulas of raster.c, shadow.c and shade.c once more, in GLSL. Places are in the world's axes
   and counted from the eye. Depth is kept as a key that is larger where nearer: near / depth, or 1 - depth / range in parallel. */
#ifndef STI_RECORD_EGL_SHADERS_H
#define STI_RECORD_EGL_SHADERS_H

/* Blocks that C fills (paint.c): the structs view, thing and light. */
static const char glsl_head[] =
    "#version 300 es\n"
    "precision highp float; precision highp int; precision highp sampler2D;\n"
    "precision highp sampler2DShadow; precision highp sampler2DArrayShadow;\n"
    "layout(std140) uniform View { vec4 right, up, forward, from, screen, area; };\n"
    "layout(std140) uniform Thing { vec4 rot[3], scale, color, other, gloss, plane, what, lay, shift; };\n"
    "vec3 into_view(vec3 p) { p -= from.xyz; return vec3(dot(right.xyz, p), dot(up.xyz, p), dot(forward.xyz, "
    "p)); }\n";

/* Corners of meshes. Rows of the picture go down, as those of the window go up. */
static const char glsl_mesh[] =
    "layout(location = 0) in vec3 corner; layout(location = 1) in vec3 outward; layout(location = 2) in vec3 "
    "own;\n"
    "out vec3 at, normal, tint;\n"
    "vec3 turn(vec3 v) { return vec3(dot(rot[0].xyz, v), dot(rot[1].xyz, v), dot(rot[2].xyz, v)); }\n"
    "void main() {\n"
    "  vec3 local = corner * scale.xyz + vec3(0, 0, corner.z > 0.0 ? scale.w : -scale.w);\n"
    "  at = turn(local) + vec3(rot[0].w, rot[1].w, rot[2].w);\n"
    "  normal = turn(outward / scale.xyz); tint = own;\n"
    "  vec3 v = into_view(at);\n"
    "  float w = area.z > 0.0 ? 1.0 : v.z;\n"
    "  gl_Position = vec4(2.0 * (screen.z * w + screen.x * v.x) / area.x - w,\n"
    "                     2.0 * (screen.w * w - screen.y * v.y) / area.y - w,\n"
    "                     area.z > 0.0 ? 1.0 - v.z / area.w : from.w, w);\n"
    "}\n";

/* One triangle that covers everything. */
static const char glsl_cover[] =
    "void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0.5, 1); }\n";

static const char glsl_nothing[] = "void main() {}\n";

/* Of planes, sky and mirrors: the ray of a sample, 1 long along the axis. */
static const char glsl_ray[] =
    "vec3 ray() { return forward.xyz + (gl_FragCoord.x - screen.z) / screen.x * right.xyz\n"
    "                    + (screen.w - gl_FragCoord.y) / screen.y * up.xyz; }\n";

/* surface(): place, normal and colour there; false where there is none. */
static const char glsl_mesh_surface[] = "in vec3 at, normal, tint;\n"
                                        "bool surface(out vec3 p, out vec3 n) {\n"
                                        "  p = at; n = normalize(normal);\n"
                                        "  if (what.z == 0.0 && !gl_FrontFacing) n = -n;\n"
                                        "  return true;\n"
                                        "}\n";

static const char glsl_plane_surface[] =
    "const vec3 tint = vec3(0);\n"
    "bool surface(out vec3 p, out vec3 n) {\n"
    "  vec3 middle = vec3(rot[0].w, rot[1].w, rot[2].w), dir = ray();\n"
    "  n = vec3(rot[0].z, rot[1].z, rot[2].z);\n"
    "  float height = dot(n, from.xyz - middle), depth = height / -dot(n, dir);\n"
    "  p = from.xyz + depth * dir;\n"
    "  vec2 place = vec2(dot(vec3(rot[0].x, rot[1].x, rot[2].x), p - middle),\n"
    "                    dot(vec3(rot[0].y, rot[1].y, rot[2].y), p - middle));\n"
    "  if (!(dot(n, dir) < 0.0) || depth < from.w) return false;\n"
    "  if ((plane.x > 0.0 && abs(place.x) > plane.x) || (plane.y > 0.0 && abs(place.y) > plane.y)) return "
    "false;\n"
    "  gl_FragDepth = from.w / depth;\n"
    "  return true;\n"
    "}\n";

static const char glsl_objects[] = "out vec4 result;\n"
                                   "void main() {\n"
                                   "  vec3 p, n;\n"
                                   "  if (!surface(p, n)) discard;\n"
                                   "  result = vec4(into_view(p).z, what.x, 0, 1);\n"
                                   "}\n";

static const char glsl_light[] =
    "layout(std140) uniform Light {\n"
    "  vec4 sky_right[32], sky_up[32], sky_forward[32], sky_color[32], tap[32];\n"
    "  vec4 sky_from, sky_map, key_right, key_up, key_forward, key_from, key_map, key_more;\n"
    "  vec4 lamp[32];\n" /* of each: place or direction, positional; colour, casts shadows; specular; - */
    "  vec4 head, head_specular, ambient, zenith, horizon, ground, floor_color;\n"
    "};\n"
    "float smooth_step(float x) { x = clamp(x, 0.0, 1.0); return x * x * (3.0 - 2.0 * x); }\n"
    "vec3 background(vec3 dir) {\n"
    "  return dir.z >= 0.0 ? mix(horizon.xyz, zenith.xyz, smooth_step(2.2 * dir.z))\n"
    "                      : mix(horizon.xyz, ground.xyz, smooth_step(-1.2 * dir.z));\n"
    "}\n";

static const char glsl_background[] = "out vec4 result;\n"
                                      "void main() { result = vec4(background(normalize(ray())), 1); }\n";

/* shadow.c. key_map: pixels a unit, middle, texel, size; key_more: parallel, range, exists, near */
static const char glsl_shadow[] =
    "uniform sampler2D key_depth; uniform sampler2DShadow key_open; uniform sampler2DArrayShadow sky_open;\n"
    "float key_light(vec3 p, vec3 n, vec3 dir, bool positional) {\n"
    "  if (key_more.z == 0.0) return 1.0;\n"
    "  if (!positional && dot(n, dir) <= 0.0) return 0.0;\n"
    "  bool parallel = key_more.x > 0.0;\n"
    "  vec3 d = p - key_from.xyz;\n"
    "  float z = dot(d, key_forward.xyz), texel = key_map.z * (parallel ? 1.0 : z), size = key_map.w;\n"
    "  float cosine = dot(n, key_forward.xyz);\n"
    "  d += 1.5 * texel * (3.0 - 2.0 * cosine * cosine) * n;\n"
    "  vec3 v = vec3(dot(d, key_right.xyz), dot(d, key_up.xyz), dot(d, key_forward.xyz));\n"
    "  float w = parallel ? 1.0 : 1.0 / v.z;\n"
    "  vec2 at = key_map.y + key_map.x * w * vec2(v.x, -v.y);\n"
    "  if (v.z <= key_more.w || any(lessThan(at, vec2(0))) || any(greaterThan(at, vec2(size - 1.0)))) return "
    "1.0;\n"
    "  float depth = v.z - 0.5 * texel, key = parallel ? 1.0 - depth / key_more.y : key_more.w / depth;\n"
    "  float reach = 0.014 * size, sum = 0.0, count = 0.0;\n"
    "  for (int i = 0; i < 32; i++) {\n"
    "    float k = texelFetch(key_depth, clamp(ivec2(at + reach * tap[i].xy), 0, int(size) - 1), 0).r;\n"
    "    if (k > key) { sum += parallel ? (1.0 - k) * key_more.y : key_more.w / k; count++; }\n"
    "  }\n"
    "  if (count == 0.0) return texture(key_open, vec3(at / size, key));\n"
    "  if (count == 32.0) return 0.0;\n"
    "  float blur = clamp(0.07 * (depth - sum / count) / (key_map.z * (parallel ? 1.0 : depth)), 1.2, "
    "reach);\n"
    "  sum = 0.0;\n"
    "  for (int i = 0; i < 32; i++) sum += texture(key_open, vec3((at + blur * tap[i].xy) / size, key));\n"
    "  return sum / 32.0;\n"
    "}\n"
    "vec3 sky_light(vec3 p, vec3 n) {\n"
    "  vec3 sum = vec3(0), d = p - sky_from.xyz;\n"
    "  float texel = sky_map.z, size = sky_map.w, range = sky_from.w;\n"
    "  for (int i = 0; i < 32; i++) {\n"
    "    float cosine = -dot(n, sky_forward[i].xyz), share = max(cosine, 0.0);\n"
    "    vec3 q = d + 1.5 * texel * (3.0 - 2.0 * cosine * cosine) * n;\n"
    "    vec2 at = sky_map.y + sky_map.x * vec2(dot(q, sky_right[i].xyz), -dot(q, sky_up[i].xyz));\n"
    "    float depth = 0.5 * range + dot(q, sky_forward[i].xyz) - 0.5 * texel;\n"
    "    float open = texture(sky_open, vec4(at / size, float(i), 1.0 - depth / range));\n"
    "    bool on = depth > -0.5 * texel && all(greaterThanEqual(at, vec2(0))) && all(lessThanEqual(at, "
    "vec2(size - 1.0)));\n"
    "    sum += share * (on ? open : 1.0) * sky_color[i].xyz;\n"
    "  }\n"
    "  return sum * 2.0 / 32.0;\n"
    "}\n";

/* shade.c. gloss: specular, shininess, emission, reflectance; plane: half sizes and cells; other.w: pattern; what: item, tinted,
   closed, plane; lay, shift: where the texture lies (paint.c) */
static const char glsl_shade[] =
    "out vec4 result; uniform sampler2D reflection, picture; uniform samplerCube cube;\n"
    "float wave_sum(float x) { return abs(x - 2.0 * floor(0.5 * x) - 1.0) - 1.0; }\n"
    "float wave(float x, float width) { return (wave_sum(x + 0.5 * width) - wave_sum(x - 0.5 * width)) / "
    "width; }\n"
    "float line_sum(float x, float thick) { return floor(x) + min(fract(x) / thick, 1.0); }\n"
    "float line(float x, float thick, float width) {\n"
    "  float sum = line_sum(x + 0.5 * width, thick) - line_sum(x - 0.5 * width, thick);\n"
    "  return clamp(sum * thick / width, 0.0, 1.0);\n"
    "}\n"
    "vec3 pattern(vec3 p, vec3 n, vec3 view, float pixel) {\n"
    "  if (other.w == 0.0) return color.xyz;\n"
    "  vec3 middle = vec3(rot[0].w, rot[1].w, rot[2].w), x = vec3(rot[0].x, rot[1].x, rot[2].x),\n"
    "       y = vec3(rot[0].y, rot[1].y, rot[2].y);\n"
    "  vec2 uv = vec2(dot(x, p - middle), dot(y, p - middle)) / plane.zw, along = vec2(dot(x, view), dot(y, "
    "view));\n"
    "  float cosine = dot(n, view);\n"
    "  vec2 stretch = sqrt(1.0 + along * along * (1.0 / max(cosine * cosine, 1e-6) - 1.0));\n"
    "  vec2 width = max(1.2 * pixel * stretch / plane.zw, vec2(1e-4));\n"
    "  if (other.w == 1.0)\n"
    "    return mix(color.xyz, other.xyz, 0.5 + 0.5 * wave(uv.x, width.x) * wave(uv.y, width.y));\n"
    "  float fine = max(line(uv.x + 0.006, 0.012, width.x), line(uv.y + 0.006, 0.012, width.y));\n"
    "  float bold = max(line(uv.x / 5.0 + 0.002, 0.004, width.x / 5.0), line(uv.y / 5.0 + 0.002, 0.004, "
    "width.y / 5.0));\n"
    "  return mix(color.xyz, other.xyz, max(0.4 * fine, 0.9 * bold));\n"
    "}\n"
    "vec2 around(vec3 q) {\n"
    "  float turn = atan(q.y / scale.y, q.x / scale.x) / 6.2831853;\n"
    "  return vec2(turn < 0.0 ? turn + 1.0 : turn, 0.5 - 0.5 * q.z / scale.z);\n"
    "}\n"
    "float polar(vec3 q) { return atan(length(q.xy), q.z) / 3.14159265; }\n"
    "vec2 place(vec3 q) {\n" /* texture.c */
    "  vec3 d = q / scale.xyz, size = abs(d);\n"
    "  float ball = q.z - clamp(q.z, -scale.w, scale.w);\n"
    "  if (lay.w == 1.0) return lay.xy * q.xy + shift.xy;\n"
    "  if (lay.w == 2.0 && size.z >= max(size.x, size.y)) return lay.xy * (0.5 + 0.5 * vec2(d.x, -d.y));\n"
    "  if (lay.w == 2.0) return lay.xy * (0.5 + 0.5 * vec2(size.x >= size.y ? d.y : d.x, -d.z));\n"
    "  if (lay.w == 3.0) return lay.xy * vec2(around(q).x, polar(d));\n"
    "  if (lay.w == 4.0) return lay.xy * (size.z > 0.9999 ? 0.5 + 0.5 * d.xy : around(q));\n"
    "  float down = ball == 0.0 ? 0.5 - 0.5 * q.z / max(scale.w, 1e-9)\n"
    "                           : 2.0 * polar(vec3(q.xy, ball)) - (ball < 0.0 ? 1.0 : 0.0);\n"
    "  return lay.xy * vec2(around(q).x, down);\n"
    "}\n"
    "vec3 texel(vec3 p) {\n"
    "  p -= vec3(rot[0].w, rot[1].w, rot[2].w);\n"
    "  vec3 q = p.x * rot[0].xyz + p.y * rot[1].xyz + p.z * rot[2].xyz;\n"
    "  if (lay.w == 7.0) return texture(cube, lay.xyz * q).rgb;\n"
    "  if (lay.w == 6.0) return texture(picture, tint.xy).rgb;\n"
    "  vec2 uv = place(q), x = dFdx(uv), y = dFdy(uv), n = vec2(max(lay.x, 1e-6), 1);\n"
    "  vec2 other = vec2(fract(uv.x / n.x + 0.5), uv.y) * n, ox = dFdx(other), oy = dFdy(other);\n"
    "  bool seam = lay.w > 2.0 && abs(ox.x) + abs(oy.x) < abs(x.x) + abs(y.x);\n"
    "  return textureGrad(picture, uv, seam ? ox : x, seam ? oy : y).rgb;\n"
    "}\n"
    "float power(float x, int squarings) { for (int i = 0; i < squarings; i++) x *= x; return x; }\n"
    "void add_light(inout vec3 diffuse, inout vec3 shine, float cosine, float gleam, float share, vec3 "
    "light, vec3 specular) {\n"
    "  int sharp = 3 + int(4.5 * gloss.y);\n"
    "  diffuse += share * (cosine + 0.3) * (cosine + 0.3) / 1.69 * smooth_step(6.0 * cosine) * light;\n"
    "  shine += share * cosine * gloss.x * power(gleam, sharp - 1) * (0.5 + 0.1 * float(sharp)) * specular;\n"
    "}\n"
    "void main() {\n"
    "  vec3 p, n;\n"
    "  if (!surface(p, n)) discard;\n"
    "  float distance = length(p - from.xyz);\n"
    "  vec3 view = (from.xyz - p) / distance, sky = sky_light(p, n), shine = vec3(0);\n"
    "  vec3 albedo = lay.w > 0.0 ? color.xyz * texel(p)\n"
    "                            : what.y > 0.0 ? tint : pattern(p, n, view, 2.0 * distance / screen.x);\n"
    "  float nv = max(dot(n, view), 0.0);\n"
    "  vec3 diffuse = 0.62 * sky + ambient.xyz + 1.5 * (0.5 - 0.5 * n.z) * floor_color.xyz;\n"
    "  for (int i = 0; i < int(ambient.w); i++) {\n"
    "    vec4 where = lamp[4 * i], light = lamp[4 * i + 1];\n"
    "    vec3 dir = where.w > 0.0 ? normalize(where.xyz - p) : where.xyz;\n"
    "    float cosine = dot(dir, n), along = max(cosine + nv, 0.0);\n"
    "    if (cosine <= 0.0) continue;\n"
    "    float share = light.w > 0.0 ? key_light(p, n, dir, where.w > 0.0) : 1.0;\n"
    "    add_light(diffuse, shine, cosine, along * along / max(2.0 + 2.0 * dot(dir, view), 1e-6), share, "
    "light.xyz,\n"
    "              lamp[4 * i + 2].xyz);\n"
    "  }\n"
    "  add_light(diffuse, shine, nv, nv * nv, 1.0, head.xyz, head_specular.xyz);\n"
    "  if (what.w == 0.0)\n"
    "    shine += gloss.x * (0.03 + 0.45 * power(1.0 - nv, 2) * (1.0 - nv)) * clamp(1.1 * sky.y, 0.0, 1.0) "
    "*\n"
    "             background(2.0 * nv * n - view);\n"
    "  vec3 c = albedo * (diffuse + gloss.z) + shine;\n"
    "  if (what.w > 0.0) {\n"
    "    float far = distance / (16.0 * head.w);\n"
    "    c = mix(c, horizon.xyz, clamp(1.0 - 1.0 / (1.0 + far * far * far), 0.0, 1.0));\n"
    "  }\n"
    "  if (what.w == 2.0) {\n"
    "    vec4 m = texelFetch(reflection, ivec2(gl_FragCoord.xy), 0);\n"
    "    c = mix(c, m.xyz, gloss.w * m.w);\n"
    "  }\n"
    "  result = vec4(c, color.w);\n"
    "}\n";

/* Four samples a pixel to bytes, as band.c. */
static const char glsl_bytes[] =
    "out vec4 result; uniform sampler2D samples;\n"
    "void main() {\n"
    "  ivec2 i = 2 * ivec2(gl_FragCoord.xy);\n"
    "  vec3 x = 0.25 * (texelFetch(samples, i, 0) + texelFetch(samples, i + ivec2(1, 0), 0) +\n"
    "                   texelFetch(samples, i + ivec2(0, 1), 0) + texelFetch(samples, i + ivec2(1, 1), "
    "0)).xyz;\n"
    "  x = 0.62 * max(x, 0.0);\n"
    "  x = clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);\n"
    "  vec3 high = 1.055 * pow(max(x, 1e-6), vec3(1.0 / 2.4)) - 0.055;\n"
    "  result = vec4(mix(high, 12.92 * x, lessThanEqual(x, vec3(0.0031308))), 1);\n"
    "}\n";

#endif
