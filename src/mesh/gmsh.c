/* SPDX-License-Identifier: Apache-2.0 */
/* Gmsh's MSH files, versions 2.2 and 4.1, text or binary. Sections other than $Nodes and $Elements are skipped. Nodes
   have tags of any size and order, so they are sorted by them. */
#include "mesh/radix.h"
#include "mesh/tetscan.h"

enum { TET4 = 4, TET10 = 11 };

typedef struct gmsh {
    sti__tetscan *s;
    bool four;       /* version 4.1 */
    sti__keyed *tag; /* of each node, later sorted; 2 * nnode */
    int64_t ntag;
} gmsh;

static sti_status fail(const gmsh *g, const char *why) { return sti__tetscan_fail(g->s, STI_MESH, why); }

/* Nodes of the element types by number; 0 = unknown. */
static int nodes_of(int64_t type) {
    static const unsigned char count[32] = {0, 2,  3,  4,  4, 8,  6,  5,  3,  6,  9, 10, 27, 18, 14, 1,
                                            8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5,  6,  20, 35, 56};
    if (type == 92) return 64;
    if (type == 93) return 125;
    return type > 0 && type < 32 ? count[type] : 0;
}

/* Points, lines and faces are no solids. */
static bool is_flat(int64_t type) {
    return type <= 3 || type == 8 || type == 9 || type == 10 || type == 15 || type == 16 ||
           (type >= 20 && type <= 28);
}

/* ---- numbers -------------------------------------------------------------------------------------------------- */

static bool read_int(gmsh *g, int64_t *x) {
    return g->s->binary ? sti__tetscan_i32(g->s, x) : sti__tetscan_integer(g->s, x);
}
/* size_t of version 4.1 */
static bool read_size(gmsh *g, int64_t *x) {
    return g->s->binary ? sti__tetscan_i64(g->s, x) : sti__tetscan_integer(g->s, x);
}
static bool read_real(gmsh *g, double *x) {
    return g->s->binary ? sti__tetscan_f64(g->s, x) : sti__tetscan_real(g->s, x);
}
static bool read_point(gmsh *g, double *x) {
    return read_real(g, x) && read_real(g, x + 1) && read_real(g, x + 2);
}

static void end_line(gmsh *g) {
    const char *text;
    size_t n;
    sti__tetscan_line(g->s, &text, &n);
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* Room for nodes and their tags; bytes: the least that one takes. */
static sti_status reserve_nodes(gmsh *g, int64_t count, size_t bytes) {
    sti_status status = sti__tetscan_nodes(g->s, count, bytes);
    if (status != STI_OK) return status;
    g->tag = sti__tetscan_borrow(g->s, sti__size(2, count, sizeof *g->tag));
    return g->tag ? STI_OK : g->s->error->code;
}

static bool add_tag(gmsh *g, int64_t tag) {
    if (g->ntag >= g->s->nnode || tag < 0) return false;
    g->tag[g->ntag] = (sti__keyed){(uint64_t)tag, (int)g->ntag};
    g->ntag++;
    return true;
}

static sti_status read_nodes2(gmsh *g) {
    int64_t count, tag;
    if (!sti__tetscan_integer(g->s, &count)) return fail(g, "$Nodes needs a number");
    if (g->s->binary) end_line(g);
    sti_status status = reserve_nodes(g, count, g->s->binary ? 28 : 7);
    if (status != STI_OK) return status;
    for (int64_t i = 0; i < count; i++)
        if (!read_int(g, &tag) || !add_tag(g, tag) || !read_point(g, g->s->node + 3 * i))
            return fail(g, "a node is missing or not four finite numbers");
    return STI_OK;
}

/* Tags of a block, then its coordinates, with parameters of the curve or face they lie on if it says so. */
static sti_status read_block4(gmsh *g) {
    int64_t dim, entity, parametric, count, tag, first = g->ntag;
    double skip;
    if (!read_int(g, &dim) || !read_int(g, &entity) || !read_int(g, &parametric) || !read_size(g, &count))
        return fail(g, "a block of nodes needs four numbers");
    if (count < 0 || count > g->s->nnode - g->ntag || dim < 0 || dim > 3)
        return fail(g, "a block has more nodes than $Nodes says, or a dimension above 3");
    for (int64_t i = 0; i < count; i++)
        if (!read_size(g, &tag) || !add_tag(g, tag)) return fail(g, "the tag of a node is missing");
    for (int64_t i = 0; i < count; i++) {
        if (!read_point(g, g->s->node + 3 * (first + i)))
            return fail(g, "a node is missing or not three finite numbers");
        for (int64_t k = 0; parametric && k < dim; k++)
            if (!read_real(g, &skip)) return fail(g, "a parameter of a node is missing");
    }
    return STI_OK;
}

static sti_status read_nodes4(gmsh *g) {
    int64_t blocks, count, low, high;
    if (!read_size(g, &blocks) || !read_size(g, &count) || !read_size(g, &low) || !read_size(g, &high))
        return fail(g, "$Nodes needs four numbers");
    if (!sti__tetscan_fits(g->s, blocks, 7)) return fail(g, "the file is too short for its blocks of nodes");
    sti_status status = reserve_nodes(g, count, g->s->binary ? 32 : 7);
    for (int64_t b = 0; status == STI_OK && b < blocks; b++) status = read_block4(g);
    if (status == STI_OK && g->ntag != count) status = fail(g, "there are fewer nodes than $Nodes says");
    return status;
}

static sti_status read_nodes(gmsh *g) {
    sti_status status = g->four ? read_nodes4(g) : read_nodes2(g);
    if (status != STI_OK) return status;
    sti__radix_sort(g->tag, g->tag + g->s->nnode, (int)g->ntag);
    for (int64_t i = 1; i < g->ntag; i++)
        if (g->tag[i].key == g->tag[i - 1].key) return fail(g, "two nodes have the same tag");
    return STI_OK;
}

/* Number of the node with a tag, -1 if there is none: tets then say which. */
static int find_node(const gmsh *g, int64_t tag) {
    int64_t lo = 0, hi = g->ntag;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (g->tag[mid].key < (uint64_t)tag) lo = mid + 1;
        else hi = mid;
    }
    return lo < g->ntag && g->tag[lo].key == (uint64_t)tag ? g->tag[lo].item : -1;
}

