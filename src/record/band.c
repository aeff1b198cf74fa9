/* SPDX-License-Identifier: Apache-2.0 */
/* A picture in bands of rows with four samples a pixel: draw, gather the samples of a pixel by surface, shade each
   surface once. Light of the sky changes slowly: it is found at every fourth pixel and between them taken from
   those around that show the same surface. Memory is bounded by the band, whatever the size of the picture. */
#include "record/band.h"
#include "base/det.h"

#define GRAIN 8                       /* rows that a thread takes at once */
#define BAND_BYTES ((size_t)48 << 20) /* about what a band may take */

/* ---- memory ------------------------------------------------------------------------------------------- */

static size_t target_bytes(int width, int height) {
    return sti__size(sti__target_stride(width), height, sizeof(float) + 2 * sizeof(int));
}

static void carve_target(sti__target *t, char **p, int width, int height) {
    size_t n = (size_t)sti__target_stride(width) * (size_t)height;
    *t = (sti__target){.width = width, .stride = sti__target_stride(width)};
    t->key = (float *)*p, *p += n * sizeof(float);
    t->id = (int *)*p, *p += n * sizeof(int);
    t->face = (int *)*p, *p += n * sizeof(int);
}

static int nodes(int pixels) { return (pixels + STI__STEP - 1) / STI__STEP + 1; }

bool sti__band_init(sti__band *b, int width, int height, int nitem, const sti_allocator *a) {
    b->width = width;
    size_t row = 2 * target_bytes(FINE * width, FINE) + sti__size(width, 3, sizeof(float));
    size_t rows = BAND_BYTES / row + 1;
    b->rows = rows < (size_t)height ? (int)rows : height;
    size_t nnode = sti__size(nodes(width), nodes(b->rows), sizeof(sti__node)),
           ndrawn = sti__size(nitem, 2, sizeof *b->drawn),
           norder = sti__size(sti__add((size_t)nitem, 1), sizeof(int)),
           need = sti__sum(sti__size(row, b->rows), nnode, ndrawn, norder);
    if (need > b->nblock) {
        void *block = sti__alloc(a, need);
        if (!block) return false;
        sti__free(a, b->block, b->nblock);
        b->block = block, b->nblock = need;
    }
    char *p = b->block;
    b->drawn = (const sti__drawn_mesh **)p, p += ndrawn;
    b->node = (sti__node *)p, p += nnode;
    carve_target(&b->solid, &p, FINE * width, FINE * b->rows);
    carve_target(&b->layer, &p, FINE * width, FINE * b->rows);
    b->color = (float *)p, p += sti__size(width, b->rows, 3, sizeof(float));
    b->order = (int *)p;
    return true;
}

/* ---- what a pixel shows --------------------------------------------------------------------------------- */

/* Samples of one surface in a pixel. */
typedef struct patch {
    int id, face, count;
    float key, normal[3]; /* sums over the samples; normal is 0 where it is still to be found */
} patch;

/* A view and what was drawn of it. */
typedef struct view {
    const sti__lens *lens;
    const sti__target *target;
    const sti__drawn_mesh *const *drawn; /* of each item */
} view;

static view eye_view(const sti__band *b) { return (view){b->eye, &b->solid, b->drawn}; }
static view layer_view(const sti__band *b) { return (view){b->eye, &b->layer, b->drawn}; }
static view mirror_view(const sti__band *b) {
    return (view){&b->mirror, &b->layer, b->drawn + b->scene->items.count};
}

/* The place at a depth behind a point of the screen, in samples; ray becomes the unit direction. Returns the distance. */
static inline float place_at(const sti__lens *l, float sx, float sy, float depth, double pos[3],
                             float ray[3]) {
    float u = (sx - l->cx) / l->fx, v = (l->cy - sy) / l->fy;
    for (int k = 0; k < 3; k++) ray[k] = l->axis[6 + k] + u * l->axis[k] + v * l->axis[3 + k];
    for (int k = 0; k < 3; k++) pos[k] = l->pos[k] + (double)depth * ray[k];
    return depth * f3_normalize(ray);
}

static bool near_key(float key, float mean) { return fabsf(key - mean) <= 0.03f * fabsf(mean); }

