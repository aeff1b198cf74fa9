/* SPDX-License-Identifier: Apache-2.0 */
#include "world/sleep.h"

#include "base/room.h"
#include "base/roots.h"
#include "dynamics/history.h"
#include "world/world.h"
#include <math.h>
#include <stiction/sleep.h>
#include <string.h>

/* ---- what follows from the model ------------------------------------------------------------------------------- */

static void find_ranges(const sti_model *m, sti__sleep *x) {
    for (int d = m->nv - 1; d >= 0; d--) {
        int tree = m->dof_treeid[d];
        x->dof[tree] = d;
        x->q[tree] = m->jnt_qposadr[m->dof_jntid[d]];
    }
    x->dof[m->ntree] = m->nv;
    x->q[m->ntree] = m->nq;
}

/* How far the rim of a body's geoms is from its frame; 1 if there is none. */
static double rim(const sti_model *m, int body) {
    double most = 0;
    for (int g = m->body_geomadr[body]; g >= 0 && g < m->body_geomadr[body] + m->body_geomnum[body]; g++) {
        const double *p = m->geom_pos + 3 * g;
        most = fmax(most, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) + m->geom_rbound[g]);
    }
    return most > 0 ? most : 1;
}

static void find_lengths(const sti_model *m, sti__sleep *x) {
    for (int j = 0; j < m->njnt; j++) {
        int type = m->jnt_type[j], d = m->jnt_dofadr[j];
        int slides = type == STI_JOINT_FREE ? 3 : type == STI_JOINT_SLIDE;
        int turns = type == STI_JOINT_FREE || type == STI_JOINT_BALL ? 3 : type == STI_JOINT_HINGE;
        double length = rim(m, m->jnt_bodyid[j]);
        for (int k = 0; k < slides + turns; k++) x->length[d + k] = k < slides ? 1 : length;
    }
}

static int body_of_sensor(const sti_model *m, int i) {
    int id = m->sensor_objid[i];
    switch (m->sensor_objtype[i]) {
    case STI_OBJ_BODY: return id;
    case STI_OBJ_GEOM: return m->geom_bodyid[id];
    case STI_OBJ_SITE: return m->site_bodyid[id];
    case STI_OBJ_JOINT: return m->jnt_bodyid[id];
    case STI_OBJ_CAMERA: return m->cam_bodyid[id];
    default: return 0;
    }
}

static void find_drives(const sti_model *m, sti__sleep *x) {
    for (int i = 0; i < m->nsensor; i++)
        x->sensor_tree[i] = m->sensor_objid[i] < 0 ? -1 : m->body_treeid[body_of_sensor(m, i)];
    for (int i = 0; i < m->nactuator; i++) {
        int row = m->actuator_outadr[i];
        for (int k = 0; k < m->moment_rownnz[row]; k++)
            x->driven[m->dof_treeid[m->moment_colind[m->moment_rowadr[row] + k]]] = true;
        /* adhesion may hold anything */
        for (int t = 0; t < m->ntree && m->actuator_trntype[i] == STI_TRN_BODY; t++) x->driven[t] = true;
    }
}

static size_t lay_out(const sti_model *m, sti__sleep *x, char *block) {
    sti__cutter cut = {block, 0};
    size_t n = (size_t)m->ntree;
    x->tree = sti__cut(&cut, n, sizeof *x->tree);
    x->pose = sti__cut(&cut, n + STI__SLEEP_SEEN, sizeof *x->pose);
    x->sensed = sti__cut(&cut, (size_t)m->nsensordata, sizeof *x->sensed);
    x->before.tree = sti__cut(&cut, n, sizeof *x->tree);
    x->before.pose = sti__cut(&cut, n + STI__SLEEP_SEEN, sizeof *x->pose);
    x->before.sensed = sti__cut(&cut, (size_t)m->nsensordata, sizeof *x->sensed);
    x->dof = sti__cut(&cut, n + 1, sizeof *x->dof);
    x->q = sti__cut(&cut, n + 1, sizeof *x->q);
    x->length = sti__cut(&cut, (size_t)m->nv, sizeof *x->length);
    x->sensor_tree = sti__cut(&cut, (size_t)m->nsensor, sizeof *x->sensor_tree);
    x->driven = sti__cut(&cut, n, sizeof *x->driven);
    x->parent = sti__cut(&cut, n, sizeof *x->parent);
    x->last = sti__cut(&cut, n, sizeof *x->last);
    return cut.used;
}

