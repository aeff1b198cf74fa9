/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/fields.h"

#include "collide/collide.h"
#include "collide/touch.h"
#include <math.h>
#include <string.h>

/* ---- who takes part ------------------------------------------------------------------------------------------ */

static bool has_field(const sti_model *m, int geom) { return m->geom_hydroelastic[geom] > 0; }

static bool has_shape(const sti_model *m, int geom) {
    switch (m->geom_type[geom]) {
    case STI_GEOM_HFIELD:
    case STI_GEOM_PLANE: return !has_field(m, geom);
    case STI_GEOM_MESH: return m->mesh_hullfacenum[m->geom_dataid[geom]] > 0;
    default: return true;
    }
}

bool sti__fields_take(const sti_model *m, int geom1, int geom2) {
    return (has_field(m, geom1) || has_field(m, geom2)) && has_shape(m, geom1) && has_shape(m, geom2);
}

static bool bits(int contype1, int conaffinity1, int contype2, int conaffinity2) {
    return (contype1 & conaffinity2) || (contype2 & conaffinity1);
}

/* What a soft body is fixed to does not touch it. */
static bool flex_meets_geom(const sti_model *m, int flex, int geom) {
    int held = m->body_weldid[m->flex_bodyid[flex]];
    if (held != 0 && held == m->body_weldid[m->geom_bodyid[geom]]) return false;
    return has_shape(m, geom) && m->flex_hydroelastic[flex] > 0 &&
           bits(m->flex_contype[flex], m->flex_conaffinity[flex], m->geom_contype[geom],
                m->geom_conaffinity[geom]);
}

static bool flexes_meet(const sti_model *m, int a, int b) {
    if (a == b) return m->flex_selfcollide[a] && m->flex_hydroelastic[a] > 0;
    return m->flex_hydroelastic[a] > 0 && m->flex_hydroelastic[b] > 0 &&
           bits(m->flex_contype[a], m->flex_conaffinity[a], m->flex_contype[b], m->flex_conaffinity[b]);
}

static bool geoms_meet(const sti__collision_model *cm, int a, int b) {
    return sti__fields_take(cm->model, a, b) && sti__may_meet(cm, a, b, 0);
}

/* Geoms with a field, those that move first. */
typedef struct field_list {
    int *geom;
    int count, moving;
} field_list;

/* Fixed bodies are tested against moving ones only. */
static bool takes_part(const sti__collision_model *cm, const field_list *list, int geom) {
    const sti_model *m = cm->model;
    if (!has_shape(m, geom)) return false;
    if (has_field(m, geom)) return m->geom_contype[geom] || m->geom_conaffinity[geom];
    for (int f = 0; f < m->nflex; f++)
        if (flex_meets_geom(m, f, geom)) return true;
    int count = cm->geom[geom].still ? list->moving : list->count;
    for (int k = 0; k < count; k++)
        if (geoms_meet(cm, geom, list->geom[k])) return true;
    return false;
}

static void list_fields(const sti__collision_model *cm, field_list *list) {
    for (int still = 0; still < 2; still++) {
        for (int g = 0; g < cm->model->ngeom; g++)
            if (has_field(cm->model, g) && cm->geom[g].still == still) list->geom[list->count++] = g;
        if (!still) list->moving = list->count;
    }
}

/* ---- bodies and pairs -------------------------------------------------------------------------------------------- */

static sti__pressure_body soft_view(const sti__fields *f, const sti_state *s, int flex) {
    const sti_model *m = s->model;
    const sti__middles *more = &f->middles[flex];
    sti__pressure_body b = {.kind = STI__PRESSURE_SOFT,
                            .id = flex,
                            .node = s->flexvert_xpos + 3 * (size_t)m->flex_vertadr[flex],
                            .pressure = m->flexvert_pressure + m->flex_vertadr[flex],
                            .tet = m->flex_elem + 4 * (size_t)m->flex_elemadr[flex],
                            .tree = &f->tree[flex]};
    if (more->count > 0) b.node = more->node, b.pressure = more->pressure, b.tet = more->tet;
    return b;
}