/* All four samples show one smooth surface: the usual case. */
static bool gather_one(const sti__band *b, const view *v, size_t first, patch *out) {
    const sti__target *t = v->target;
    size_t below = first + (size_t)t->stride;
    const int *id = t->id + first, *under = t->id + below;
    if (id[0] != id[1] || id[0] != under[0] || id[0] != under[1]) return false;
    *out = (patch){.id = id[0], .count = FINE * FINE};
    if (id[0] < 0) return true;
    const float *key = t->key + first, *low = t->key + below;
    float sum = key[0] + key[1] + low[0] + low[1], mean = 0.25f * sum;
    if (!near_key(key[0], mean) || !near_key(key[1], mean) || !near_key(low[0], mean) ||
        !near_key(low[1], mean))
        return false;
    const int *f = t->face + first, *g = t->face + below;
    const sti__drawn_mesh *shape = v->drawn[id[0]];
    if (f[0] != f[1] || f[0] != g[0] || f[0] != g[1]) {
        int part = sti__surface_part(b->scene, id[0], shape, f[0]);
        if (part != sti__surface_part(b->scene, id[0], shape, f[1]) ||
            part != sti__surface_part(b->scene, id[0], shape, g[0]) ||
            part != sti__surface_part(b->scene, id[0], shape, g[1]))
            return false;
    }
    out->face = f[0];
    out->key = sum;
    return true;
}

static bool same_patch(const patch *a, int id, float key, const float normal[3]) {
    if (a->id != id || id < 0) return a->id == id;
    return near_key(key, a->key / (float)a->count) && f3_dot(normal, a->normal) > 0.5f * (float)a->count;
}

static void sample_normal(const sti__band *b, const view *v, float sx, float sy, size_t i, float normal[3]) {
    const sti__target *t = v->target;
    double pos[3];
    float ray[3];
    place_at(v->lens, sx, sy, 1 / t->key[i], pos, ray);
    sti__surface_normal(b->scene, t->id[i], v->drawn[t->id[i]], t->face[i], pos, ray, normal);
}

/* Samples of a pixel, gathered by surface; returns how many surfaces. `over` hides what is behind it. */
static int gather(const sti__band *b, const view *v, const sti__target *over, int x, int y,
                  patch out[FINE * FINE]) {
    const sti__target *t = v->target;
    size_t first = FINE * ((size_t)y * (size_t)t->stride + (size_t)x);
    if (!over && gather_one(b, v, first, out)) return 1;
    int n = 0;
    for (int s = 0; s < FINE * FINE; s++) {
        size_t i = first + (size_t)(s / FINE) * (size_t)t->stride + (size_t)(s % FINE);
        int id = t->id[i], k = 0;
        if (over && (id < 0 || t->key[i] <= over->key[i])) continue;
        float normal[3] = {0}, sx = (float)(FINE * x + s % FINE) + 0.5f,
              sy = (float)(FINE * (y + b->top) + s / FINE) + 0.5f;
        if (id >= 0) sample_normal(b, v, sx, sy, i, normal);
        while (k < n && !same_patch(&out[k], id, t->key[i], normal)) k++;
        if (k == n) out[n++] = (patch){.id = id, .face = t->face[i]};
        out[k].count++;
        out[k].key += t->key[i];
        for (int j = 0; j < 3; j++) out[k].normal[j] += normal[j];
    }
    return n;
}

/* The point that a patch shows at the pixel's middle, without its light. */
static inline void find_point(const sti__band *b, const view *v, int x, int y, const patch *p,
                              sti__point *out) {
    float ray[3], *n = out->normal;
    out->distance = place_at(v->lens, FINE * ((float)x + 0.5f), FINE * ((float)(y + b->top) + 0.5f),
                             p->id < 0 ? 1 : (float)p->count / p->key, out->pos, ray);
    out->pixel = FINE * out->distance / v->lens->fx;
    for (int k = 0; k < 3; k++) out->view[k] = -ray[k];
    if (p->id < 0) return;
    const sti__drawn_mesh *shape = v->drawn[p->id];
    f3_copy(n, p->normal);
    if (n[0] == 0 && n[1] == 0 && n[2] == 0)
        sti__surface_normal(b->scene, p->id, shape, p->face, out->pos, ray, n);
    else f3_normalize(n);
    out->tinted = sti__texture_color(b->scene, p->id, shape, p->face, out, out->tint) ||
                  sti__surface_tint(b->scene, p->id, shape, p->face, out->pos, out->tint);
}

/* ---- light between nodes ---------------------------------------------------------------------------------- */

