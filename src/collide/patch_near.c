/* SPDX-License-Identifier: Apache-2.0 */
/* Elements near each other: two trees walked together, each in its own frame. */
#include "collide/patch.h"

#include <math.h>

#define DEPTH 160 /* two trees of at most 61 levels, one more on the stack per level */

typedef struct search {
    sti__patches *out;
    const sti__soft_bvh *a, *b;
    int pair;
    bool moved;        /* frames differ */
    double R[9], t[3]; /* b's frame in a's */
    double spread[9];  /* |R| */
    int64_t count;     /* candidates of all pairs ... */
    int64_t begin;     /* ... before this pair */
    int64_t seen;      /* of this pair */
    int64_t peak;      /* most that there were at once */
    int share;         /* of which one in so many is kept, a power of two */
} search;

/* Every second one of the pair's candidates. */
static void thin(search *s) {
    sti__patch_candidate *c = s->out->candidate + s->begin;
    int64_t half = (s->count - s->begin) / 2, room = s->out->size.candidates - s->begin;
    for (int64_t k = 1; k < half && 2 * k < room; k++) c[k] = c[2 * k];
    s->count = s->begin + half;
    s->share *= 2;
}

static void push(search *s, int item_a, int item_b) {
    if (s->seen++ & (s->share - 1)) return;
    if (s->count - s->begin == s->out->most) thin(s);
    if (s->count < s->out->size.candidates) {
        sti__patch_candidate *c = s->out->candidate + s->count;
        c->pair = s->pair;
        c->element[0] = item_a < 0 ? -1 : s->a->element[item_a];
        c->element[1] = item_b < 0 ? -1 : s->b->element[item_b];
        c->slot = -1;
    }
    s->count++;
    if (s->count > s->peak) s->peak = s->count;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static void relate(search *s, const sti__pressure_body *a, const sti__pressure_body *b) {
    static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zero[3];
    const double *Ra = a->mat ? a->mat : unit, *Rb = b->mat ? b->mat : unit;
    const double *pa = a->pos ? a->pos : zero, *pb = b->pos ? b->pos : zero;
    double d[3];
    s->moved = a->mat || b->mat;
    v3_sub(d, pb, pa);
    m3_mul_vec_t(s->t, Ra, d);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            s->R[3 * i + j] = Ra[i] * Rb[j] + Ra[3 + i] * Rb[3 + j] + Ra[6 + i] * Rb[6 + j];
            s->spread[3 * i + j] = fabs(s->R[3 * i + j]);
        }
}

static void middle(const sti__bvh_node *node, double c[3], double h[3]) {
    for (int k = 0; k < 3; k++) {
        c[k] = 0.5 * ((double)node->hi[k] + (double)node->lo[k]);
        h[k] = 0.5 * ((double)node->hi[k] - (double)node->lo[k]);
    }
}

/* Boxes in different frames: apart along an axis of either (Gottschalk et al. 1996, without products of edges). */
static bool overlap_turned(const search *s, const sti__bvh_node *a, const sti__bvh_node *b) {
    double ca[3], ha[3], cb[3], hb[3], d[3], e[3];
    middle(a, ca, ha);
    middle(b, cb, hb);
    m3_mul_vec(d, s->R, cb);
    /* rounding of the pose, relative to what is added up */
    double slack =
        1e-14 * (fabs(s->t[0]) + fabs(s->t[1]) + fabs(s->t[2]) + fabs(d[0]) + fabs(d[1]) + fabs(d[2]));
    for (int i = 0; i < 3; i++) {
        const double *S = s->spread + 3 * i;
        d[i] += s->t[i] - ca[i];
        if (!(fabs(d[i]) <= ha[i] + S[0] * hb[0] + S[1] * hb[1] + S[2] * hb[2] + slack)) return false;
    }
    m3_mul_vec_t(e, s->R, d);
    for (int i = 0; i < 3; i++) {
        const double *S = s->spread + i;
        if (!(fabs(e[i]) <= hb[i] + S[0] * ha[0] + S[3] * ha[1] + S[6] * ha[2] + slack)) return false;
    }
    return true;
}

static bool overlap(const search *s, const sti__bvh_node *a, const sti__bvh_node *b) {
    if (s->moved) return overlap_turned(s, a, b);
    return (a->lo[0] <= b->hi[0]) & (b->lo[0] <= a->hi[0]) & (a->lo[1] <= b->hi[1]) & (b->lo[1] <= a->hi[1]) &
           (a->lo[2] <= b->hi[2]) & (b->lo[2] <= a->hi[2]);
}