bool sti__sleep_make(sti_world *world) {
    const sti_model *m = world->model;
    if (world->sleep) return true;
    sti__sleep *x = sti__alloc(&world->allocator, sizeof *x);
    if (!x) return false;
    x->bytes = lay_out(m, x, NULL);
    x->block = sti__alloc_aligned(&world->allocator, x->bytes);
    if (!x->block) {
        sti__free(&world->allocator, x, sizeof *x);
        return false;
    }
    memset(x->block, 0, x->bytes);
    lay_out(m, x, x->block);
    find_ranges(m, x);
    find_lengths(m, x);
    find_drives(m, x);
    world->sleep = x;
    return true;
}

void sti__sleep_free(sti_world *world) {
    sti__sleep *x = world->sleep;
    if (!x) return;
    sti__free_aligned(&world->allocator, x->block, x->bytes);
    sti__free_aligned(&world->allocator, x->pool.data, x->pool.bytes);
    sti__free_aligned(&world->allocator, x->before.pool.data, x->before.pool.bytes);
    sti__free(&world->allocator, x, sizeof *x);
    world->sleep = NULL;
}

void sti__sleep_reset(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti_model *m = world->model;
    if (!x) return;
    x->count = 0;
    if (m->ntree) memset(x->tree, 0, sizeof *x->tree * (size_t)m->ntree);
    memset(x->pose, 0, sizeof *x->pose * ((size_t)m->ntree + STI__SLEEP_SEEN));
    if (m->nsensordata) memset(x->sensed, 0, sizeof *x->sensed * (size_t)m->nsensordata);
}

/* The options have been seen by the first step. */
bool sti__sleep_has_state(const sti_world *world) {
    return world->sleep && world->sleep->pose[world->model->ntree + STI__SLEEP_SEEN - 1] != 0;
}

bool sti__sleep_room(sti_world *world, int count) {
    sti__sleep *x = world->sleep;
    sti__pool old = x->pool;
    if (x->pool.data && count <= x->pool.room) return true;
    x->pool = (sti__pool){0};
    if (!sti__reserve(world, &x->pool, (size_t)count, sizeof *x->item)) return x->pool = old, false;
    if (x->count) memcpy(x->pool.data, x->item, sizeof *x->item * (size_t)x->count);
    sti__free_aligned(&world->allocator, old.data, old.bytes);
    x->item = x->pool.data;
    return true;
}

int sti_world_tree_asleep(const sti_world *world, int tree) {
    bool known = world->sleep && tree >= 0 && tree < world->model->ntree;
    return (known ? world->sleep->tree[tree] : 0) - STI__MIN_AWAKE - 1;
}

/* ---- waking ---------------------------------------------------------------------------------------------------- */

/* The tree and those that fell asleep with it. */
static bool wake(sti__sleep *x, int tree) {
    if (!sti__is_asleep(x->tree, tree)) return false;
    while (sti__is_asleep(x->tree, tree)) {
        int next = x->tree[tree] - STI__MIN_AWAKE - 1;
        x->tree[tree] = 0;
        tree = next;
    }
    return true;
}

/* The memories of sleep as the step found them, before the first of them wakes. */
static bool save_memories(sti_world *world) {
    sti__sleep *x = world->sleep;
    if (x->before.woken) return true;
    void *items = sti__reserve(world, &x->before.pool, (size_t)x->count, sizeof *x->item);
    if (!items) return false;
    memcpy(items, x->item, sizeof *x->item * (size_t)x->count);
    x->before.count = x->count;
    x->before.memories = world->memory.count;
    return x->before.woken = true;
}

static void copy_trees(const sti_world *world, bool back) {
    sti__sleep *x = world->sleep;
    size_t n = (size_t)world->model->ntree, sensors = (size_t)world->model->nsensordata;
    if (n) memcpy(back ? x->tree : x->before.tree, back ? x->before.tree : x->tree, sizeof *x->tree * n);
    memcpy(back ? x->pose : x->before.pose, back ? x->before.pose : x->pose,
           sizeof *x->pose * (n + STI__SLEEP_SEEN));
    if (sensors)
        memcpy(back ? x->sensed : x->before.sensed, back ? x->before.sensed : x->sensed,
               sizeof *x->sensed * sensors);
}

void sti__sleep_keep(sti_world *world) {
    if (!world->sleep) return;
    world->sleep->before.woken = false;
    copy_trees(world, false);
}

/* What this step has made began with nothing, as it is there. */
void sti__sleep_back(sti_world *world) {
    sti__sleep *x = world->sleep;
    if (!x) return;
    copy_trees(world, true);
    if (!x->before.woken) return;
    x->count = x->before.count;
    memcpy(x->item, x->before.pool.data, sizeof *x->item * (size_t)x->count);
    world->memory.count = x->before.memories;
    x->before.woken = false;
}

