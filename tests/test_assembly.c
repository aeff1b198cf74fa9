/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways of the stages before solve against the long ones: lists of pairs against the tree, axes that are tried
   first, inverse masses of contacts, islands; and the same bits for any number of threads. */
#include "contact/point.h"
#include "math/rot.h"
#include "scene.h"
#include "test.h"
#include "world/world.h"

static uint64_t dice = 7;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static const char *const geoms[] = {"type='sphere' size='.1'", "type='box' size='.1 .08 .12'",
                                    "type='capsule' size='.06 .08'", "type='cylinder' size='.1 .07'",
                                    "type='ellipsoid' size='.1 .1 .06'"};

/* Bodies of all kinds on top of each other, and an arm that lies among them. */
static char *heap_xml(int count) {
    static char text[1 << 16];
    int at = snprintf(
        text, sizeof text,
        "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<geom type='box' size='.1 2 1' pos='.6 0 .5'/>"
        "<body pos='-.4 0 .15'><joint axis='0 1 0'/><geom type='capsule' size='.05 .2'/>"
        "<body pos='.1 0 .3'><joint axis='1 0 0'/><geom type='box' size='.1 .1 .1'/>"
        "<body pos='.2 0 .1'><joint type='ball'/><geom type='sphere' size='.12'/></body></body></body>");
    for (int i = 0; i < count; i++) {
        double x[5]; /* in this order, whatever the compiler does with arguments */
        for (int k = 0; k < 5; k++) x[k] = uniform(-1, 1);
        at += snprintf(
            text + at, sizeof text - (size_t)at,
            "<body pos='%.4f %.4f %.4f' euler='%.1f %.1f %.1f'><freejoint/><geom %s condim='%d'/></body>",
            0.17 * (i % 3) + .02 * x[0], 0.17 * (i / 3 % 3) + .02 * x[1], 0.1 + 0.17 * (i / 9), 90 * x[2],
            90 * x[3], 90 * x[4], geoms[i % 5],
            i % 7 == 0   ? 4
            : i % 7 == 1 ? 1
            : i % 7 == 2 ? 6
                         : 3);
    }
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    return text;
}

/* ---- collide ------------------------------------------------------------------------------------------------ */

/* A step, then contacts by the world's list and by a tree: the same bits. Their number. */
static int compare_step(sti_world *w, sti__collide *tree) {
    const sti__collide *list = &w->constraints.collide;
    sti__collide_sizes need;
    REQUIRE(sti_step(w, 1) == STI_OK);
    sti_stage_position(w);
    sti_stage_velocity(w);
    sti_stage_collide(w);
    sti__collide_look_ahead(tree, w->state);
    REQUIRE(sti__collide_run(tree, w->state, NULL, &need));
    CHECK(tree->ncontact == list->ncontact &&
          memcmp(tree->contact, list->contact, (size_t)tree->ncontact * sizeof *tree->contact) == 0);
    return list->ncontact;
}

TEST(a_list_finds_what_the_tree_finds) {
    sti_model *m = model_of(heap_xml(18));
    sti_world *w = world_of(m);
    sti__collide tree;
    REQUIRE(w->collision->list);
    sti__collision_model treed = *w->collision;
    treed.list = NULL;
    REQUIRE(sti__collide_create(&tree, &treed, (sti__collide_sizes){0}, NULL, NULL));
    int found = 0;
    for (int i = 0; i < 60; i++) found += compare_step(w, &tree);
    CHECK(found > 500);
    sti__collide_free(&tree);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Chains of four links on a floor, thrown at each other: as a list, as groups in a tree and as geoms in a tree. */
static const char *chains_xml(void) {
    static char text[20000];
    int at = snprintf(text, sizeof text, "<mujoco><worldbody><geom type='plane' size='5 5 1'/>");
    for (int i = 0; i < 6; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<body pos='%g %g %g'><freejoint/><geom type='capsule' size='.05 .1'/>", .25 * (i % 3),
                       .2 * (i / 3), .3 + .1 * i);
        for (int k = 0; k < 3; k++)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "<body pos='.12 0 .08'><joint axis='0 1 %g'/><geom type='%s' size='.05 .1 .06'/>",
                           .3 * k, k % 2 ? "box" : "capsule");
        at += snprintf(text + at, sizeof text - (size_t)at, "</body></body></body></body>");
    }
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    return text;
}

