/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes, tets and materials to batches of elements, the pattern of the matrix and the lists of what is summed where. */
#include "fem/inside.h"
#include "mesh/tetmesh.h"
#include <math.h>
#include <string.h>

/* ---- memory: a chain of blocks, freed together --------------------------------------------------------------- */

typedef struct link {
    _Alignas(64) struct link *next;
    size_t size;
} link;

static void *take(sti__fem *fem, size_t count, size_t size) {
    sti__fem_inside *in = fem->inside;
    size_t bytes = sti__add(sti__mul(count, size), sizeof(link));
    link *l = sti__alloc_aligned(in->allocator, bytes);
    if (!l) return NULL;
    *l = (link){in->chain, bytes};
    in->chain = l;
    return l + 1;
}

void sti__fem_free(sti__fem *fem) {
    if (!fem) return;
    sti_allocator own = fem->inside->own;
    for (link *l = fem->inside->chain, *next; l; l = next) {
        next = l->next;
        sti__free_aligned(&own, l, l->size);
    }
    sti__free(&own, fem->inside, sizeof *fem->inside);
    sti__free(&own, fem, sizeof *fem);
}

static sti__fem *make_empty(const sti_allocator *allocator) {
    allocator = sti__allocator(allocator);
    sti__fem *fem = sti__alloc(allocator, sizeof *fem);
    sti__fem_inside *in = sti__alloc(allocator, sizeof *in);
    if (!fem || !in) {
        sti__free(allocator, fem, sizeof *fem);
        sti__free(allocator, in, sizeof *in);
        return NULL;
    }
    in->own = *allocator;
    in->allocator = &in->own;
    fem->inside = in;
    return fem;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static bool in_range(double x, double low, double high) { return isfinite(x) && x >= low && x <= high; }

static const char *bad_material(const sti__fem_material *m) {
    if ((unsigned)m->kind >= STI__FEM_KINDS) return "has no such kind";
    if (!in_range(m->young, 1e-12, 1e18)) return "must have a Young's modulus between 1e-12 and 1e18 Pa";
    if (!(m->poisson > -1 && m->poisson < 0.5)) return "must have a Poisson's ratio above -1 and below 0.5";
    if (!in_range(m->density, 1e-12, 1e12)) return "must have a density between 1e-12 and 1e12 kg/m^3";
    if (!in_range(m->mass_damping, 0, 1e12)) return "must have a mass damping between 0 and 1e12 1/s";
    if (!in_range(m->stiffness_damping, 0, 1e12)) return "must have a stiffness damping between 0 and 1e12 s";
    return NULL;
}

static sti_status check_sizes(const sti__fem_desc *d, sti__place place, sti_error *error) {
    if (d->nnode < 4 || d->ntet < 1 || d->nmaterial < 1)
        return sti__fail_at(error, place, STI_MESH,
                            "a soft body needs at least four nodes, a tet and a material");
    if (d->ntet > INT32_MAX / 64 || d->nnode > INT32_MAX / 64)
        return sti__fail_at(error, place, STI_LIMIT, "%d tets and %d nodes are too many", d->ntet, d->nnode);
    if (!d->tet_material && d->nmaterial != 1 && d->nmaterial != d->ntet)
        return sti__fail_at(error, place, STI_ARGUMENT, "%d materials for %d tets: which is whose?",
                            d->nmaterial, d->ntet);
    for (int i = 0; i < d->nmaterial; i++) {
        const char *why = bad_material(d->material + i);
        if (why) return sti__fail_at(error, place, STI_VALUE, "material %d %s", i, why);
    }
    return STI_OK;
}

static int material_of(const sti__fem_desc *d, int tet) {
    return d->tet_material ? d->tet_material[tet] : d->nmaterial == 1 ? 0 : tet;
}

static sti_status check_indices(const sti__fem_desc *d, sti__place place, sti_error *error) {
    for (int i = 0; i < 3 * d->nnode; i++)
        if (!isfinite(d->node[i]))
            return sti__fail_at(error, place, STI_MESH, "node %d is not finite", i / 3);
    for (int t = 0; t < d->ntet; t++) {
        const int *n = d->tet + 4 * (size_t)t;
        for (int k = 0; k < 4; k++)
            if (n[k] < 0 || n[k] >= d->nnode)
                return sti__fail_at(error, place, STI_MESH, "tet %d has node %d of %d", t, n[k], d->nnode);
        int m = material_of(d, t);
        if (m < 0 || m >= d->nmaterial)
            return sti__fail_at(error, place, STI_MESH, "tet %d has material %d of %d", t, m, d->nmaterial);
    }
    return STI_OK;
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* Volume, and an error for an element that has none: below 1e-12 of the cube of its longest edge. */
static sti_status element_shape(const sti__fem_desc *d, int t, sti__place place, double grad[4][3],
                                double *volume, sti_error *error) {
    const int *n = d->tet + 4 * (size_t)t;
    const double *p[4];
    double longest = 0;
    for (int k = 0; k < 4; k++) p[k] = d->node + 3 * (size_t)n[k];
    for (int k = 0; k < 6; k++) {
        static const int a[6] = {0, 0, 0, 1, 1, 2}, b[6] = {1, 2, 3, 2, 3, 3};
        double e[3];
        v3_sub(e, p[a[k]], p[b[k]]);
        longest = fmax(longest, v3_norm(e));
    }
    *volume = sti__tet_gradients(p[0], p[1], p[2], p[3], grad);
    if (*volume > 1e-12 * longest * longest * longest && isfinite(*volume)) return STI_OK;
    return sti__fail_at(error, place, STI_MESH, "tet %d (nodes %d %d %d %d) %s at rest", t, n[0], n[1], n[2],
                        n[3], *volume < 0 ? "is inverted" : "has no volume");
}

static void put_element(const sti__fem_desc *d, int t, const double grad[4][3], double volume, sti__fem *fem,
                        int slot) {
    sti__fem_batch *b = fem->inside->batch + slot / STI__FEM_BATCH;
    const sti__fem_material *m = d->material + material_of(d, t);
    const int *n = d->tet + 4 * (size_t)t;
    int l = slot % STI__FEM_BATCH, order[4] = {0, 1, 2, 3};
    for (int a = 1; a < 4; a++)
        for (int k = a; k > 0 && n[order[k - 1]] > n[order[k]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1], order[k - 1] = swap;
        }
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) b->grad[3 * a + i][l] = grad[order[a + 1]][i];
    for (int k = 0; k < 4; k++) b->node[k][l] = n[order[k]];
    b->volume[l] = volume;
    b->tet[l] = t;
    b->kind = m->kind;
    sti__material_constants(m->kind, m->young, m->poisson, &b->mu[l], &b->lambda[l]);
    fem->inside->beta[slot] = m->stiffness_damping;
}

/* The places after the last element of a kind repeat it, without volume. */
static void pad_batch(sti__fem_batch *b, int used) {
    for (int l = used; l < STI__FEM_BATCH; l++) {
        for (int i = 0; i < 9; i++) b->grad[i][l] = b->grad[i][used - 1];
        for (int k = 0; k < 4; k++) b->node[k][l] = b->node[k][used - 1];
        b->mu[l] = b->mu[used - 1], b->lambda[l] = b->lambda[used - 1];
        b->volume[l] = 0;
        b->tet[l] = -1;
    }
}

static void note_masses(const sti__fem_material *m, double volume, const int n[4], sti__fem *fem) {
    for (int k = 0; k < 4; k++) {
        double part = 0.25 * m->density * volume;
        fem->mass[n[k]] += part;
        fem->drag[n[k]] += m->mass_damping * part;
    }
    fem->damped |= m->stiffness_damping > 0;
    fem->linear &= m->kind == STI__FEM_LINEAR || m->kind == STI__FEM_LINEAR_COROTATED;
    fem->constant &= m->kind == STI__FEM_LINEAR;
}

static sti_status make_elements(const sti__fem_desc *d, sti__place place, sti__fem *fem, sti_error *error) {
    sti__fem_inside *in = fem->inside;
    int count[STI__FEM_KINDS] = {0}, slot[STI__FEM_KINDS];
    for (int t = 0; t < d->ntet; t++) count[d->material[material_of(d, t)].kind]++;
    for (int k = 0; k < STI__FEM_KINDS; k++) {
        slot[k] = STI__FEM_BATCH * in->nbatch;
        in->nbatch += (count[k] + STI__FEM_BATCH - 1) / STI__FEM_BATCH;
    }
    in->batch = take(fem, (size_t)in->nbatch, sizeof *in->batch);
    in->beta = take(fem, (size_t)in->nbatch * STI__FEM_BATCH, sizeof(double));
    if (!in->batch || !in->beta) return sti__fail_at(error, place, STI_NO_MEMORY, "soft body");
    fem->linear = fem->constant = true;
    for (int t = 0; t < d->ntet; t++) {
        const sti__fem_material *m = d->material + material_of(d, t);
        double grad[4][3];
        sti_status s = element_shape(d, t, place, grad, fem->volume + t, error);
        if (s) return s;
        put_element(d, t, (const double(*)[3])grad, fem->volume[t], fem, slot[m->kind]++);
        note_masses(m, fem->volume[t], d->tet + 4 * (size_t)t, fem);
    }
    for (int k = 0; k < STI__FEM_KINDS; k++)
        if (slot[k] % STI__FEM_BATCH)
            pad_batch(in->batch + slot[k] / STI__FEM_BATCH, slot[k] % STI__FEM_BATCH);
    for (int i = 0; i < d->nnode; i++)
        if (!(fem->mass[i] > 0)) return sti__fail_at(error, place, STI_MESH, "node %d belongs to no tet", i);
    return STI_OK;
}

/* ---- pattern --------------------------------------------------------------------------------------------------------- */

/* Corners of each node, in the order of the slots. */
static bool make_corners(sti__fem *fem) {
    sti__fem_inside *in = fem->inside;
    int nslot = in->nbatch * STI__FEM_BATCH;
    in->node_first = take(fem, (size_t)fem->nnode + 2, sizeof(int));
    in->node_corner = take(fem, (size_t)fem->ntet * 4, sizeof(int));
    if (!in->node_first || !in->node_corner) return false;
    int *next = in->node_first + 1; /* moves up to become the first of the node after */
    for (int t = 0; t < 4 * fem->ntet; t++) next[fem->tet[t] + 1]++;
    for (int i = 0; i < fem->nnode; i++) next[i + 1] += next[i];
    for (int s = 0; s < nslot; s++) {
        const sti__fem_batch *b = in->batch + s / STI__FEM_BATCH;
        if (b->tet[s % STI__FEM_BATCH] < 0) continue;
        for (int k = 0; k < 4; k++) in->node_corner[next[b->node[k][s % STI__FEM_BATCH]]++] = 4 * s + k;
    }
    return true;
}

static void sift(uint64_t *key, int i, int n) {
    for (int child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && key[child + 1] > key[child];
        if (key[child] <= key[i]) return;
        uint64_t t = key[i];
        key[i] = key[child], key[child] = t;
    }
}
static void sort_keys(uint64_t *key, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(key, i, n);
    for (int i = n - 1; i > 0; i--) {
        uint64_t t = key[0];
        key[0] = key[i], key[i] = t;
        sift(key, 0, i);
    }
}

/* Neighbours of node i, itself included, ascending; mark[] == i says that a node was seen. Returns how many. */
static int neighbours(const sti__fem *fem, int i, int *mark, int *out) {
    const sti__fem_inside *in = fem->inside;
    int n = 0;
    for (int c = in->node_first[i]; c < in->node_first[i + 1]; c++) {
        int slot = in->node_corner[c] / 4;
        const sti__fem_batch *b = in->batch + slot / STI__FEM_BATCH;
        for (int k = 0; k < 4; k++) {
            int j = b->node[k][slot % STI__FEM_BATCH];
            if (mark[j] == i + 1) continue;
            mark[j] = i + 1;
            if (out) out[n] = j;
            n++;
        }
    }
    for (int a = 1; out && a < n; a++)
        for (int b = a; b > 0 && out[b - 1] > out[b]; b--) {
            int t = out[b];
            out[b] = out[b - 1], out[b - 1] = t;
        }
    return n;
}

static int find_block(const sti__fem *fem, int i, int j) {
    int low = fem->start[i], high = fem->start[i + 1] - 1;
    while (low < high) {
        int mid = (low + high) / 2;
        if (fem->col[mid] < j) low = mid + 1;
        else high = mid;
    }
    return low;
}

static bool make_pattern(sti__fem *fem) {
    sti__fem_inside *in = fem->inside;
    int *mark = take(fem, (size_t)fem->nnode, sizeof(int));
    fem->start = take(fem, (size_t)fem->nnode + 1, sizeof(int));
    fem->diag = take(fem, (size_t)fem->nnode, sizeof(int));
    if (!mark || !fem->start || !fem->diag) return false;
    for (int i = 0; i < fem->nnode; i++) fem->start[i + 1] = fem->start[i] + neighbours(fem, i, mark, NULL);
    fem->nblock = fem->start[fem->nnode];
    fem->col = take(fem, (size_t)fem->nblock, sizeof(int));
    in->mirror = take(fem, (size_t)fem->nblock, sizeof(int));
    if (!fem->col || !in->mirror) return false;
    memset(mark, 0, (size_t)fem->nnode * sizeof(int));
    for (int i = 0; i < fem->nnode; i++) neighbours(fem, i, mark, fem->col + fem->start[i]);
    for (int i = 0; i < fem->nnode; i++)
        for (int k = fem->start[i]; k < fem->start[i + 1]; k++) {
            in->mirror[k] = fem->col[k] > i ? find_block(fem, fem->col[k], i) : k;
            if (fem->col[k] == i) fem->diag[i] = k;
        }
    return true;
}

/* ---- what is summed where ------------------------------------------------------------------------------------------------ */

/* Keys (block of the lower triangle, entry) of the elements of a slab; returns how many. */
static int slab_keys(const sti__fem *fem, int slab, uint64_t *key) {
    const sti__fem_inside *in = fem->inside;
    int first = slab * STI__FEM_SLAB,
        last = first + STI__FEM_SLAB < in->nbatch ? first + STI__FEM_SLAB : in->nbatch;
    int n = 0;
    for (int s = first * STI__FEM_BATCH; s < last * STI__FEM_BATCH; s++) {
        const sti__fem_batch *b = in->batch + s / STI__FEM_BATCH;
        int l = s % STI__FEM_BATCH;
        for (int a = 0; b->tet[l] >= 0 && a < 4; a++)
            for (int c = 0; c <= a; c++) {
                int entry = (s - first * STI__FEM_BATCH) * STI__FEM_PAIRS + a * (a + 1) / 2 + c;
                key[n++] = (uint64_t)find_block(fem, b->node[a][l], b->node[c][l]) << 32 | (uint32_t)entry;
            }
    }
    sort_keys(key, n);
    return n;
}

static int count_targets(const uint64_t *key, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) count += i == 0 || key[i] >> 32 != key[i - 1] >> 32;
    return count;
}

