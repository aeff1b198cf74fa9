/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the elements, and sums of what they give in an order that does not depend on threads. */
#include "base/isa.h"
#include "base/simd.h"
#include "fem/inside.h"
#include <string.h>

sti__fem_kernel sti__fem_elements;
#ifdef STI_HAVE_ISA
sti__fem_kernel sti__fem_elements_avx2, sti__fem_elements_avx512;
#endif

sti__fem_kernel *sti__fem_kernel_variant(int k) {
#ifdef STI_HAVE_ISA
    __builtin_cpu_init();
    if (k == 1) return sti__has_avx2() ? sti__fem_elements_avx2 : NULL;
    if (k == 2) return sti__has_avx512() ? sti__fem_elements_avx512 : NULL;
#endif
    return k == 0 ? sti__fem_elements : NULL;
}

sti__fem_kernel *sti__fem_best_kernel(void) {
    for (int k = 2; k > 0; k--)
        if (sti__fem_kernel_variant(k)) return sti__fem_kernel_variant(k);
    return sti__fem_elements;
}

static void run(const sti_tasks *tasks, int count, int grain, sti_task_body body, void *context) {
    if (tasks && tasks->nthread > 1 && count > grain) tasks->run(tasks->system, count, grain, body, context);
    else if (count > 0) body(context, 0, count);
}

/* ---- memory of a world ------------------------------------------------------------------------------------------- */

static size_t lay_out(const sti__fem *fem, sti__fem_work *w, char *base) {
    size_t batches = (size_t)fem->inside->nbatch, slots = batches * STI__FEM_BATCH, used = 0;
    size_t slab = batches < STI__FEM_SLAB ? batches : STI__FEM_SLAB;
    struct {
        double **at;
        size_t count;
    } part[] = {{&w->force, 3 * (size_t)fem->nnode},
                {&w->position, 3 * (size_t)fem->nnode},
                {&w->product, fem->damped ? 3 * (size_t)fem->nnode : 0},
                {&w->stiff, 9 * (size_t)fem->nblock},
                {&w->damp, fem->damped ? 9 * (size_t)fem->nblock : 0},
                {&w->frozen_at, 3 * (size_t)fem->nnode},
                {&w->made_at, 6 * (size_t)fem->nnode},
                {&w->rotation, 72 * batches},
                {&w->reference, 72 * batches},
                {&w->element_energy, slots},
                {&w->element_force, 12 * slots},
                {&w->element_block, slab * STI__FEM_BATCH * STI__FEM_NUMBERS}};
    for (int i = 0; i < STI__COUNT(part); i++) {
        *part[i].at = base && part[i].count ? (double *)(base + used) : NULL;
        used = sti__add(used, sti__mul((part[i].count + 7) / 8, 64));
    }
    w->moved = base ? (unsigned char *)base + used : NULL;
    return sti__add(used, batches);
}

sti__fem_work *sti__fem_work_create(const sti__fem *fem, const sti_allocator *allocator) {
    allocator = sti__allocator(allocator);
    sti__fem_work *w = sti__alloc(allocator, sizeof *w);
    if (!w) return NULL;
    w->own = *allocator;
    w->allocator = &w->own;
    w->nblock_bytes = lay_out(fem, w, NULL);
    w->block = sti__alloc_aligned(w->allocator, w->nblock_bytes);
    if (!w->block) {
        sti__free(allocator, w, sizeof *w);
        return NULL;
    }
    lay_out(fem, w, w->block);
    w->tolerance = 1e-3;
    w->kernel = sti__fem_best_kernel();
    sti__fem_freeze(fem, w, fem->rest, NULL);
    return w;
}

void sti__fem_work_free(sti__fem_work *w) {
    if (!w) return;
    sti_allocator own = w->own;
    sti__free_aligned(&own, w->block, w->nblock_bytes);
    sti__free(&own, w, sizeof *w);
}

void sti__fem_forget(sti__fem_work *w) { w->valid = w->damp_valid = false; }

/* ---- passes -------------------------------------------------------------------------------------------------------- */

