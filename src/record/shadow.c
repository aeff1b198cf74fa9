/* SPDX-License-Identifier: Apache-2.0 */
/* What the depth maps say of a place: how much of the lamp reaches it, and how much of the sky. */
#include "record/scene.h"
#include <float.h>

#define LAMP_SIZE 0.07f    /* angle under which the lamp is seen: the softness of its shadow */
#define REACH 0.014f       /* widest blur of a shadow, as a share of the map */
#define NORMAL_OFFSET 1.5f /* texels along the normal, against a surface shading itself */

/* Where a place is on a map: pixel and depth, moved off its surface by a texel or two. */
static inline bool find(const sti__map *map, const double p[3], const float n[3], float *x, float *y,
                        float *depth) {
    const sti__lens *l = &map->lens;
    float d[3], v[3];
    for (int k = 0; k < 3; k++) d[k] = (float)(p[k] - l->pos[k]);
    float z = f3_dot(d, l->axis + 6), texel = map->texel * (l->parallel ? 1 : z);
    float cosine = f3_dot(n, l->axis + 6), offset = NORMAL_OFFSET * texel * (3 - 2 * cosine * cosine);
    for (int k = 0; k < 3; k++) d[k] += offset * n[k];
    for (int k = 0; k < 3; k++) v[k] = f3_dot(d, l->axis + 3 * k);
    float w = l->parallel ? 1 : 1 / v[2];
    *x = l->cx + l->fx * v[0] * w;
    *y = l->cy - l->fy * v[1] * w;
    *depth = v[2] - 0.5f * texel;
    float edge = (float)map->size - 1;
    return v[2] > l->near && *x >= 0 && *y >= 0 && *x <= edge && *y <= edge;
}

static int within(int x, int last) { return x < 0 ? 0 : x > last ? last : x; }

static float texel(const sti__map *map, int x, int y) {
    int last = map->size - 1;
    return map->key[(size_t)within(y, last) * (size_t)map->stride + (size_t)within(x, last)];
}

/* Share of the four texels around (x, y) that do not hide the key, by distance. */
static inline float open(const sti__map *map, float x, float y, float key) {
    x -= 0.5f, y -= 0.5f;
    int i = x < 0 ? -1 : (int)x, j = y < 0 ? -1 : (int)y, last = map->size - 1;
    float u = x - (float)i, v = y - (float)j;
    const float *top = map->key + (size_t)within(j, last) * (size_t)map->stride,
                *low = map->key + (size_t)within(j + 1, last) * (size_t)map->stride;
    int left = within(i, last), right = within(i + 1, last);
    float a = top[left] <= key, b = top[right] <= key, c = low[left] <= key, d = low[right] <= key;
    return (a + u * (b - a)) * (1 - v) + (c + u * (d - c)) * v;
}

/* ---- tiles ------------------------------------------------------------------------------------------- */

static void tile_range(const sti__map *map, int tx, int ty, float *most, float *least) {
    int x0 = tx * STI__TILE, y0 = ty * STI__TILE, x1 = x0 + STI__TILE, y1 = y0 + STI__TILE;
    if (x1 > map->size) x1 = map->size;
    if (y1 > map->size) y1 = map->size;
    float high[STI__TILE], low[STI__TILE];
    const float *row = map->key + (size_t)y0 * (size_t)map->stride + (size_t)x0;
    for (int x = 0; x < STI__TILE; x++) high[x] = low[x] = row[x < x1 - x0 ? x : 0];
    for (int y = y0; y < y1; y++, row += map->stride)
        for (int x = 0; x < x1 - x0; x++) {
            high[x] = row[x] > high[x] ? row[x] : high[x];
            low[x] = row[x] < low[x] ? row[x] : low[x];
        }
    *most = high[0], *least = low[0];
    for (int x = 1; x < STI__TILE; x++) *most = f_max(*most, high[x]), *least = f_min(*least, low[x]);
}

/* In place: first along rows, then along columns; what was there a step before is kept aside. */
static void widen(float *v, int n, int step, bool largest) {
    float before = v[0];
    for (int i = 0; i < n; i++) {
        float here = v[i * step], after = i + 1 < n ? v[(i + 1) * step] : here;
        v[i * step] = largest ? f_max(before, f_max(here, after)) : f_min(before, f_min(here, after));
        before = here;
    }
}

static void widen_all(float *v, int n, bool largest) {
    for (int i = 0; i < n; i++) widen(v + i * n, n, 1, largest);
    for (int i = 0; i < n; i++) widen(v + i, n, n, largest);
}

