/* SPDX-License-Identifier: Apache-2.0 */
/* Contact memory: a box on an incline creeps without it and holds with it. */
#include "contact/memory.h"
#include "problem_make.h"
#include "scene.h"
#include "world/world.h"

static const double slope = 20 * 3.14159265358979323846 / 180, gravity = 9.81, mass = 2,
                    size[3] = {0.05, 0.05, 0.01};
enum { CORNERS = 4 };

/* A flat box on an incline that is the plane z = 0, gravity tilted; contact frames (z, x, y) at the four
   lower corners. w is the mean of the Delassus diagonal of a corner; R_n is near-rigid, R_t = sigma w. */
static void incline(make *p, double h, double sigma, double mu, const double *v) {
    memset(p, 0, sizeof *p);
    p->n = 6;
    p->nrow = CORNERS;
    p->m = 3 * CORNERS;
    for (int i = 0; i < 3; i++) {
        double a = size[(i + 1) % 3], b = size[(i + 2) % 3];
        p->A[i * 7] = mass;
        p->A[(i + 3) * 7] = mass * (a * a + b * b) / 3;
        p->vstar[i] = v[i];
        p->vstar[3 + i] = v[3 + i];
    }
    p->vstar[0] += h * gravity * sin(slope);
    p->vstar[2] -= h * gravity * cos(slope);
    for (int r = 0; r < CORNERS; r++) {
        double arm[3] = {(r & 1 ? 1 : -1) * size[0], (r & 2 ? 1 : -1) * size[1], -size[2]}, w = 0;
        p->rows[r] = make_cone(3, mu);
        for (int i = 0; i < 3; i++) {
            double d[3] = {i == 1, i == 2, i == 0}, *J = p->J + (size_t)(3 * r + i) * 6;
            for (int k = 0; k < 3; k++) J[k] = d[k];
            J[3] = arm[1] * d[2] - arm[2] * d[1];
            J[4] = arm[2] * d[0] - arm[0] * d[2];
            J[5] = arm[0] * d[1] - arm[1] * d[0];
        }
        for (int i = 0; i < 9; i++) {
            double entry = 0, *a = p->J + (size_t)(3 * r + i / 3) * 6,
                   *b = p->J + (size_t)(3 * r + i % 3) * 6;
            for (int k = 0; k < 6; k++) entry += a[k] * b[k] / p->A[k * 7];
            w += entry * entry;
        }
        w = sqrt(w) / 3;
        p->R[3 * r] = w / (4 * 3.14159265358979323846 * 3.14159265358979323846);
        p->R[3 * r + 1] = p->R[3 * r + 2] = sigma * w;
    }
}

/* Steps the box; returns its speed after the last, whose impulses are g. */
static double slide(int steps, double mu, bool remember, sti_contact_memory *memory, double (*g)[3]) {
    static const double frame[9] = {0, 0, 1, 1, 0, 0, 0, 1, 0};
    double h = 0.01, tau = h / 3.14159265358979323846, v[6] = {0}, sink[CORNERS] = {0};
    for (int r = 0; r < CORNERS; r++) sti__memory_carry(NULL, (uint64_t)r, frame, &memory[r]);
    for (int n = 0; n < steps; n++) {
        make p;
        incline(&p, h, 1e-3, mu, v);
        for (int r = 0; r < CORNERS; r++) {
            sti__memory_carry(&memory[r], (uint64_t)r, frame, &memory[r]);
            p.vhat[3 * r] = -sink[r] / (h + tau);
            if (remember) sti__memory_vhat(&memory[r], 3, h, tau, (double[3]){0}, p.vhat + 3 * r + 1);
        }
        make_newton(&p);
        for (int r = 0; r < CORNERS; r++) {
            double vr[3];
            for (int i = 0; i < 3; i++) vr[i] = p.y[3 * r + i] + p.vhat[3 * r + i];
            sink[r] += h * vr[0];
            sti__memory_update(&memory[r], &p.rows[r], p.R + 3 * r, vr, p.g + 3 * r, h, tau);
            memcpy(g[r], p.g + 3 * r, sizeof g[r]);
        }
        memcpy(v, p.v, sizeof v);
    }
    return sqrt(v[0] * v[0] + v[1] * v[1]);
}

