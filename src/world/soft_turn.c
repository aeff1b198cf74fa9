/* SPDX-License-Identifier: Apache-2.0 */
/* A body that turns as a whole has the same stiffness in a frame that turns with it: with Q the rotation nearest to what has
   happened to its vertices since A was made, Q A Q' is A of now if it is stiff, and near it if it bends. */
#include "world/soft.h"

#include "world/world.h"
#include <math.h>
#include <string.h>

/* A body that has turned by less counts as unturned, so that what rests has the same matrix in every step. */
#define UNTURNED 1e-3

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static void centre(const double *mass, const double *x, int n, double c[3]) {
    double sum = 0;
    c[0] = c[1] = c[2] = 0;
    for (int v = 0; v < n; v++) {
        sum += mass[v];
        for (int k = 0; k < 3; k++) c[k] += mass[v] * x[3 * v + k];
    }
    for (int k = 0; k < 3; k++) c[k] /= sum;
}

/* The rotation nearest to what takes the vertices from `from` to `to`: the polar factor of sum m to from'. */
static void nearest(const double *mass, const double *from, const double *to, int n, double q[9]) {
    double a[3], b[3], m[9] = {0}, most = 0;
    centre(mass, from, n, a);
    centre(mass, to, n, b);
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 9; i++)
            m[i] += mass[v] * (to[3 * v + i / 3] - b[i / 3]) * (from[3 * v + i % 3] - a[i % 3]);
    sti__polar3(m, q);
    for (int i = 0; i < 9; i++) most = fmax(most, fabs(q[i] - identity[i]));
    if (!(most > UNTURNED)) memcpy(q, identity, sizeof identity);
}

void sti__soft_find_turns(sti_world *world) {
    sti__soft_bodies *b = &world->soft;
    const sti_model *m = world->model;
    for (int f = 0; f < m->nflex; f++) {
        int adr = m->flex_vertadr[f], n = m->flex_vertnum[f];
        if (3 * n > STI__LARGEST_FACTORED) continue;
        nearest(b->fem->mass + adr, b->tangent + 3 * adr, world->state->flexvert_xpos + 3 * adr, n,
                b->turn + 9 * (size_t)f);
    }
    b->work->turn = b->turn;
    b->work->node_turn = b->node_flex;
}

void sti__soft_forget_turns(sti_world *world) {
    for (int f = 0; f < world->model->nflex; f++)
        memcpy(world->soft.turn + 9 * (size_t)f, identity, sizeof identity);
    world->soft.work->turn = NULL;
}

bool sti__soft_is_turned(const sti_world *world, int flex) {
    return memcmp(world->soft.turn + 9 * (size_t)flex, identity, sizeof identity) != 0;
}

void sti__soft_turn(const sti_world *world, int flex, bool back, double *x) {
    const double *q = world->soft.turn + 9 * (size_t)flex;
    if (!sti__soft_is_turned(world, flex)) return;
    for (int v = 0; v < world->model->flex_vertnum[flex]; v++) {
        double old[3] = {x[3 * v], x[3 * v + 1], x[3 * v + 2]};
        if (back) m3_mul_vec_t(x + 3 * (size_t)v, q, old);
        else m3_mul_vec(x + 3 * (size_t)v, q, old);
    }
}

/* block := Q block Q', rows `stride` apart */
static void turn_block(const double q[9], double *block, size_t stride) {
    double old[9], half[9];
    for (int i = 0; i < 3; i++) memcpy(old + 3 * i, block + (size_t)i * stride, 3 * sizeof *old);
    m3_mul(half, q, old);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            block[(size_t)i * stride + (size_t)j] =
                half[3 * i] * q[3 * j] + half[3 * i + 1] * q[3 * j + 1] + half[3 * i + 2] * q[3 * j + 2];
}

void sti__soft_turn_matrix(const sti_world *world, int flex, int count, double *S) {
    const double *q = world->soft.turn + 9 * (size_t)flex;
    size_t stride = (size_t)count;
    if (!sti__soft_is_turned(world, flex)) return;
    for (size_t i = 0; i < stride; i += 3)
        for (size_t j = 0; j <= i; j += 3) turn_block(q, S + i * stride + j, stride);
    for (size_t i = 0; i < stride; i++)
        for (size_t j = i + 1; j < stride; j++) S[i * stride + j] = S[j * stride + i];
}