static void fill_node(const sti__band *b, int x, int y, sti__node *node) {
    patch p[FINE * FINE];
    view v = eye_view(b);
    int n = gather(b, &v, NULL, x, y, p), best = 0;
    for (int k = 1; k < n; k++) best = p[k].count > p[best].count ? k : best;
    node->id = p[best].id;
    if (node->id < 0) return;
    sti__point point;
    find_point(b, &v, x, y, &p[best], &point);
    for (int k = 0; k < 3; k++) node->pos[k] = (float)(point.pos[k] - b->eye->pos[k]);
    f3_copy(node->normal, point.normal);
    sti__lights_sky(b->lights, point.pos, point.normal, node->sky);
    node->lamp = sti__lights_key(b->lights, point.pos, point.normal);
}

/* Rows of a band that threads share. */
typedef struct row_job {
    const sti__band *band;
    const sti__target *over; /* that hides what is blended, or NULL */
    int rows, from;          /* from: added to the rows of a piece */
    const uint8_t *table;
    uint8_t *rgb;
} row_job;

static void fill_node_rows(void *context, int begin, int end) {
    const row_job *job = context;
    const sti__band *b = job->band;
    int nx = nodes(b->width), rows = job->rows;
    for (int j = begin; j < end; j++)
        for (int i = 0; i < nx; i++) {
            int x = STI__STEP * i, y = STI__STEP * j;
            fill_node(b, x < b->width ? x : b->width - 1, y < rows ? y : rows - 1, &b->node[j * nx + i]);
        }
}

/* Whether a node's light is that of a point of the same item: faces the same way, and lies in its plane. */
static bool alike(const sti__node *node, const sti__band *b, const sti__point *p, bool flat) {
    if (flat) return true;
    if (f3_dot(node->normal, p->normal) < 0.95f) return false;
    float d[3];
    for (int k = 0; k < 3; k++) d[k] = node->pos[k] - (float)(p->pos[k] - b->eye->pos[k]);
    float off = f3_dot(d, p->normal);
    return off * off <= 0.1f * f3_dot(d, d);
}

/* What the nodes around a pixel say. */
typedef struct around {
    float sky[3], lamp, weight; /* sums */
    float least, most;          /* of the lamp */
    int count;
} around;

static inline around look_around(const sti__band *b, int x, int y, int id, const sti__point *p) {
    int nx = nodes(b->width), i = x / STI__STEP, j = y / STI__STEP;
    float u = (float)(x % STI__STEP) / STI__STEP, v = (float)(y % STI__STEP) / STI__STEP;
    bool flat = sti__scene_item(b->scene, id)->shape < 0;
    around s = {.least = 1};
    for (int c = 0; c < 4; c++) {
        const sti__node *node = &b->node[(j + c / 2) * nx + i + c % 2];
        if (node->id != id || !alike(node, b, p, flat)) continue;
        float w = (c % 2 ? u : 1 - u) * (c / 2 ? v : 1 - v);
        for (int k = 0; k < 3; k++) s.sky[k] += w * node->sky[k];
        s.lamp += w * node->lamp;
        s.weight += w;
        s.least = node->lamp < s.least ? node->lamp : s.least;
        s.most = node->lamp > s.most ? node->lamp : s.most;
        s.count++;
    }
    return s;
}

/* The wide blur of a shadow changes slowly too; its edges, and thin shadows in the light, are looked up. */
#define SLOW 0.25f /* largest change of the lamp's share between nodes */
#define LIT 0.98f

static inline void find_light(const sti__band *b, int x, int y, int id, sti__point *p) {
    around s = look_around(b, x, y, id, p);
    bool enough = s.weight >= 0.2f;
    if (enough)
        for (int k = 0; k < 3; k++) p->sky[k] = s.sky[k] / s.weight;
    else sti__lights_sky(b->lights, p->pos, p->normal, p->sky);
    if (s.count == 4 && s.most < LIT && s.most - s.least < SLOW) p->lamp = s.lamp / s.weight;
    else p->lamp = sti__lights_key(b->lights, p->pos, p->normal);
}

/* ---- pixels ------------------------------------------------------------------------------------------------ */

/* near_by: light may come from the nodes, which are of the eye's view */
static void shade_patch(const sti__band *b, const view *v, int x, int y, const patch *p, bool near_by,
                        float out[3]) {
    sti__point point;
    find_point(b, v, x, y, p, &point);
    if (p->id < 0) {
        sti__lights_background(b->lights, (float[3]){-point.view[0], -point.view[1], -point.view[2]}, out);
        return;
    }
    if (near_by) find_light(b, x, y, p->id, &point);
    else {
        sti__lights_sky(b->lights, point.pos, point.normal, point.sky);
        point.lamp = sti__lights_key(b->lights, point.pos, point.normal);
    }
    sti__shade(b->scene, b->lights, p->id, &point, out);
}

