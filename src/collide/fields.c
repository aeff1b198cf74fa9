/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/fields.h"

#include "collide/collide.h"
#include "mesh/pressure.h"
#include "mesh/stuff.h"
#include "mesh/tetshape.h"
#include <math.h>
#include <string.h>

/* ---- who takes part ------------------------------------------------------------------------------------------ */

static bool has_field(const sti_model *m, int geom) { return m->geom_hydroelastic[geom] > 0; }

static bool has_shape(const sti_model *m, int geom) {
    switch (m->geom_type[geom]) {
    case STI_GEOM_HFIELD: return false;
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

static bool takes_part(const sti__collision_model *cm, int geom) {
    const sti_model *m = cm->model;
    if (!has_shape(m, geom)) return false;
    if (has_field(m, geom)) return m->geom_contype[geom] || m->geom_conaffinity[geom];
    for (int f = 0; f < m->nflex; f++)
        if (flex_meets_geom(m, f, geom)) return true;
    for (int k = 0; k < m->ngeom; k++)
        if (has_field(m, k) && geoms_meet(cm, geom, k)) return true;
    return false;
}

/* ---- meshes of geoms ------------------------------------------------------------------------------------------ */

static sti__tet_shape shape_of(int type) {
    switch (type) {
    case STI_GEOM_SPHERE: return STI__TET_SPHERE;
    case STI_GEOM_CAPSULE: return STI__TET_CAPSULE;
    case STI_GEOM_ELLIPSOID: return STI__TET_ELLIPSOID;
    case STI_GEOM_CYLINDER: return STI__TET_CYLINDER;
    default: return STI__TET_BOX;
    }
}

/* Surfaces are cut into smaller pieces where they are curved; flat ones need none. */
static double edge_of(const sti_state *s, int geom) {
    const sti_model *m = s->model;
    const double *size = s->par.geom_size + 3 * geom;
    double least = size[0];
    if (m->geom_hydroedge[geom] > 0) return m->geom_hydroedge[geom];
    if (m->geom_type[geom] == STI_GEOM_BOX) return 0;
    if (m->geom_type[geom] == STI_GEOM_ELLIPSOID) least = fmin(fmin(size[0], size[1]), size[2]);
    return least / 4;
}

/* The hull of a mesh, as nodes and triangles alone. */
static bool hull_surface(const sti_model *m, int mesh, const sti_allocator *a, sti__tetmesh *out) {
    int nv = m->mesh_vertnum[mesh], nt = m->mesh_hullfacenum[mesh];
    const float *vert = m->mesh_vert + 3 * m->mesh_vertadr[mesh];
    *out = (sti__tetmesh){.nnode = nv, .ntri = nt, .allocator = a};
    out->node = sti__alloc(a, sizeof(double) * 3 * (size_t)nv);
    out->tri = sti__alloc(a, sizeof(int) * 3 * (size_t)nt);
    if (!out->node || !out->tri) return false;
    for (int i = 0; i < 3 * nv; i++) out->node[i] = vert[i];
    memcpy(out->tri, m->mesh_hullface + 3 * m->mesh_hullfaceadr[mesh], sizeof(int) * 3 * (size_t)nt);
    return true;
}

static double extent(const sti__tetmesh *t) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY},
           least = INFINITY;
    for (int i = 0; i < 3 * t->nnode; i++) {
        low[i % 3] = fmin(low[i % 3], t->node[i]);
        high[i % 3] = fmax(high[i % 3], t->node[i]);
    }
    for (int k = 0; k < 3; k++) least = fmin(least, high[k] - low[k]);
    return least;
}