/* Memories of those that are awake go back to where the contact stage looks for them. */
static sti_status give_memories(sti_world *world) {
    sti__sleep *x = world->sleep;
    int kept = 0, more = 0;
    for (int i = 0; i < x->count; i++) more += !sti__is_asleep(x->tree, (int)x->item[i].tree);
    if (more == 0) return STI_OK;
    if (!sti__memories_room(world, world->memory.count + more) || !save_memories(world))
        return sti__fail(&world->error, STI_NO_MEMORY, "no memory for %d contacts that wake", more);
    for (int i = 0; i < x->count; i++) {
        if (sti__is_asleep(x->tree, (int)x->item[i].tree)) {
            x->item[kept++] = x->item[i];
            continue;
        }
        int at = world->memory.count++;
        world->memory.item[at] = x->item[i].memory;
        memset(&world->warm.row[at], 0, sizeof world->warm.row[at]);
    }
    x->count = kept;
    return STI_OK;
}

bool sti__sleep_wake_all(sti_world *world) {
    sti__sleep *x = world->sleep;
    if (!x) return true;
    for (int t = 0; t < world->model->ntree; t++) wake(x, t);
    find_lengths(world->model, x);
    return give_memories(world) == STI_OK;
}

static bool any_number(const double *x, int count) {
    for (int i = 0; i < count; i++)
        if (x[i] != 0) return true;
    return false;
}

static uint64_t hash_pose(const sti_world *world, int t) {
    const sti__sleep *x = world->sleep;
    return sti__hash(STI__HASH_SEED, world->state->qpos + x->q[t],
                     sizeof(double) * (size_t)(x->q[t + 1] - x->q[t]));
}

static bool is_pushed(const sti_world *world, int t) {
    const sti__sleep *x = world->sleep;
    return any_number(world->state->qfrc_applied + x->dof[t], x->dof[t + 1] - x->dof[t]);
}

static void wake_pushed(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    for (int t = 0; t < m->ntree; t++)
        if (sti__is_asleep(x->tree, t) && (hash_pose(world, t) != x->pose[t] || is_pushed(world, t) ||
                                           any_number(s->qvel + x->dof[t], x->dof[t + 1] - x->dof[t])))
            wake(x, t);
    for (int b = 1; b < m->nbody; b++)
        if (sti__is_asleep(x->tree, m->body_treeid[b]) && any_number(s->xfrc_applied + 6 * b, 6))
            wake(x, m->body_treeid[b]);
}

static uint64_t hash_field(uint64_t h, const double *x, int count) {
    return count ? sti__hash(h, x, sizeof *x * (size_t)count) : h;
}

static bool is_mocap(const sti_model *m, uint64_t geom) {
    return geom > 0 && geom <= (uint64_t)m->ngeom &&
           m->body_mocapid[m->body_rootid[m->geom_bodyid[geom - 1]]] >= 0;
}

/* Those that lie on a mocap body, or may be tied to one. */
static void wake_carried(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti_model *m = world->model;
    for (int t = 0; t < m->ntree && m->neq; t++) wake(x, t);
    for (int i = 0; i < x->count; i++) {
        uint64_t pair = x->item[i].memory.pair;
        if (is_mocap(m, pair >> 32) || is_mocap(m, pair & 0xffffffff)) wake(x, (int)x->item[i].tree);
    }
}

static void see(const sti_world *world, uint64_t now[STI__SLEEP_SEEN]) {
    const sti_model *m = world->model;
    const sti_state *s = world->state;
    now[0] = hash_field(hash_field(STI__HASH_SEED, s->ctrl, m->nu), s->act, m->na);
    for (int u = 0; u < m->nactuator; u++)
        for (int k = 0; k < m->actuator_ctrlnum[u] && sti__is_delayed(m, u); k++) {
            double now_read = sti__control(s, u, k);
            now[0] = hash_field(now[0], &now_read, 1);
        }
    now[1] =
        hash_field(hash_field(STI__HASH_SEED, s->mocap_pos, 3 * m->nmocap), s->mocap_quat, 4 * m->nmocap);
    now[2] = sti__option_hash(STI__HASH_SEED, &s->opt);
    if (m->neq) now[2] = sti__hash(now[2], s->eq_active, sizeof(int) * (size_t)m->neq);
    now[2] |= 1; /* not 0: sti__sleep_has_state */
}