typedef struct job {
    const sti__fem *fem;
    sti__fem_work *work;
    sti__fem_pass pass;
    double *force;     /* nnode * 3: sums of what the elements push with */
    int first, target; /* of the slab: batch, target */
    bool damp;         /* beta K too */
} job;

static job make_job(const sti__fem *fem, sti__fem_work *w, const double *x, int what) {
    what |= (w->wall ? STI__FEM_WALL : 0) | (w->crushed ? STI__FEM_CRUSHED : 0);
    return (job){fem,
                 w,
                 {fem->inside->batch, x, w->rotation, w->reference, w->element_energy, w->element_force,
                  w->element_block, w->moved, fem->inside->beta, w->turn, w->node_turn, 0, w->tolerance, 0,
                  what},
                 w->force,
                 0,
                 0,
                 false};
}

static void elements_task(void *context, int begin, int end) {
    const job *j = context;
    j->work->kernel(&j->pass, j->first + begin, j->first + end);
}

static void nodes_task(void *context, int begin, int end) {
    const job *j = context;
    const sti__fem_inside *in = j->fem->inside;
    const double *from = j->work->element_force;
    for (int i = begin; i < end; i++) {
        double f[3] = {0};
        for (int c = in->node_first[i]; c < in->node_first[i + 1]; c++) {
            const double *e = from + 3 * (size_t)in->node_corner[c];
            f[0] += e[0], f[1] += e[1], f[2] += e[2];
        }
        memcpy(j->force + 3 * (size_t)i, f, sizeof f);
    }
}

/* Sums what a slab gives to its blocks of the lower triangle. Entries in their order, whoever does it. */
static void gather_task(void *context, int begin, int end) {
    const job *j = context;
    const sti__fem_inside *in = j->fem->inside;
    for (int t = j->target + begin; t < j->target + end; t++) {
        const sti__fem_target *target = in->target + t;
        double *at = j->work->stiff + 9 * (size_t)target->block,
               *damp = j->damp ? j->work->damp + 9 * (size_t)target->block : NULL;
        sti__pack k = {0}, d = {0};
        double k8 = 0, d8 = 0;
        if (!target->fresh) k = *(const sti__pack *)at, k8 = at[8];
        if (!target->fresh && j->damp) d = *(const sti__pack *)damp, d8 = damp[8];
        for (int e = target->first; e < target[1].first; e++) {
            int slot = in->entry[e] / STI__FEM_PAIRS, pair = in->entry[e] % STI__FEM_PAIRS;
            const double *b = j->work->element_block + STI__FEM_NUMBERS * (size_t)slot + 9 * (size_t)pair;
            double beta = in->beta[j->first * STI__FEM_BATCH + slot];
            k += *(const sti__pack *)b, k8 += b[8];
            if (j->damp) d += beta * *(const sti__pack *)b, d8 += beta * b[8];
        }
        *(sti__pack *)at = k, at[8] = k8;
        if (j->damp) *(sti__pack *)damp = d, damp[8] = d8;
    }
}

/* Blocks above the diagonal from those below. */
static void mirror_task(void *context, int begin, int end) {
    const job *j = context;
    const sti__fem *fem = j->fem;
    for (int which = 0; which < 1 + j->damp; which++) {
        double *v = which ? j->work->damp : j->work->stiff;
        for (int b = fem->start[begin]; b < fem->start[end]; b++) {
            int m = fem->inside->mirror[b];
            if (m == b) continue;
            for (int i = 0; i < 9; i++) v[9 * (size_t)b + i] = v[9 * (size_t)m + i % 3 * 3 + i / 3];
        }
    }
}

static void note_frozen(const job *j) {
    size_t bytes = sti__size(3, j->fem->nnode, sizeof(double));
    if (j->pass.what & STI__FEM_FREEZE) memcpy(j->work->frozen_at, j->pass.x, bytes);
}

static void all_elements(job *j, const sti_tasks *tasks) {
    note_frozen(j);
    run(tasks, j->fem->inside->nbatch, 8, elements_task, j);
    if (j->pass.what & STI__FEM_FORCE) run(tasks, j->fem->nnode, 64, nodes_task, j);
}

/* K, beta K if asked, and what else the elements shall give, slab by slab, so that the blocks of few elements are in memory
   at once. */