void sti__map_tiles(sti__map *map) {
    int n = map->tiles, far = (int)(REACH * (float)map->size) + 2; /* a tap reads the texels around it */
    for (int i = 0; i < n * n; i++) tile_range(map, i % n, i / n, &map->nearest[i], &map->farthest[i]);
    for (int done = 0; done < far; done += STI__TILE) {
        widen_all(map->nearest, n, true);
        widen_all(map->farthest, n, false);
    }
}

/* ---- the lamp's shadow -------------------------------------------------------------------------------- */

/* All texels that taps within reach of a place read are on the map. */
static bool inside(const sti__map *map, float x, float y, float reach) {
    float least = reach + 1, most = (float)map->size - 2 - reach;
    return x > least && y > least && x < most && y < most;
}

/* Keys under the taps. */
static void read_taps(const sti__lights *l, float x, float y, float reach, float out[STI__TAPS]) {
    const sti__map *map = &l->key;
    if (!inside(map, x, y, reach)) {
        for (int i = 0; i < STI__TAPS; i++)
            out[i] = texel(map, (int)(x + reach * l->tap[0][i]), (int)(y + reach * l->tap[1][i]));
        return;
    }
    int at[STI__TAPS];
    for (int i = 0; i < STI__TAPS; i++)
        at[i] = (int)(y + reach * l->tap[1][i]) * map->stride + (int)(x + reach * l->tap[0][i]);
    for (int i = 0; i < STI__TAPS; i++) out[i] = map->key[at[i]];
}

/* How many taps within reach of the lamp's size hide the place, and their mean depth. */
static int blocker(const sti__lights *l, float x, float y, float key, float reach, float *depth) {
    float sum = 0, k[STI__TAPS];
    int count = 0;
    read_taps(l, x, y, reach, k);
    for (int i = 0; i < STI__TAPS; i++) {
        if (k[i] <= key) continue;
        sum += l->key.lens.parallel ? -k[i] : 1 / k[i];
        count++;
    }
    *depth = count ? sum / (float)count : 0;
    return count;
}

/* Mean of `open` over taps within width of a place; where all of them are on the map in steps that run in vectors. */
static float open_taps(const sti__lights *l, float x, float y, float width, float key) {
    const sti__map *map = &l->key;
    float sum = 0, u[STI__TAPS], v[STI__TAPS], part[4][STI__TAPS];
    int at[STI__TAPS];
    if (!inside(map, x, y, width)) {
        for (int i = 0; i < STI__TAPS; i++)
            sum += open(map, x + width * l->tap[0][i], y + width * l->tap[1][i], key);
        return sum / STI__TAPS;
    }
    for (int i = 0; i < STI__TAPS; i++) {
        float px = x + width * l->tap[0][i] - 0.5f, py = y + width * l->tap[1][i] - 0.5f;
        int ix = (int)px, iy = (int)py;
        u[i] = px - (float)ix, v[i] = py - (float)iy;
        at[i] = iy * map->stride + ix;
    }
    for (int i = 0; i < STI__TAPS; i++) {
        const float *top = map->key + at[i], *low = top + map->stride;
        part[0][i] = top[0], part[1][i] = top[1], part[2][i] = low[0], part[3][i] = low[1];
    }
    for (int i = 0; i < STI__TAPS; i++) {
        float a = part[0][i] <= key, b = part[1][i] <= key, c = part[2][i] <= key, d = part[3][i] <= key;
        u[i] = (a + u[i] * (b - a)) * (1 - v[i]) + (c + u[i] * (d - c)) * v[i];
    }
    for (int i = 0; i < STI__TAPS; i++) sum += u[i];
    return sum / STI__TAPS;
}

/* The further the blocker, the wider the blur. */
float sti__lights_key(const sti__lights *l, const double p[3], const float n[3]) {
    float x, y, depth;
    if (l->shadow >= 0 && !l->lamp[l->shadow].positional && f3_dot(n, l->lamp[l->shadow].dir) <= 0) return 0;
    if (l->shadow < 0 || !find(&l->key, p, n, &x, &y, &depth)) return 1;
    float key = sti__lens_key(&l->key.lens, depth), reach = REACH * (float)l->key.size;
    /* most places are lit, or dark, as far as the blur could reach */
    int tile = (int)y / STI__TILE * l->key.tiles + (int)x / STI__TILE;
    if (l->key.nearest[tile] <= key) return 1;
    if (l->key.farthest[tile] > key) return 0;
    float block;
    int count = blocker(l, x, y, key, reach, &block);
    if (count == 0) return open(&l->key, x, y, key);
    if (count == STI__TAPS) return 0;
    float size = l->key.texel * (l->key.lens.parallel ? 1 : depth);
    float width = f_clamp(LAMP_SIZE * (depth - block) / size, 1.2f, reach);
    return open_taps(l, x, y, width, key);
}