static sti__pressure_body geom_view(const sti__solid *x, const sti_state *s, int geom) {
    const sti_model *m = s->model;
    sti__pressure_body b = {.kind = STI__PRESSURE_PLANE,
                            .id = m->nflex + geom,
                            .pos = s->geom_xpos + 3 * (size_t)geom,
                            .mat = s->geom_xmat + 9 * (size_t)geom};
    if (!x) return b;
    b.kind = has_field(m, geom) ? STI__PRESSURE_COMPLIANT : STI__PRESSURE_RIGID;
    b.node = x->mesh.node;
    b.pressure = x->pressure;
    b.tet = x->mesh.tet;
    b.tri = x->mesh.tri;
    b.tree = &x->tree;
    return b;
}

static bool bodies_meet(const sti__fields *f, int a, int b) {
    const sti_model *m = f->cm->model;
    int ga = f->geom[a], gb = f->geom[b];
    if (ga < 0 && gb < 0) return flexes_meet(m, a, b);
    if (ga < 0 || gb < 0) return flex_meets_geom(m, ga < 0 ? a : b, ga < 0 ? gb : ga);
    return geoms_meet(f->cm, ga, gb);
}

/* Only what has a field or is soft gives a pair its pressure, and of two bodies one must move: a kind says both, and every kind
   has a list of those that it may meet. */
#define GIVES 1
#define MOVES 2
#define KINDS 4

typedef struct partners {
    int *body; /* by number */
    int count, next;
} partners;

static int kind_of(const sti__fields *f, int body) {
    int g = f->geom[body];
    if (g < 0) return GIVES | MOVES;
    return (has_field(f->cm->model, g) ? GIVES : 0) | (f->cm->geom[g].still ? 0 : MOVES);
}

static void list_partners(const sti__fields *f, partners list[KINDS], int *room) {
    for (int kind = 0; kind < KINDS; kind++) {
        list[kind] = (partners){.body = room + (size_t)kind * (size_t)f->nbody};
        for (int b = 0; b < f->nbody; b++)
            if ((kind | kind_of(f, b)) == (GIVES | MOVES)) list[kind].body[list[kind].count++] = b;
    }
}

/* By the first body, then by the second. */
#define MOST_PAIRS (1 << 24)
static sti_status push_pairs(sti__fields *f, partners list[KINDS], sti_error *error) {
    for (int a = 0; a < f->nbody; a++) {
        partners *p = &list[kind_of(f, a)];
        while (p->next < p->count && p->body[p->next] < a) p->next++;
        for (int k = p->next; k < p->count; k++) {
            int b = p->body[k];
            if ((a == b && f->geom[a] >= 0) || !bodies_meet(f, a, b)) continue;
            bool swap = f->geom[a] < 0 && f->geom[b] >= 0;
            sti__pressure_pair pair = {swap ? b : a, swap ? a : b};
            if (f->pairs.count == MOST_PAIRS)
                return sti__fail(error, STI_LIMIT,
                                 "contact over patches is limited to %d pairs of bodies that may touch; "
                                 "%d bodies take part: exclude pairs, or give fewer geoms a pressure field",
                                 MOST_PAIRS, f->nbody);
            if (!sti__vec_push(&f->pairs, &pair)) return STI_NO_MEMORY;
        }
    }
    f->pair = (sti__pressure_pair *)f->pairs.data;
    f->npair = (int)f->pairs.count;
    return STI_OK;
}

static sti_status list_pairs(sti__fields *f, sti_error *error) {
    size_t bytes = sti__mul(sti__mul(KINDS, (size_t)f->nbody), sizeof(int));
    int *room = sti__alloc(f->allocator, bytes);
    partners list[KINDS];
    if (!room) return STI_NO_MEMORY;
    sti__vec_init(&f->pairs, sizeof *f->pair, f->allocator);
    list_partners(f, list, room);
    sti_status status = push_pairs(f, list, error);
    sti__free(f->allocator, room, bytes);
    return status;
}

static size_t lay_out(sti__fields *f, int nflex, char *base) {
    size_t n = (size_t)f->nbody, used = 0;
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&f->body, sti__size(n, sizeof *f->body)},
               {&f->geom, sti__size(n, sizeof *f->geom)},
               {&f->solid, sti__size(n, sizeof *f->solid)},
               {&f->made, sti__size(n, sizeof *f->made)},
               {&f->tree, sti__size(nflex, sizeof *f->tree)},
               {&f->middles, sti__size(nflex, sizeof *f->middles)},
               {&f->bound, sti__size(nflex, sizeof *f->bound)},
               {&f->corner, sti__size(f->cm->model->nflexvert, sizeof *f->corner)}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used = sti__add(used, sti__padded(all[i].bytes));
    }
    return used;
}

