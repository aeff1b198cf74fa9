/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plugins.h"
#include "math/sdf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names, and the keys of their settings, as MuJoCo has them. */
static const struct {
    const char *name, *keys[8];
} known[STI__PLUGIN_COUNT] = {
    [STI__PLUGIN_PID] = {"mujoco.pid", {"kp", "ki", "kd", "imax", "slewmax"}},
    [STI__PLUGIN_TOUCH_GRID] = {"mujoco.sensor.touch_grid", {"nchannel", "size", "fov", "gamma"}},
    [STI__PLUGIN_TORUS] = {"mujoco.sdf.torus", {"radius1", "radius2"}},
    [STI__PLUGIN_BOWL] = {"mujoco.sdf.bowl", {"height", "radius", "thickness"}},
    [STI__PLUGIN_BOLT] = {"mujoco.sdf.bolt", {"radius"}},
    [STI__PLUGIN_NUT] = {"mujoco.sdf.nut", {"radius"}},
    [STI__PLUGIN_GEAR] = {"mujoco.sdf.gear", {"alpha", "diameter", "teeth", "thickness", "innerdiameter"}},
    [STI__PLUGIN_CABLE] = {"mujoco.elasticity.cable", {"twist", "bend", "flat", "vmax"}},
};

/* "a, b and c" */
static void list_words(char *out, size_t room, const char *const *words, int count) {
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count && used < room - 1; i++) {
        const char *between = i == 0 ? "" : i == count - 1 ? " and " : ", ";
        int more = snprintf(out + used, room - used, "%s%s", between, words[i]);
        used += more > 0 ? (size_t)more : 0;
    }
}

static sti__plugin_id find_name(const char *name) {
    for (int i = 0; i < STI__PLUGIN_COUNT; i++)
        if (strcmp(known[i].name, name) == 0) return (sti__plugin_id)i;
    return STI__PLUGIN_UNKNOWN;
}

static sti__plugin_id named(sti__compiler *c, const sti_element *e) {
    const char *name = sti__text(e, STI_A_plugin), *names[STI__PLUGIN_COUNT];
    char list[300];
    sti__plugin_id id = name ? find_name(name) : STI__PLUGIN_UNKNOWN;
    if (!name) sti__complain(c, e, STI_A_plugin, STI_REFERENCE, "names no plugin");
    if (!name || id != STI__PLUGIN_UNKNOWN) return id;
    for (int i = 0; i < STI__PLUGIN_COUNT; i++) names[i] = known[i].name;
    list_words(list, sizeof list, names, STI__PLUGIN_COUNT);
    sti__complain(c, e, STI_A_plugin, STI_UNSUPPORTED, "there is no plugin '%.60s'; built in are %s", name,
                  list);
    return id;
}

/* ---- settings ------------------------------------------------------------------------------------------------------ */

static bool has_key(sti__plugin_id id, const char *key) {
    for (int k = 0; k < STI__COUNT(known[id].keys) && known[id].keys[k]; k++)
        if (strcmp(known[id].keys[k], key) == 0) return true;
    return false;
}

static void check_settings(sti__compiler *c, sti__plugin_id id, const sti_element *settings) {
    const sti_element *e = sti__first(settings, STI_E_plugin_config);
    char list[200];
    int count = 0;
    if (id == STI__PLUGIN_UNKNOWN) return;
    while (count < STI__COUNT(known[id].keys) && known[id].keys[count]) count++;
    list_words(list, sizeof list, known[id].keys, count);
    for (; e; e = sti__next_same(e)) {
        const char *key = sti__text(e, STI_A_key);
        if (key && !has_key(id, key))
            sti__complain(c, e, STI_A_key, STI_VALUE, "%s has no setting '%.60s'; it has %s", known[id].name,
                          key, list);
    }
}

void sti__check_plugins(sti__compiler *c) {
    const sti_element *section = sti__first(sti__root(c->spec), STI_E_extension);
    for (; section; section = sti__next_same(section)) {
        const sti_element *p = sti__first(section, STI_E_extension_plugin);
        for (; p; p = sti__next_same(p)) {
            sti__plugin_id id = named(c, p);
            const sti_element *i = sti__first(p, STI_E_plugin_instance);
            for (; i; i = sti__next_same(i)) check_settings(c, id, i);
        }
    }
}

/* The instance of this name, NULL if there is none. */
static const sti_element *find_instance(const sti__compiler *c, const char *name) {
    const sti_element *section = sti__first(sti__root(c->spec), STI_E_extension);
    for (; section; section = sti__next_same(section)) {
        const sti_element *p = sti__first(section, STI_E_extension_plugin);
        for (; p; p = sti__next_same(p)) {
            const sti_element *i = sti__first(p, STI_E_plugin_instance);
            for (; i; i = sti__next_same(i)) {
                const char *its = sti__text(i, STI_A_name);
                if (its && strcmp(its, name) == 0) return i;
            }
        }
    }
    return NULL;
}

