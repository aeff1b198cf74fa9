/* SPDX-License-Identifier: Apache-2.0 */
/* Every field, size and option of a model by its name: what follows from the lists of fields. */
#include "robust.h"
#include "test.h"
#include <stiction/option_fields.h>

static sti_model *load(const char *xml, sti_error *error) {
    unsigned char cube[CUBE_SIZE];
    make_cube(cube);
    const sti_asset assets[] = {{"cube.stl", cube, sizeof cube}, {"part.xml", part_xml, sizeof part_xml - 1}};
    sti_load_options options = sti_load_options_default();
    options.assets = assets;
    options.nasset = 2;
    options.no_disk = true;
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), &options, NULL, error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, error) : NULL;
    sti_spec_free(spec);
    return model;
}

#define VIEW_double 'd'
#define VIEW_int 'i'
#define VIEW_float 'f'
#define VIEW_char 'b'

TEST(every_field_is_found_by_its_name) {
    sti_error error = {0};
    sti_model *m = load(everything_xml, &error);
    REQUIRE(m);
#define X(name, text)                           \
    const size_t name = (size_t)m->name;        \
    CHECK(sti_model_size(m, #name) == m->name); \
    (void)name;
    STI_MODEL_SIZES(X)
#undef X
#define X(type_, name, rows_, cols_, vary, change)                                    \
    {                                                                                 \
        sti_view v = sti_model_view(m, #name);                                        \
        CHECK(v.data == m->name && v.rows == (int)(rows_) && v.cols == (int)(cols_)); \
        CHECK(v.type == VIEW_##type_ && !v.writable);                                 \
    }
    STI_MODEL_FIELDS(X)
#undef X
    CHECK(sti_model_view(m, "no_such_field").data == NULL && sti_model_view(NULL, "qpos0").data == NULL);
    CHECK(sti_model_view(m, NULL).data == NULL && sti_model_size(m, "nothing") == -1);
    CHECK(sti_model_size(NULL, "nv") == -1 && sti_model_size(m, NULL) == -1);
    sti_model_free(m);
}

/* One byte of any field that is not empty, and of any option, changes the hash; a copy has the same. */
TEST(every_field_is_in_the_hash) {
    sti_error error = {0};
    sti_model *m = load(everything_xml, &error);
    REQUIRE(m);
    uint64_t hash = sti_model_hash(m);
    sti_model *copy = sti_model_copy(m, &error);
    REQUIRE(copy);
    CHECK(sti_model_hash(copy) == hash && sti_model_hash(NULL) != hash);
    CHECK(!sti_model_copy(NULL, &error) && error.code == STI_ARGUMENT);
    int changed = 0, fields = 0;
#define X(type_, name, rows_, cols_, vary, change)             \
    {                                                          \
        sti_view v = sti_model_view(copy, #name);              \
        if (v.rows * v.cols > 0) {                             \
            ((char *)(uintptr_t)v.data)[0] ^= 1;               \
            fields++, changed += sti_model_hash(copy) != hash; \
            ((char *)(uintptr_t)v.data)[0] ^= 1;               \
        }                                                      \
    }
    STI_MODEL_FIELDS(X)
#undef X
#define OPTION(type, name, least, most, text)          \
    copy->opt.name += 1;                               \
    fields++, changed += sti_model_hash(copy) != hash; \
    copy->opt = m->opt;
#define X(type, name, attribute, least, most, text) OPTION(type, name, least, most, text)
    STI_MJCF_OPTIONS(OPTION)
    STI_FLAG_OPTIONS(OPTION)
    STI_OWN_OPTIONS(X)
#undef X
#undef OPTION
    CHECK(fields > 200 && changed == fields);
    sti_model_free(copy);
    sti_model_free(m);
}

/* ---- bounds of options in a file ---------------------------------------------------------------------- */

/* Words and whole numbers have texts of their own; what is not a plain number is left to other tests. */
static bool refused(const char *element, const char *attribute, const char *value) {
    char xml[400];
    sti_error e = {0};
    snprintf(xml, sizeof xml, "<mujoco xmlns:sti='urn:stiction'>\n<%s %s='%s'/></mujoco>", element, attribute,
             value);
    sti_model *m = load(xml, &e);
    bool ok = !m && e.line == 2 && strcmp(e.attribute, attribute) == 0 && e.message[0];
    if (!ok) fprintf(stderr, "%s@%s = %s: %s\n", element, attribute, value, m ? "loaded" : e.message);
    sti_model_free(m);
    return ok;
}

static void refuse_both(const char *element, const char *attribute, bool whole, double least, double most) {
    char text[64];
    double below = least > 1e-20 ? least / 2 : least - 1, above = 2 * most + 1;
    if (whole) below = least - 1, above = most + 1;
    snprintf(text, sizeof text, "%.17g", below);
    CHECK(refused(element, attribute, text));
    snprintf(text, sizeof text, "%.17g", above);
    CHECK(refused(element, attribute, text));
}

#define IS_int true
#define IS_double false

TEST(every_option_of_a_file_has_bounds) {
#define X(type, name, attribute, least, most, text) \
    refuse_both("sti:option", #attribute, IS_##type, (double)(least), (double)(most));
    STI_OWN_OPTIONS(X)
#undef X
#define X(type, name, least, most, text) \
    refuse_both("option", #name, IS_##type, (double)(least), (double)(most));
    STI_MJCF_OPTIONS(X)
#undef X
    CHECK(refused("option", "gravity", "0 0 2e10") && refused("sti:record", "interval", "-1"));
    CHECK(refused("statistic", "extent", "0") && refused("statistic", "meanmass", "-1"));
}

/* A world refuses the same, and NaN. */
TEST(every_option_of_a_world_has_bounds) {
    sti_error error = {0};
    sti_model *m =
        load("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>", &error);
    REQUIRE(m);
    sti_world *w = sti_world_create(m, NULL, &error);
    REQUIRE(w);
    sti_option *o = sti_world_option(w), good = *o;
    int tries = 0, refusals = 0;
#define TRY(name, value)                                                                               \
    o->name = (value);                                                                                 \
    tries++, refusals += sti_step(w, 1) == STI_ARGUMENT && strstr(sti_world_error(w)->message, #name); \
    *o = good;
#define TRY_int(name, least, most) \
    TRY(name, (int)(least)-1) if ((most) < 2147483647){TRY(name, (int)((most) + 1.0))}
#define TRY_double(name, least, most) TRY(name, (least)-1) TRY(name, 2 * (most) + 1) TRY(name, NAN)
#define OPTION(type, name, least, most, text) TRY_##type(name, least, most)
#define X(type, name, attribute, least, most, text) TRY_##type(name, least, most)
    STI_MJCF_OPTIONS(OPTION)
    STI_FLAG_OPTIONS(OPTION)
    STI_OWN_OPTIONS(X)
    CHECK(tries > 100 && refusals == tries && sti_step(w, 1) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(every_field_is_found_by_its_name), CASE(every_field_is_in_the_hash),
     CASE(every_option_of_a_file_has_bounds), CASE(every_option_of_a_world_has_bounds))
