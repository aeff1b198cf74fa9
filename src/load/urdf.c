/* SPDX-License-Identifier: Apache-2.0 */
/* URDF to a spec, by the conventions of MuJoCo: links are bodies, joints are in the bodies of their child links, looks are geoms
   of group 1 that touch nothing. Where the <mujoco> block does not say otherwise, static bodies are fused and looks are left
   out. docs/urdf.md */
#include "load/urdf.h"
#include "math/euler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- nodes -------------------------------------------------------------------------------------------- */

void sti__urdf_init(sti__urdf *u, const sti_allocator *allocator) {
    sti__vec_init(&u->node, sizeof(sti__urdf_node), allocator);
    sti__vec_init(&u->text, 1, allocator);
    u->open = -1;
}

void sti__urdf_free(sti__urdf *u) {
    sti__vec_free(&u->node);
    sti__vec_free(&u->text);
}

static bool add_text(sti__urdf *u, const char *text) {
    do
        if (!sti__vec_push(&u->text, text)) return false;
    while (*text++);
    return true;
}

static sti__urdf_node *node_at(const sti__urdf *u, int i) { return (sti__urdf_node *)u->node.data + i; }
static const char *text_at(const sti__urdf *u, size_t at) { return (const char *)u->text.data + at; }

bool sti__urdf_open(sti__urdf *u, const char *tag, const char **pairs, int line) {
    sti__urdf_node n = {u->text.count, 0, u->open, -1, -1, -1, line};
    int at = (int)u->node.count;
    if (!add_text(u, tag)) return false;
    n.pairs = u->text.count;
    for (; pairs[0]; pairs++)
        if (!add_text(u, pairs[0])) return false;
    if (!add_text(u, "") || !sti__vec_push(&u->node, &n)) return false;
    if (u->open >= 0) {
        sti__urdf_node *parent = node_at(u, u->open);
        if (parent->last >= 0) node_at(u, parent->last)->next = at;
        else parent->child = at;
        parent->last = at;
    }
    u->open = at;
    return true;
}

void sti__urdf_close(sti__urdf *u) { u->open = node_at(u, u->open)->parent; }