/* What the polished plane shows of the things above it. */
static void add_reflection(const sti__band *b, int x, int y, float out[3]) {
    patch p[FINE * FINE];
    view v = mirror_view(b);
    int n = gather(b, &v, NULL, x, y, p);
    float share = sti__scene_item(b->scene, b->polished)->look.reflectance;
    for (int k = 0; k < n; k++) {
        float c[3];
        if (p[k].id < 0) continue;
        shade_patch(b, &v, x, y, &p[k], false, c);
        f3_mix(out, out, c, share * (float)p[k].count / (FINE * FINE));
    }
}

static void shade_pixel(const sti__band *b, int x, int y) {
    patch p[FINE * FINE];
    view v = eye_view(b);
    int n = gather(b, &v, NULL, x, y, p);
    float *out = b->color + 3 * ((size_t)y * (size_t)b->width + (size_t)x);
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < n; k++) {
        float c[3];
        shade_patch(b, &v, x, y, &p[k], true, c);
        if (p[k].id >= 0 && p[k].id == b->polished) add_reflection(b, x, y, c);
        for (int j = 0; j < 3; j++) out[j] += c[j] * (float)p[k].count / (FINE * FINE);
    }
}

/* What the layer shows in front of `over`. */
static void blend_pixel(const sti__band *b, const sti__target *over, int x, int y) {
    patch p[FINE * FINE];
    view v = layer_view(b);
    int n = gather(b, &v, over, x, y, p);
    float *out = b->color + 3 * ((size_t)y * (size_t)b->width + (size_t)x);
    for (int k = 0; k < n; k++) {
        if (p[k].id < 0) continue;
        float c[3], alpha = sti__scene_item(b->scene, p[k].id)->look.alpha;
        shade_patch(b, &v, x, y, &p[k], false, c);
        f3_mix(out, out, c, alpha * (float)p[k].count / (FINE * FINE));
    }
}

static void shade_rows(void *context, int begin, int end) {
    const row_job *job = context;
    for (int y = begin; y < end; y++)
        for (int x = 0; x < job->band->width; x++) shade_pixel(job->band, x, y);
}

static void blend_rows(void *context, int begin, int end) {
    const row_job *job = context;
    for (int y = job->from + begin; y < job->from + end; y++)
        for (int x = 0; x < job->band->width; x++) blend_pixel(job->band, job->over, x, y);
}

/* ---- layers ------------------------------------------------------------------------------------------------ */

static void draw_mirror(sti__band *b) {
    const sti__item *plane = sti__scene_item(b->scene, b->polished);
    sti__target_clear(&b->layer);
    for (int i = 0; i < (int)b->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(b->scene, i);
        if (sti__is_opaque(item) && sti__scene_above(item, plane))
            sti__raster_item(&b->layer, &b->mirror, b->scene, i, b->scratch);
    }
}

static void draw_solid(sti__band *b, int rows) {
    int n = (int)b->scene->items.count;
    sti__target_clear(&b->solid);
    for (int i = 0; i < n; i++) {
        if (sti__is_opaque(sti__scene_item(b->scene, i)))
            sti__raster_item(&b->solid, b->eye, b->scene, i, b->scratch);
    }
    for (int i = 0; i < n; i++)
        if (sti__scene_item(b->scene, i)->shape < 0) sti__raster_plane(&b->solid, b->eye, b->scene, i);
    if (b->polished >= 0) draw_mirror(b);
    row_job job = {.band = b, .rows = rows};
    sti__draw_run(b->tasks, nodes(rows), GRAIN / STI__STEP, fill_node_rows, &job);
    sti__draw_run(b->tasks, rows, GRAIN, shade_rows, &job);
}

/* Rows of the band that a ball around the item can touch: [from, to) */
static void item_rows(const sti__band *b, const sti__item *item, int rows, int *from, int *to) {
    const sti__lens *l = b->eye;
    float v[3] = {0};
    for (int j = 0; j < 9; j++) v[j / 3] += l->axis[j] * (float)(item->pos[j % 3] - l->pos[j % 3]);
    *from = 0;
    *to = rows;
    float front = v[2] - item->radius;
    if (!(front > l->near)) return;
    /* the ball's edge is nowhere further from its middle on the screen than at its front */
    float middle = (l->cy - l->fy * v[1] / v[2]) / FINE - (float)b->top;
    float reach = l->fy * item->radius * (1 + fabsf(v[1] / v[2])) / front / FINE + 2;
    *from = (int)f_clamp(middle - reach, 0, (float)rows);
    *to = (int)f_clamp(middle + reach, 0, (float)rows);
}