static bool reserve(sti__fields *f, int nflex) {
    size_t bytes = lay_out(f, nflex, NULL);
    char *block = sti__alloc_aligned(f->allocator, bytes);
    if (!block) return false;
    memset(block, 0, bytes);
    f->block = block;
    f->bytes = bytes;
    lay_out(f, nflex, block);
    return true;
}

/* Soft bodies, then geoms that take part: counts, or writes if there is room. */
static int name_bodies(const sti__collision_model *cm, const field_list *list, int *geom) {
    int n = 0;
    for (int i = 0; i < cm->model->nflex; i++, n++)
        if (geom) geom[n] = -1;
    for (int g = 0; g < cm->model->ngeom; g++) {
        if (!takes_part(cm, list, g)) continue;
        if (geom) geom[n] = g;
        n++;
    }
    return n;
}

/* Growth of pressure with depth where the nodes are at x: the mean over the volume that has pressure. */
static double mean_slope(const sti__pressure_body *b, const double *x, const sti__soft_bvh *tree) {
    double sum = 0, volume = 0;
    for (int i = 0; i < tree->count; i++) {
        const int *t = b->tet + 4 * (size_t)tree->element[i];
        const double *at[4];
        double p[4];
        sti__field_tet f;
        for (int k = 0; k < 4; k++) at[k] = x + 3 * (size_t)t[k], p[k] = b->pressure[t[k]];
        if (!sti__field_tet_make(at, t, p, &f)) continue;
        sum += fabs(f.tet.height[0]) * v3_norm(f.gradient);
        volume += fabs(f.tet.height[0]);
    }
    return volume > 0 ? sum / volume : 0;
}

static bool make_soft(sti__fields *f, const sti_state *s, int i) {
    const sti_model *m = s->model;
    const sti__middles *more = &f->middles[i];
    if (!sti__middles_create(&f->middles[i], m, i, f->allocator)) return false;
    f->body[i] = soft_view(f, s, i);
    const double *x = more->count ? more->node : m->flexvert_pos0 + 3 * (size_t)m->flex_vertadr[i];
    if (!sti__soft_bvh_create(&f->tree[i], x, f->body[i].pressure, f->body[i].tet, 4,
                              m->flex_elemnum[i] + 4 * more->count, f->allocator))
        return false;
    f->body[i].slope = mean_slope(&f->body[i], x, &f->tree[i]);
    return !m->flex_selfcollide[i] || sti__soft_bvh_meet_self(&f->tree[i]);
}

static bool are_alike(const sti_state *s, int a, int b) {
    const sti_model *m = s->model;
    const double *size = s->par.geom_size;
    return m->geom_type[a] == m->geom_type[b] && m->geom_dataid[a] == m->geom_dataid[b] &&
           m->geom_hydroelastic[a] == m->geom_hydroelastic[b] &&
           m->geom_hydroedge[a] == m->geom_hydroedge[b] &&
           memcmp(size + 3 * (size_t)a, size + 3 * (size_t)b, 3 * sizeof(double)) == 0;
}

/* An error of a geom's mesh, with the geom's number and name before it. */
static sti_status blame_geom(const sti_model *m, int geom, sti_status status, sti_error *error) {
    if (status == STI_OK || !error || error->code != status) return status;
    const char *name = sti_model_name(m, STI_OBJ_GEOM, geom);
    sti_error why = *error;
    return sti__fail_at(error, (sti__place){.element = "geom"}, status, "geom %d%s%s%s: %s", geom,
                        *name ? " (" : "", name, *name ? ")" : "", why.message);
}

/* The mesh of a geom: one that is alike shares its own; the last few are asked, as replicas follow each other. */
#define ASKED 16
static sti_status find_solid(sti__fields *f, const sti_state *s, int geom, int *solid, sti_error *error) {
    *solid = -1;
    if (s->model->geom_type[geom] == STI_GEOM_PLANE) return STI_OK;
    for (int k = f->nsolid - 1; k >= 0 && k >= f->nsolid - ASKED; k--)
        if (are_alike(s, f->solid[k].geom, geom)) return *solid = k, STI_OK;
    *solid = f->nsolid++;
    f->solid[*solid].geom = geom;
    return blame_geom(s->model, geom, sti__solid_make(&f->solid[*solid], f->cm, s, f->allocator, error),
                      error);
}