TEST(groups_find_what_the_list_finds) {
    sti_model *m = model_of(chains_xml());
    sti_world *w = world_of(m);
    sti__collide_sizes need;
    sti__collide way[2];
    REQUIRE(w->collision->list && w->collision->ngroup == 6 && w->collision->nkin > 0);
    sti__collision_model grouped = *w->collision, loose;
    grouped.list = NULL;
    loose = grouped;
    loose.ngroup = loose.nkin = 0;
    REQUIRE(sti__collide_create(&way[0], &grouped, (sti__collide_sizes){0}, NULL, NULL));
    REQUIRE(sti__collide_create(&way[1], &loose, (sti__collide_sizes){0}, NULL, NULL));
    int between = 0;
    for (int i = 0; i < 300; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        sti_stage_position(w);
        sti_stage_velocity(w);
        sti_stage_collide(w);
        const sti__collide *list = &w->constraints.collide;
        for (int k = 0; k < 2; k++) {
            sti__collide_look_ahead(&way[k], w->state);
            REQUIRE(sti__collide_run(&way[k], w->state, NULL, &need));
            CHECK(way[k].ncontact == list->ncontact &&
                  memcmp(way[k].contact, list->contact, (size_t)list->ncontact * sizeof *list->contact) == 0);
        }
        for (int k = 0; k < list->ncontact; k++)
            between += list->contact[k].body1 > 0 &&
                       m->body_treeid[list->contact[k].body1] != m->body_treeid[list->contact[k].body2];
    }
    CHECK(between > 100);
    sti__collide_free(&way[0]);
    sti__collide_free(&way[1]);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Bodies of three geoms each, in two trees that fly and one that hangs, above a tilted floor and beside a fixed box; a mocap body and
   a geom that only an explicit pair knows. */
static const char *limbs_xml(void) {
    static char text[20000];
    const char *limb =
        "<geom type='capsule' size='.02 .06'/><geom type='box' size='.03 .02 .02' pos='0 0 .08'/>"
        "<geom type='cylinder' size='.02 .03' pos='.03 0 -.07' euler='40 0 20'/>";
    int at = snprintf(
        text, sizeof text,
        "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='5 5 1' euler='12 5 0'/>"
        "<geom type='box' size='.05 1 1' pos='.7 0 .5'/><body mocap='true' pos='-.3 0 .3'>"
        "<geom type='box' size='.05 .3 .1'/><geom size='.06' pos='0 0 .2'/></body>");
    for (int i = 0; i < 3; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "<body pos='%g %g %g'>%s%s", .3 * (i % 2),
                       .25 * (i / 2), .5 + .1 * i, i < 2 ? "<freejoint/>" : "<joint axis='1 0 0'/>", limb);
        for (int k = 0; k < 3; k++)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "<body pos='.05 0 .15'><joint axis='%d 1 %g'/>%s", k % 2, .3 * k, limb);
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "<geom name='tip%d' size='.04' pos='0 0 .12' contype='0' conaffinity='0'/>"
                       "</body></body></body></body>",
                       i);
    }
    snprintf(text + at, sizeof text - (size_t)at,
             "</worldbody><contact><pair geom1='tip0' geom2='tip1'/></contact></mujoco>");
    return text;
}