/* The next child with a tag, from `child` on; -1 if there is none. */
static int find_from(const sti__urdf *u, int child, const char *tag) {
    while (child >= 0 && strcmp(text_at(u, node_at(u, child)->tag), tag) != 0)
        child = node_at(u, child)->next;
    return child;
}
static int first(const sti__urdf *u, int parent, const char *tag) {
    return parent < 0 ? -1 : find_from(u, node_at(u, parent)->child, tag);
}
static int following(const sti__urdf *u, int node, const char *tag) {
    return find_from(u, node_at(u, node)->next, tag);
}
/* NULL if the node is none or has no such attribute. */
static const char *value(const sti__urdf *u, int node, const char *name) {
    if (node < 0) return NULL;
    for (const char *p = text_at(u, node_at(u, node)->pairs); *p;) {
        const char *found = p + strlen(p) + 1;
        if (strcmp(p, name) == 0) return found;
        p = found + strlen(found) + 1;
    }
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

typedef struct urdf_link {
    const char *name;
    int node, joint;                       /* the joint that it hangs on, -1: none */
    struct urdf_link *child, *last, *next; /* links below it, in the order of their joints */
    sti_element *body;
    bool made;
} urdf_link;

typedef struct writer {
    const sti__urdf *u;
    sti_spec *spec;
    const char *file;
    sti__judge *judge;
    sti_element *asset, *equality;
    urdf_link *links; /* by name */
    int nlink;
    size_t bytes;
    const char *colour; /* of the link's looks; NULL: none */
    bool looks, strip;
    const char *meshdir;
} writer;

static void complain(writer *w, int node, const char *attribute, sti_status code, const char *why,
                     const char *name) {
    sti_error error;
    sti__place place = {w->file, node_at(w->u, node)->line, text_at(w->u, node_at(w->u, node)->tag),
                        attribute};
    sti__fail_at(&error, place, code, why, name);
    sti__judge_error(w->judge, &error);
}

static sti_element *add(writer *w, sti_element *parent, sti__eid id, int node) {
    sti_status code;
    int limit;
    sti_error error = {0};
    sti__place place = {w->file, node_at(w->u, node)->line, text_at(w->u, node_at(w->u, node)->tag), NULL};
    if (parent && sti__too_deep(parent, &limit))
        sti__fail_at(&error, place, STI_LIMIT, "links are nested more than %d deep", limit);
    sti_element *e = parent && !error.code && !sti__room_for(w->spec, 1, place, &error)
                         ? sti__element_new(w->spec, parent, id, &code)
                         : NULL;
    if (parent && !e && !error.code) sti__out_of_memory(&error, place, code);
    if (error.code) sti__judge_error(w->judge, &error);
    if (!e) return NULL;
    e->file = w->file;
    e->line = place.line;
    return e;
}

static void set(writer *w, sti_element *e, sti__aid attribute, const char *text) {
    sti_error error = {0};
    if (e && text && sti__value_set(e, sti__schema_attr_by_id(e->id, attribute), text, &error) != STI_OK)
        sti__judge_error(w->judge, &error);
}

static void set_numbers(writer *w, sti_element *e, sti__aid attribute, const double *x, int n) {
    char text[6 * 32];
    int used = 0;
    for (int i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, i ? " %.17g" : "%.17g", x[i]);
    set(w, e, attribute, text);
}

/* n numbers of an attribute; false, with a message, if they are not that. Without the attribute x stays. */
static bool numbers(writer *w, int node, const char *name, double *x, int n) {
    const char *p = value(w->u, node, name), *end;
    if (!p) return false;
    end = p + strlen(p);
    for (int i = 0; i < n; i++) {
        bool ok = false;
        while (p && p < end && strchr(" \t\r\n", *p)) p++;
        p = p ? sti__parse_real(p, end, x + i, &ok) : NULL;
        if (p && ok) continue;
        complain(w, node, name, STI_VALUE, n == 1 ? "must be a number%s" : "must be %s numbers",
                 n == 1   ? ""
                 : n == 3 ? "three"
                          : "four");
        return false;
    }
    return true;
}

/* ---- poses ---------------------------------------------------------------------------------------------- */

/* <origin> of a node: translation, and roll, pitch and yaw about fixed axes. */
static void origin(writer *w, int node, double pos[3], double quat[4]) {
    double turn[3] = {0};
    int at = first(w->u, node, "origin");
    v3_zero(pos);
    numbers(w, at, "xyz", pos, 3);
    numbers(w, at, "rpy", turn, 3);
    quat_euler(quat, "XYZ", turn);
}

static void set_origin(writer *w, sti_element *e, int node) {
    double pos[3], quat[4];
    if (first(w->u, node, "origin") < 0) return;
    origin(w, node, pos, quat);
    set_numbers(w, e, STI_A_pos, pos, 3);
    set_numbers(w, e, STI_A_quat, quat, 4);
}

static void write_inertial(writer *w, sti_element *body, int link_node) {
    static const char *const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    int node = first(w->u, link_node, "inertial"), inertia = first(w->u, node, "inertia");
    double pos[3], quat[4], r[9], mass = 0, f[6] = {0}, turned[6];
    if (node < 0) return;
    origin(w, node, pos, quat);
    numbers(w, first(w->u, node, "mass"), "value", &mass, 1);
    for (int k = 0; k < 6; k++) numbers(w, inertia, names[k], f + k, 1);
    sti_element *e = add(w, body, STI_E_inertial, node);
    set_numbers(w, e, STI_A_pos, pos, 3);
    set_numbers(w, e, STI_A_mass, &mass, 1);
    const double full[9] = {f[0], f[3], f[4], f[3], f[1], f[5], f[4], f[5], f[2]};
    quat_to_mat(r, quat);
    for (int k = 0; k < 6; k++) {
        turned[k] = 0;
        for (int i = 0; i < 9; i++) turned[k] += r[3 * row[k] + i / 3] * full[i] * r[3 * col[k] + i % 3];
    }
    for (int k = 0; k < 6; k++)
        if (f[k] != 0) {
            set_numbers(w, e, STI_A_fullinertia, turned, 6);
            return;
        }
    set_numbers(w, e, STI_A_diaginertia, f, 3);
}

/* ---- meshes ---------------------------------------------------------------------------------------------- */

#define PATH_ROOM STI__PATH_ROOM

static bool is_there(const writer *w, const char *path) {
    char full[PATH_ROOM];
    for (int i = 0; i < w->spec->options.nasset; i++)
        if (strcmp(w->spec->options.assets[i].name, path) == 0) return true;
    return !w->spec->options.no_disk && sti__path_join(full, sizeof full, w->spec->folder, NULL, path) &&
           access(full, R_OK) == 0;
}

/* "package://name/rest": in the folder that the caller names, or in a folder above the file that has the package's name. */
static bool find_package(const writer *w, const char *name, char out[PATH_ROOM]) {
    const char *rest = strchr(name, '/');
    char folder[PATH_ROOM], up[PATH_ROOM] = "";
    if (!rest) return false;
    if (w->spec->options.root &&
        ((sti__path_join(out, PATH_ROOM, w->spec->options.root, NULL, name) && is_there(w, out)) ||
         (sti__path_join(out, PATH_ROOM, w->spec->options.root, NULL, rest + 1) && is_there(w, out))))
        return true;
    if (w->spec->options.no_disk || !realpath(w->spec->folder, folder)) return false;
    for (char *slash; (slash = strrchr(folder, '/')) && slash != folder; *slash = 0) {
        bool same = strlen(slash + 1) == (size_t)(rest - name) &&
                    strncmp(slash + 1, name, (size_t)(rest - name)) == 0;
        if (same && sti__path_join(out, PATH_ROOM, up, NULL, rest + 1) && is_there(w, out)) return true;
        if (strlen(up) + 4 > PATH_ROOM) return false;
        strcat(up, "../");
    }
    return false;
}

/* What the spec is to name; as MuJoCo finds it, or else as URDF means it. */
static void find_mesh(const writer *w, const char *name, char out[PATH_ROOM]) {
    const char *scheme = strstr(name, "://"), *path = scheme ? scheme + 3 : name, *slash = strrchr(path, '/');
    const char *plain = w->strip && slash ? slash + 1 : path;
    char other[PATH_ROOM];
    if (!sti__path_join(out, PATH_ROOM, NULL, w->meshdir, plain)) out[0] = 0;
    if (is_there(w, out)) return;
    if ((scheme && find_package(w, path, other)) ||
        (sti__path_join(other, sizeof other, NULL, NULL, path) && is_there(w, other)) ||
        (slash && sti__path_join(other, sizeof other, NULL, w->meshdir, slash + 1) && is_there(w, other)))
        memcpy(out, other, strlen(other) + 1);
}

static bool same_mesh(const sti_element *e, const char *file, const double scale[3]) {
    double own[3] = {1, 1, 1};
    sti__reals(e, STI_A_scale, own, 3);
    return strcmp(sti__text(e, STI_A_file), file) == 0 && memcmp(own, scale, sizeof own) == 0;
}

static const sti_element *mesh_named(const writer *w, const char *name) {
    const sti_element *e = w->asset ? w->asset->child : NULL;
    while (e && strcmp(sti__text(e, STI_A_name), name) != 0) e = e->next;
    return e;
}

/* The asset of a mesh: its file's name, with a number where that is taken. */
static const char *mesh_asset(writer *w, int node) {
    double scale[3] = {1, 1, 1};
    char file[PATH_ROOM], name[300], stem[256];
    const char *given = value(w->u, node, "filename");
    if (!given) {
        complain(w, node, "filename", STI_SCHEMA, "this attribute is required%s", "");
        return NULL;
    }
    numbers(w, node, "scale", scale, 3);
    find_mesh(w, given, file);
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file, *dot = strrchr(base, '.');
    snprintf(stem, sizeof stem, "%.*s", dot && dot - base < 250 ? (int)(dot - base) : 250, base);
    snprintf(name, sizeof name, "%s", stem);
    const sti_element *found;
    for (int i = 1; (found = mesh_named(w, name)); i++) {
        if (same_mesh(found, file, scale)) return sti__text(found, STI_A_name);
        snprintf(name, sizeof name, "%s%d", stem, i);
    }
    if (!w->asset) w->asset = add(w, w->spec->root, STI_E_asset, node);
    sti_element *mesh = add(w, w->asset, STI_E_mesh, node);
    set(w, mesh, STI_A_name, name);
    set(w, mesh, STI_A_file, file);
    if (scale[0] != 1 || scale[1] != 1 || scale[2] != 1) set_numbers(w, mesh, STI_A_scale, scale, 3);
    return mesh ? sti__text(mesh, STI_A_name) : NULL;
}

/* ---- geoms ------------------------------------------------------------------------------------------------ */

/* The colour that a visual's material names or has. */
static const char *colour_of(const writer *w, int visual) {
    int material = first(w->u, visual, "material");
    const char *name = value(w->u, material, "name"),
               *own = value(w->u, first(w->u, material, "color"), "rgba");
    if (own || !name) return own;
    for (int m = first(w->u, 0, "material"); m >= 0; m = following(w->u, m, "material")) {
        const char *other = value(w->u, m, "name");
        if (other && strcmp(other, name) == 0) return value(w->u, first(w->u, m, "color"), "rgba");
    }
    return NULL;
}

static void write_shape(writer *w, sti_element *e, int geometry) {
    static const char *const shapes[] = {"box", "cylinder", "capsule", "sphere", "mesh"};
    int node = -1, kind = 0;
    double size[3] = {0};
    for (; kind < STI__COUNT(shapes); kind++)
        if ((node = first(w->u, geometry, shapes[kind])) >= 0) break;
    if (node < 0) {
        complain(w, geometry, NULL, STI_SCHEMA, "needs box, cylinder, capsule, sphere or mesh%s", "");
        return;
    }
    set(w, e, STI_A_type, shapes[kind]);
    if (kind == 4) {
        set(w, e, STI_A_mesh, mesh_asset(w, node));
        return;
    }
    bool ok = kind == 0 ? numbers(w, node, "size", size, 3) : numbers(w, node, "radius", size, 1);
    if (kind == 1 || kind == 2) ok = ok && numbers(w, node, "length", size + 1, 1);
    if (!ok) complain(w, node, NULL, STI_SCHEMA, "its size is missing%s", "");
    for (int k = 0; k < 3; k++)
        if (kind == 0 || k == 1) size[k] /= 2;
    set_numbers(w, e, STI_A_size, size, kind == 0 ? 3 : kind == 3 ? 1 : 2);
}

static void write_geom(writer *w, sti_element *body, int node, bool look) {
    int geometry = first(w->u, node, "geometry");
    if (geometry < 0) {
        complain(w, node, NULL, STI_SCHEMA, "the element 'geometry' is missing%s", "");
        return;
    }
    sti_element *e = add(w, body, STI_E_geom, node);
    set(w, e, STI_A_name, value(w->u, node, "name"));
    set_origin(w, e, node);
    write_shape(w, e, geometry);
    set(w, e, STI_A_rgba, w->colour);
    if (!look) return;
    set(w, e, STI_A_contype, "0");
    set(w, e, STI_A_conaffinity, "0");
    set(w, e, STI_A_group, "1");
    set(w, e, STI_A_density, "0");
}

static void write_geoms(writer *w, sti_element *body, int link_node) {
    w->colour = NULL;
    for (int v = first(w->u, link_node, "visual"); v >= 0; v = following(w->u, v, "visual")) {
        w->colour = colour_of(w, v);
        if (w->looks) write_geom(w, body, v, true);
    }
    for (int k = first(w->u, link_node, "collision"); k >= 0; k = following(w->u, k, "collision"))
        write_geom(w, body, k, false);
}

/* ---- joints ----------------------------------------------------------------------------------------------- */

static sti_element *write_axis(writer *w, sti_element *body, int joint, const char *suffix, const char *type,
                               const double axis[3]) {
    char name[1100];
    const char *own = value(w->u, joint, "name");
    sti_element *e = add(w, body, STI_E_joint, joint);
    snprintf(name, sizeof name, "%.1000s%s", own ? own : "", suffix);
    if (own) set(w, e, STI_A_name, name);
    set(w, e, STI_A_type, type);
    set_numbers(w, e, STI_A_axis, axis, 3);
    return e;
}

static void write_limits(writer *w, sti_element *e, int joint, bool bounded) {
    int limit = first(w->u, joint, "limit"), dynamics = first(w->u, joint, "dynamics");
    double range[2] = {0}, effort = 0, x;
    numbers(w, limit, "lower", range, 1);
    numbers(w, limit, "upper", range + 1, 1);
    if (bounded && range[0] < range[1]) {
        set_numbers(w, e, STI_A_range, range, 2);
        set(w, e, STI_A_limited, "true");
    }
    if (numbers(w, limit, "effort", &effort, 1) && effort > 0) {
        set_numbers(w, e, STI_A_actuatorfrcrange, (double[]){-effort, effort}, 2);
        set(w, e, STI_A_actuatorfrclimited, "true");
    }
    if (numbers(w, dynamics, "damping", &x, 1)) set_numbers(w, e, STI_A_damping, &x, 1);
    if (numbers(w, dynamics, "friction", &x, 1)) set_numbers(w, e, STI_A_frictionloss, &x, 1);
}

static void write_mimic(writer *w, int joint) {
    int node = first(w->u, joint, "mimic");
    double coef[5] = {0, 1};
    if (node < 0) return;
    numbers(w, node, "offset", coef, 1);
    numbers(w, node, "multiplier", coef + 1, 1);
    if (!w->equality) w->equality = add(w, w->spec->root, STI_E_equality, node);
    sti_element *e = add(w, w->equality, STI_E_equality_joint, node);
    set(w, e, STI_A_joint1, value(w->u, joint, "name"));
    set(w, e, STI_A_joint2, value(w->u, node, "joint"));
    set_numbers(w, e, STI_A_polycoef, coef, 5);
}

static void write_joint(writer *w, sti_element *body, int joint) {
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    const char *type = value(w->u, joint, "type");
    double axis[3] = {1, 0, 0};
    set_origin(w, body, joint);
    numbers(w, first(w->u, joint, "axis"), "xyz", axis, 3);
    if (!type) complain(w, joint, "type", STI_SCHEMA, "this attribute is required%s", "");
    else if (strcmp(type, "revolute") == 0 || strcmp(type, "continuous") == 0)
        write_limits(w, write_axis(w, body, joint, "", "hinge", axis), joint, type[0] == 'r');
    else if (strcmp(type, "prismatic") == 0)
        write_limits(w, write_axis(w, body, joint, "", "slide", axis), joint, true);
    else if (strcmp(type, "floating") == 0) {
        sti_element *e = add(w, body, STI_E_joint, joint);
        set(w, e, STI_A_name, value(w->u, joint, "name"));
        set(w, e, STI_A_type, "free");
    } else if (strcmp(type, "planar") == 0) {
        write_axis(w, body, joint, "_TX", "slide", x);
        write_axis(w, body, joint, "_TY", "slide", y);
        write_axis(w, body, joint, "_RZ", "hinge", z);
    } else if (strcmp(type, "fixed") != 0)
        complain(w, joint, "type", STI_VALUE, "unknown type '%.60s'", type);
}

/* ---- links ------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const urdf_link *)a)->name, ((const urdf_link *)b)->name);
}

static urdf_link *find_link(const writer *w, const char *name) {
    urdf_link key = {.name = name ? name : ""};
    return w->nlink ? bsearch(&key, w->links, (size_t)w->nlink, sizeof key, by_name) : NULL;
}

static bool gather_links(writer *w) {
    int n = 0;
    for (int l = first(w->u, 0, "link"); l >= 0; l = following(w->u, l, "link")) n++;
    w->bytes = sti__size(n + 1, sizeof(urdf_link) + sizeof(urdf_link *));
    w->links = sti__alloc(&w->spec->allocator, w->bytes);
    if (!w->links) return false;
    for (int l = first(w->u, 0, "link"); l >= 0; l = following(w->u, l, "link")) {
        const char *name = value(w->u, l, "name");
        if (!name) complain(w, l, "name", STI_SCHEMA, "this attribute is required%s", "");
        w->links[w->nlink++] = (urdf_link){.name = name ? name : "", .node = l, .joint = -1};
    }
    qsort(w->links, (size_t)w->nlink, sizeof(urdf_link), by_name);
    for (int i = 1; i < w->nlink; i++)
        if (by_name(w->links + i - 1, w->links + i) == 0)
            complain(w, w->links[i].node, "name", STI_REFERENCE, "there are two links '%.60s'",
                     w->links[i].name);
    return true;
}

static urdf_link *link_of(writer *w, int joint, const char *which) {
    int node = first(w->u, joint, which);
    const char *name = value(w->u, node, "link");
    urdf_link *l = find_link(w, name);
    if (!l)
        complain(w, node >= 0 ? node : joint, node >= 0 ? "link" : NULL, STI_REFERENCE,
                 "there is no link '%.60s'", name ? name : "");
    return l;
}

static void gather_joints(writer *w) {
    for (int j = first(w->u, 0, "joint"); j >= 0; j = following(w->u, j, "joint")) {
        urdf_link *parent = link_of(w, j, "parent"), *child = link_of(w, j, "child");
        if (!parent || !child) continue;
        if (child->joint >= 0) {
            complain(w, j, NULL, STI_REFERENCE, "link '%.60s' hangs on two joints", child->name);
            continue;
        }
        child->joint = j;
        if (parent->last) parent->last->next = child;
        else parent->child = child;
        parent->last = child;
    }
}

/* A link and its content; the link that is called world is the world. */
static void write_link(writer *w, urdf_link *l, sti_element *parent) {
    bool world = l->joint < 0 && strcmp(l->name, "world") == 0;
    l->made = true;
    l->body = world ? parent : add(w, parent, STI_E_body, l->node);
    if (!world) {
        set(w, l->body, STI_A_name, l->name);
        if (l->joint >= 0) write_joint(w, l->body, l->joint);
        write_inertial(w, l->body, l->node);
    }
    write_geoms(w, l->body, l->node);
}

/* Links from the roots outwards, those of one link in the order of their joints. queue: nlink links. */
static void write_tree(writer *w, sti_element *world, urdf_link **queue) {
    int end = 0;
    for (int l = first(w->u, 0, "link"); l >= 0; l = following(w->u, l, "link")) {
        urdf_link *top = find_link(w, value(w->u, l, "name"));
        if (!top || top->joint >= 0 || top->made) continue;
        write_link(w, top, world);
        queue[end++] = top;
    }
    for (int i = 0; i < end && w->judge->first.code == STI_OK; i++)
        for (urdf_link *l = queue[i]->child; l; l = l->next) {
            write_link(w, l, queue[i]->body);
            queue[end++] = l;
        }
    for (int i = 0; i < w->nlink && w->judge->first.code == STI_OK; i++)
        if (!w->links[i].made)
            complain(w, w->links[i].node, NULL, STI_REFERENCE, "link '%.60s' hangs on itself",
                     w->links[i].name);
    for (int j = first(w->u, 0, "joint"); j >= 0; j = following(w->u, j, "joint")) write_mimic(w, j);
}

/* ---- all ------------------------------------------------------------------------------------------------------ */

/* What MuJoCo sets for URDF where the file does not. */
static void read_settings(writer *w) {
    sti_element *root = w->spec->root, *compiler = (sti_element *)sti__first(root, STI_E_compiler);
    if (!compiler) compiler = add(w, root, STI_E_compiler, 0);
    if (!compiler) return;
    set(w, compiler, STI_A_angle, "radian");
    if (!sti__has_own(compiler, STI_A_fusestatic)) set(w, compiler, STI_A_fusestatic, "true");
    w->strip = sti__keyword(compiler, STI_A_strippath, 0) == 1;
    w->looks = sti__has_own(compiler, STI_A_discardvisual) && !sti__keyword(compiler, STI_A_discardvisual, 0);
    set(w, compiler, STI_A_strippath, "false"); /* names are found here */
    const char *dir = sti__own_text(compiler, STI_A_meshdir);
    if (!dir) dir = sti__own_text(compiler, STI_A_assetdir);
    if (dir) w->meshdir = sti__spec_file(w->spec, dir);
    set(w, compiler, STI_A_meshdir, "");
    set(w, compiler, STI_A_assetdir, "");
}

void sti__urdf_build(const sti__urdf *u, sti_spec *spec, const char *file, sti__judge *judge) {
    writer w = {.u = u, .spec = spec, .file = file, .judge = judge};
    set(&w, spec->root, STI_A_model, value(u, 0, "name"));
    read_settings(&w);
    sti_element *world = add(&w, spec->root, STI_E_worldbody, 0);
    if (gather_links(&w)) {
        gather_joints(&w);
        if (world && judge->first.code == STI_OK) write_tree(&w, world, (urdf_link **)(w.links + w.nlink));
    } else {
        sti_error error;
        sti__out_of_memory(&error, (sti__place){.file = file}, STI_NO_MEMORY);
        sti__judge_error(judge, &error);
    }
    sti__free(&spec->allocator, w.links, w.bytes);
}
