/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/tetscan.h"
#include <limits.h>

sti_status sti__tetscan_fail(const sti__tetscan *s, sti_status code, const char *why) {
    if (!s->binary && s->line >= 0)
        return sti__fail_at(s->error, s->options->place, code, "%s:%lld: %s", s->name, (long long)s->line + 1,
                            why);
    return sti__fail_at(s->error, s->options->place, code, "%s: %s", s->name, why);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

void *sti__tetscan_borrow(sti__tetscan *s, size_t bytes) {
    if (bytes > s->memory) {
        sti__tetscan_fail(s, STI_LIMIT, "the mesh needs more than the memory budget");
        return NULL;
    }
    void *ptr = sti__alloc(s->options->allocator, bytes);
    if (!ptr) sti__tetscan_fail(s, STI_NO_MEMORY, "out of memory for the mesh");
    else s->memory -= bytes;
    return ptr;
}

void sti__tetscan_return(sti__tetscan *s, void *ptr, size_t bytes) {
    if (!ptr) return;
    sti__free(s->options->allocator, ptr, bytes);
    s->memory += bytes;
}

bool sti__tetscan_fits(const sti__tetscan *s, int64_t count, size_t bytes) {
    return count >= 0 && (uint64_t)count <= (uint64_t)(s->end - s->p) / bytes;
}

sti_status sti__tetscan_nodes(sti__tetscan *s, int64_t count, size_t bytes) {
    if (s->node) return sti__tetscan_fail(s, STI_MESH, "there are two lists of nodes");
    if (!sti__tetscan_fits(s, count, bytes))
        return sti__tetscan_fail(s, STI_MESH, "the file is too short for its nodes");
    if (count > INT_MAX / 4) return sti__tetscan_fail(s, STI_LIMIT, "too many nodes");
    s->node = sti__tetscan_borrow(s, sti__size(count, 3, sizeof(double)));
    s->nnode = s->node ? count : 0;
    return s->node ? STI_OK : s->error->code;
}

sti_status sti__tetscan_tets(sti__tetscan *s, int64_t count, size_t bytes) {
    if (s->tet) return sti__tetscan_fail(s, STI_MESH, "there are two lists of elements");
    if (!sti__tetscan_fits(s, count, bytes))
        return sti__tetscan_fail(s, STI_MESH, "the file is too short for its elements");
    if (count > INT_MAX / 4) return sti__tetscan_fail(s, STI_LIMIT, "too many elements");
    s->tet = sti__tetscan_borrow(s, sti__size(count, 4, sizeof(int)));
    s->max_tet = s->tet ? count : 0;
    return s->tet ? STI_OK : s->error->code;
}

/* ---- text -------------------------------------------------------------------------------------------------- */

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static void skip_blanks(sti__tetscan *s) {
    for (; s->p < s->end && blank(*s->p); s->p++) s->line += *s->p == '\n';
}

bool sti__tetscan_line(sti__tetscan *s, const char **text, size_t *length) {
    if (s->p >= s->end) return false;
    const char *stop = memchr(s->p, '\n', (size_t)(s->end - s->p)), *last = stop ? stop : s->end;
    *text = s->p;
    s->p = stop ? stop + 1 : s->end;
    s->line++;
    while (last > *text && blank(last[-1])) last--;
    *length = (size_t)(last - *text);
    return true;
}

bool sti__tetscan_word(sti__tetscan *s, const char **text, size_t *length) {
    skip_blanks(s);
    *text = s->p;
    while (s->p < s->end && !blank(*s->p)) s->p++;
    *length = (size_t)(s->p - *text);
    return *length > 0;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

bool sti__tetscan_is(const char *text, size_t length, const char *word) {
    if (strlen(word) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (lower(text[i]) != lower(word[i])) return false;
    return true;
}

bool sti__tetscan_integer(sti__tetscan *s, int64_t *value) {
    skip_blanks(s);
    const char *p = s->p;
    bool negative = p < s->end && *p == '-', any = false;
    int64_t x = 0;
    if (p < s->end && (*p == '-' || *p == '+')) p++;
    for (; p < s->end && *p >= '0' && *p <= '9'; p++, any = true) {
        if (x > (INT64_MAX - 9) / 10) return false;
        x = 10 * x + (*p - '0');
    }
    if (!any || (p < s->end && !blank(*p))) return false;
    s->p = p;
    *value = negative ? -x : x;
    return true;
}

bool sti__tetscan_real(sti__tetscan *s, double *value) {
    bool ok;
    skip_blanks(s);
    const char *next = sti__parse_real(s->p, s->end, value, &ok);
    if (!next || !ok) return false;
    s->p = next;
    return true;
}

/* ---- bytes ------------------------------------------------------------------------------------------------- */

static bool take(sti__tetscan *s, void *out, size_t size) {
    if ((size_t)(s->end - s->p) < size) return false;
    unsigned char *to = out;
    for (size_t i = 0; i < size; i++) to[i] = (unsigned char)s->p[s->swap ? size - 1 - i : i];
    s->p += size;
    return true;
}

bool sti__tetscan_i32(sti__tetscan *s, int64_t *value) {
    int32_t x;
    if (!take(s, &x, sizeof x)) return false;
    *value = x;
    return true;
}

bool sti__tetscan_i64(sti__tetscan *s, int64_t *value) { return take(s, value, sizeof *value); }

bool sti__tetscan_f32(sti__tetscan *s, double *value) {
    float x;
    if (!take(s, &x, sizeof x)) return false;
    *value = (double)x;
    return true;
}

bool sti__tetscan_f64(sti__tetscan *s, double *value) { return take(s, value, sizeof *value); }

/* ---- all files ------------------------------------------------------------------------------------------------ */

static bool begins(const char *data, size_t size, const char *with) {
    size_t n = strlen(with);
    return size >= n && memcmp(data, with, n) == 0;
}

bool sti__tetmesh_known(const void *data, size_t size) {
    return begins(data, size, "# vtk DataFile") || begins(data, size, "$MeshFormat");
}

static sti_status scan(sti__tetscan *s, const char *data, size_t size) {
    if (begins(data, size, "# vtk DataFile")) return sti__tetscan_vtk(s);
    if (begins(data, size, "$MeshFormat")) return sti__tetscan_gmsh(s);
    return sti__tetscan_fail(s, STI_UNSUPPORTED,
                             "neither a legacy VTK file nor one of Gmsh; tetrahedra are read from those");
}

static sti_status check(const sti__tetscan *s) {
    if (!s->node || s->nnode == 0) return sti__tetscan_fail(s, STI_MESH, "the file has no nodes");
    if (s->ntet == 0) return sti__tetscan_fail(s, STI_MESH, "the file has no tetrahedra");
    return STI_OK;
}

/* The mesh takes what its tets are made of; they have kept their order. */
static sti_status take_matter(const sti__tetscan *s, sti__tetmesh *mesh) {
    size_t bytes = sti__size(mesh->ntet, sizeof(double));
    for (int k = 0; k < STI__MATTERS; k++) {
        if (!s->matter[k]) continue;
        mesh->matter[k] = sti__alloc(s->options->allocator, bytes);
        if (!mesh->matter[k]) {
            sti__tetmesh_free(mesh);
            return sti__tetscan_fail(s, STI_NO_MEMORY, "out of memory for the mesh");
        }
        memcpy(mesh->matter[k], s->matter[k], bytes);
    }
    return STI_OK;
}

sti_status sti__tetmesh_decode(const void *data, size_t size, const char *name, size_t memory,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh,
                               sti__tetmesh_report *report, sti_error *error) {
    sti_error scratch = {0};
    sti__tetmesh_options o = options ? *options : (sti__tetmesh_options){0};
    o.turn = o.drop = true;
    sti__tetscan s = {.p = data,
                      .end = (const char *)data + size,
                      .name = name,
                      .memory = memory,
                      .options = &o,
                      .error = error ? error : &scratch};
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = o.allocator;
    sti_status status = scan(&s, data, size);
    s.line = -1; /* what follows is about the whole */
    if (status == STI_OK) status = check(&s);
    if (status == STI_OK)
        status = sti__tetmesh_create((int)s.nnode, s.node, (int)s.ntet, s.tet, &o, mesh, report, s.error);
    if (status == STI_OK) status = take_matter(&s, mesh);
    for (int k = 0; k < STI__MATTERS; k++)
        sti__tetscan_return(&s, s.matter[k], (size_t)s.max_tet * sizeof(double));
    sti__tetscan_return(&s, s.node, (size_t)s.nnode * 3 * sizeof(double));
    sti__tetscan_return(&s, s.tet, (size_t)s.max_tet * 4 * sizeof(int));
    return status;
}