/* ---- elements ----------------------------------------------------------------------------------------------------- */

/* The nodes of an element, kept if it is a tet. */
static sti_status read_element(gmsh *g, int64_t type, bool (*next)(gmsh *, int64_t *)) {
    int64_t node[125];
    int count = nodes_of(type);
    sti__tetscan *s = g->s;
    for (int k = 0; k < count; k++)
        if (!next(g, &node[k])) return fail(g, "a node of an element is missing");
    if (is_flat(type)) return STI_OK;
    if (s->ntet >= s->max_tet) return fail(g, "there are more elements than $Elements says");
    for (int k = 0; k < 4; k++) s->tet[4 * s->ntet + k] = find_node(g, node[k]);
    s->ntet++;
    return STI_OK;
}

static sti_status check_type(const gmsh *g, int64_t type) {
    if (nodes_of(type) == 0) return fail(g, "an element has an unknown type");
    if (is_flat(type) || type == TET4 || type == TET10) return STI_OK;
    return sti__tetscan_fail(g->s, STI_UNSUPPORTED, "only tetrahedra are supported as solid elements");
}

static sti_status skip_ints(gmsh *g, int64_t count) {
    int64_t x;
    if (!sti__tetscan_fits(g->s, count, 1)) return fail(g, "an element has a bad number of tags");
    for (int64_t i = 0; i < count; i++)
        if (!read_int(g, &x)) return fail(g, "a tag of an element is missing");
    return STI_OK;
}

/* Text: number, type, tags, nodes. Bytes: blocks of a type, number of elements and of tags. */
static sti_status read_elements2(gmsh *g) {
    int64_t total, tag, type, block, tags;
    if (!sti__tetscan_integer(g->s, &total)) return fail(g, "$Elements needs a number");
    if (g->s->binary) end_line(g);
    sti_status status = sti__tetscan_tets(g->s, total, g->s->binary ? 8 : 6);
    for (int64_t done = 0; status == STI_OK && done < total;) {
        block = 1;
        if (!g->s->binary && !read_int(g, &tag)) return fail(g, "an element is missing");
        if (!read_int(g, &type) || (g->s->binary && !read_int(g, &block)) || !read_int(g, &tags))
            return fail(g, "an element is missing");
        status = check_type(g, type);
        if (status == STI_OK && (block < 1 || block > total - done))
            status = fail(g, "a block has too many elements");
        for (int64_t i = 0; status == STI_OK && i < block; i++, done++) {
            status = skip_ints(g, tags + (g->s->binary ? 1 : 0));
            if (status == STI_OK) status = read_element(g, type, read_int);
        }
    }
    return status;
}

