/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that follow from the one list of state fields. */
#include "record/field.h"

#include <string.h>

enum { ROLE_S = 'S', ROLE_I = 'I', ROLE_D = 'D', ROLE_T = 'T' };

static const struct {
    const char *name;
    char role;
} info[STI_FIELD_COUNT] = {
#define X(name, rows, cols, role) {#name, ROLE_##role},
    STI_STATE_FIELDS(X)
#undef X
};

/* Groups by field; a table of its own, since most fields have none. */
static const struct {
    sti_field field;
    uint32_t group;
} lazy[] = {
    {STI_FIELD_geom_xpos, STI__WANT_GEOM},
    {STI_FIELD_geom_xmat, STI__WANT_GEOM},
    {STI_FIELD_site_xpos, STI__WANT_SITE},
    {STI_FIELD_site_xmat, STI__WANT_SITE},
    {STI_FIELD_cam_xpos, STI__WANT_CAMLIGHT},
    {STI_FIELD_cam_xmat, STI__WANT_CAMLIGHT},
    {STI_FIELD_light_xpos, STI__WANT_CAMLIGHT},
    {STI_FIELD_light_xdir, STI__WANT_CAMLIGHT},
    {STI_FIELD_subtree_linvel, STI__WANT_SUBTREE},
    {STI_FIELD_subtree_angmom, STI__WANT_SUBTREE},
    {STI_FIELD_M, STI__WANT_MASS},
    {STI_FIELD_qLD, STI__WANT_MASS},
    {STI_FIELD_qLDiagInv, STI__WANT_MASS},
    {STI_FIELD_qacc_smooth, STI__WANT_MASS},
    {STI_FIELD_energy, STI__WANT_ENERGY},
    {STI_FIELD_cacc, STI__WANT_RNEPOST},
    {STI_FIELD_cfrc_int, STI__WANT_RNEPOST},
    {STI_FIELD_cfrc_ext, STI__WANT_RNEPOST},
};

const char *sti__field_name(sti_field field) { return info[field].name; }
char sti__field_role(sti_field field) { return info[field].role; }

uint32_t sti__field_group(sti_field field) {
    for (int i = 0; i < STI__COUNT(lazy); i++)
        if (lazy[i].field == field) return lazy[i].group;
    return 0;
}

sti_field sti__field_find(const char *name, size_t length) {
    for (int i = 0; i < STI_FIELD_COUNT; i++)
        if (strlen(info[i].name) == length && memcmp(info[i].name, name, length) == 0) return (sti_field)i;
    return STI_FIELD_COUNT;
}

int sti__field_rows(const sti_model *m, sti_field field) {
    /* sizes in the list are names of model sizes: locals of the same name stand for them */
#define X(name, text)         \
    const int name = m->name; \
    (void)name;
    STI_MODEL_SIZES(X)
#undef X
    const int rows[] = {
#define X(name, rows, cols, role) rows,
        STI_STATE_FIELDS(X)
#undef X
    };
    return rows[field];
}

int sti__field_cols(sti_field field) {
    static const unsigned char columns[] = {
#define X(name, rows, cols, role) cols,
        STI_STATE_FIELDS(X)
#undef X
    };
    return columns[field];
}

double *sti__field_data(const sti_state *state, sti_field field) {
    double *const data[] = {
#define X(name, rows, cols, role) state->name,
        STI_STATE_FIELDS(X)
#undef X
    };
    return data[field];
}

void sti__field_move(sti_state *state, sti_field field, double *to) {
    double **const place[] = {
#define X(name, rows, cols, role) &state->name,
        STI_STATE_FIELDS(X)
#undef X
    };
    size_t count = sti__field_size(state->model, field) * (size_t)state->lanes;
    if (count) memcpy(to, *place[field], sizeof *to * count);
    *place[field] = to;
}
