/* SPDX-License-Identifier: Apache-2.0 */
/* Which trees may fall asleep. */
#include "model/compile.h"

/* Trees that a row of a sparse matrix moves. */
static void mark_row(const sti_model *m, const int *column, int count, bool *tree) {
    for (int k = 0; k < count; k++) tree[m->dof_treeid[column[k]]] = true;
}

static void choose(sti__compiler *c, int t, bool tendon, bool actuated) {
    sti_model *m = c->m;
    int root = 0;
    while (m->dof_treeid[root] != t) root++;
    const sti_element *e = sti__object(c, STI_OBJ_BODY, m->dof_bodyid[root]);
    static const int policy[] = {STI_SLEEP_AUTO, STI_SLEEP_NEVER, STI_SLEEP_ALLOWED, STI_SLEEP_INIT};
    int asked = policy[sti__keyword(e, STI_A_sleep, 0)];
    if (tendon && asked > STI_SLEEP_NEVER)
        sti__complain(
            c, e, STI_A_sleep, STI_UNSUPPORTED,
            "a tree that a tendon moves cannot sleep: it does not notice what pulls at the other end");
    bool never = tendon || actuated;
    m->tree_sleep_policy[t] = asked != STI_SLEEP_AUTO ? asked
                              : never                 ? STI_SLEEP_AUTO_NEVER
                                                      : STI_SLEEP_AUTO_ALLOWED;
}

/* The first body of a tree alone has a policy. */
static void check_bodies(sti__compiler *c) {
    const sti_model *m = c->m;
    for (int b = 1; b < m->nbody; b++) {
        const sti_element *e = sti__object(c, STI_OBJ_BODY, b);
        bool root = m->body_dofnum[b] > 0 && m->dof_parentid[m->body_dofadr[b]] < 0;
        if (!root && sti__keyword(e, STI_A_sleep, 0))
            sti__complain(c, e, STI_A_sleep, STI_VALUE,
                          "whether a tree may sleep is said at the first body that moves");
    }
    if ((m->opt.enableflags & STI_ENABLE_SLEEP) &&
        (m->nflex || m->ncoupled || m->nsheet || m->nfold || m->nbend))
        sti__complain(c, sti__setting(c->spec, STI_E_flag, STI_A_sleep), STI_A_sleep, STI_UNSUPPORTED,
                      "sleep is not there yet for scenes with soft bodies, elastic sheets and strings or "
                      "coupled constraints");
}

void sti__fill_sleep(sti__compiler *c) {
    sti_model *m = c->m;
    bool *tendon = sti__scratch(c, (size_t)m->ntree + 1, sizeof *tendon);
    bool *actuated = sti__scratch(c, (size_t)m->ntree + 1, sizeof *actuated);
    if (!tendon || !actuated) return;
    for (int i = 0; i < m->ntendon; i++)
        mark_row(m, m->ten_J_colind + m->ten_J_rowadr[i], m->ten_J_rownnz[i], tendon);
    for (int i = 0; i < m->nout; i++)
        mark_row(m, m->moment_colind + m->moment_rowadr[i], m->moment_rownnz[i], actuated);
    check_bodies(c);
    for (int t = 0; t < m->ntree; t++) choose(c, t, tendon[t], actuated[t]);
}