/* The hull of a mesh; with a field it is filled with tets. */
static sti_status hull_of(const sti_state *s, int geom, bool field, const sti_allocator *a, sti__solid *x,
                          sti_error *error) {
    const sti_model *m = s->model;
    sti__tetmesh surface = {0};
    sti__pressure pressure = {0};
    if (!hull_surface(m, m->geom_dataid[geom], a, field ? &surface : &x->mesh)) return STI_NO_MEMORY;
    if (!field) return STI_OK;
    double edge = m->geom_hydroedge[geom];
    sti__stuff_options options = {.edge = edge > 0 ? edge : extent(&surface) / 6, .mesh = {.allocator = a}};
    sti_status status = sti__tetmesh_stuff(surface.nnode, surface.node, surface.ntri, surface.tri, &options,
                                           &x->mesh, NULL, error);
    sti__tetmesh_free(&surface);
    if (status != STI_OK) return status;
    status =
        sti__pressure_field(&x->mesh, m->geom_hydroelastic[geom], NULL, a, (sti__place){0}, &pressure, error);
    if (status != STI_OK) return status;
    x->pressure = sti__alloc(a, sizeof(double) * (size_t)x->mesh.nnode);
    if (x->pressure) memcpy(x->pressure, pressure.value, sizeof(double) * (size_t)x->mesh.nnode);
    sti__pressure_free(&pressure);
    return x->pressure ? STI_OK : STI_NO_MEMORY;
}

static sti_status make_solid(sti__solid *x, const sti_state *s, const sti_allocator *a, sti_error *error) {
    const sti_model *m = s->model;
    int geom = x->geom, type = m->geom_type[geom];
    sti__tetmesh_options options = {.allocator = a};
    double *depth = NULL;
    bool field = has_field(m, geom);
    if (type == STI_GEOM_MESH) {
        sti_status status = hull_of(s, geom, field, a, x, error);
        if (status != STI_OK) return status;
    } else {
        sti_status status = sti__tetmesh_medial(shape_of(type), s->par.geom_size + 3 * geom, edge_of(s, geom),
                                                &options, &x->mesh, &depth, error);
        if (status != STI_OK) return status;
        for (int i = 0; i < x->mesh.nnode; i++) depth[i] *= m->geom_hydroelastic[geom];
        x->pressure = depth;
    }
    const sti__tetmesh *t = &x->mesh;
    bool made = field ? sti__soft_bvh_create(&x->tree, t->node, x->pressure, t->tet, 4, t->ntet, a)
                      : sti__soft_bvh_create(&x->tree, t->node, NULL, t->tri, 3, t->ntri, a);
    return made ? STI_OK : STI_NO_MEMORY;
}