static sti_status make_bodies(sti__fields *f, const sti_state *s, sti_error *error) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nflex; i++)
        if (!make_soft(f, s, i)) return STI_NO_MEMORY;
    for (int n = m->nflex; n < f->nbody; n++) {
        int *solid = &f->made[n];
        sti_status status = find_solid(f, s, f->geom[n], solid, error);
        if (status != STI_OK) return status;
        f->body[n] = geom_view(*solid < 0 ? NULL : &f->solid[*solid], s, f->geom[n]);
    }
    return STI_OK;
}

static bool is_needed(const sti_model *m) {
    for (int g = 0; g < m->ngeom; g++)
        if (has_field(m, g)) return true;
    return m->nflex > 0;
}

/* A tet of every vertex of a surface. */
static void find_surface(sti__fields *f) {
    const sti_model *m = f->cm->model;
    for (int i = 0; i < m->nflexvert; i++) f->corner[i] = -1;
    for (int x = 0; x < m->nflex; x++)
        for (int t = m->flex_shelladr[x]; t < m->flex_shelladr[x] + m->flex_shellnum[x]; t++) {
            const int *tet = m->flex_elem + 4 * ((size_t)m->flex_elemadr[x] + (size_t)m->flex_shellelem[t]);
            for (int k = 0; k < 12; k++)
                if (tet[k / 3] == m->flex_shell[3 * t + k % 3])
                    f->corner[m->flex_vertadr[x] + tet[k / 3]] = 4 * m->flex_shellelem[t] + k / 3;
        }
}

/* Three for every patch; and of vertices that arrive as many as came last, at first a few for every vertex. */
#define ARRIVE_FIRST 2
static bool reserve_touches(sti__fields *f) {
    size_t vertices = sti__mul((size_t)f->cm->model->nflexvert, ARRIVE_FIRST);
    size_t patches = sti__mul((size_t)f->patches.size.patches, 3);
    size_t room = sti__add(patches, f->arriving > vertices ? f->arriving : vertices);
    if (f->touch && f->room >= room) return true;
    sti__touch *touch = sti__alloc(f->allocator, sti__mul(room, sizeof *touch));
    if (!touch) return false;
    sti__free(f->allocator, f->touch, sizeof *touch * f->room);
    f->touch = touch;
    f->room = room;
    return true;
}

/* In one step; a gigabyte each, about, with the rows that contacts become. */
#define MOST_TOUCHES (1 << 18)
#define MOST_PATCHES (1 << 19)
#define MOST_CANDIDATES (1 << 25)

static sti_status too_many(const char *what, int most, sti_error *error) {
    return sti__fail(
        error, STI_LIMIT,
        "contact over patches is limited to %d %s in a step: more bodies overlap than can be solved; "
        "let fewer touch (contype, conaffinity), or make their meshes coarser",
        most, what);
}

sti_status sti__fields_grow(sti__fields *f, const sti__patch_sizes *need, sti_error *error) {
    if (need->candidates > MOST_CANDIDATES) return too_many("pairs of near elements", MOST_CANDIDATES, error);
    if (need->patches > MOST_PATCHES) return too_many("polygons", MOST_PATCHES, error);
    if (f->arriving > MOST_TOUCHES) return too_many("points of contact", MOST_TOUCHES, error);
    if (sti__patches_grow(&f->patches, *need) && reserve_touches(f)) return STI_OK;
    return sti__fail(error, STI_NO_MEMORY, "no memory for %d patches and %zu vertices that arrive",
                     need->patches, f->arriving);
}

sti_status sti__fields_judge(const sti__fields *f, sti_error *error) {
    return f->ntouch > MOST_TOUCHES ? too_many("points of contact", MOST_TOUCHES, error) : STI_OK;
}