static void assemble(const sti__fem *fem, sti__fem_work *w, const double *x, bool damp, int more,
                     const sti_tasks *tasks) {
    const sti__fem_inside *in = fem->inside;
    job j = make_job(fem, w, x, STI__FEM_BLOCKS | more);
    note_frozen(&j);
    j.damp = damp && fem->damped;
    for (int s = 0; s < in->nslab; s++) {
        j.first = j.pass.first = s * STI__FEM_SLAB;
        j.target = in->slab_first[s];
        int left = in->nbatch - j.first;
        run(tasks, left < STI__FEM_SLAB ? left : STI__FEM_SLAB, 8, elements_task, &j);
        run(tasks, in->slab_first[s + 1] - j.target, 64, gather_task, &j);
    }
    run(tasks, fem->nnode, 64, mirror_task, &j);
    if (more & STI__FEM_FORCE) run(tasks, fem->nnode, 64, nodes_task, &j);
    size_t n = 3 * (size_t)fem->nnode;
    memcpy(w->made_at, x, n * sizeof(double));
    memcpy(w->made_at + n, w->frozen_at, n * sizeof(double));
    w->valid = true;
    w->damp_valid = damp;
    w->renewed++;
}

int sti__fem_state_size(const sti__fem *fem) { return 6 * fem->nnode + 2; }

void sti__fem_state_get(const sti__fem *fem, const sti__fem_work *w, double *state) {
    state[0] = w->valid, state[1] = w->damp_valid;
    memcpy(state + 2, w->made_at, 6 * (size_t)fem->nnode * sizeof(double));
}

void sti__fem_state_set(const sti__fem *fem, sti__fem_work *w, const double *state, const sti_tasks *tasks) {
    sti__fem_forget(w);
    if (state[0] == 0) return;
    const double *x = state + 2;
    sti__fem_freeze(fem, w, x + 3 * (size_t)fem->nnode, tasks);
    assemble(fem, w, x, state[1] != 0, 0, tasks);
}

int sti__fem_squeezed(const sti__fem *fem, const double *x, double part, int first, int count) {
    int found = 0;
    for (int t = first; t < first + count; t++) {
        const double *a = x + 3 * (size_t)fem->tet[4 * (size_t)t];
        double e[3][3], c[3];
        for (int k = 0; k < 3; k++) v3_sub(e[k], x + 3 * (size_t)fem->tet[4 * (size_t)t + (size_t)k + 1], a);
        v3_cross(c, e[0], e[1]);
        found += v3_dot(c, e[2]) < 6 * part * fem->volume[t];
    }
    return found;
}

void sti__fem_freeze(const sti__fem *fem, sti__fem_work *w, const double *x, const sti_tasks *tasks) {
    job j = make_job(fem, w, x, STI__FEM_FREEZE);
    all_elements(&j, tasks);
}

double sti__fem_energy(const sti__fem *fem, sti__fem_work *w, const double *x, const sti_tasks *tasks) {
    job j = make_job(fem, w, x, STI__FEM_ENERGY);
    all_elements(&j, tasks);
    w->energy = 0;
    for (int s = 0; s < fem->inside->nbatch * STI__FEM_BATCH; s++) w->energy += w->element_energy[s];
    return w->energy;
}

void sti__fem_force(const sti__fem *fem, sti__fem_work *w, const double *x, const sti_tasks *tasks) {
    job j = make_job(fem, w, x, STI__FEM_FORCE);
    all_elements(&j, tasks);
}

/* Force at x, and whether some element has moved too far from where K was made. */
static bool force_and_check(const sti__fem *fem, sti__fem_work *w, const double *x, int more,
                            const sti_tasks *tasks) {
    job j = make_job(fem, w, x, STI__FEM_FORCE | STI__FEM_CHECK | more);
    all_elements(&j, tasks);
    for (int b = 0; b < fem->inside->nbatch; b++)
        if (w->moved[b]) return true;
    return false;
}