static void fall_asleep(sti_world *world, int tree, int next) {
    sti__sleep *x = world->sleep;
    int n = x->dof[tree + 1] - x->dof[tree];
    x->tree[tree] = STI__MIN_AWAKE + 1 + next;
    x->pose[tree] = hash_pose(world, tree);
    memset(world->state->qvel + x->dof[tree], 0, sizeof(double) * (size_t)n);
}

/* Wakes what changes since the last step concern; of the first step nothing does. */
static void notice(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti_model *m = world->model;
    uint64_t now[STI__SLEEP_SEEN], *last = x->pose + m->ntree;
    bool first = !sti__sleep_has_state(world);
    see(world, now);
    for (int t = 0; t < m->ntree; t++) {
        if (first && m->tree_sleep_policy[t] == STI_SLEEP_INIT) fall_asleep(world, t, t);
        if (!first && (now[2] != last[2] || (now[0] != last[0] && x->driven[t]))) wake(x, t);
    }
    world->constraints.collide.mocap_moved = !first && now[1] != last[1];
    if (world->constraints.collide.mocap_moved) wake_carried(world);
    memcpy(last, now, sizeof now);
}

static void show(sti_world *world) {
    const sti__sleep *x = world->sleep;
    bool any = false;
    for (int t = 0; t < world->model->ntree; t++) any |= sti__is_asleep(x->tree, t);
    world->constraints.collide.asleep = world->constraints.rows.asleep = any ? x->tree : NULL;
}

static sti_status check_supported(sti_world *world) {
    const sti_model *m = world->model;
    const char *what = m->nflex                                             ? "soft bodies"
                       : m->ncoupled                                        ? "coupled constraints"
                       : world->constraints.fields.npair                    ? "pressure fields"
                       : world->state->opt.integrator == STI_INTEGRATOR_ALM ? "the integrator alm"
                                                                            : NULL;
    return what ? sti__fail(&world->error, STI_UNSUPPORTED, "sleep is not there yet with %s", what) : STI_OK;
}

sti_status sti__sleep_begin(sti_world *world) {
    sti__constraints *c = &world->constraints;
    bool on = (world->state->opt.enableflags & STI_ENABLE_SLEEP) && world->model->ntree > 0;
    c->collide.asleep = c->rows.asleep = NULL;
    if (!on && !world->sleep) return STI_OK;
    sti_status status = on ? check_supported(world) : STI_OK;
    if (status != STI_OK) return status;
    if (!sti__sleep_make(world)) return sti__fail(&world->error, STI_NO_MEMORY, "no memory for sleep");
    if (!on || world->handlers.count > 0) {
        if (!sti__sleep_wake_all(world)) return STI_NO_MEMORY;
        sti__sleep_reset(world);
        return STI_OK;
    }
    notice(world);
    wake_pushed(world);
    status = give_memories(world);
    show(world);
    return status;
}

/* Contacts that only lie ahead have rows too, and push within this step. */
sti_status sti__sleep_meet(sti_world *world, bool *woke) {
    const sti__collide *c = &world->constraints.collide;
    const sti_model *m = world->model;
    *woke = false;
    for (int i = 0; i < c->ncontact; i++) {
        const sti__contact *x = &c->contact[i];
        *woke |= wake(world->sleep, m->body_treeid[x->body1]);
        *woke |= wake(world->sleep, m->body_treeid[x->body2]);
    }
    if (!*woke) return STI_OK;
    sti_status status = give_memories(world);
    show(world);
    return status;
}

/* ---- while they sleep ------------------------------------------------------------------------------------------ */

void sti__sleep_still(sti_world *world) {
    const int *asleep = world->constraints.rows.asleep;
    const sti__sleep *x = world->sleep;
    for (int t = 0; asleep && t < world->model->ntree; t++)
        for (int d = x->dof[t]; sti__is_asleep(asleep, t) && d < x->dof[t + 1]; d++)
            world->state->qacc[d] = 0;
}

void sti__sleep_sense(sti_world *world) {
    const int *asleep = world->constraints.rows.asleep;
    const sti_model *m = world->model;
    sti__sleep *x = world->sleep;
    if (!x || !(world->state->opt.enableflags & STI_ENABLE_SLEEP)) return;
    for (int i = 0; i < m->nsensor; i++) {
        bool keeps = asleep && sti__is_asleep(asleep, x->sensor_tree[i]);
        double *now = world->state->sensordata + m->sensor_adr[i], *kept = x->sensed + m->sensor_adr[i];
        memcpy(keeps ? now : kept, keeps ? kept : now, sizeof *now * (size_t)m->sensor_dim[i]);
    }
}

