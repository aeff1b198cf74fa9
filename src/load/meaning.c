/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says under its compiler settings, in the words of another file with other settings. */
#include "load/attach.h"
#include <string.h>

static const sti_element *setting(const sti_spec *spec, sti__aid attribute) {
    return sti__setting(spec, STI_E_compiler, attribute);
}
static int word(const sti_spec *spec, sti__aid attribute) {
    return sti__keyword(setting(spec, attribute), attribute, 0);
}
static const char *text(const sti_spec *spec, sti__aid attribute) {
    const char *given = sti__text(setting(spec, attribute), attribute);
    return given ? given : "";
}

/* ---- what differs -------------------------------------------------------------------------------------- */

static sti_status refuse(sti__attaching *a, sti__aid attribute) {
    return sti__fail_at(a->copy.error, sti__place_of(a->place), STI_UNSUPPORTED,
                        "compiler@%s of the attached model is another than here; make them the same",
                        sti__attr_name(attribute));
}

static bool same_numbers(const sti__attaching *a, sti__aid attribute) {
    double x[2] = {0}, y[2] = {0};
    sti__reals(setting(a->of, attribute), attribute, x, 2);
    sti__reals(setting(a->copy.to, attribute), attribute, y, 2);
    return x[0] == y[0] && x[1] == y[1];
}

sti_status sti__meaning_compare(sti__attaching *a) {
    static const sti__aid words[] = {STI_A_balanceinertia, STI_A_fitaabb, STI_A_fusestatic};
    static const sti__aid numbers[] = {STI_A_boundmass, STI_A_boundinertia, STI_A_inertiagrouprange};
    const sti_spec *of = a->of, *to = a->copy.to;
    int from = word(of, STI_A_inertiafromgeom), here = word(to, STI_A_inertiafromgeom);
    for (int i = 0; i < STI__COUNT(words); i++)
        if (word(of, words[i]) != word(to, words[i])) return refuse(a, words[i]);
    for (int i = 0; i < STI__COUNT(numbers); i++)
        if (!same_numbers(a, numbers[i])) return refuse(a, numbers[i]);
    a->other_angles = word(of, STI_A_angle) != word(to, STI_A_angle) ||
                      strcmp(text(of, STI_A_eulerseq), text(to, STI_A_eulerseq)) != 0;
    a->other_limits = word(of, STI_A_autolimits) != word(to, STI_A_autolimits);
    a->drop_inertial = from == 1 && here == 2; /* always from geoms, there; here where nothing is given */
    return from != here && !a->drop_inertial ? refuse(a, STI_A_inertiafromgeom) : STI_OK;
}

/* ---- angles -------------------------------------------------------------------------------------------- */

static double factor(const sti__attaching *a) {
    const double degree = 3.14159265358979323846 / 180;
    bool from = word(a->of, STI_A_angle) == 1, to = word(a->copy.to, STI_A_angle) == 1;
    return from == to ? 1 : from ? degree : 1 / degree;
}

static bool knows(const sti_element *e, sti__aid attribute) {
    return sti__schema_attr_by_id(e->id, attribute) != NULL;
}

/* Whether an orientation that a class gives counts: the element has none of its own. */
static bool is_turned_itself(const sti_element *e) {
    static const sti__aid ways[] = {STI_A_quat, STI_A_axisangle, STI_A_xyaxes, STI_A_zaxis, STI_A_euler};
    for (int i = 0; i < STI__COUNT(ways); i++)
        if (sti__has_own(e, ways[i])) return true;
    return false;
}

static sti_status adapt_turn(sti__attaching *a, const sti_element *from, sti_element *to) {
    bool own = is_turned_itself(from);
    double x[4] = {0};
    if (own ? sti__has_own(from, STI_A_euler) : sti__has(from, STI_A_euler)) {
        sti__reals(from, STI_A_euler, x, 3);
        sti__value_unset(to, sti__schema_attr_by_id(to->id, STI_A_euler));
        double quat[4];
        sti__turn_by(a->of, x, quat);
        return sti__copy_reals(&a->copy, to, STI_A_quat, quat, 4);
    }
    if (!(own ? sti__has_own(from, STI_A_axisangle) : sti__has(from, STI_A_axisangle))) return STI_OK;
    sti__reals(from, STI_A_axisangle, x, 4);
    x[3] *= factor(a);
    return sti__copy_reals(&a->copy, to, STI_A_axisangle, x, 4);
}

/* Numbers in units of angles, on the element itself, since a class may be that of slide joints too. */
static sti_status adapt_numbers(sti__attaching *a, const sti_element *from, sti_element *to,
                                sti__aid attribute, int n, double scale) {
    double x[2] = {0};
    if (!sti__has(from, attribute)) return STI_OK;
    sti__reals(from, attribute, x, n);
    for (int i = 0; i < n; i++) x[i] *= scale;
    return sti__copy_reals(&a->copy, to, attribute, x, n);
}

/* Ranges that are no limits are numbers as they stand in the file. */
static bool is_limited(const sti__attaching *a, const sti_element *joint) {
    int limited = sti__keyword(joint, STI_A_limited, 2);
    return limited == 1 || (limited == 2 && word(a->of, STI_A_autolimits));
}