TEST(bodies_first_lose_no_contact) {
    sti_model *m = model_of(limbs_xml());
    sti_world *w = world_of(m);
    sti__collide tree;
    REQUIRE(w->collision->list && w->collision->links->nlink == 13);
    sti__collision_model treed = *w->collision;
    treed.list = NULL;
    REQUIRE(sti__collide_create(&tree, &treed, (sti__collide_sizes){0}, NULL, NULL));
    double *qvel = sti_world_view(w, STI_FIELD_qvel).data,
           *mocap = sti_world_view(w, STI_FIELD_mocap_pos).data;
    uint64_t before = dice;
    int found = 0, asleep = 0;
    for (int i = 0; i < 1200; i++) {
        if (i % 100 == 0) sti_world_reset(w, -1);
        for (int k = 0; i % 25 == 0 && k < m->nv; k++) qvel[k] = uniform(-1, 1) * (i % 400 < 200 ? 2 : 8);
        mocap[0] += uniform(-.01, .01);
        found += compare_step(w, &tree);
        const sti__collide *list = &w->constraints.collide;
        for (int k = 0; k < 13 && !list->links.all; k++) asleep += !list->links.awake[k];
    }
    CHECK(found > 1000 && asleep > 1000);
    dice = before; /* for what comes after */
    sti__collide_free(&tree);
    sti_world_destroy(w);
    sti_model_free(m);
}

static sti__shape shape_of(int kind) {
    static const int types[] = {STI_GEOM_CAPSULE, STI_GEOM_CYLINDER, STI_GEOM_ELLIPSOID, STI_GEOM_BOX};
    sti__shape s = {.type = types[kind]};
    for (int k = 0; k < 3; k++) s.size[k] = uniform(.1, .3);
    return s;
}

static void place(sti__shape *s, const double pos[3], const double axis[3], double angle) {
    double quat[4] = {cos(angle / 2), 0, 0, 0};
    for (int k = 0; k < 3; k++) {
        quat[1 + k] = sin(angle / 2) * axis[k];
        s->pos[k] = pos[k];
    }
    quat_to_mat(s->mat, quat);
}

static bool same_points(const sti__manifold *a, const sti__manifold *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) {
        const sti__point *p = &a->point[i], *q = &b->point[i];
        same = memcmp(p->pos, q->pos, sizeof p->pos) == 0 &&
               memcmp(p->normal, q->normal, sizeof p->normal) == 0 && p->dist == q->dist &&
               p->feature == q->feature;
    }
    return same;
}

/* Shapes that pass each other, with and without the axis of the step before. */
TEST(axes_change_nothing) {
    int apart = 0, touching = 0;
    for (int n = 0; n < 400; n++) {
        sti__shape a = shape_of(n % 3 + 1), b = shape_of(n / 3 % 3 + (n % 3 == 2));
        sti__apart memory = {{0}};
        double u[3], p[3];
        for (int k = 0; k < 3; k++) u[k] = uniform(-1, 1);
        v3_normalize(u);
        for (int i = -20; i <= 20; i++) {
            sti__manifold with, without;
            for (int k = 0; k < 3; k++) p[k] = 0.04 * i * u[k] + (k == n % 3 ? 0.35 : 0);
            place(&a, (double[3]){0, 0, 0}, u, 0.01 * i);
            place(&b, p, (double[3]){0, 0, 1}, 0.5 + 0.03 * i);
            sti__collide_pair(&a, &b, 0.01, &without);
            sti__collide_again(&a, &b, 0.01, &memory, &with);
            CHECK(same_points(&with, &without));
            apart += with.count == 0;
            touching += with.count > 0;
        }
    }
    CHECK(apart > 3000 && touching > 3000);
}

/* ---- contact ------------------------------------------------------------------------------------------------- */

/* x = M^-1 b by Gauss, M dense. */
static void solve_dense(const double *M, int n, const double *b, double *x) {
    double *a = malloc(sizeof(double) * (size_t)(n * n));
    memcpy(a, M, sizeof(double) * (size_t)(n * n));
    memcpy(x, b, sizeof(double) * (size_t)n);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            x[i] -= f * x[k];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= a[i * n + j] * x[j];
        x[i] /= a[i * n + i];
    }
    free(a);
}