void sti__sleep_hold(sti_world *world) {
    const int *asleep = world->constraints.rows.asleep;
    const sti_model *m = world->model;
    const sti__sleep *x = world->sleep;
    sti_state *s = world->state;
    for (int t = 0; asleep && t < m->ntree; t++) {
        if (!sti__is_asleep(asleep, t)) continue;
        size_t q = (size_t)x->q[t], nq = (size_t)x->q[t + 1] - q;
        size_t d = (size_t)x->dof[t], nv = (size_t)x->dof[t + 1] - d;
        memcpy(s->qpos + q, world->good + 1 + q, sizeof(double) * nq);
        memset(s->qvel + d, 0, sizeof(double) * nv);
        memset(s->qacc + d, 0, sizeof(double) * nv);
    }
}

/* ---- falling asleep -------------------------------------------------------------------------------------------- */

static bool is_slow(const sti_world *world, int t) {
    const sti__sleep *x = world->sleep;
    const sti_state *s = world->state;
    int policy = world->model->tree_sleep_policy[t];
    if (policy == STI_SLEEP_NEVER || policy == STI_SLEEP_AUTO_NEVER || is_pushed(world, t)) return false;
    for (int d = x->dof[t]; d < x->dof[t + 1]; d++)
        if (!(fabs(s->qvel[d]) * x->length[d] < s->opt.sleep_tolerance)) return false;
    return true;
}

/* Counts steps at rest; whether any tree has enough of them. */
static bool count_rest(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti_model *m = world->model;
    bool any = false;
    for (int t = 0; t < m->ntree; t++) {
        if (sti__is_asleep(x->tree, t)) continue;
        int more = x->tree[t] < STI__MIN_AWAKE ? x->tree[t] + 1 : STI__MIN_AWAKE;
        x->tree[t] = is_slow(world, t) ? more : 0;
    }
    for (int b = 1; b < m->nbody; b++)
        if (m->body_treeid[b] >= 0 && any_number(world->state->xfrc_applied + 6 * b, 6))
            x->tree[m->body_treeid[b]] = 0;
    for (int t = 0; t < m->ntree; t++) any |= x->tree[t] == STI__MIN_AWAKE;
    return any;
}

/* The trees of block b become one island. */
static void join(const sti__assembly *as, int b, int *parent) {
    int first = -1;
    for (int k = as->jstart[as->first[b]]; k < as->jstart[as->first[b] + 1]; k++) {
        int tree = as->owner[as->dof[as->jcol[k]]];
        if (first >= 0 && tree != first) sti__root_join(parent, first, tree);
        if (first < 0) first = tree;
    }
}

/* Islands by their first tree. */
static void find_islands(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti__constraints *c = &world->constraints;
    int n = world->model->ntree;
    for (int t = 0; t < n; t++) x->parent[t] = t;
    for (int b = 0; c->made && b < c->rows.nblock; b++) join(&c->rows, b, x->parent);
    for (int t = 0; t < n; t++) x->parent[t] = sti__root(x->parent, t);
}

/* The trees of each island in a cycle, if all of them rest. */
static void put_to_sleep(sti_world *world) {
    sti__sleep *x = world->sleep;
    int n = world->model->ntree, *last = x->last;
    for (int t = 0; t < n; t++) last[t] = t;
    for (int t = 0; t < n; t++)
        if (x->tree[t] != STI__MIN_AWAKE) last[x->parent[t]] = -1;
    for (int t = 0; t < n; t++) {
        int root = x->parent[t];
        if (last[root] < 0 || t == root) continue;
        fall_asleep(world, last[root], t);
        last[root] = t;
    }
    for (int t = 0; t < n; t++)
        if (x->parent[t] == t && last[t] >= 0) fall_asleep(world, last[t], t);
}

/* There is room: sti__constraints_prepare. */
static void keep_memories(sti_world *world) {
    sti__sleep *x = world->sleep;
    const sti__assembly *as = &world->constraints.rows;
    for (int b = 0; world->constraints.solved && b < as->nblock; b++) {
        int begin = as->jstart[as->first[b]], end = as->jstart[as->first[b] + 1];
        int tree = begin < end ? as->owner[as->dof[as->jcol[begin]]] : -1;
        if (sti__is_asleep(x->tree, tree)) x->item[x->count++] = (sti__asleep_memory){as->memory[b], tree};
    }
}

void sti__sleep_end(sti_world *world) {
    if (!sti__sleep_has_state(world) || !count_rest(world)) return;
    find_islands(world);
    put_to_sleep(world);
    keep_memories(world);
}