TEST(box_on_an_incline) {
    sti_contact_memory memory[CORNERS];
    double g[CORNERS][3], force = 0;
    double creep = slide(300, 0.5, false, memory, g), held = slide(600, 0.5, true, memory, g);
    /* sigma w m g sin(theta) h / 4 per corner; w of a corner of this box */
    CHECK_NEAR(creep, 2.26e-5, 2e-7);
    CHECK(held < 1e-15);
    for (int r = 0; r < CORNERS; r++) force += g[r][1];
    CHECK_NEAR(force, -mass * gravity * sin(slope) * 0.01, 1e-12);
}

/* Too steep: it slides with the acceleration of Coulomb's law, and the anchor follows. */
TEST(sliding_resets_the_anchor) {
    sti_contact_memory memory[CORNERS];
    double g[CORNERS][3], mu = 0.2, speed = slide(20, mu, true, memory, g),
                          a = gravity * (sin(slope) - mu * cos(slope));
    CHECK_NEAR(speed, 20 * 0.01 * a, 0.02 * speed); /* the relaxed cone lifts the box at first */
    for (int r = 0; r < CORNERS; r++) {
        if (g[r][0] > 0) CHECK_NEAR(fabs(g[r][1]), mu * g[r][0], 1e-12);
        CHECK(memory[r].anchor[0] >= 0 &&
              memory[r].anchor[0] < 1e-5); /* pulled downhill by no more than the force bends */
    }
}

TEST(carrying_over) {
    sti_contact_memory list[4] = {{.feature = 9},
                                  {.feature = 2},
                                  {.feature = 5, .anchor = {1, 2, 3}, .frame = {0, 0, 1, 1, 0, 0, 0, 1, 0}},
                                  {.feature = 2}};
    const sti__row_warm old = {.impulse = {3, 1, 2}};
    sti__row_warm warm;
    int slot[8];
    CHECK(sti__memory_slots(4) == 8 && sti__memory_slots(0) > 0);
    sti__memory_index index = {list, 4, NULL, 0};
    CHECK(sti__memory_next(&index, 9) == list && !sti__memory_next(&index, 5));
    sti__memory_index_fill(&index, slot);
    CHECK(sti__memory_find(&index, 5) == list + 2 && sti__memory_next(&index, 2) == list + 3);
    CHECK(!sti__memory_next(&index, 2) && sti__memory_find(&index, 2) == list + 1);
    index.next = 0; /* a few may be gone before the next */
    CHECK(sti__memory_ahead(&index, 2) == list + 1 && sti__memory_ahead(&index, 2) == list + 3);
    CHECK(!sti__memory_ahead(&index, 9) && index.next == 4);
    CHECK(!sti__memory_find(&index, 1) && !sti__memory_find(&index, 7) && !sti__memory_find(&index, 10));
    double c = cos(0.3), s = sin(0.3), frame[9] = {s, 0, c, c, 0, -s, 0, 1, 0}, vhat[2];
    sti_contact_memory m;
    sti__memory_carry(list + 2, 5, frame, &m);
    CHECK_NEAR(m.anchor[0] * s + m.anchor[2] * c, 0, 1e-15);
    double t = c * 1 - s * 3;
    CHECK_NEAR(m.anchor[0], t * c, 1e-15);
    CHECK_NEAR(m.anchor[1], 2, 1e-15);
    sti__memory_vhat(&m, 3, 0.01, 0.03, (double[3]){0}, vhat);
    CHECK_NEAR(vhat[0], -t / 0.04, 1e-13);
    CHECK_NEAR(vhat[1], -50, 1e-13);
    /* the force (1, 2, 3) in world, seen in the new frame */
    sti__warm_carry(&old, list[2].frame, frame, 3, &warm);
    CHECK_NEAR(warm.impulse[0], s * 1 + c * 3, 1e-15);
    CHECK_NEAR(warm.impulse[1], c * 1 - s * 3, 1e-15);
    CHECK_NEAR(warm.impulse[2], 2, 1e-15);
    sti__warm_carry(&old, list[2].frame, frame, 1, &warm); /* without friction it stays along the normal */
    CHECK(warm.impulse[0] == old.impulse[0] && warm.rate[0] == old.rate[0]);
    sti__memory_carry(NULL, 7, frame, &m);
    sti__warm_carry(NULL, frame, frame, 3, &warm);
    CHECK(m.feature == 7 && m.anchor[0] == 0 && warm.impulse[0] == 0 && m.frame[2] == c);
}