static void free_solid(sti__solid *x, const sti_allocator *a) {
    if (x->tree.allocator) sti__soft_bvh_free(&x->tree);
    sti__free(a, x->pressure, sizeof(double) * (size_t)x->mesh.nnode);
    if (x->mesh.allocator) sti__tetmesh_free(&x->mesh);
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

/* Counts, or writes if there is room. */
static int list_pairs(const sti__fields *f, sti__pressure_pair *out) {
    int count = 0;
    for (int a = 0; a < f->nbody; a++)
        for (int b = a; b < f->nbody; b++) {
            if ((a == b && f->geom[a] >= 0) || !bodies_meet(f, a, b)) continue;
            bool swap = f->geom[a] < 0 && f->geom[b] >= 0;
            if (out) out[count] = (sti__pressure_pair){swap ? b : a, swap ? a : b};
            count++;
        }
    return count;
}

static size_t lay_out(sti__fields *f, int nflex, char *base) {
    size_t n = (size_t)f->nbody, used = 0;
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&f->body, n * sizeof *f->body},
               {&f->geom, n * sizeof *f->geom},
               {&f->solid_of, n * sizeof *f->solid_of},
               {&f->solid, n * sizeof *f->solid},
               {&f->tree, (size_t)nflex * sizeof *f->tree},
               {&f->middles, (size_t)nflex * sizeof *f->middles},
               {&f->corner, (size_t)f->cm->model->nflexvert * sizeof *f->corner},
               {&f->pair, (size_t)f->npair * sizeof *f->pair}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used += (all[i].bytes + STI__ALIGN - 1) / STI__ALIGN * STI__ALIGN;
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

static sti_status make_bodies(sti__fields *f, const sti_state *s, sti_error *error) {
    const sti_model *m = s->model;
    int n = 0;
    for (int i = 0; i < m->nflex; i++, n++) {
        f->geom[n] = f->solid_of[n] = -1;
        if (!sti__middles_create(&f->middles[i], m, i, f->allocator)) return STI_NO_MEMORY;
        f->body[n] = soft_view(f, s, i);
        const sti__middles *more = &f->middles[i];
        const double *x = more->count ? more->node : m->flexvert_pos0 + 3 * (size_t)m->flex_vertadr[i];
        if (!sti__soft_bvh_create(&f->tree[i], x, f->body[n].pressure, f->body[n].tet, 4,
                                  m->flex_elemnum[i] + 4 * more->count, f->allocator))
            return STI_NO_MEMORY;
        if (m->flex_selfcollide[i] && !sti__soft_bvh_meet_self(&f->tree[i])) return STI_NO_MEMORY;
    }
    for (int g = 0; g < m->ngeom; g++) {
        if (!takes_part(f->cm, g)) continue;
        sti__solid *x = m->geom_type[g] == STI_GEOM_PLANE ? NULL : &f->solid[f->nsolid];
        f->geom[n] = g;
        f->solid_of[n] = x ? f->nsolid++ : -1;
        if (x) {
            x->geom = g;
            sti_status status = make_solid(x, s, f->allocator, error);
            if (status != STI_OK) return status;
        }
        f->body[n++] = geom_view(x, s, g);
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

/* Three for every patch, and every vertex at every geom. */
static bool reserve_touches(sti__fields *f) {
    int vertices = 0;
    for (int i = 0; i < f->npair; i++)
        if (f->geom[f->pair[i].a] >= 0 && f->geom[f->pair[i].b] < 0)
            vertices += f->cm->model->flex_vertnum[f->pair[i].b];
    int room = 3 * f->patches.size.patches + vertices;
    if (f->touch && f->room >= room) return true;
    sti__touch *touch = sti__alloc(f->allocator, sizeof *touch * (size_t)room);
    if (!touch) return false;
    sti__free(f->allocator, f->touch, sizeof *touch * (size_t)f->room);
    f->touch = touch;
    f->room = room;
    return true;
}

bool sti__fields_grow(sti__fields *f, const sti__patch_sizes *need) {
    return sti__patches_grow(&f->patches, *need) && reserve_touches(f);
}

sti_status sti__fields_create(sti__fields *f, const sti__collision_model *cm, const sti_state *s,
                              const sti_allocator *allocator, sti_error *error) {
    const sti_model *m = cm->model;
    *f = (sti__fields){.cm = cm, .allocator = allocator, .nbody = m->nflex};
    if (!is_needed(m)) return f->nbody = 0, STI_OK;
    for (int g = 0; g < m->ngeom; g++) f->nbody += takes_part(cm, g);
    f->npair = f->nbody * (f->nbody + 1) / 2;
    sti_status status = reserve(f, m->nflex) ? make_bodies(f, s, error) : STI_NO_MEMORY;
    if (status == STI_OK) {
        f->npair = list_pairs(f, f->pair);
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
    sti__free(f->allocator, f->touch, sizeof *f->touch * (size_t)f->room);
    for (int i = 0; i < f->cm->model->nflex; i++) {
        if (f->tree[i].allocator) sti__soft_bvh_free(&f->tree[i]);
        sti__middles_free(&f->middles[i]);
    }
    for (int i = 0; i < f->nsolid; i++) free_solid(&f->solid[i], f->allocator);
    if (f->patches.allocator) sti__patches_free(&f->patches);
    sti__free_aligned(f->allocator, f->block, f->bytes);
    *f = (sti__fields){0};
}

/* ---- a step ---------------------------------------------------------------------------------------------------- */

/* The soft tet of each side of a patch: gradients of its barycentric coordinates, and six times its volume; 0: none. */
typedef struct sides {
    double gradient[2][4][3], volume[2];
} sides;

static void measure_sides(const sti__fields *f, const sti__patch *x, sides *s) {
    for (int side = 0; side < 2; side++) {
        const sti__pressure_body *b = &f->body[side ? x->b : x->a];
        s->volume[side] = 0;
        if (b->kind != STI__PRESSURE_SOFT) continue;
        const int *t = b->tet + 4 * (size_t)x->element[side];
        s->volume[side] =
            6 * sti__tet_gradients(b->node + 3 * (size_t)t[0], b->node + 3 * (size_t)t[1],
                                   b->node + 3 * (size_t)t[2], b->node + 3 * (size_t)t[3], s->gradient[side]);
    }
}

/* Barycentric coordinates of the point, from those of the patch. */
static void place_weights(const sides *s, const sti__patch *x, sti__touch *p) {
    double arm[3];
    v3_sub(arm, p->pos, x->pos);
    for (int side = 0; side < 2; side++)
        for (int k = 0; s->volume[side] != 0 && k < 4; k++)
            p->weight[side][k] += v3_dot(s->gradient[side][k], arm);
}

static sti__touch whole(const sti__patch *x) {
    sti__touch p = {.area = x->area,
                    .pressure = x->pressure,
                    .stiffness = x->stiffness,
                    .dist = x->dist,
                    .a = x->a,
                    .b = x->b,
                    .element = {x->element[0], x->element[1]},
                    .feature = x->feature};
    v3_copy(p.pos, x->pos);
    v3_copy(p.normal, x->normal);
    memcpy(p.weight, x->weight, sizeof p.weight);
    return p;
}

/* Whether a polygon is large enough, against the tets that it lies in, for tilting to matter: more than SPLIT of an edge squared,
   that is of (6 volume)^(2/3). */
#define SPLIT 0.1
static bool is_large(const sides *s, const sti__patch *x) {
    double cube = x->area * x->area * x->area, least = SPLIT * SPLIT * SPLIT;
    for (int side = 0; side < 2; side++)
        if (s->volume[side] != 0 && cube > least * s->volume[side] * s->volume[side]) return true;
    return false;
}

/* With S the root of the second moments, the points are at c + sqrt 2 S u for three unit vectors u, and the pressure there is
   p (1 + sqrt 2 u' S^-1 (centre of pressure - c)). */
static int split(const sti__fields *f, int patch, sti__touch *out) {
    const double sqrt2 = STI__SQRT2;
    const sti__patch *x = &f->patches.patch[patch];
    double frame[9], C[3] = {0}, S[3], inverse[3], d[3];
    sides s;
    out[0] = whole(x);
    measure_sides(f, x, &s);
    if (!is_large(&s, x)) return 1;
    v3_copy(frame, x->normal);
    sti__contact_frame(frame);
    const double *t0 = frame + 3, *t1 = frame + 6;
    double area = sti__polygon_spread(&f->patches.polygon[patch], x->centroid, t0, t1, 1, C);
    for (int k = 0; k < 3; k++) C[k] /= area;
    if (!sti__root2(C, S, inverse)) return 1;
    v3_sub(d, x->pos, x->centroid);
    double du = v3_dot(d, t0), dv = v3_dot(d, t1);
    double slope[2] = {inverse[0] * du + inverse[1] * dv, inverse[1] * du + inverse[2] * dv};
    for (int k = 0; k < 3; k++) {
        const double *u = sti__three_ways[k];
        sti__touch *p = &out[k];
        *p = whole(x);
        v3_copy(p->pos, x->centroid);
        v3_add_scaled(p->pos, t0, sqrt2 * (S[0] * u[0] + S[1] * u[1]));
        v3_add_scaled(p->pos, t1, sqrt2 * (S[1] * u[0] + S[2] * u[1]));
        p->area = x->area / 3;
        p->stiffness = x->stiffness / 3;
        p->pressure = x->pressure * fmax(0, 1 + sqrt2 * (slope[0] * u[0] + slope[1] * u[1]));
        p->dist = -p->pressure / x->g;
        p->feature = x->feature + (uint64_t)k * 0x9e3779b97f4a7c15ull;
        place_weights(&s, x, p);
    }
    return 3;
}

/* ---- vertices that arrive -------------------------------------------------------------------------------------------- */

/* A patch is there only when bodies overlap. What falls would sink in by its way of a step, to be thrown out by the pressure
   there; so a vertex that is outside of a geom now and may be inside at the end of the step stops at its surface. */
static bool arrives(const sti_state *s, const sti__shape *shape, double fast, int vert, sti__touch *out) {
    const double *v = s->flexvert_xvel + 3 * (size_t)vert;
    sti__shape point = {.type = STI_GEOM_SPHERE, .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sti__manifold m;
    v3_copy(point.pos, s->flexvert_xpos + 3 * (size_t)vert);
    double far = s->opt.timestep * (fast + v3_norm(v));
    sti__collide_pair(shape, &point, far, &m);
    if (m.count == 0 || !(m.point[0].dist > 0)) return false;
    v3_copy(out->pos, m.point[0].pos);
    v3_copy(out->normal, m.point[0].normal);
    out->dist = m.point[0].dist;
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

static void find_arrivals(sti__fields *f, const sti_state *s, const sti__pressure_pair *pair) {
    const sti_model *m = s->model;
    int geom = f->geom[pair->a], flex = pair->b, adr = m->flex_vertadr[flex];
    double size = s->par.geom_rbound[geom], d[3];
    double fast = speed_of(s, geom) + s->opt.timestep * v3_norm(s->opt.gravity);
    sti__shape shape;
    sti__geom_shape(f->cm, s, geom, &shape);
    for (int v = adr; v < adr + m->flex_vertnum[flex]; v++) {
        if (f->corner[v] < 0) continue;
        v3_sub(d, s->flexvert_xpos + 3 * (size_t)v, shape.pos);
        double reach = size + s->opt.timestep * (fast + v3_norm(s->flexvert_xvel + 3 * (size_t)v));
        if (size > 0 && v3_dot(d, d) > reach * reach) continue;
        sti__touch t = {.stiffness = INFINITY, .a = pair->a, .b = flex, .element = {-1, f->corner[v] / 4}};
        if (!arrives(s, &shape, fast, v, &t)) continue;
        const uint64_t key[2] = {(uint64_t)geom << 32 | (uint64_t)flex, (uint64_t)v};
        t.weight[1][f->corner[v] % 4] = 1;
        t.feature = sti__hash(STI__HASH_SEED, key, sizeof key) | 1ull << 63;
        f->touch[f->ntouch++] = t;
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
        if (is_rigid(f, &p->contact[i])) f->touch[f->ntouch++] = whole(&p->contact[i]);
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

bool sti__fields_find(sti__fields *f, const sti_state *s, const sti_tasks *tasks, sti__patch_sizes *need) {
    f->ntouch = 0;
    if (!sti__patches_find(&f->patches, f->body, f->pair, f->npair, tasks, need)) return false;
    if (s->opt.merge > 0) merge(f, s->opt.merge);
    for (int i = 0; i < f->patches.npatch; i++)
        if (!(s->opt.merge > 0 && is_rigid(f, &f->patches.patch[i])))
            f->ntouch += split(f, i, f->touch + f->ntouch);
    for (int i = 0; i < f->ntouch; i++) own(f, &f->touch[i]);
    for (int i = 0; i < f->npair; i++)
        if (f->geom[f->pair[i].a] >= 0 && f->geom[f->pair[i].b] < 0) find_arrivals(f, s, &f->pair[i]);
    return true;
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