static bool make_lists(sti__fem *fem) {
    sti__fem_inside *in = fem->inside;
    in->nslab = (in->nbatch + STI__FEM_SLAB - 1) / STI__FEM_SLAB;
    uint64_t *key = take(fem, (size_t)STI__FEM_SLAB * STI__FEM_BATCH * STI__FEM_PAIRS, sizeof *key);
    in->slab_first = take(fem, (size_t)in->nslab + 1, sizeof(int));
    in->entry = take(fem, (size_t)fem->ntet * STI__FEM_PAIRS, sizeof(int));
    bool *seen = take(fem, (size_t)fem->nblock, sizeof(bool));
    if (!key || !in->slab_first || !in->entry || !seen) return false;
    for (int s = 0; s < in->nslab; s++)
        in->slab_first[s + 1] = in->slab_first[s] + count_targets(key, slab_keys(fem, s, key));
    in->target = take(fem, (size_t)in->slab_first[in->nslab] + 1, sizeof *in->target);
    if (!in->target) return false;
    int entry = 0, target = 0;
    for (int s = 0; s < in->nslab; s++) {
        int n = slab_keys(fem, s, key);
        for (int i = 0; i < n; i++) {
            int block = (int)(key[i] >> 32);
            if (i == 0 || block != (int)(key[i - 1] >> 32)) {
                in->target[target++] = (sti__fem_target){block, entry, !seen[block]};
                seen[block] = true;
            }
            in->entry[entry++] = (int)(key[i] & 0xffffffffu);
        }
    }
    in->target[target] = (sti__fem_target){-1, entry, false};
    return true;
}