/* An impulse that goes straight is foretold once two answers are known; what was off after k steps is put right by a kth. */
TEST(trends) {
    const sti_row row = {.kind = STI_ROW_CONE, .dim = 3, .mu = {0.5, 0.5}};
    const double R[3] = {1e-3, 1e-3, 1e-3}, start[3] = {2, 0.1, -0.2}, pace[3] = {0.25, -0.125, 0.0625};
    double g[3], forecast[3], later[3];
    sti__row_warm m = {0};
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 3; i++) g[i] = start[i] + k * pace[i];
        sti__warm_forecast(&m, &row, R, forecast);
        for (int i = 0; i < 3 && k >= 2; i++) CHECK_NEAR(forecast[i], g[i], 1e-15);
        sti__warm_learn(&m, forecast, g, 3);
    }
    /* three forecasts are taken as answers, then it turns out that it went twice as far */
    double was = m.impulse[0];
    for (int k = 0; k < 3; k++) {
        sti__warm_forecast(&m, &row, R, forecast);
        sti__warm_learn(&m, forecast, forecast, 3);
    }
    CHECK_NEAR(m.impulse[0], was + 3 * pace[0], 1e-14);
    for (int i = 0; i < 3; i++) later[i] = g[i] + 8 * pace[i];
    sti__warm_forecast(&m, &row, R, forecast);
    sti__warm_learn(&m, forecast, later, 3);
    CHECK_NEAR(m.rate[0], 10 * pace[0] / 6, 1e-14); /* in six steps since the last that was not foretold */
    CHECK(m.age == 0);
    /* within the cone, and nothing from what has let go */
    m = (sti__row_warm){.impulse = {1, 0.45, 0}, .rate = {0, 0.2, 0}};
    sti__warm_forecast(&m, &row, R, forecast);
    CHECK(forecast[1] <= 0.5 * forecast[0] * (1 + 1e-12) && forecast[1] > 0.45);
    const double none[3] = {0};
    sti__warm_learn(&m, forecast, none, 3);
    CHECK(m.rate[1] == 0);
}

/* A contact whose name changed takes what was at its place, unless that is still there by its own name. */
TEST(by_place) {
    sti_contact_memory list[6] = {{.feature = 1},
                                  {.feature = 2, .pair = 4, .pos = {0, 0, 0}, .frame = {0, 0, 1}},
                                  {.feature = 3, .pair = 7, .pos = {0, 0, 0}, .frame = {0, 0, 1}},
                                  {.feature = 4, .pair = 7, .pos = {1, 0, 0}, .frame = {0, 0, 1}},
                                  {.feature = 5, .pair = 9, .pos = {1, 0, 0}, .frame = {0, 0, 1}},
                                  {.feature = 6}};
    const sti__memory_index index = {list, 6, NULL, 0};
    const sti_contact_memory now[2] = {{.feature = 8}, {.feature = 4}};
    const double up[3] = {0, 0, 1}, aside[3] = {0, 1, 0}, p[3] = {0.02, 0, 0}, q[3] = {0.98, 0, 0};
    int first, end;
    sti__memory_pair(&index, 7, &first, &end);
    CHECK(first == 2 && end == 4);
    sti__memory_pair(&index, 8, &first, &end);
    CHECK(first == end);
    sti__memory_pair(&index, 10, &first, &end);
    CHECK(first == end);
    CHECK(sti__memory_near(&index, 2, 4, now, 2, p, up, 0.05) == list + 2);
    CHECK(!sti__memory_near(&index, 2, 4, now, 2, q, up, 0.05)); /* that one is there still */
    CHECK(sti__memory_near(&index, 2, 4, now, 1, q, up, 0.05) == list + 3);
    CHECK(!sti__memory_near(&index, 2, 4, now, 1, p, up, 0.01));
    CHECK(!sti__memory_near(&index, 2, 4, now, 1, p, aside, 0.05));
}

/* What a step remembers is in the order of pairs, which are found by bisection; geom1 of a contact is that of the simpler shape. */
TEST(pairs_ascend) {
    sti_model *m =
        model_of("<mujoco><worldbody><body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
                 "<body pos='.05 0 .299'><freejoint/><geom size='.1'/></body>"
                 "<body pos='.199 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
                 "<geom type='plane' size='5 5 .1'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    int mixed = 0;
    REQUIRE(sti_step(w, 2) == STI_OK && w->memory.count > 8);
    for (int i = 1; i < w->memory.count; i++) {
        CHECK(w->memory.item[i].pair >= w->memory.item[i - 1].pair);
        mixed += w->memory.item[i].pair != w->memory.item[i - 1].pair;
    }
    CHECK(mixed >= 3);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(box_on_an_incline), CASE(sliding_resets_the_anchor), CASE(carrying_over), CASE(trends),
     CASE(by_place), CASE(pairs_ascend))