/* Force at x, and K there unless the last one still serves; the elements are passed once if that is known before. */
static bool force_and_tangent(const sti__fem *fem, sti__fem_work *w, const double *x, bool damp, int more,
                              const sti_tasks *tasks) {
    bool renew =
        !w->valid || (damp && fem->damped && !w->damp_valid) || (!fem->constant && !(w->tolerance > 0));
    if (renew) {
        assemble(fem, w, x, damp, STI__FEM_FORCE | more, tasks);
        return true;
    }
    if (!force_and_check(fem, w, x, more, tasks)) return false;
    assemble(fem, w, x, damp, 0, tasks);
    return true;
}

bool sti__fem_tangent(const sti__fem *fem, sti__fem_work *w, const double *x, const sti_tasks *tasks) {
    return force_and_tangent(fem, w, x, true, 0, tasks);
}

/* ---- the stage --------------------------------------------------------------------------------------------------------- */

bool sti__fem_begin(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s, const sti_tasks *tasks) {
    bool apart = s->frame && s->frame != s->x0; /* rotations from elsewhere */
    if (apart) sti__fem_freeze(fem, w, s->frame, tasks);
    return force_and_tangent(fem, w, s->x0, true, apart ? 0 : STI__FEM_FREEZE, tasks);
}

static const double *moved_to(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s,
                              const double *v) {
    for (int i = 0; i < 3 * fem->nnode; i++) w->position[i] = s->x0[i] + s->h * v[i];
    return w->position;
}

bool sti__fem_again(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s, const double *v,
                    const sti_tasks *tasks) {
    const double *x = moved_to(fem, w, s, v);
    if (!fem->linear || !w->valid) return force_and_tangent(fem, w, x, false, 0, tasks);
    sti__fem_force(fem, w, x, tasks); /* K does not depend on x */
    return false;
}

typedef struct matrix_job {
    const sti__fem *fem;
    const sti__fem_work *work;
    double h;
    double *value;
} matrix_job;

static void matrix_task(void *context, int begin, int end) {
    const matrix_job *j = context;
    const sti__fem *fem = j->fem;
    const double *k = j->work->stiff, *d = j->work->damp;
    for (int i = begin; i < end; i++) {
        size_t first = 9 * (size_t)fem->start[i], last = 9 * (size_t)fem->start[i + 1];
        for (size_t n = first; n < last; n++) j->value[n] = j->h * j->h * k[n];
        if (d)
            for (size_t n = first; n < last; n++) j->value[n] += j->h * d[n];
        for (int c = 0; c < 3; c++)
            j->value[9 * (size_t)fem->diag[i] + 4 * (size_t)c] += fem->mass[i] + j->h * fem->drag[i];
    }
}

void sti__fem_matrix(const sti__fem *fem, const sti__fem_work *w, double h, double *value,
                     const sti_tasks *tasks) {
    matrix_job j = {fem, w, h, value};
    run(tasks, fem->nnode, 64, matrix_task, &j);
}

typedef struct mul_job {
    const sti__fem *fem;
    const double *blocks, *x;
    double *y;
} mul_job;

static void mul_task(void *context, int begin, int end) {
    const mul_job *j = context;
    const sti__fem *fem = j->fem;
    for (int i = begin; i < end; i++) {
        double y[3] = {0};
        for (int k = fem->start[i]; k < fem->start[i + 1]; k++) {
            const double *b = j->blocks + 9 * (size_t)k, *x = j->x + 3 * (size_t)fem->col[k];
            for (int r = 0; r < 3; r++) y[r] += b[3 * r] * x[0] + b[3 * r + 1] * x[1] + b[3 * r + 2] * x[2];
        }
        memcpy(j->y + 3 * (size_t)i, y, sizeof y);
    }
}

void sti__fem_mul(const sti__fem *fem, const double *blocks, const double *x, double *y,
                  const sti_tasks *tasks) {
    mul_job j = {fem, blocks, x, y};
    run(tasks, fem->nnode, 64, mul_task, &j);
}

void sti__fem_apply(const sti__fem *fem, sti__fem_work *w, double h, const double *x, double *y,
                    const sti_tasks *tasks) {
    job j = make_job(fem, w, x, STI__FEM_PRODUCT);
    j.pass.h = h;
    j.force = y;
    run(tasks, fem->inside->nbatch, 8, elements_task, &j);
    run(tasks, fem->nnode, 64, nodes_task, &j);
    for (int i = 0; i < 3 * fem->nnode; i++) y[i] = (fem->mass[i / 3] + h * fem->drag[i / 3]) * x[i] - y[i];
}

