/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a scene names: given assets first, then the disk, and there only inside the project of
   the main file unless the caller allows more. docs/files.md */
#include "base/file.h"
#include "load/tree.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- paths ---------------------------------------------------------------------------------------- */

static bool append(char *out, size_t room, const char *part) {
    size_t used = strlen(out), size = strlen(part);
    bool slash = used && size && out[used - 1] != '/';
    if (used + slash + size >= room) return false;
    if (slash) out[used++] = '/';
    memcpy(out + used, part, size + 1);
    return true;
}

bool sti__path_join(char *out, size_t room, const char *folder, const char *dir, const char *name) {
    const char *part[3] = {folder, dir, name};
    out[0] = 0;
    for (int i = 0; i < 3; i++) {
        if (!part[i] || (i == 0 && strcmp(part[i], ".") == 0)) continue;
        if (part[i][0] == '/') out[0] = 0;
        if (!append(out, room, part[i])) return false;
    }
    return true;
}

void sti__path_tidy(char *path) {
    char *out = path, *start = path + (path[0] == '/');
    for (const char *in = path; *in;) {
        size_t n = strcspn(in, "/"), step = n + (in[n] == '/');
        bool up = n == 2 && in[0] == '.' && in[1] == '.';
        if (up && out > start && !(out - start >= 3 && memcmp(out - 3, "../", 3) == 0)) {
            for (out--; out > start && out[-1] != '/';) out--;
        } else if ((n || in == path) && !(n == 1 && in[0] == '.')) {
            memmove(out, in, step);
            out += step;
        }
        in += step;
    }
    *out = 0;
}

/* Whether a relative path climbs above where it starts, as written. */
static bool climbs(const char *path) {
    int depth = 0;
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 2 && path[0] == '.' && path[1] == '.') depth--;
        else if (n && !(n == 1 && path[0] == '.')) depth++;
        if (depth < 0) return true;
        path += n + (path[n] == '/');
    }
    return false;
}

static bool inside(const char *folder, const char *path) {
    size_t n = strlen(folder);
    return strncmp(folder, path, n) == 0 && (path[n] == '/' || path[n] == 0 || folder[n - 1] == '/');
}

/* ---- the project of the main file ---------------------------------------------------------------- */

static bool holds(const char *folder, const char *name) {
    char path[PATH_MAX];
    struct stat found;
    return sti__path_join(path, sizeof path, folder, NULL, name) && stat(path, &found) == 0;
}

static bool has_mark(const char *folder) {
    static const char *const marks[] = {".git", ".hg", "package.xml", "pyproject.toml", "setup.py"};
    for (int i = 0; i < STI__COUNT(marks); i++)
        if (holds(folder, marks[i])) return true;
    return false;
}

/* Cuts off the last folder; false if what is left is the root of the disk or belongs to someone else. */
static bool go_up(char *folder) {
    struct stat before, after;
    if (stat(folder, &before) != 0) return false;
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder) return false;
    *slash = 0;
    return stat(folder, &after) == 0 && after.st_uid == before.st_uid;
}

/* Of a real path: the nearest folder from there upwards with a mark; the outermost of the Python packages around it; or the
   folder above. What cannot be gone up to leaves it where it is. */
static void find_project(const char *folder, char out[PATH_MAX]) {
    char at[PATH_MAX], next[PATH_MAX];
    strcpy(at, folder);
    strcpy(out, folder);
    do {
        strcpy(next, at);
        if (has_mark(at) || (holds(at, "__init__.py") && !(go_up(next) && holds(next, "__init__.py")))) {
            strcpy(out, at);
            return;
        }
    } while (go_up(at));
    strcpy(at, folder);
    if (go_up(at)) strcpy(out, at);
}

/* Whether a path that leaves a folder goes through a name that begins with a dot, such as .ssh. */
static bool is_hidden(const char *folder, const char *path) {
    const char *part = path;
    for (size_t i = 0; path[i] && path[i] == folder[i]; i++)
        if (path[i] == '/') part = path + i;
    return strstr(part, "/.") != NULL;
}

/* Whether a relative path of the scene may lead to this file, outside of the main file's folder. */
static bool in_project(const sti_spec *spec, const char *folder, const char *real) {
    char project[PATH_MAX];
    if (spec->options.root) return realpath(spec->options.root, project) && inside(project, real);
    if (!spec->path[0]) return false;
    find_project(folder, project);
    return inside(project, real) && !is_hidden(folder, real);
}