/* Who is there, and which pairs may touch: before meshes are made, which takes memory and time. */
static sti_status list_bodies(sti__fields *f, sti_error *error) {
    const sti__collision_model *cm = f->cm;
    size_t bytes = sti__mul((size_t)cm->model->ngeom, sizeof(int));
    field_list list = {.geom = sti__alloc(f->allocator, bytes)};
    if (!list.geom) return STI_NO_MEMORY;
    list_fields(cm, &list);
    f->nbody = name_bodies(cm, &list, NULL);
    bool good = reserve(f, cm->model->nflex);
    if (good) name_bodies(cm, &list, f->geom);
    sti__free(f->allocator, list.geom, bytes);
    return good ? list_pairs(f, error) : STI_NO_MEMORY;
}

sti_status sti__fields_create(sti__fields *f, const sti__collision_model *cm, const sti_state *s,
                              const sti_allocator *allocator, sti_error *error) {
    const sti_model *m = cm->model;
    *f = (sti__fields){.cm = cm, .allocator = allocator};
    if (!is_needed(m)) return STI_OK;
    sti_status status = list_bodies(f, error);
    if (status == STI_OK) status = make_bodies(f, s, error);
    if (status == STI_OK) {
        find_surface(f);
        int elements = s->opt.pool_elements, patches = s->opt.pool_patches;
        sti__patch_sizes sizes = {elements > 0 ? elements : 1024, patches > 0 ? patches : 256};
        if (!sti__patches_create(&f->patches, sizes, allocator) || !reserve_touches(f))
            status = STI_NO_MEMORY;
    }
    if (status == STI_NO_MEMORY) sti__fail(error, status, "no memory for contact over patches");
    return status;
}

void sti__fields_free(sti__fields *f) {
    if (!f->block) return;
    sti__free(f->allocator, f->touch, sizeof *f->touch * f->room);
    sti__vec_free(&f->pairs);
    for (int i = 0; i < f->cm->model->nflex; i++) {
        if (f->tree[i].allocator) sti__soft_bvh_free(&f->tree[i]);
        sti__middles_free(&f->middles[i]);
    }
    for (int i = 0; i < f->nsolid; i++) sti__solid_free(&f->solid[i], f->allocator);
    if (f->patches.allocator) sti__patches_free(&f->patches);
    sti__free_aligned(f->allocator, f->block, f->bytes);
    *f = (sti__fields){0};
}

/* ---- vertices that arrive -------------------------------------------------------------------------------------------- */

/* A patch is there only when bodies overlap. What falls would sink in by its way of a step, to be thrown out by the pressure
   there; so a vertex that is outside of a geom now and may be inside at the end of the step stops at its surface. */