static sti_status adapt_angles(sti__attaching *a, const sti_element *from, sti_element *to) {
    sti_status code = knows(from, STI_A_euler) ? adapt_turn(a, from, to) : STI_OK;
    if (from->id == STI_E_joint) {
        int type = sti__keyword(from, STI_A_type, 3);
        double scale = type == 1 || type == 3 ? factor(a) : 1;
        if (!code) code = adapt_numbers(a, from, to, STI_A_range, 2, is_limited(a, from) ? scale : 1);
        if (!code) code = adapt_numbers(a, from, to, STI_A_ref, 1, scale);
        if (!code) code = adapt_numbers(a, from, to, STI_A_springref, 1, scale);
    }
    if (!code && from->id == STI_E_sti_coupled) code = adapt_numbers(a, from, to, STI_A_angle, 1, factor(a));
    return code;
}

/* ---- limits and inertia --------------------------------------------------------------------------------- */

static sti_status adapt_limits(sti__attaching *a, const sti_element *from, sti_element *to) {
    static const sti__aid pairs[][2] = {{STI_A_limited, STI_A_range},
                                        {STI_A_actuatorfrclimited, STI_A_actuatorfrcrange},
                                        {STI_A_ctrllimited, STI_A_ctrlrange},
                                        {STI_A_forcelimited, STI_A_forcerange},
                                        {STI_A_actlimited, STI_A_actrange}};
    bool automatic = word(a->of, STI_A_autolimits) != 0;
    for (int i = 0; i < STI__COUNT(pairs); i++) {
        if (!knows(from, pairs[i][0]) || sti__keyword(from, pairs[i][0], 2) != 2) continue;
        bool on = automatic && sti__has(from, pairs[i][1]);
        sti_status code = sti__copy_set(&a->copy, to, pairs[i][0], on ? "true" : "false");
        if (code) return code;
    }
    return STI_OK;
}

sti_status sti__meaning_adapt(sti__attaching *a, const sti_element *from, sti_element *to) {
    sti_status code = a->other_angles ? adapt_angles(a, from, to) : STI_OK;
    return !code && a->other_limits ? adapt_limits(a, from, to) : code;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static const char *folder_for(const sti_spec *spec, sti__eid id) {
    const char *dir = text(spec, id == STI_E_texture ? STI_A_texturedir : STI_A_meshdir);
    return dir[0] ? dir : text(spec, STI_A_assetdir);
}

/* The path of `file` seen from a folder, both tidy and seen from one place. */
static bool seen_from(const char *folder, const char *file, char out[STI__PATH_ROOM]) {
    size_t same = 0, used = 0;
    for (size_t i = 0;; i++) {
        bool end_folder = folder[i] == '/' || !folder[i], end_file = file[i] == '/';
        if (end_folder && end_file) same = i + 1;
        if (!folder[i] || folder[i] != file[i]) break;
    }
    const char *rest = folder + (same && !folder[same - 1] ? same - 1 : same);
    while (*rest == '/') rest++;
    for (; *rest; rest += strspn(rest, "/")) {
        size_t n = strcspn(rest, "/");
        if ((n == 2 && rest[0] == '.' && rest[1] == '.') || used + 4 >= STI__PATH_ROOM) return false;
        memcpy(out + used, "../", 3);
        used += 3;
        rest += n;
    }
    if (used + strlen(file + same) >= STI__PATH_ROOM) return false;
    strcpy(out + used, file + same);
    return true;
}

/* Files in memory keep the name under which they were given. */
static const char *given_asset(const sti_spec *spec, const char *const *names, int n) {
    for (int i = 0; i < spec->options.nasset; i++)
        for (int k = 0; k < n; k++)
            if (strcmp(spec->options.assets[i].name, names[k]) == 0) return spec->options.assets[i].name;
    return NULL;
}

bool sti__meaning_file(const sti__attaching *a, sti__eid id, const char *name, char out[STI__PATH_ROOM]) {
    const sti_spec *of = a->of, *to = a->copy.to;
    const char *slash = strrchr(name, '/'), *dir = folder_for(of, id);
    char relative[STI__PATH_ROOM], path[STI__PATH_ROOM], base[STI__PATH_ROOM];
    if (slash && word(of, STI_A_strippath)) name = slash + 1;
    if (!sti__path_join(relative, sizeof relative, NULL, dir, name) ||
        !sti__path_join(path, sizeof path, of->folder, dir, name) ||
        !sti__path_join(base, sizeof base, to->folder, folder_for(to, id), ""))
        return false;
    const char *names[] = {name, relative, path}, *given = given_asset(to, names, STI__COUNT(names));
    sti__path_tidy(path);
    sti__path_tidy(base);
    if (given) return strlen(given) < STI__PATH_ROOM && strcpy(out, given);
    if (path[0] == '/' && base[0] != '/') return strcpy(out, path) != NULL;
    if ((path[0] == '/') != (base[0] == '/') || !seen_from(base, path, out)) return false;
    return !word(to, STI_A_strippath) || !strchr(out, '/');
}