static sti_status outside(sti__place place, const char *name, sti_error *error) {
    return sti__fail_at(error, place, STI_PATH,
                        "'%.120s' leaves the project of the main file; name a folder as root, or set "
                        "allow_outside, in the load options to allow it",
                        name);
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* Whether an error at this place names the file already: its path is that name, in a folder or not. */
static bool is_named(sti__place place, const char *name) {
    size_t whole = place.file ? strlen(place.file) : 0, part = strlen(name);
    if (part == 0 || part > whole || strcmp(place.file + whole - part, name) != 0) return false;
    return place.line == 0 && (part == whole || place.file[whole - part - 1] == '/');
}

static sti_status cannot(sti__place place, const char *name, const char *why, sti_error *error) {
    if (is_named(place, name)) return sti__fail_at(error, place, STI_FILE, "cannot be read: %s", why);
    return sti__fail_at(error, place, STI_FILE, "cannot read '%.120s': %s", name, why);
}

static sti_status read_all(const sti_spec *spec, int file, size_t want, const char *name, sti__place place,
                           void **data, size_t *size, sti_error *error) {
    void *bytes = want ? sti__alloc(&spec->allocator, want) : NULL;
    if (want && !bytes) return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory");
    const char *why = sti__file_fill(file, bytes, want);
    if (why) {
        sti__free(&spec->allocator, bytes, want);
        return cannot(place, name, why, error);
    }
    *data = bytes;
    *size = want;
    return STI_OK;
}

/* Whether a path that climbs would stay in the project, by its text. */
static bool may_climb(const sti_spec *spec, const char *relative) {
    char folder[PATH_MAX], path[PATH_MAX];
    if (!realpath(spec->folder, folder) || !sti__path_join(path, sizeof path, folder, NULL, relative))
        return false;
    sti__path_tidy(path);
    return in_project(spec, folder, path);
}

/* The real path of a file that may be read; `relative` is what the scene says. */
static sti_status allowed(const sti_spec *spec, const char *relative, const char *path, char real[PATH_MAX],
                          sti__place place, sti_error *error) {
    char folder[PATH_MAX];
    bool strict = !spec->options.allow_outside;
    if (!realpath(path, real)) {
        int number = errno;
        bool leaves = relative[0] == '/' || (climbs(relative) && !may_climb(spec, relative));
        return strict && leaves ? outside(place, relative, error)
                                : cannot(place, relative, sti__file_reason(number), error);
    }
    if (!strict) return STI_OK;
    if (!realpath(spec->folder, folder)) return cannot(place, spec->folder, sti__file_reason(errno), error);
    if (inside(folder, real) ||
        ((relative[0] != '/' || spec->options.root) && in_project(spec, folder, real)))
        return STI_OK;
    return outside(place, relative, error);
}

static sti_status read_disk(const sti_spec *spec, const char *relative, const char *path, size_t limit,
                            sti__place place, void **data, size_t *size, sti_error *error) {
    char real[PATH_MAX];
    sti_status code = allowed(spec, relative, path, real, place, error);
    if (code) return code;
    uint64_t bytes;
    const char *why;
    int file = sti__file_open(real, &bytes, &why);
    if (file < 0) return cannot(place, relative, why, error);
    if (bytes > limit)
        code = sti__fail_at(error, place, STI_LIMIT, "'%.120s' is larger than the memory limit", relative);
    else code = read_all(spec, file, (size_t)bytes, relative, place, data, size, error);
    close(file);
    return code;
}

static sti_status copy_asset(const sti_spec *spec, const sti_asset *a, size_t limit, sti__place place,
                             void **data, size_t *size, sti_error *error) {
    if (a->size > limit)
        return sti__fail_at(error, place, STI_LIMIT, "'%.120s' is larger than the memory limit", a->name);
    *data = a->size ? sti__alloc(&spec->allocator, a->size) : NULL;
    if (a->size && !*data) return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory");
    if (a->size) memcpy(*data, a->data, a->size);
    *size = a->size;
    return STI_OK;
}

/* Matches the name as written, or with the folders that go before it. */
static const sti_asset *find_asset(const sti_spec *spec, const char *name, const char *relative,
                                   const char *path) {
    for (int i = 0; i < spec->options.nasset; i++) {
        const sti_asset *a = &spec->options.assets[i];
        if (!strcmp(a->name, name) || !strcmp(a->name, relative) || !strcmp(a->name, path)) return a;
    }
    return NULL;
}

/* base: the folder that names are relative to */
static sti_status read_from(const sti_spec *spec, const char *base, const char *dir, const char *name,
                            size_t limit, sti__place place, void **data, size_t *size, sti_error *error) {
    char relative[PATH_MAX], path[PATH_MAX];
    if (!sti__path_join(relative, sizeof relative, NULL, dir, name) ||
        !sti__path_join(path, sizeof path, base, dir, name))
        return cannot(place, name, sti__file_reason(ENAMETOOLONG), error);
    const sti_asset *a = find_asset(spec, name, relative, path);
    if (a) return copy_asset(spec, a, limit, place, data, size, error);
    if (spec->options.no_disk)
        return cannot(place, relative, "it is not among the assets and the disk is not to be read", error);
    return read_disk(spec, relative, path, limit, place, data, size, error);
}

sti_status sti__file_read(const sti_spec *spec, const char *dir, const char *name, size_t limit,
                          sti__place place, void **data, size_t *size, sti_error *error) {
    return read_from(spec, spec->folder, dir, name, limit, place, data, size, error);
}

/* The folder of a file that is not the main one. */
static bool folder_of(const sti_spec *spec, const char *file, char folder[PATH_MAX]) {
    const char *slash = file && strcmp(file, spec->path) != 0 ? strrchr(file, '/') : NULL;
    if (!slash || slash - file >= PATH_MAX) return false;
    memcpy(folder, file, (size_t)(slash - file));
    folder[slash - file] = 0;
    return true;
}

sti_status sti__include_read(const sti_spec *spec, const char *from, const char *name, sti__place place,
                             char path[STI__PATH_ROOM], void **data, size_t *size, sti_error *error) {
    char folder[PATH_MAX];
    sti_status code = sti__file_read(spec, NULL, name, STI__XML_MAX, place, data, size, error);
    if ((code != STI_FILE && code != STI_PATH) || !folder_of(spec, from, folder)) return code;
    sti_error second;
    if (read_from(spec, folder, NULL, name, STI__XML_MAX, place, data, size, &second) != STI_OK ||
        !sti__path_join(path, STI__PATH_ROOM, folder, NULL, name))
        return code;
    sti__path_tidy(path);
    *error = (sti_error){0};
    return STI_OK;
}

/* The folder of an included file, seen from the main file's (as names are); false for the main file, and
   for one that is somewhere else. */
static bool included_folder(const sti_spec *spec, const char *file, char folder[PATH_MAX]) {
    char top[PATH_MAX];
    const char *slash = file && strcmp(file, spec->path) != 0 ? strrchr(file, '/') : NULL;
    if (!slash || strlen(file) >= PATH_MAX || !sti__path_join(top, sizeof top, spec->folder, NULL, ""))
        return false;
    sti__path_tidy(top);
    size_t n = strlen(top);
    while (n && top[n - 1] == '/') top[--n] = 0;
    if (n && (!inside(top, file) || file + n >= slash)) return false;
    if (n) file += n + 1;
    memcpy(folder, file, (size_t)(slash - file));
    folder[slash - file] = 0;
    return true;
}

/* From the folder of an included file that is not below the main one's; `code` is what the main file's folder gave. */
static sti_status read_beside(const sti_spec *spec, const char *folder, const char *dir, const char *name,
                              sti__place place, void **data, size_t *size, sti_status code,
                              sti_error *error) {
    const char *const dirs[] = {dir, NULL};
    for (int i = 0; i < STI__COUNT(dirs); i++) {
        sti_error second;
        if (read_from(spec, folder, dirs[i], name, spec->limit, place, data, size, &second) != STI_OK)
            continue;
        if (error) *error = (sti_error){0};
        return STI_OK;
    }
    return code;
}

sti_status sti__spec_read_file(const sti_spec *spec, const char *dir, const char *name, sti__place place,
                               void **data, size_t *size, sti_error *error) {
    const sti_element *compiler = sti__setting(spec, STI_E_compiler, STI_A_strippath);
    const char *slash = strrchr(name, '/');
    if (slash && sti__keyword(compiler, STI_A_strippath, 0)) name = slash + 1;
    sti_status code = sti__file_read(spec, dir, name, spec->limit, place, data, size, error);
    if (code != STI_FILE && code != STI_PATH) return code;
    char folder[PATH_MAX];
    if (!included_folder(spec, place.file, folder)) {
        if (folder_of(spec, place.file, folder))
            return read_beside(spec, folder, dir, name, place, data, size, code, error);
        return code;
    }
    /* in an included file the name may also be meant from that file's folder */
    const char *const parts[][3] = {{dir, folder, name}, {folder, dir, name}, {folder, NULL, name}};
    for (int i = 0; i < STI__COUNT(parts); i++) {
        char nested[PATH_MAX];
        sti_error second;
        if (!sti__path_join(nested, sizeof nested, parts[i][0], parts[i][1], parts[i][2]) ||
            sti__file_read(spec, NULL, nested, spec->limit, place, data, size, &second) != STI_OK)
            continue;
        if (error) *error = (sti_error){0};
        return STI_OK;
    }
    return code;
}
