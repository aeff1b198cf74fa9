/* SPDX-License-Identifier: Apache-2.0 */
/* Depth of two overlapping convex cores by an expanding polytope inside A - B: the face nearest to the origin
   is pushed out until it lies on the surface. Faces are ordered by the signed distance of their planes, so it
   does not matter whether the first polytope holds the origin. */
#include "collide/core.h"
#include <string.h>

#define VERTICES 160
#define FACES (2 * VERTICES)
#define ITERATIONS (VERTICES - 5)
#define ROUND 1e-13
#define BOTTOMS 16

typedef struct face {
    double n[3], d;    /* outward; d = INFINITY: a sliver that is never pushed */
    short v[3], to[3]; /* to[i]: the face across the edge v[i] v[i+1]; v[0] < 0: free */
} face;

typedef struct polytope {
    sti__vertex v[VERTICES];
    face f[FACES];
    short unused[FACES];
    int nv, nf, nunused; /* nf: used slots and holes */
    double scale;
} polytope;

static void plane_of(polytope *p, face *f) {
    double e0[3], e1[3];
    v3_sub(e0, p->v[f->v[1]].w, p->v[f->v[0]].w);
    v3_sub(e1, p->v[f->v[2]].w, p->v[f->v[0]].w);
    v3_cross(f->n, e0, e1);
    double nn = v3_dot(f->n, f->n);
    if (!(nn > 1e-28 * v3_dot(e0, e0) * v3_dot(e1, e1)) || !(nn > 1e-280)) {
        v3_zero(f->n);
        f->d = INFINITY;
        return;
    }
    v3_scale(f->n, f->n, 1 / sqrt(nn));
    f->d = v3_dot(f->n, p->v[f->v[0]].w);
}

static int add_face(polytope *p, int a, int b, int c) {
    if (p->nunused == 0 && p->nf == FACES) return -1;
    int i = p->nunused ? p->unused[--p->nunused] : p->nf++;
    face *f = &p->f[i];
    f->v[0] = (short)a;
    f->v[1] = (short)b;
    f->v[2] = (short)c;
    plane_of(p, f);
    return i;
}

/* ---- the first tetrahedron ------------------------------------------------------------------------ */

static void any_perpendicular(const double n[3], double out[3]) {
    int k = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2) : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    double e[3] = {k == 0, k == 1, k == 2};
    v3_cross(out, n, e);
    v3_normalize(out);
}

/* how far v[nv] leads out of what v[0..nv-1] span */
static double leads_out(const polytope *p, double flat[3]) {
    double e[3][3];
    for (int i = 1; i <= p->nv; i++) v3_sub(e[i - 1], p->v[i].w, p->v[0].w);
    if (p->nv == 1) return v3_norm(e[0]);
    if (p->nv == 2) {
        double x[3];
        v3_cross(x, e[0], e[1]);
        return v3_norm(x) / v3_norm(e[0]);
    }
    v3_cross(flat, e[0], e[1]);
    v3_normalize(flat);
    return fabs(v3_dot(flat, e[2]));
}