static bool copy_mesh(const sti__fem_desc *d, sti__fem *fem) {
    size_t nodes = (size_t)d->nnode, tets = (size_t)d->ntet;
    fem->nnode = d->nnode, fem->ntet = d->ntet;
    fem->rest = take(fem, 3 * nodes, sizeof(double));
    fem->tet = take(fem, 4 * tets, sizeof(int));
    fem->volume = take(fem, tets, sizeof(double));
    fem->mass = take(fem, nodes, sizeof(double));
    fem->drag = take(fem, nodes, sizeof(double));
    if (!fem->rest || !fem->tet || !fem->volume || !fem->mass || !fem->drag) return false;
    memcpy(fem->rest, d->node, 3 * nodes * sizeof(double));
    memcpy(fem->tet, d->tet, 4 * tets * sizeof(int));
    return true;
}

sti_status sti__fem_create(const sti__fem_desc *desc, const sti_allocator *allocator, sti__place place,
                           sti__fem **out, sti_error *error) {
    *out = NULL;
    sti_status s = check_sizes(desc, place, error);
    if (!s) s = check_indices(desc, place, error);
    if (s) return s;
    sti__fem *fem = make_empty(allocator);
    bool enough = fem && copy_mesh(desc, fem);
    if (enough) s = make_elements(desc, place, fem, error);
    if (enough && !s) enough = make_corners(fem) && make_pattern(fem) && make_lists(fem);
    if (!enough) s = sti__fail_at(error, place, STI_NO_MEMORY, "soft body of %d tets", desc->ntet);
    if (s) {
        sti__fem_free(fem);
        return s;
    }
    *out = fem;
    return STI_OK;
}
