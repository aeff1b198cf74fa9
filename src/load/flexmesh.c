/* SPDX-License-Identifier: Apache-2.0 */
/* The surface of a <flexcomp> of type mesh: its own file, or a mesh of <asset> as that is before it is centred. */
#include "load/flexmesh.h"
#include <string.h>

typedef struct source {
    const sti_spec *spec;
    const sti_element *e; /* flexcomp or mesh */
    size_t memory;
    sti__mesh *mesh;
    sti_error *error;
} source;

static sti_status refuse(const source *s, sti__aid attribute, sti_status code, const char *why) {
    return sti__fail_at(s->error, sti__place_attr(s->e, attribute), code, "%s", why);
}

static sti_status from_file(source *s) {
    sti__place place = sti__place_attr(s->e, STI_A_file);
    const sti_allocator *allocator = sti__spec_allocator(s->spec);
    const char *name = sti__text(s->e, STI_A_file), *dir = NULL;
    void *data = NULL;
    size_t size = 0;
    dir = sti__text(sti__setting(s->spec, STI_E_compiler, STI_A_meshdir), STI_A_meshdir);
    if (!dir) dir = sti__text(sti__setting(s->spec, STI_E_compiler, STI_A_assetdir), STI_A_assetdir);
    sti_status code = sti__spec_read_file(s->spec, dir, name, place, &data, &size, s->error);
    if (code) return code;
    code = sti__mesh_decode(data, size, name, &s->memory, allocator, place, s->mesh, s->error);
    sti__free(allocator, data, size);
    return code;
}

static sti_status from_lists(source *s) {
    int nvert = 0, nface = 0;
    const double *vert = sti__list(s->e, STI_A_vertex, &nvert), *face = sti__list(s->e, STI_A_face, &nface);
    if (nvert == 0) return refuse(s, STI_A_COUNT, STI_MESH, "a mesh needs a file or vertices");
    return sti__mesh_from_lists(vert, nvert, face, nface, sti__spec_allocator(s->spec),
                                sti__place_attr(s->e, STI_A_vertex), s->mesh, s->error);
}

static sti_status from_params(source *s) {
    int count = 0;
    const double *params = sti__list(s->e, STI_A_params, &count);
    if (!params) return refuse(s, STI_A_builtin, STI_VALUE, "needs params");
    return sti__mesh_builtin((sti__mesh_builtin_kind)sti__keyword(s->e, STI_A_builtin, 0), params, count,
                             &s->memory, sti__spec_allocator(s->spec), sti__place_attr(s->e, STI_A_params),
                             s->mesh, s->error);
}

static sti_status from_asset(source *s) {
    double scale[3] = {1, 1, 1}, pos[3] = {0}, quat[4] = {1, 0, 0, 0};
    if (sti__first(s->e, STI_E_mesh_plugin))
        return refuse(s, STI_A_COUNT, STI_UNSUPPORTED, "no soft body is made of a shape by a distance field");
    sti_status code = sti__has(s->e, STI_A_builtin) ? from_params(s)
                      : sti__text(s->e, STI_A_file) ? from_file(s)
                                                    : from_lists(s);
    if (code) return code;
    sti__reals(s->e, STI_A_scale, scale, 3);
    sti__reals(s->e, STI_A_refpos, pos, 3);
    sti__reals(s->e, STI_A_refquat, quat, 4);
    sti__mesh_transform(s->mesh, scale, pos, quat);
    return STI_OK;
}

/* A mesh without a name has that of its file, without folders and what follows the last dot. */
static bool is_called(const sti_element *mesh, const char *name) {
    const char *own = sti__own_text(mesh, STI_A_name), *file = sti__own_text(mesh, STI_A_file);
    if (own || !file) return own && strcmp(own, name) == 0;
    for (const char *p = file; *p; p++)
        if (*p == '/' || *p == '\\') file = p + 1;
    const char *dot = strrchr(file, '.');
    size_t size = dot ? (size_t)(dot - file) : strlen(file);
    return strlen(name) == size && memcmp(name, file, size) == 0;
}

static const sti_element *find_mesh(const sti_spec *spec, const char *name) {
    const sti_element *section = sti__first(sti__root(spec), STI_E_asset);
    for (; section; section = sti__next_same(section))
        for (const sti_element *e = sti__first(section, STI_E_mesh); e; e = sti__next_same(e))
            if (is_called(e, name)) return e;
    return NULL;
}

sti_status sti__flexcomp_surface(const sti_spec *spec, const sti_element *flexcomp, sti__mesh *mesh,
                                 sti_error *error) {
    source s = {spec, flexcomp, sti__spec_memory(spec), mesh, error};
    const char *file = sti__own_text(flexcomp, STI_A_file), *name = sti__own_text(flexcomp, STI_A_mesh);
    if (file && name) return refuse(&s, STI_A_mesh, STI_VALUE, "file and mesh are both given");
    if (!file && !name)
        return refuse(&s, STI_A_file, STI_VALUE, "a soft body of this type needs a file or a mesh");
    if (file) return from_file(&s);
    s.e = find_mesh(spec, name);
    if (!s.e)
        return sti__fail_at(error, sti__place_attr(flexcomp, STI_A_mesh), STI_REFERENCE,
                            "there is no mesh '%s'", name);
    return from_asset(&s);
}