void sti__fem_rhs(const sti__fem *fem, const sti__fem_work *w, const sti__fem_stage *s, const double *vk,
                  double *b, const sti_tasks *tasks) {
    if (vk) sti__fem_mul(fem, w->stiff, vk, b, tasks);
    for (int i = 0; i < 3 * fem->nnode; i++) {
        double f = w->force[i] + (s->external ? s->external[i] : 0) + (vk ? s->h * b[i] : 0);
        b[i] = fem->mass[i / 3] * s->v0[i] + s->h * f;
    }
}

/* r of the last force. */
static void imbalance(const sti__fem *fem, const sti__fem_work *w, const sti__fem_stage *s, const double *v,
                      double *r, const sti_tasks *tasks) {
    if (w->damp) sti__fem_mul(fem, w->damp, v, r, tasks);
    for (int i = 0; i < 3 * fem->nnode; i++) {
        double drag = fem->drag[i / 3] * v[i] + (w->damp ? r[i] : 0);
        double f = w->force[i] - drag + (s->external ? s->external[i] : 0);
        r[i] = fem->mass[i / 3] * (v[i] - s->v0[i]) - s->h * f;
    }
}

void sti__fem_residual(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s, const double *v,
                       double *r, const sti_tasks *tasks) {
    sti__fem_force(fem, w, moved_to(fem, w, s, v), tasks);
    imbalance(fem, w, s, v, r, tasks);
}

bool sti__fem_look(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s, const double *v,
                   bool renew, double *r, const sti_tasks *tasks) {
    const double *x = moved_to(fem, w, s, v), *frame = s->frame ? s->frame : s->x0;
    renew = renew || !w->valid || (fem->damped && !w->damp_valid);
    if (!renew) renew = force_and_check(fem, w, x, 0, tasks);
    if (renew) { /* the rotations of x for K only */
        sti__fem_freeze(fem, w, x, tasks);
        assemble(fem, w, x, !w->keep_damp, 0, tasks);
        w->damp_valid = true;
        sti__fem_freeze(fem, w, frame, tasks);
        sti__fem_force(fem, w, x, tasks);
    }
    imbalance(fem, w, s, v, r, tasks);
    return renew;
}

double sti__fem_potential(const sti__fem *fem, sti__fem_work *w, const sti__fem_stage *s, const double *v,
                          const sti_tasks *tasks) {
    double sum = sti__fem_energy(fem, w, moved_to(fem, w, s, v), tasks);
    if (w->damp) sti__fem_mul(fem, w->damp, v, w->product, tasks);
    for (int i = 0; i < 3 * fem->nnode; i++) {
        double change = v[i] - s->v0[i], drag = fem->drag[i / 3] * v[i] + (w->damp ? w->product[i] : 0);
        sum += 0.5 * (fem->mass[i / 3] * change * change + s->h * v[i] * drag);
        if (s->external) sum -= s->h * s->external[i] * v[i];
    }
    return sum;
}

/* ---- the same matrix as rows of numbers -------------------------------------------------------------------------------- */

void sti__fem_csr_pattern(const sti__fem *fem, int first, int base, int *start, int *col) {
    int n = 0;
    for (int i = 0; i < fem->nnode; i++)
        for (int r = 0; r < 3; r++) {
            start[3 * i + r] = base + n;
            for (int k = fem->start[i]; k < fem->start[i + 1]; k++)
                for (int c = 0; c < 3; c++) col[n++] = first + 3 * fem->col[k] + c;
        }
    start[3 * fem->nnode] = base + n;
}

void sti__fem_csr_values(const sti__fem *fem, const double *blocks, double *value) {
    for (int i = 0; i < fem->nnode; i++)
        for (int r = 0; r < 3; r++)
            for (int k = fem->start[i]; k < fem->start[i + 1]; k++)
                for (int c = 0; c < 3; c++) *value++ = blocks[9 * (size_t)k + 3 * (size_t)r + c];
}