/* tries support points until one leads out; false if A - B has no extent there */
static bool grow(polytope *p, sti__core *a, sti__core *b) {
    double dir[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, d[3], flat[3];
    int n = 3;
    if (p->nv >= 2) v3_sub(d, p->v[1].w, p->v[0].w);
    if (p->nv == 2) {
        v3_normalize(d);
        any_perpendicular(d, dir[0]);
        v3_cross(dir[1], d, dir[0]);
        n = 2;
    }
    if (p->nv == 3) {
        double e[3];
        v3_sub(e, p->v[2].w, p->v[0].w);
        v3_cross(dir[0], d, e);
        v3_normalize(dir[0]);
        n = 1;
    }
    double best = 0;
    sti__vertex found;
    for (int i = 0; i < 2 * n; i++) {
        v3_scale(d, dir[i / 2], i % 2 ? -1 : 1);
        sti__core_difference(a, b, d, &p->v[p->nv]);
        double x = leads_out(p, flat);
        if (x > best) best = x, found = p->v[p->nv];
    }
    if (!(best > 1e-9 * p->scale) || !(best > 1e-150)) return false;
    p->v[p->nv++] = found;
    return true;
}

/* vertices of the simplex that span something, then more until there are four */
static bool start(polytope *p, sti__core *a, sti__core *b, const sti__simplex *s) {
    double flat[3];
    p->scale = 1e-300;
    for (int i = 0; i < s->n; i++) p->scale = fmax(p->scale, v3_norm(s->v[i].w));
    for (int i = 0; i < 3 && s->n < 3; i++) { /* a small simplex says little about size */
        double d[3] = {i == 0, i == 1, i == 2};
        sti__vertex v;
        sti__core_difference(a, b, d, &v);
        p->scale = fmax(p->scale, v3_norm(v.w));
    }
    p->nv = 0;
    for (int i = 0; i < s->n; i++) {
        p->v[p->nv] = s->v[i];
        if (p->nv == 0 || leads_out(p, flat) > 1e-6 * p->scale) p->nv++;
    }
    while (p->nv < 4)
        if (!grow(p, a, b)) return false;
    return true;
}

static void tetrahedron(polytope *p) {
    static const short turn[2][4][3] = {{{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}},
                                        {{0, 2, 1}, {1, 3, 0}, {2, 3, 1}, {0, 3, 2}}};
    static const short to[2][4][3] = {{{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}},
                                      {{3, 2, 1}, {2, 3, 0}, {3, 1, 0}, {1, 2, 0}}};
    double e[3][3], n[3];
    for (int i = 0; i < 3; i++) v3_sub(e[i], p->v[i + 1].w, p->v[0].w);
    v3_cross(n, e[0], e[1]);
    int up = v3_dot(n, e[2]) > 0;
    p->nf = p->nunused = 0;
    for (int i = 0; i < 4; i++) {
        add_face(p, turn[up][i][0], turn[up][i][1], turn[up][i][2]);
        memcpy(p->f[i].to, to[up][i], sizeof p->f[i].to);
    }
}

/* ---- growth ------------------------------------------------------------------------------------------ */

static int edge_to(const face *f, int other) { return f->to[0] == other ? 0 : f->to[1] == other ? 1 : 2; }

typedef struct rim {
    short face[FACES], edge[FACES]; /* faces that stay, and their edge on the horizon */
    int n;
} rim;

/* removes the faces that see w, starting at one, and lists the horizon; false if it is not a ring */
static bool carve(polytope *p, int first, const double w[3], double eps, rim *r) {
    short stack[FACES];
    int n = 0;
    r->n = 0;
    stack[n++] = (short)first;
    p->f[first].v[0] = (short)(-1 - p->f[first].v[0]); /* removed, but still readable */
    for (int i = 0; i < n; i++) {
        face *f = &p->f[stack[i]];
        for (int k = 0; k < 3; k++) {
            int to = f->to[k];
            face *g = &p->f[to];
            if (g->v[0] < 0) continue;
            if (v3_dot(g->n, w) - g->d > eps) {
                g->v[0] = (short)(-1 - g->v[0]);
                stack[n++] = (short)to;
            }
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            int to = p->f[stack[i]].to[k];
            if (p->f[to].v[0] < 0) continue;
            r->face[r->n] = (short)to;
            r->edge[r->n++] = (short)edge_to(&p->f[to], stack[i]);
        }
    for (int i = 0; i < n; i++) p->unused[p->nunused++] = stack[i];
    return r->n >= 3 && n + 2 == r->n;
}

/* new faces from the horizon to vertex w; false when they do not close */
static bool patch(polytope *p, int w, const rim *r) {
    short made[FACES], from[VERTICES]; /* the new face whose horizon edge starts at a vertex */
    for (int i = 0; i < r->n; i++) from[p->f[r->face[i]].v[r->edge[i]]] = -1;
    for (int i = 0; i < r->n; i++) {
        face *g = &p->f[r->face[i]];
        int k = r->edge[i], a = g->v[(k + 1) % 3], b = g->v[k];
        int x = add_face(p, a, b, w);
        if (x < 0) return false;
        p->f[x].to[0] = r->face[i];
        p->f[x].to[1] = p->f[x].to[2] = -1;
        p->f[r->face[i]].to[k] = (short)x;
        made[i] = from[a] = (short)x;
    }
    for (int i = 0; i < r->n; i++) {
        int next = from[p->f[made[i]].v[1]];
        if (next < 0) return false;
        p->f[made[i]].to[1] = (short)next;
        p->f[next].to[2] = made[i];
    }
    for (int i = 0; i < r->n; i++)
        if (p->f[made[i]].to[1] < 0 || p->f[made[i]].to[2] < 0) return false;
    return true;
}

/* Curved shapes: once a face is near the surface, Newton's method finds the bottom that it looks at, and
   faces around that direction need not be pushed further. */
typedef struct settled {
    double near, cone; /* how near of the polytope's size; cosine */
    double n[BOTTOMS][3];
    int count;
} settled;

static bool is_settled(const settled *s, const double n[3]) {
    for (int i = 0; i < s->count; i++)
        if (v3_dot(s->n[i], n) > s->cone) return true;
    return false;
}

/* edges and corners make more bottoms, closer to each other; an ellipsoid smooths them, so that Newton's method
   finds them from farther away */
static settled settle(const sti__core *a, const sti__core *b) {
    int most = a->type > b->type ? a->type : b->type;
    bool smooth = a->type == STI_GEOM_ELLIPSOID || b->type == STI_GEOM_ELLIPSOID;
    if (most >= STI_GEOM_BOX) return (settled){.near = smooth ? 1e-5 : 1e-6, .cone = 0.99999};
    return (settled){.near = smooth ? 1e-3 : 1e-5, .cone = 0.999};
}

static int nearest(const polytope *p, const settled *s) {
    int best = -1;
    for (int i = 0; i < p->nf; i++) {
        const face *f = &p->f[i];
        if (f->v[0] < 0 || !(f->d < (best < 0 ? INFINITY : p->f[best].d))) continue;
        if (s->count == 0 || !is_settled(s, f->n)) best = i;
    }
    return best;
}

/* weights of the origin's projection on the face's plane; the least of them */
static double weights(const polytope *p, const face *f, double l[3]) {
    double x[3], q[3][3], sum = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) q[i][j] = p->v[f->v[i]].w[j] - f->d * f->n[j];
    for (int i = 0; i < 3; i++) {
        v3_cross(x, q[(i + 1) % 3], q[(i + 2) % 3]);
        l[i] = v3_dot(x, f->n);
        sum += l[i];
    }
    if (!(sum > 0)) return -INFINITY;
    for (int i = 0; i < 3; i++) l[i] /= sum;
    return fmin(l[0], fmin(l[1], l[2]));
}

/* several triangles may lie in the nearest plane: the witness is on the one that the origin projects into */
static void face_witness(const polytope *p, const face *nearest_face, sti__closest *out) {
    double l[3], best[3] = {1, 0, 0}, most = weights(p, nearest_face, l), sum = 0;
    face f = *nearest_face;
    if (most > -INFINITY) v3_copy(best, l);
    for (int i = 0; i < p->nf && most < -1e-9; i++) {
        const face *g = &p->f[i];
        if (g->v[0] < 0 || !(g->d < nearest_face->d + 1e-9 * p->scale)) continue;
        if (!(v3_dot(g->n, nearest_face->n) > 1 - 1e-9)) continue;
        double x = weights(p, g, l);
        if (x > most) {
            most = x;
            f = *g;
            v3_copy(best, l);
        }
    }
    v3_zero(out->a);
    v3_zero(out->b);
    for (int i = 0; i < 3; i++) sum += best[i] = fmax(0, best[i]);
    for (int i = 0; i < 3; i++) {
        v3_add_scaled(out->a, p->v[f.v[i]].a, best[i] / sum);
        v3_add_scaled(out->b, p->v[f.v[i]].b, best[i] / sum);
    }
}

/* what is found at face f, whose plane's farthest point is at reach; without the witness */
static void found_at(const face *f, double reach, sti__closest *out) {
    v3_copy(out->normal, f->n);
    out->dist = -reach;
}

static void expand(polytope *p, sti__core *a, sti__core *b, sti__closest *out) {
    double tolerance = ROUND * p->scale;
    bool curved = sti__curved(a) || sti__curved(b);
    settled done = settle(a, b);
    rim r;
    face last = {.v = {-1}}; /* that out is of, if it is not polished */
    out->dist = -INFINITY;
    for (int k = 0; k < ITERATIONS; k++) {
        int i = nearest(p, &done);
        if (i < 0 || p->nv == VERTICES) break;
        face f = p->f[i];
        sti__vertex *v = &p->v[p->nv];
        sti__core_difference(a, b, f.n, v);
        double reach = v3_dot(f.n, v->w);
        if (curved && done.count < BOTTOMS && reach - f.d < done.near * p->scale) {
            sti__closest c;
            found_at(&f, reach, &c);
            face_witness(p, &f, &c);
            sti__polish(a, b, NULL, &c);
            v3_copy(done.n[done.count++], c.normal);
            if (c.dist > out->dist) *out = c, last.v[0] = -1;
            if (is_settled(&done, f.n)) continue;
        }
        /* the last face, not the first with this normal, has the witness on it */
        if (reach < -out->dist + (curved ? 0 : tolerance)) found_at(&f, reach, out), last = f;
        if (reach - f.d <= tolerance || f.d >= -out->dist - tolerance) break;
        if (!carve(p, i, v->w, tolerance, &r)) break;
        if (!patch(p, p->nv++, &r)) break;
    }
    if (last.v[0] < 0) return;
    face_witness(p, &last, out);
    sti__polish(a, b, NULL, out);
}

/* A - B has no inside: it is flat, a line or a point, and the depth across it is none */
static void no_depth(polytope *p, const sti__core *a, const sti__core *b, const sti__simplex *s,
                     sti__closest *out) {
    double d[3], e[3], to[3];
    out->dist = 0;
    v3_sub(to, b->pos, a->pos);
    v3_copy(out->normal, to);
    if (p->nv >= 2) {
        v3_sub(d, p->v[1].w, p->v[0].w);
        v3_normalize(d);
        if (p->nv == 2) {
            v3_add_scaled(out->normal, d, -v3_dot(d, to));
            if (!(v3_norm(out->normal) > 1e-9 * v3_norm(to))) any_perpendicular(d, out->normal);
        } else {
            v3_sub(e, p->v[2].w, p->v[0].w);
            v3_cross(out->normal, d, e);
        }
    }
    v3_normalize(out->normal);
    if (v3_dot(out->normal, to) < 0) v3_scale(out->normal, out->normal, -1);
    v3_copy(out->a, s->v[0].a);
    v3_copy(out->b, s->v[0].a);
    double sum = 0, q[3] = {0, 0, 0};
    for (int i = 0; i < s->n; i++) {
        v3_add_scaled(q, s->v[i].a, s->lambda[i]);
        sum += s->lambda[i];
    }
    if (fabs(sum - 1) < 1e-9) {
        v3_copy(out->a, q);
        v3_copy(out->b, q);
    }
}

void sti__epa(sti__core *a, sti__core *b, const sti__simplex *s, sti__closest *out) {
    polytope p;
    if (!start(&p, a, b, s)) {
        no_depth(&p, a, b, s, out);
        return;
    }
    tetrahedron(&p);
    expand(&p, a, b, out);
    if (!(out->dist > -INFINITY)) no_depth(&p, a, b, s, out);
}
