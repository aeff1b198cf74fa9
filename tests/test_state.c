/* SPDX-License-Identifier: Apache-2.0 */
/* A world's state is whole: copies, restored worlds and their original go on with the same bits, whatever they remember. */
#include "state_scenes.h"
#include "world/spans.h"
#include <stddef.h>

enum { MORE = 20 };

typedef struct shot {
    void *data;
    size_t size;
} shot;

static shot shot_of(const sti_world *w) {
    shot s = {NULL, sti_snapshot_size(w)};
    s.data = malloc(s.size);
    REQUIRE(s.data && sti_snapshot_save(w, s.data, s.size) == STI_OK);
    return s;
}

static bool same_shots(const sti_world *a, const sti_world *b) {
    shot x = shot_of(a), y = shot_of(b);
    bool same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    free(x.data);
    free(y.data);
    return same;
}

/* Both are the same now and in the steps that follow. */
static void check_same(const state_scene *s, const char *what, const shot *start, sti_world *w,
                       sti_world *other) {
    int step = 0;
    REQUIRE(sti_snapshot_load(w, start->data, start->size) == STI_OK);
    bool same = sti_world_hash(w) == sti_world_hash(other) && same_shots(w, other);
    for (; step < MORE && same; step++)
        same = sti_step(w, 1) == STI_OK && sti_step(other, 1) == STI_OK &&
               sti_world_hash(w) == sti_world_hash(other);
    if (!same)
        fprintf(stderr, "%.40s, integrator %d: %s differs after %d steps\n", s->name, s->integrator, what,
                step);
    CHECK(same);
}

/* Into a world that has seen other things, which may leave no trace. */
static sti_world *restored(const state_scene *s, const sti_model *m, const shot *start, int before) {
    sti_world *w = state_world(s, m);
    if (before) {
        for (int i = 0; i < m->nv; i++) values(w, "qvel")[i] = 0.1 * (i % 3 - 1);
        sti_step(w, before);
    }
    REQUIRE(sti_snapshot_load(w, start->data, start->size) == STI_OK);
    return w;
}