/* |J M^-1 J'| of the point's rows, and the Jacobian against the velocities of its two bodies. */
static void check_block(const sti_world *w, int b, const double *M) {
    const sti__assembly *as = &w->constraints.rows;
    int nv = w->model->nv, dim = as->rows[b].dim < 3 ? 1 : 3;
    double *x = calloc((size_t)nv, sizeof *x), *y = calloc((size_t)nv, sizeof *y), sum = 0;
    for (int i = 0; i < dim; i++) {
        int row = as->first[b] + i;
        memset(x, 0, sizeof(double) * (size_t)nv);
        for (int k = as->jstart[row]; k < as->jstart[row + 1]; k++) x[as->dof[as->jcol[k]]] = as->jvalue[k];
        for (int k = as->jstart[row] + 1; k < as->jstart[row + 1]; k++) CHECK(as->jcol[k] > as->jcol[k - 1]);
        solve_dense(M, nv, x, y);
        for (int j = 0; j < dim; j++) {
            double entry = 0;
            for (int k = as->jstart[row - i + j]; k < as->jstart[row - i + j + 1]; k++)
                entry += as->jvalue[k] * y[as->dof[as->jcol[k]]];
            sum += entry * entry;
        }
    }
    CHECK_NEAR(as->info[b].weight, sqrt(sum) / dim, 1e-9 * as->info[b].weight);
    free(x);
    free(y);
}

TEST(contacts_feel_the_inverse_mass) {
    sti_model *m = model_of(heap_xml(12));
    sti_world *w = world_of(m);
    double *M = malloc(sizeof(double) * (size_t)(m->nv * m->nv));
    int seen = 0;
    for (int i = 0; i < 4; i++) {
        REQUIRE(sti_step(w, 15) == STI_OK && sti_forward(w) == STI_OK);
        sti_world_mass_matrix(w, M);
        for (int b = 0; b < w->constraints.rows.nblock; b++)
            if (w->constraints.rows.info[b].source == STI__FROM_CONTACT) check_block(w, b, M), seen++;
    }
    CHECK(seen > 50);
    free(M);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Two bodies of many boxes each, of all sizes of contact, one on the other and both on a floor; an arm leans on them. */
static char *blocks_xml(void) {
    static char text[20000];
    static const int dims[] = {1, 3, 4, 6, 3, 1, 6};
    int at =
        snprintf(text, sizeof text,
                 "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='5 5 1' condim='1'/>"
                 "<body pos='0 -.3 .35'><joint axis='1 0 0'/><joint axis='0 1 0' pos='0 0 .3'/>"
                 "<geom type='box' size='.05 .2 .1' pos='0 .15 0' condim='1' solref='.004 1' solimp='.5 .9 "
                 ".01'/></body>");
    for (int i = 0; i < 2; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "<body pos='0 0 %g'><freejoint/>", .05 + .1 * i);
        for (int k = 0; k < 7; k++)
            at += snprintf(
                text + at, sizeof text - (size_t)at,
                "<geom type='box' size='.04 .04 .05' pos='%g %g 0' condim='%d' friction='.%d .01 .001'%s/>",
                .1 * (k % 3), .1 * (k / 3), dims[(k + i) % 7], 3 + k, k % 3 ? " solref='.005 1'" : "");
        at += snprintf(text + at, sizeof text - (size_t)at, "</body>");
    }
    snprintf(text + at, sizeof text - (size_t)at, "</worldbody></mujoco>");
    return text;
}