static bool meets_convex(const sti__shape *shape, const double x[3], double far, sti__touch *out) {
    sti__shape point = {.type = STI_GEOM_SPHERE, .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sti__manifold m;
    v3_copy(point.pos, x);
    sti__collide_pair(shape, &point, far, &m);
    if (m.count == 0 || !(m.point[0].dist > 0)) return false;
    v3_copy(out->pos, m.point[0].pos);
    v3_copy(out->normal, m.point[0].normal);
    out->dist = m.point[0].dist;
    return true;
}

/* The surface of what is not convex, at its nearest point. */
static bool meets_skin(const sti__solid *solid, const sti__shape *shape, const double x[3], double far,
                       sti__touch *out) {
    double arm[3], local[3], nearest[3];
    v3_sub(arm, x, shape->pos);
    m3_mul_vec_t(local, shape->mat, arm);
    out->dist = sti__solid_near(solid, local, far, nearest);
    if (!(out->dist > 0)) return false;
    m3_mul_vec(out->pos, shape->mat, nearest);
    v3_add(out->pos, out->pos, shape->pos);
    v3_sub(out->normal, x, out->pos);
    v3_scale(out->normal, out->normal, 1 / out->dist);
    v3_add_scaled(out->pos, out->normal, 0.5 * out->dist);
    return true;
}

static double speed_of(const sti_state *s, int geom) {
    const sti_model *m = s->model;
    int body = m->geom_bodyid[geom];
    const double *v = s->cvel + 6 * (size_t)body;
    double arm[3], point[3];
    if (m->body_lastdof[body] < 0) return 0;
    v3_sub(arm, s->geom_xpos + 3 * (size_t)geom, s->subtree_com + 3 * (size_t)m->body_rootid[body]);
    v3_cross(point, v, arm);
    v3_add(point, point, v + 3);
    return v3_norm(point) + v3_norm(v) * s->par.geom_rbound[geom];
}

/* The box and the ball that hold a soft body's vertices, and the fastest of them. */
static void bound_soft(const sti_state *s, int flex, sti__soft_bound *b) {
    const sti_model *m = s->model;
    int adr = m->flex_vertadr[flex], end = adr + m->flex_vertnum[flex];
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    b->speed = 0;
    for (int v = adr; v < end; v++) {
        const double *x = s->flexvert_xpos + 3 * (size_t)v;
        for (int k = 0; k < 3; k++) low[k] = fmin(low[k], x[k]), high[k] = fmax(high[k], x[k]);
        b->speed = fmax(b->speed, v3_norm(s->flexvert_xvel + 3 * (size_t)v));
    }
    for (int k = 0; k < 3; k++) {
        b->centre[k] = 0.5 * (low[k] + high[k]);
        b->half[k] = 0.5 * (high[k] - low[k]);
    }
    b->radius = v3_norm(b->half);
}

/* No vertex can arrive; the tenth more is for rounding. */
static bool passes_by(const sti__soft_bound *b, const sti__shape *shape, double size, double way) {
    double d[3], height = 0, deep = 0;
    v3_sub(d, b->centre, shape->pos);
    if (shape->type != STI_GEOM_PLANE) return size > 0 && v3_norm(d) > size + 1.1 * (b->radius + way);
    for (int k = 0; k < 3;
         k++) { /* the box above the plane: its centre, and how far it reaches down from there */
        height += d[k] * shape->mat[3 * k + 2];
        deep += b->half[k] * fabs(shape->mat[3 * k + 2]);
    }
    return height > 1.1 * (deep + way);
}

static void find_arrivals(sti__fields *f, const sti_state *s, const sti__pressure_pair *pair) {
    const sti_model *m = s->model;
    int geom = f->geom[pair->a], flex = pair->b, adr = m->flex_vertadr[flex];
    double size = s->par.geom_rbound[geom], d[3];
    double fast = speed_of(s, geom) + s->opt.timestep * v3_norm(s->opt.gravity);
    const sti__solid *solid = f->made[pair->a] < 0 ? NULL : &f->solid[f->made[pair->a]];
    sti__shape shape;
    sti__geom_shape(f->cm, s, geom, &shape);
    if (passes_by(&f->bound[flex], &shape, size, s->opt.timestep * (fast + f->bound[flex].speed))) return;
    for (int v = adr; v < adr + m->flex_vertnum[flex]; v++) {
        if (f->corner[v] < 0) continue;
        const double *x = s->flexvert_xpos + 3 * (size_t)v;
        double far = s->opt.timestep * (fast + v3_norm(s->flexvert_xvel + 3 * (size_t)v));
        v3_sub(d, x, shape.pos);
        if (size > 0 && v3_dot(d, d) > (size + far) * (size + far)) continue;
        sti__touch t = {.stiffness = INFINITY, .a = pair->a, .b = flex, .element = {-1, f->corner[v] / 4}};
        bool convex = !solid || solid->skin.ntri == 0;
        if (!(convex ? meets_convex(&shape, x, far, &t) : meets_skin(solid, &shape, x, far, &t))) continue;
        const uint64_t key[2] = {(uint64_t)geom << 32 | (uint64_t)flex, (uint64_t)v};
        t.weight[1][f->corner[v] % 4] = 1;
        t.feature = sti__hash(STI__HASH_SEED, key, sizeof key) | 1ull << 63;
        if ((size_t)f->ntouch < f->room) f->touch[f->ntouch++] = t;
        f->arriving++;
    }
}

static bool is_rigid(const sti__fields *f, const sti__patch *x) {
    return f->geom[x->a] >= 0 && f->geom[x->b] >= 0;
}

/* Fewer contacts of rigid bodies; those of soft ones tilt within a polygon, and stay. */
#define WHOLE 1e3 /* m: a cell that holds all */
static void merge(sti__fields *f, double cell) {
    sti__patches *p = &f->patches;
    sti__patches_merge(p, f->body, cell < WHOLE ? cell : INFINITY);
    for (int i = 0; i < p->ncontact; i++)
        if (is_rigid(f, &p->contact[i])) f->touch[f->ntouch++] = sti__touch_whole(&p->contact[i]);
}

void sti__fields_refit(sti__fields *f, const sti_state *s, const sti_tasks *tasks) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nflex; i++) {
        const double *x = s->flexvert_xpos + 3 * (size_t)m->flex_vertadr[i];
        sti__middles_place(&f->middles[i], x);
        sti__soft_bvh_refit(&f->tree[i], f->middles[i].count ? f->middles[i].node : x, tasks);
    }
}