TEST(copies_and_restored_worlds_go_on_with_the_same_bits) {
    for (int k = 0; k < STATE_SCENES; k++) {
        const state_scene *s = &state_scenes[k];
        sti_model *m = state_model(s);
        sti_world *w = state_world(s, m);
        REQUIRE(sti_step(w, s->steps) == STI_OK);
        shot start = shot_of(w);
        sti_world *copy = sti_world_copy(w, NULL), *fresh = restored(s, m, &start, 0),
                  *used = restored(s, m, &start, 7);
        REQUIRE(copy);
        CHECK(sti_world_hash(copy) == sti_world_hash(w) && same_shots(copy, w));
        check_same(s, "a copy", &start, w, copy);
        check_same(s, "a fresh world", &start, w, fresh);
        check_same(s, "a used world", &start, w, used);
        free(start.data);
        sti_world_destroy(used);
        sti_world_destroy(fresh);
        sti_world_destroy(copy);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* ---- no member is left out ---------------------------------------------------------------------------------- */

/* The list of members is all that a world consists of: one that is declared beside it leaves a gap. */
/* Steps whose outputs nobody sees leave the same behind: of several in one call only the last is seen. */
TEST(steps_in_one_call_leave_the_same_state) {
    for (int k = 0; k < STATE_SCENES; k++) {
        const state_scene *s = &state_scenes[k];
        sti_model *m = state_model(s);
        sti_world *a = state_world(s, m), *b = state_world(s, m);
        int count = s->steps < 60 ? s->steps : 60;
        CHECK(sti_step(a, count) == STI_OK);
        for (int i = 0; i < count; i++) CHECK(sti_step(b, 1) == STI_OK);
        CHECK(sti_world_hash(a) == sti_world_hash(b));
        CHECK(memcmp(values(a, "qacc"), values(b, "qacc"), sizeof(double) * (size_t)m->nv) == 0);
        sti_world_destroy(a);
        sti_world_destroy(b);
        sti_model_free(m);
    }
}

TEST(every_member_of_a_world_has_a_class) {
    size_t end = 0;
#define X(type, name, dims, class)                                  \
    CHECK(offsetof(struct sti_world, name) - end < _Alignof(type)); \
    end = offsetof(struct sti_world, name) + sizeof(((const struct sti_world *)0)->name);
    STI__WORLD_MEMBERS(X)
#undef X
    CHECK(sizeof(struct sti_world) - end < _Alignof(struct sti_world));
}

static sti__span span_of(const sti_world *w, int k) {
    sti__span list[STI__SPANS];
    CHECK(sti__world_spans(w, list) > k);
    return list[k];
}

/* One bit of each array that a world holds: hash and snapshot see it, a copy and a restored world have it. */
static void change_and_look(sti_world *w, sti_world *other, int k) {
    unsigned char *at = span_of(w, k).data, was = *at;
    uint64_t before = sti_world_hash(w);
    *at ^= 1;
    sti_world *copy = sti_world_copy(w, NULL);
    shot s = shot_of(w);
    REQUIRE(copy && sti_snapshot_load(other, s.data, s.size) == STI_OK);
    bool saved = span_of(w, k).kind != STI__SPAN_SHOWN;
    CHECK(*(unsigned char *)span_of(copy, k).data == *at);
    if (saved) CHECK(sti_world_hash(w) != before && *(unsigned char *)span_of(other, k).data == *at);
    CHECK(same_shots(w, copy) && same_shots(w, other));
    *at = was;
    CHECK(sti_world_hash(w) == before);
    free(s.data);
    sti_world_destroy(copy);
}

TEST(every_array_is_in_copy_snapshot_and_hash) {
    sti__span list[STI__SPANS];
    int seen[3] = {0};
    for (int k = 0; k < STATE_SCENES; k++) {
        sti_model *m = state_model(&state_scenes[k]);
        sti_world *w = state_world(&state_scenes[k], m), *other = world_of(m);
        REQUIRE(sti_step(w, state_scenes[k].steps) == STI_OK);
        int n = sti__world_spans(w, list);
        for (int i = 0; i < n; i++) {
            if (list[i].bytes == 0) continue;
            seen[list[i].kind]++;
            if (list[i].data != w->state->block) change_and_look(w, other, i);
        }
        sti_world_destroy(other);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(seen[STI__SPAN_STATE] > 100 && seen[STI__SPAN_WARM] > 30 && seen[STI__SPAN_SHOWN] > 50);
}

/* What is shown of the last step is shown by a copy too. */
static void shows_the_same(const sti_world *w, const sti_world *copy, int *contacts) {
    const sti_solve_info *a = sti_world_solve_info(w), *b = sti_world_solve_info(copy);
    CHECK(memcmp(a, b, sizeof *a) == 0);
    for (int i = 0; i < STI_WARN_COUNT; i++)
        CHECK(sti_world_warnings(w, (sti_solve_warning)i) == sti_world_warnings(copy, (sti_solve_warning)i));
    int n, m;
    const sti_contact *y = sti_world_contacts(copy, &m), *x = sti_world_contacts(w, &n);
    CHECK(n == m);
    for (int i = 0; i < n && n == m; i++)
        CHECK(x[i].feature == y[i].feature && memcmp(x[i].force, y[i].force, sizeof x[i].force) == 0 &&
              memcmp(x[i].pos, y[i].pos, sizeof x[i].pos) == 0 && x[i].region == y[i].region);
    *contacts += n;
}

TEST(a_copy_shows_the_last_step) {
    int contacts = 0;
    for (int k = 0; k < STATE_SCENES; k++) {
        sti_model *m = state_model(&state_scenes[k]);
        sti_world *w = state_world(&state_scenes[k], m);
        REQUIRE(sti_step(w, state_scenes[k].steps) == STI_OK);
        sti_world *copy = sti_world_copy(w, NULL), *again = copy ? sti_world_copy(copy, NULL) : NULL;
        REQUIRE(again);
        shows_the_same(w, copy, &contacts);
        shows_the_same(w, again, &contacts);
        sti_world_destroy(again);
        sti_world_destroy(copy);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(contacts > 100);
}

/* ---- bad numbers --------------------------------------------------------------------------------------------- */

/* Saved with a number that no step accepts: refused with its name, and the world that was to take it is as it was. */
TEST(snapshots_with_bad_numbers_are_refused) {
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e11};
    sti__span list[STI__SPANS];
    int refused = 0;
    for (int k = 0; k < STATE_SCENES; k++) {
        sti_model *m = state_model(&state_scenes[k]);
        sti_world *w = state_world(&state_scenes[k], m), *other = world_of(m);
        REQUIRE(sti_step(w, state_scenes[k].steps / 4) == STI_OK && sti_step(other, 3) == STI_OK);
        uint64_t before = sti_world_hash(other);
        int n = sti__world_spans(w, list);
        for (int i = 0; i < n * STI__COUNT(bad); i++) {
            const sti__span *s = &list[i / STI__COUNT(bad)];
            double x = bad[i % STI__COUNT(bad)], was;
            bool time =
                s->check == STI__SPAN_FIELD && (s->field == STI_FIELD_time || s->field == STI_FIELD_history);
            if (s->kind == STI__SPAN_SHOWN || s->check == STI__SPAN_ANYTHING || s->bytes < 32) continue;
            if (isfinite(x) && (s->check != STI__SPAN_FIELD || time)) continue;
            char *at = (char *)s->data + 24; /* the fourth number: none of the heads of structs */
            memcpy(&was, at, sizeof was);
            memcpy(at, &x, sizeof x);
            shot saved = shot_of(w);
            memcpy(at, &was, sizeof was);
            sti_status status = sti_snapshot_load(other, saved.data, saved.size);
            CHECK(status == STI_NONFINITE);
            CHECK(strstr(sti_world_error(other)->message, s->name) != NULL);
            CHECK(sti_world_hash(other) == before);
            free(saved.data);
            refused++;
        }
        CHECK(sti_step(other, 1) == STI_OK);
        sti_world_destroy(other);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(refused > 500);
}

/* After every step that was taken the snapshot can be restored, however far its numbers have gone: soft bodies that took their
   stiffness at a place farther than any allowed, and times beyond all positions. */
TEST(a_snapshot_can_be_restored_after_any_step) {
    static const char *const scenes[] = {
        "<mujoco xmlns:sti='urn:stiction'><option timestep='1e4' viscosity='2'/><worldbody>"
        "<flexcomp name='mat' dim='3' type='grid' count='3 3 2' spacing='.03 .03 .03' mass='.5' pos='0 .01 "
        "90'>"
        "<elasticity young='1e5' poisson='.4' damping='.01' sti:law='neohookean'/></flexcomp>"
        "<geom type='plane' size='0 0 1'/>"
        "<flexcomp name='a' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' mass='1' pos='0 0 .2'>"
        "<elasticity young='1e4' poisson='.3' damping='.01'/></flexcomp>"
        "<flexcomp name='b' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' mass='1' pos='0 0 .2'>"
        "<elasticity young='1e4' poisson='.3' damping='.01'/></flexcomp></worldbody></mujoco>",
        "<mujoco><option timestep='1e9' gravity='0 0 0'/><worldbody><body><joint name='j' type='slide'/>"
        "<geom size='.1'/></body></worldbody><actuator><motor joint='j' delay='1e9' nsample='3'/></actuator>"
        "<sensor><jointpos joint='j' delay='1e9' nsample='3'/></sensor></mujoco>"};
    for (int k = 0; k < 2; k++) {
        sti_model *m = model_of(scenes[k]);
        sti_world *w = world_of(m);
        sti_world_option(w)->max_work = 5e7;
        values(w, "time")[0] = 2e10;
        int taken = 0;
        for (int i = 0; i < 6; i++) {
            taken += sti_step(w, 1) == STI_OK;
            shot now = shot_of(w);
            CHECK(sti_snapshot_load(w, now.data, now.size) == STI_OK);
            free(now.data);
        }
        CHECK(taken > 1);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* Parts of the state that users may write, besides positions and velocities: a bad number is named before a step takes it. */
TEST(bad_numbers_in_other_parts_of_the_state_are_named) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body><joint name='j' type='slide' stiffness='1' springyield='1'/>"
        "<geom size='.1'/></body><flexcomp name='a' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' "
        "mass='1' pos='0 0 1'><elasticity young='1e4' poisson='.3'/></flexcomp></worldbody><actuator>"
        "<motor joint='j' delay='.01' nsample='8'/></actuator></mujoco>");
    sti_world *w = world_of(m);
    static const char *const fields[] = {"flexvert_tangent", "flex_knotted", "plastic", "history"};
    REQUIRE(sti_step(w, 2) == STI_OK);
    for (int k = 0; k < 4; k++) {
        double *x = values(w, fields[k]), was = *x;
        *x = NAN;
        uint64_t hash = sti_world_hash(w);
        CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, fields[k]));
        CHECK(strstr(sti_world_error(w)->message, "finite value") && sti_world_hash(w) == hash);
        *x = was;
    }
    CHECK(sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Where memory is short for a restore the world is as it was, and it can be tried again. */
TEST(restoring_may_run_out_of_memory) {
    int failures = 0;
    for (int k = 0; k < STATE_SCENES; k++) {
        const state_scene *s = &state_scenes[k];
        sti_model *m = state_model(s);
        sti_world *w = state_world(s, m);
        REQUIRE(sti_step(w, s->steps) == STI_OK);
        shot start = shot_of(w);
        for (long at = 1, more = 1; more; at++) {
            counter c = {0};
            sti_allocator allocator = {counting, &c};
            sti_world_options options = sti_world_options_default();
            options.allocator = &allocator;
            sti_world *other = sti_world_create(m, &options, NULL);
            REQUIRE(other && sti_step(other, 2) == STI_OK);
            uint64_t before = sti_world_hash(other);
            c.fail_at = c.calls + at;
            sti_status status = sti_snapshot_load(other, start.data, start.size);
            more = c.calls >= c.fail_at;
            CHECK(status == (more ? STI_NO_MEMORY : STI_OK));
            if (more) CHECK(sti_world_hash(other) == before);
            CHECK(sti_snapshot_load(other, start.data, start.size) == STI_OK && same_shots(w, other));
            sti_world_destroy(other);
            CHECK(c.live == 0);
            failures += more != 0;
        }
        free(start.data);
        sti_world_destroy(w);
        sti_model_free(m);
    }
    CHECK(failures > 10);
}

/* A step that fails says that the last good state is back, and it is: after a refused snapshot too. */
TEST(the_last_good_state_is_back_where_a_step_says_so) {
    sti_model *m = model_of(boxes_xml);
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 30) == STI_OK);
    uint64_t before = sti_world_hash(w);
    static const char *const fields[] = {"qpos", "qvel", "time"};
    for (int k = 0; k < 3; k++)
        for (int snapshot = 0; snapshot < 2; snapshot++) {
            double *x = values(w, fields[k]), was = *x;
            *x = NAN;
            shot bad = shot_of(w);
            if (snapshot) *x = was;
            if (snapshot) CHECK(sti_snapshot_load(w, bad.data, bad.size) == STI_NONFINITE);
            else CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "is back"));
            CHECK(strstr(sti_world_error(w)->message, fields[k]) && sti_world_hash(w) == before);
            free(bad.data);
        }
    CHECK(sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(copies_and_restored_worlds_go_on_with_the_same_bits), CASE(steps_in_one_call_leave_the_same_state),
     CASE(every_member_of_a_world_has_a_class), CASE(every_array_is_in_copy_snapshot_and_hash),
     CASE(a_copy_shows_the_last_step), CASE(snapshots_with_bad_numbers_are_refused),
     CASE(a_snapshot_can_be_restored_after_any_step), CASE(bad_numbers_in_other_parts_of_the_state_are_named),
     CASE(restoring_may_run_out_of_memory), CASE(the_last_good_state_is_back_where_a_step_says_so))