/* Whether block b is what its contact gives alone. */
static bool is_as_alone(const sti_world *w, int b, sti__assembly *one) {
    const sti__assembly *as = &w->constraints.rows;
    sti__assembly_begin(one);
    sti__point_rows(one, w->state, w->constraints.collide.contact + as->info[b].id, 1, NULL);
    if (one->nblock != 1 || one->rows[0].dim != as->rows[b].dim) return false;
    int dim = one->rows[0].dim, from = as->jstart[as->first[b]], n = one->jstart[1];
    bool same = as->jstart[as->first[b] + dim] - from == dim * n &&
                memcmp(one->rows, as->rows + b, sizeof *one->rows) == 0 &&
                memcmp(one->R, as->R + as->first[b], sizeof(double) * (size_t)dim) == 0 &&
                one->vhat[0] == as->vhat[as->first[b]] && one->info[0].weight == as->info[b].weight &&
                one->info[0].stiffness == as->info[b].stiffness &&
                one->memory[0].feature == as->memory[b].feature;
    for (int k = 0; same && k < dim * n; k++)
        same = one->jcol[k] == as->dof[as->jcol[from + k]] && one->jvalue[k] == as->jvalue[from + k];
    return same;
}

TEST(contacts_of_two_bodies_are_as_each_alone) {
    sti_model *m = model_of(blocks_xml());
    sti_world *w = world_of(m);
    const sti__assembly *as = &w->constraints.rows;
    sti__assembly one;
    int seen = 0, most = 0, dims[STI_ROW_DIM + 1] = {0};
    REQUIRE(sti__assembly_create(&one, m, 1, &w->allocator));
    for (int i = 0; i < 10; i++) {
        REQUIRE(sti_step(w, 5) == STI_OK && sti_forward(w) == STI_OK);
        for (int b = 0; b < as->nblock; b++) {
            if (as->info[b].source != STI__FROM_CONTACT || as->info[b].overlap >= 0) continue;
            CHECK(is_as_alone(w, b, &one));
            seen++;
            dims[as->rows[b].dim]++;
        }
        most = as->nblock > most ? as->nblock : most;
    }
    CHECK(seen > 200 && most > 24);
    CHECK(dims[1] > 0 && dims[3] > 0 && dims[4] > 0 && dims[6] > 0);
    sti__assembly_free(&one);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A trunk that is free, with arms of hinges, slides and balls: contacts and limits far out from the root. */
static const char *const creature =
    "<mujoco><option timestep='0.004'/><default><geom size='.05'/></default><worldbody>"
    "<geom type='plane' size='9 9 1'/><body pos='0 0 .4' quat='.9 .1 .2 -.3'><freejoint/><geom type='box' "
    "size='.2 .1 .06'/>"
    "<body pos='.25 0 0'><joint name='a' axis='0 1 0' armature='.01' limited='true' range='-3 3'/>"
    "<joint axis='1 0 .3' limited='true' range='-2 2'/><geom type='capsule' fromto='0 0 0 .2 0 0'/>"
    "<body pos='.2 0 0'><joint name='b' axis='0 .6 .8' limited='true' range='-4 1'/><geom type='capsule' "
    "fromto='0 0 0 .2 .1 0'/>"
    "<body pos='.2 .1 0'><joint type='ball'/><geom pos='0 0 -.1'/><geom pos='.1 0 0'/></body></body></body>"
    "<body pos='-.25 0 0'><joint type='slide' axis='1 0 .2' limited='true' range='-.001 .001'/><geom/>"
    "<body pos='-.1 0 0'><joint type='ball'/><geom pos='-.1 0 0'/></body></body></body></worldbody>"
    "<tendon><fixed armature='%s'><joint joint='a' coef='1'/><joint joint='b' "
    "coef='-2'/></fixed></tendon></mujoco>";

TEST(trees_on_a_free_body_answer_from_the_root_outwards) {
    static const char *const armature[] = {"0", "0.05"};
    char xml[2048];
    for (int way = 0; way < 2; way++) {
        snprintf(xml, sizeof xml, creature, armature[way]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        const sti__assembly *as = &w->constraints.rows;
        double *M = malloc(sizeof(double) * (size_t)(m->nv * m->nv));
        int contacts = 0, limits = 0;
        CHECK((as->outward.place[m->nv - 1] >= 0) == (way == 0));
        for (int i = 0; i < 40; i++) {
            REQUIRE(sti_step(w, 10) == STI_OK && sti_forward(w) == STI_OK);
            sti_world_mass_matrix(w, M);
            for (int b = 0; b < as->nblock; b++) {
                bool contact = as->info[b].source == STI__FROM_CONTACT;
                bool limit = as->info[b].source == STI__FROM_LIMIT;
                if (contact || limit) check_block(w, b, M);
                contacts += contact;
                limits += limit;
            }
        }
        CHECK(contacts > 50);
        CHECK(limits > 20);
        free(M);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* What trees say of islands is what the matrices say. */
TEST(islands_of_trees) {
    sti_model *m = model_of(heap_xml(18));
    sti_world *w = world_of(m);
    int most = 0;
    for (int i = 0; i < 6; i++) {
        REQUIRE(sti_step(w, 10) == STI_OK && sti_forward(w) == STI_OK);
        const sti_problem *p = &w->constraints.rows.problem;
        sti_problem *q = sti_problem_create(&p->arrays, NULL, NULL);
        REQUIRE(q);
        CHECK(p->nisland == q->nisland);
        for (int b = 0; b < p->arrays.nrow; b++) CHECK(p->row_island[b] == q->row_island[b]);
        for (int d = 0; d < p->arrays.n; d++) /* -1: coupled to its tree by a zero */
            CHECK(p->dof_island[d] == q->dof_island[d] || q->dof_island[d] < 0);
        most = p->nisland > most ? p->nisland : most;
        sti_problem_free(q);
    }
    CHECK(most > 1);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

TEST(threads_do_not_change_a_bit) {
    sti_model *m = model_of(heap_xml(60));
    uint64_t expected = 0;
    for (int n = 1; n <= 3; n++) {
        sti_pool *pool = sti_pool_create(n, NULL);
        sti_world_options options = sti_world_options_default();
        options.tasks = sti_pool_tasks(pool);
        sti_world *w = sti_world_create(m, &options, NULL);
        REQUIRE(w && !w->collision->list);
        sti_world_option(w)->contact_tol = 1e-6;
        REQUIRE(sti_step(w, 60) == STI_OK);
        int count;
        sti_world_contacts(w, &count);
        CHECK(count > 5);
        if (n == 1) expected = sti_world_hash(w);
        CHECK(sti_world_hash(w) == expected);
        sti_world_destroy(w);
        sti_pool_destroy(pool);
    }
    sti_model_free(m);
}

/* The same forces whenever the list is made; their sum is the weight. */
TEST(contacts_are_listed_for_who_asks) {
    sti_model *m =
        model_of("<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='1 1 1'/>"
                 "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='3'/></body>"
                 "</worldbody></mujoco>");
    for (int parts = 1; parts <= 4; parts += 3) {
        sti_world *late = world_of(m), *always = world_of(m);
        int n, count;
        sti_world_option(late)->substeps = sti_world_option(always)->substeps = parts;
        for (int i = 0; i < 200; i++) {
            REQUIRE(sti_step(late, 1) == STI_OK && sti_step(always, 1) == STI_OK);
            sti_world_contacts(always, &n);
        }
        sti_world_option(late)->timestep = 1; /* of the next step */
        const sti_contact *a = sti_world_contacts(late, &count), *b = sti_world_contacts(always, &n);
        double force = 0;
        CHECK(count == 4 && n == 4);
        for (int i = 0; i < count; i++) {
            force += a[i].force[0];
            CHECK(memcmp(a[i].force, b[i].force, sizeof a[i].force) == 0 && a[i].dist == b[i].dist);
        }
        CHECK_NEAR(force, 3 * 9.81, 1e-4);
        CHECK(sti_world_contacts(late, &n) == a && n == 4);
        sti_stage_collide(late); /* those of the last step are gone or as they were */
        sti_world_contacts(late, &n);
        CHECK(n == 4);
        sti_world_destroy(late);
        sti_world_destroy(always);
    }
    sti_model_free(m);
}

/* ---- the factor that the integrator leaves ------------------------------------------------------------------ */

/* The largest difference of L'DL from A, over the largest number of A; -1: the solver is offered no factor. */
static double factor_error(sti_world *w) {
    const sti_problem *p = &w->constraints.rows.problem;
    const sti__tree_factor *f = &p->tree;
    const sti_csr *A = &p->arrays.A;
    static double sum[64][64];
    double most = 0, off = 0;
    memset(sum, 0, sizeof sum);
    if (!f->L) return -1;
    REQUIRE(p->arrays.n <= 64);
    for (int i = 0; i < p->arrays.n; i++) { /* row i of L, with its one */
        const int *col = A->col + A->start[i];
        const double *row = f->L + f->row[f->dof[i]];
        int n = 0;
        while (col[n] < i) n++;
        for (int a = 0; a <= n; a++)
            for (int b = 0; b <= n; b++)
                sum[col[a]][col[b]] += (a < n ? row[a] : 1) * (b < n ? row[b] : 1) / f->inverse[f->dof[i]];
    }
    for (int i = 0; i < p->arrays.n; i++)
        for (int k = A->start[i]; k < A->start[i + 1]; k++) {
            most = fmax(most, fabs(A->value[k]));
            off = fmax(off, fabs(A->value[k] - sum[i][A->col[k]]));
        }
    return off / most;
}

TEST(solvers_get_the_factor_of_the_integrator) {
    sti_model *m = model_of(
        "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 1'/>"
        "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .1 .1'/>"
        "<body pos='.2 0 0'><joint axis='0 1 0' damping='3'/><geom type='capsule' size='.03' fromto='0 0 0 "
        ".2 0 0'/>"
        "<body pos='.2 0 0'><joint type='ball' damping='2'/><geom type='sphere' "
        "size='.05'/></body></body></body>"
        "<body pos='2 0 .1'><freejoint/><geom type='box' size='.1 .2 .1'/></body></worldbody></mujoco>");
    for (int integrator = STI_INTEGRATOR_EULER; integrator <= STI_INTEGRATOR_IMPLICITFAST; integrator++) {
        m->opt.integrator = integrator;
        if (integrator == STI_INTEGRATOR_RK4) continue;
        sti_world *w = world_of(m);
        for (int d = 0; d < 10; d++) values(w, "qvel")[d] = .1 * d;
        CHECK(sti_forward(w) == STI_OK);
        double error = factor_error(w);
        if (integrator == STI_INTEGRATOR_IMPLICIT) CHECK(error == -1); /* which is not symmetric */
        else CHECK(error >= 0 && error < 1e-14);
        values(w, "qvel")[11] =
            20; /* implicitfast leaves the derivatives of a body alone out of its factor */
        values(w, "qvel")[14] = 20;
        CHECK(sti_forward(w) == STI_OK && factor_error(w) < 1e-14);
        sti_world_destroy(w);
    }
    sti_model_free(m);
}

MAIN(CASE(a_list_finds_what_the_tree_finds), CASE(groups_find_what_the_list_finds),
     CASE(bodies_first_lose_no_contact), CASE(axes_change_nothing), CASE(contacts_feel_the_inverse_mass),
     CASE(contacts_of_two_bodies_are_as_each_alone), CASE(contacts_are_listed_for_who_asks),
     CASE(trees_on_a_free_body_answer_from_the_root_outwards), CASE(islands_of_trees),
     CASE(solvers_get_the_factor_of_the_integrator), CASE(threads_do_not_change_a_bit))