/* ---- the sky ------------------------------------------------------------------------------------------ */

/* Of a place seen from every direction of the sky: cosine with the normal, texel and depth there. */
typedef struct seen {
    float cosine[STI__SKY], x[STI__SKY], y[STI__SKY], depth[STI__SKY];
} seen;

static void look_up(const sti__lights *l, const double p[3], const float n[3], seen *s) {
    const sti__map *map = &l->sky[0]; /* they differ in their axes only */
    float c = map->lens.cx, f = map->lens.fx, texel = map->texel,
          far = 2.0f / (2.02f / (float)map->size) * texel;
    float d[3] = {(float)(p[0] - l->sky_centre[0]), (float)(p[1] - l->sky_centre[1]),
                  (float)(p[2] - l->sky_centre[2])};
    const float(*a)[STI__SKY] = l->sky_axis;
    for (int i = 0; i < STI__SKY; i++) {
        float nr = n[0] * a[0][i] + n[1] * a[1][i] + n[2] * a[2][i],
              nu = n[0] * a[3][i] + n[1] * a[4][i] + n[2] * a[5][i],
              nf = n[0] * a[6][i] + n[1] * a[7][i] + n[2] * a[8][i];
        float offset = NORMAL_OFFSET * texel * (3 - 2 * nf * nf);
        float r = d[0] * a[0][i] + d[1] * a[1][i] + d[2] * a[2][i] + offset * nr,
              u = d[0] * a[3][i] + d[1] * a[4][i] + d[2] * a[5][i] + offset * nu,
              z = d[0] * a[6][i] + d[1] * a[7][i] + d[2] * a[8][i] + offset * nf;
        s->cosine[i] = -nf;
        s->x[i] = c + f * r;
        s->y[i] = c - f * u;
        s->depth[i] = far + z - 0.5f * texel;
    }
}

/* Share of each map's sky that is open, as `open` has it, in steps that run in vectors; 1 beside the map. */
static void open_sky(const sti__lights *l, const seen *s, float out[STI__SKY]) {
    const sti__map *map = &l->sky[0];
    float edge = (float)map->size - 1, last = edge - 1, near = -0.5f * map->texel;
    float key[STI__SKY], u[STI__SKY], v[STI__SKY], part[4][STI__SKY];
    int at[STI__SKY];
    for (int i = 0; i < STI__SKY; i++) {
        float x = s->x[i], y = s->y[i];
        bool on = (s->depth[i] > near) & (x >= 0) & (y >= 0) & (x <= edge) & (y <= edge);
        float px = f_min(f_max(x - 0.5f, 0), last), py = f_min(f_max(y - 0.5f, 0), last);
        int ix = (int)px, iy = (int)py;
        key[i] = on ? -s->depth[i] : FLT_MAX;
        u[i] = px - (float)ix, v[i] = py - (float)iy;
        at[i] = iy * map->stride + ix;
    }
    for (int i = 0; i < STI__SKY; i++) {
        const float *top = l->sky[i].key + at[i], *low = top + map->stride;
        part[0][i] = top[0], part[1][i] = top[1], part[2][i] = low[0], part[3][i] = low[1];
    }
    for (int i = 0; i < STI__SKY; i++) {
        float a = part[0][i] <= key[i], b = part[1][i] <= key[i], c = part[2][i] <= key[i],
              d = part[3][i] <= key[i];
        out[i] = (a + u[i] * (b - a)) * (1 - v[i]) + (c + u[i] * (d - c)) * v[i];
    }
}

void sti__lights_sky(const sti__lights *l, const double p[3], const float n[3], float out[3]) {
    seen s;
    float share[STI__SKY];
    look_up(l, p, n, &s);
    open_sky(l, &s, share);
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < STI__SKY; i++) {
        float part = share[i] * f_max(s.cosine[i], 0);
        for (int k = 0; k < 3; k++) out[k] += part * l->sky_color[i][k];
    }
    f3_scale(out, 2.0f / STI__SKY);
}