static sti_status read_elements4(gmsh *g) {
    int64_t blocks, total, low, high, dim, entity, type, count, tag, done = 0;
    if (!read_size(g, &blocks) || !read_size(g, &total) || !read_size(g, &low) || !read_size(g, &high))
        return fail(g, "$Elements needs four numbers");
    if (!sti__tetscan_fits(g->s, blocks, 7))
        return fail(g, "the file is too short for its blocks of elements");
    sti_status status = sti__tetscan_tets(g->s, total, g->s->binary ? 16 : 4);
    for (int64_t b = 0; status == STI_OK && b < blocks; b++) {
        if (!read_int(g, &dim) || !read_int(g, &entity) || !read_int(g, &type) || !read_size(g, &count))
            return fail(g, "a block of elements needs four numbers");
        if (count < 0 || count > total - done) return fail(g, "a block has too many elements");
        status = check_type(g, type);
        for (int64_t i = 0; status == STI_OK && i < count; i++, done++)
            status = read_size(g, &tag) ? read_element(g, type, read_size) : fail(g, "an element is missing");
    }
    return status;
}

static sti_status read_elements(gmsh *g) {
    if (!g->tag) return fail(g, "$Elements comes before $Nodes");
    return g->four ? read_elements4(g) : read_elements2(g);
}

/* ---- file -------------------------------------------------------------------------------------------------------- */

static sti_status read_format(gmsh *g) {
    const char *word;
    size_t n;
    int64_t binary, size, one = 1;
    sti__tetscan_word(g->s, &word, &n);
    if (!sti__tetscan_word(g->s, &word, &n)) return fail(g, "$MeshFormat needs a version");
    g->four = sti__tetscan_is(word, n, "4.1");
    if (!g->four && !sti__tetscan_is(word, n, "2.2") && !sti__tetscan_is(word, n, "2.1") &&
        !sti__tetscan_is(word, n, "2"))
        return sti__tetscan_fail(g->s, STI_UNSUPPORTED,
                                 "only versions 2.2 and 4.1 of Gmsh's files are supported");
    if (!sti__tetscan_integer(g->s, &binary) || !sti__tetscan_integer(g->s, &size) || binary < 0 ||
        binary > 1)
        return fail(g, "$MeshFormat needs a version, 0 or 1, and a size");
    if (size != 8) return sti__tetscan_fail(g->s, STI_UNSUPPORTED, "only numbers of 8 bytes are supported");
    end_line(g);
    if (!binary) return STI_OK;
    g->s->binary = true;
    if (!sti__tetscan_i32(g->s, &one)) return fail(g, "the file ends after $MeshFormat");
    g->s->swap = one != 1;
    if (one != 1 && one != 1 << 24) return fail(g, "the order of the bytes is unknown");
    return STI_OK;
}

/* To behind "$End" + name. Sections are never so long that a plain search would matter. */
static bool skip_section(gmsh *g, const char *name, size_t n) {
    sti__tetscan *s = g->s;
    for (; s->end - s->p > (ptrdiff_t)(4 + n); s->p++) {
        s->line += *s->p == '\n';
        if (memcmp(s->p, "$End", 4) != 0 || memcmp(s->p + 4, name, n) != 0) continue;
        s->p += 4 + n;
        return true;
    }
    return false;
}

static sti_status read_section(gmsh *g, const char *word, size_t n) {
    bool nodes = sti__tetscan_is(word, n, "$Nodes"), elements = sti__tetscan_is(word, n, "$Elements");
    if (n < 2 || word[0] != '$') return fail(g, "a section is expected, such as $Nodes");
    if (nodes || elements) {
        end_line(g);
        return nodes ? read_nodes(g) : read_elements(g);
    }
    if (n > 4 && memcmp(word, "$End", 4) == 0) return STI_OK;
    return skip_section(g, word + 1, n - 1) ? STI_OK : fail(g, "a section does not end");
}

static sti_status read_file(gmsh *g) {
    const char *word;
    size_t n;
    sti_status status = read_format(g);
    while (status == STI_OK && !g->s->tet) {
        if (!sti__tetscan_word(g->s, &word, &n)) return fail(g, "the file ends before $Elements");
        status = read_section(g, word, n);
    }
    return status;
}

sti_status sti__tetscan_gmsh(sti__tetscan *s) {
    gmsh g = {.s = s};
    sti_status status = read_file(&g);
    sti__tetscan_return(s, g.tag, 2 * (size_t)s->nnode * sizeof *g.tag);
    return status;
}