static sti__plugin resolve(sti__compiler *c, const sti_element *e) {
    const char *instance = sti__text(e, STI_A_instance), *name = sti__text(e, STI_A_plugin);
    sti__plugin plugin = {STI__PLUGIN_UNKNOWN, e};
    if (!instance) {
        plugin.id = named(c, e);
        check_settings(c, plugin.id, e);
        return plugin;
    }
    const sti_element *found = find_instance(c, instance), *own = sti__first(e, STI_E_plugin_config);
    if (!found) {
        sti__complain(c, e, STI_A_instance, STI_REFERENCE, "<extension> has no instance '%.60s'", instance);
        return plugin;
    }
    if (own) sti__complain(c, own, STI_A_COUNT, STI_VALUE, "the settings are those of the instance already");
    plugin.settings = found;
    const char *its = sti__text(sti_element_parent(found), STI_A_plugin);
    if (its) plugin.id = find_name(its); /* an unknown one has been named */
    if (its && name && strcmp(its, name) != 0)
        sti__complain(c, e, STI_A_instance, STI_VALUE, "is an instance of %.60s", its);
    return plugin;
}

sti__plugin sti__plugin_of(sti__compiler *c, const sti_element *e, sti__plugin_id first,
                           sti__plugin_id last) {
    sti__plugin plugin = resolve(c, e);
    if (plugin.id == STI__PLUGIN_UNKNOWN || (plugin.id >= first && plugin.id <= last)) return plugin;
    sti__complain(c, e, sti__has_own(e, STI_A_plugin) ? STI_A_plugin : STI_A_instance, STI_VALUE,
                  "%s cannot stand here", known[plugin.id].name);
    return (sti__plugin){STI__PLUGIN_UNKNOWN, e};
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

static const sti_element *setting(const sti__plugin *plugin, const char *key) {
    const sti_element *e = sti__first(plugin->settings, STI_E_plugin_config), *found = NULL;
    for (; e; e = sti__next_same(e)) {
        const char *its = sti__text(e, STI_A_key);
        if (its && strcmp(its, key) == 0) found = e;
    }
    return found;
}

bool sti__plugin_complain(sti__compiler *c, const sti__plugin *plugin, const char *key, const char *format,
                          ...) {
    char message[300];
    const sti_element *e = setting(plugin, key);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (e) return sti__complain(c, e, STI_A_value, STI_VALUE, "%s %s", key, message);
    return sti__complain(c, plugin->settings, STI_A_COUNT, STI_VALUE, "%s %s", key, message);
}

int sti__plugin_numbers(sti__compiler *c, const sti__plugin *plugin, const char *key, double *out, int max) {
    const sti_element *e = setting(plugin, key);
    const char *p = e ? sti__text(e, STI_A_value) : NULL, *blank = " \t\r\n";
    int n = 0;
    for (p = p ? p + strspn(p, blank) : ""; *p; p += strspn(p, blank)) {
        size_t size = strcspn(p, blank);
        double x = 0;
        bool ok = false;
        if (sti__parse_real(p, p + size, &x, &ok) != p + size || !ok) {
            sti__plugin_complain(c, plugin, key, "'%.*s' is not a number", size > 40 ? 40 : (int)size, p);
            return 0;
        }
        if (n == max) {
            sti__plugin_complain(c, plugin, key, "takes at most %d numbers", max);
            return 0;
        }
        out[n++] = x;
        p += size;
    }
    return n;
}

double sti__plugin_number(sti__compiler *c, const sti__plugin *plugin, const char *key, double otherwise) {
    double x = otherwise;
    return sti__plugin_numbers(c, plugin, key, &x, 1) ? x : otherwise;
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

/* What MuJoCo takes where nothing is set; parameters are in the order of the keys. */
static const double standard[][STI__SDF_PARAMETERS] = {[STI_SDF_TORUS] = {0.35, 0.15},
                                                       [STI_SDF_BOWL] = {0.4, 1, 0.02},
                                                       [STI_SDF_BOLT] = {0.26},
                                                       [STI_SDF_NUT] = {0.26},
                                                       [STI_SDF_GEAR] = {0, 2.8, 25, 0.2, -1}};

int sti__plugin_shape(sti__compiler *c, const sti_element *e, double prm[5]) {
    sti__plugin plugin = sti__plugin_of(c, e, STI__PLUGIN_TORUS, STI__PLUGIN_GEAR);
    if (plugin.id == STI__PLUGIN_UNKNOWN) return STI_SDF_NONE;
    int kind = STI_SDF_TORUS + (plugin.id - STI__PLUGIN_TORUS);
    for (int k = 0; k < STI__SDF_PARAMETERS; k++) {
        const char *key = known[plugin.id].keys[k];
        prm[k] = key ? sti__plugin_number(c, &plugin, key, standard[kind][k]) : 0;
        if (!key) continue;
        if (fabs(prm[k]) > STI__MOST_SPACE) sti__plugin_complain(c, &plugin, key, "is beyond 1e10");
    }
    const char *why = sti__failed(c) ? NULL : sti__sdf_refuses(kind, prm);
    if (why) sti__complain(c, plugin.settings, STI_A_COUNT, STI_VALUE, "%s: %s", known[plugin.id].name, why);
    return sti__failed(c) ? STI_SDF_NONE : kind;
}