static void draw_layers(sti__band *b, int rows) {
    for (int i = 0; i < b->norder; i++) {
        int from, to;
        item_rows(b, sti__scene_item(b->scene, b->order[i]), rows, &from, &to);
        if (from >= to) continue;
        sti__target_clear_rows(&b->layer, FINE * from, FINE * to);
        sti__raster_item(&b->layer, b->eye, b->scene, b->order[i], b->scratch);
        row_job job = {.band = b, .over = &b->solid, .from = from};
        sti__draw_run(b->tasks, to - from, GRAIN, blend_rows, &job);
    }
}

/* Marks are drawn over what hides them, as contacts lie inside of things. */
static void draw_marks(sti__band *b, int rows) {
    int n = (int)b->scene->items.count, from = n;
    while (from > 0 && sti__is_mark(sti__scene_item(b->scene, from - 1))) from--; /* they come last */
    if (from == n) return;
    sti__target_clear(&b->layer);
    for (int i = from; i < n; i++) sti__raster_item(&b->layer, b->eye, b->scene, i, b->scratch);
    row_job job = {.band = b};
    sti__draw_run(b->tasks, rows, GRAIN, blend_rows, &job);
}

/* ---- colour to bytes ---------------------------------------------------------------------------------- */

enum { STEPS = 4096 };

/* By square root of the linear value, which spends the steps where the eye is. */
static void encode_table(uint8_t table[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        double x = (double)i / (STEPS - 1), y = x * x;
        double s = y <= 0.0031308 ? 12.92 * y : 1.055 * sti__pow(y, 1 / 2.4) - 0.055;
        table[i] = (uint8_t)(255 * s + 0.5);
    }
}

/* A shoulder that keeps bright colours from clipping, after Narkowicz. */
static float film(float x) {
    x *= 0.62f;
    return f_clamp(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0, 1);
}

/* In pieces that stay in the cache, so that the sums run in vectors. */
static void write_rows(void *context, int begin, int end) {
    const row_job *job = context;
    const sti__band *b = job->band;
    enum { PIECE = 1024 };
    int step[PIECE];
    size_t n = 3 * (size_t)b->width * (size_t)end;
    for (size_t i = 3 * (size_t)b->width * (size_t)begin; i < n; i += PIECE) {
        int m = n - i < PIECE ? (int)(n - i) : PIECE;
        const float *c = b->color + i;
        for (int k = 0; k < m; k++) {
            float x = c[k] > 0 ? c[k] : 0; /* a NaN becomes 0 too */
            step[k] = (int)(sqrtf(film(x)) * (STEPS - 1) + 0.5f);
        }
        for (int k = 0; k < m; k++) job->rgb[i + (size_t)k] = job->table[step[k]];
    }
}

static void draw_bands(sti__band *b, int height, uint8_t *rgb) {
    uint8_t table[STEPS];
    encode_table(table);
    for (b->top = 0; b->top < height; b->top += b->rows) {
        int rows = height - b->top < b->rows ? height - b->top : b->rows;
        b->solid.height = b->layer.height = FINE * rows;
        b->solid.top = b->layer.top = FINE * b->top;
        draw_solid(b, rows);
        draw_layers(b, rows);
        draw_marks(b, rows);
        row_job job = {.band = b, .table = table, .rgb = rgb + 3 * (size_t)b->width * (size_t)b->top};
        sti__draw_run(b->tasks, rows, GRAIN, write_rows, &job);
    }
}

void sti__band_draw(sti__band *b, int height, uint8_t *rgb) {
    b->norder = sti__scene_layers(b->scene, b->eye, b->order);
    b->polished = sti__scene_mirror(b->scene, b->eye, &b->mirror);
    int n = (int)b->scene->items.count;
    for (int i = 0; i < n; i++) {
        const sti__item *item = sti__scene_item(b->scene, i);
        b->drawn[i] = item->shape < 0 ? NULL : sti__choose_shape(b->scene, item, b->eye, false);
        b->drawn[n + i] = item->shape < 0 ? NULL : sti__choose_shape(b->scene, item, &b->mirror, false);
    }
    draw_bands(b, height, rgb);
}