/* ---- two trees ------------------------------------------------------------------------------------------------- */

static bool ranges_meet(const search *s, int i, int j) {
    return s->a->least[i] <= s->b->most[j] && s->b->least[j] <= s->a->most[i];
}

/* Leaves below two nodes. The larger subtree is opened: the order does not depend on where things are. */
static void walk_two(search *s, int from_a, int from_b, bool fields) {
    struct {
        int a, b;
    } stack[DEPTH], at;
    const sti__bvh_node *A = s->a->tree.node, *B = s->b->tree.node;
    int depth = 1;
    stack[0].a = from_a, stack[0].b = from_b;
    while (depth > 0) {
        at = stack[--depth];
        const sti__bvh_node *a = A + at.a, *b = B + at.b;
        if (!overlap(s, a, b)) continue;
        if (a->item >= 0 && b->item >= 0) {
            if (!fields || ranges_meet(s, a->item, b->item)) push(s, a->item, b->item);
        } else if (b->item >= 0 || (a->item < 0 && a->skip - at.a >= b->skip - at.b)) {
            stack[depth].a = A[at.a + 1].skip, stack[depth++].b = at.b;
            stack[depth].a = at.a + 1, stack[depth++].b = at.b;
        } else {
            stack[depth].a = at.a, stack[depth++].b = B[at.b + 1].skip;
            stack[depth].a = at.a, stack[depth++].b = at.b + 1;
        }
    }
}

/* Tets that are near each other at rest, as all that share a node, do not touch: what is left lies below the front. */
static void walk_self(search *s) {
    const int *front = s->a->front;
    const sti__bvh_node *node = s->a->tree.node;
    for (int i = 0; i < s->a->nfront; i++, front += 2)
        if (overlap(s, node + front[0], node + front[1])) walk_two(s, front[0], front[1], true);
}

/* ---- a tree and a plane ---------------------------------------------------------------------------------------------- */

/* Boxes that the plane z = 0 of a's frame cuts. */
static bool cuts(const search *s, const sti__bvh_node *b) {
    double at = s->t[2], reach = 0;
    for (int k = 0; k < 3; k++) {
        at += s->R[6 + k] * 0.5 * ((double)b->hi[k] + (double)b->lo[k]);
        reach += s->spread[6 + k] * 0.5 * ((double)b->hi[k] - (double)b->lo[k]);
    }
    return fabs(at) <= reach + 1e-14 * (fabs(s->t[2]) + fabs(at));
}

static void walk_plane(search *s, bool plane_first) {
    const sti__bvh_node *B = s->b->tree.node;
    for (int k = 0, end = 2 * s->b->tree.count - 1; k < end;) {
        bool meets = cuts(s, B + k);
        if (meets && B[k].item >= 0) { push(s, plane_first ? -1 : B[k].item, plane_first ? B[k].item : -1); }
        k = meets ? k + 1 : B[k].skip;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------ */

static bool has_field(const sti__pressure_body *b) {
    return b->kind == STI__PRESSURE_COMPLIANT || b->kind == STI__PRESSURE_SOFT;
}

static void search_pair(search *s, const sti__pressure_body *a, const sti__pressure_body *b) {
    bool plane_a = a->kind == STI__PRESSURE_PLANE, plane_b = b->kind == STI__PRESSURE_PLANE;
    if (!has_field(a) && !has_field(b)) return;
    if (plane_a || plane_b) {
        relate(s, plane_a ? a : b, plane_a ? b : a);
        s->b = plane_a ? b->tree : a->tree;
        s->a = s->b;
        walk_plane(s, plane_a);
        return;
    }
    s->a = a->tree;
    s->b = b->tree;
    if (s->a->count == 0 || s->b->count == 0) return;
    relate(s, a, b);
    if (a == b) s->moved = false;
    if (a == b && a->kind == STI__PRESSURE_SOFT) walk_self(s);
    else if (a == b) return;
    else walk_two(s, 0, 0, has_field(a) && has_field(b));
}

int64_t sti__patch_near(sti__patches *p, const sti__pressure_body *body, const sti__pressure_pair *pair,
                        int npair) {
    search s = {.out = p};
    for (int i = 0; i < npair; i++) {
        s.pair = i;
        s.begin = s.count;
        s.seen = 0;
        s.share = 1;
        search_pair(&s, body + pair[i].a, body + pair[i].b);
        for (int64_t k = s.begin; k < s.count && k < p->size.candidates; k++) p->candidate[k].share = s.share;
    }
    return s.peak > p->size.candidates ? s.peak : s.count;
}