int sti__fields_tet(const sti__fields *f, const sti__patch *p, int side) {
    int body = side ? p->b : p->a, tet = p->element[side];
    double weight[4] = {0};
    if (f->geom[body] < 0) sti__middles_own(&f->middles[body], &tet, weight);
    return tet;
}

/* Tets and weights of the field become those of the bodies. */
static void own(const sti__fields *f, sti__touch *p) {
    for (int side = 0; side < 2; side++) {
        int body = side ? p->b : p->a;
        if (f->geom[body] < 0 && f->middles[body].count > 0)
            sti__middles_own(&f->middles[body], &p->element[side], p->weight[side]);
    }
}

/* Polygons of one pair lie side by side. */
static int end_of_pair(const sti__fields *f, int begin) {
    int end = begin + 1;
    while (end < f->patches.npatch && f->patches.patch[end].pair == f->patches.patch[begin].pair) end++;
    return end;
}

static int split_all(const sti__fields *f, int begin, int end) {
    int count = 0;
    for (int i = begin; i < end; i++) count += sti__touch_split(f, i, f->touch + f->ntouch + count);
    return count;
}

bool sti__fields_find(sti__fields *f, const sti_state *s, const sti_tasks *tasks, sti__patch_sizes *need) {
    f->ntouch = 0;
    f->arriving = 0;
    if (!sti__patches_find(&f->patches, f->body, f->pair, f->npair, tasks, need)) return false;
    if (s->opt.merge > 0) merge(f, s->opt.merge);
    for (int i = 0, end; i < f->patches.npatch; i = end) {
        end = end_of_pair(f, i);
        if (s->opt.merge > 0 && is_rigid(f, &f->patches.patch[i])) continue;
        f->ntouch += end - i > s->opt.max_polygons && !is_rigid(f, &f->patches.patch[i])
                         ? sti__touch_coarse(f, i, end, s->opt.max_polygons, f->touch + f->ntouch)
                         : split_all(f, i, end);
    }
    for (int i = 0; i < f->ntouch; i++) own(f, &f->touch[i]);
    size_t polygons = (size_t)f->ntouch;
    for (int i = 0; i < s->model->nflex; i++) bound_soft(s, i, &f->bound[i]);
    for (int i = 0; i < f->npair; i++)
        if (f->geom[f->pair[i].a] >= 0 && f->geom[f->pair[i].b] < 0) find_arrivals(f, s, &f->pair[i]);
    return polygons + f->arriving == (size_t)f->ntouch;
}

/* One side of the mixing. */
typedef struct side {
    int priority, dim;
    double mu, dissipation;
} side;

static side side_of(const sti__fields *f, const sti_state *s, int body) {
    const sti_model *m = s->model;
    int g = f->geom[body];
    if (g < 0)
        return (side){m->flex_priority[body], m->flex_condim[body], m->flex_friction[3 * body],
                      m->flex_dissipation[body]};
    return (side){m->geom_priority[g], m->geom_condim[g], s->par.geom_friction[3 * g],
                  m->geom_softness[4 * g + 1]};
}

sti__patch_law sti__fields_law(const sti__fields *f, const sti_state *s, const sti__touch *p) {
    side a = side_of(f, s, p->a), b = side_of(f, s, p->b);
    double dissipation = fmax(a.dissipation, b.dissipation);
    if (a.priority != b.priority) {
        side *first = a.priority > b.priority ? &a : &b;
        return (sti__patch_law){first->dim > 1 ? 3 : 1, fmax(first->mu, 1e-5), dissipation};
    }
    int dim = a.dim > b.dim ? a.dim : b.dim;
    return (sti__patch_law){dim > 1 ? 3 : 1, fmax(fmax(a.mu, b.mu), 1e-5), dissipation};
}
