/* SPDX-License-Identifier: Apache-2.0 */
/* Legacy VTK files, versions 1 to 5: POINTS, CELLS and CELL_TYPES of an unstructured grid, and what its cells are made of. Bytes are big-endian. In
   versions before 5 CELLS holds for each cell the number of its nodes and the nodes; after that, two arrays OFFSETS
   and CONNECTIVITY. */
#include "mesh/tetscan.h"

typedef struct vtk {
    sti__tetscan *s;
    bool offsets;          /* version 5 */
    int64_t *start, *list; /* cell c has the nodes list[start[c]] to list[start[c + 1] - 1] */
    int64_t ncell, nlist;
    bool typed;   /* from then on start[c] is the tet that cell c has become, or -1 */
    bool of_cell; /* the data that are read belong to cells */
    int64_t ndata;
} vtk;

static sti_status fail(const vtk *v, const char *why) { return sti__tetscan_fail(v->s, STI_MESH, why); }

/* ---- numbers of any type -------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    int size;
    bool real;
} kind;

static const kind kinds[] = {
    {"float", 4, true},           {"double", 8, true},         {"int", 4, false},
    {"unsigned_int", 4, false},   {"vtktypeint32", 4, false},  {"vtktypeint64", 8, false},
    {"long", 8, false},           {"unsigned_long", 8, false}, {"vtkidtype", 8, false},
    {"char", 1, false},           {"unsigned_char", 1, false}, {"short", 2, false},
    {"unsigned_short", 2, false}, {"vtktypeuint32", 4, false}, {"vtktypeuint64", 8, false}};

static const kind *read_kind(vtk *v) {
    const char *word;
    size_t n;
    if (!sti__tetscan_word(v->s, &word, &n)) return NULL;
    for (int i = 0; i < STI__COUNT(kinds); i++)
        if (sti__tetscan_is(word, n, kinds[i].name)) return &kinds[i];
    return NULL;
}

/* What each number takes at least. */
static size_t bytes_of(const vtk *v, const kind *k) { return v->s->binary ? (size_t)k->size : 2; }

static bool read_real(vtk *v, const kind *k, double *x) {
    if (!v->s->binary) return sti__tetscan_real(v->s, x);
    return k->size == 4 ? sti__tetscan_f32(v->s, x) : sti__tetscan_f64(v->s, x);
}

static bool read_integer(vtk *v, const kind *k, int64_t *x) {
    if (!v->s->binary) return sti__tetscan_integer(v->s, x);
    return k->size == 4 ? sti__tetscan_i32(v->s, x) : sti__tetscan_i64(v->s, x);
}

/* Bytes begin right behind the end of the line. */
static void end_line(vtk *v) {
    const char *text;
    size_t n;
    sti__tetscan_line(v->s, &text, &n);
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

static sti_status read_points(vtk *v) {
    int64_t count;
    if (!sti__tetscan_integer(v->s, &count)) return fail(v, "POINTS needs a number");
    const kind *k = read_kind(v);
    if (!k || !k->real) return fail(v, "POINTS must be float or double");
    end_line(v);
    sti_status status = sti__tetscan_nodes(v->s, count, 3 * bytes_of(v, k) - (v->s->binary ? 0 : 1));
    if (status != STI_OK) return status;
    for (int64_t i = 0; i < 3 * count; i++)
        if (!read_real(v, k, &v->s->node[i]))
            return fail(v, "a coordinate is missing or not a finite number");
    return STI_OK;
}

static sti_status reserve_cells(vtk *v, int64_t ncell, int64_t nlist, size_t bytes) {
    if (v->start) return fail(v, "there are two lists of CELLS");
    if (!sti__tetscan_fits(v->s, ncell, bytes) || !sti__tetscan_fits(v->s, nlist, bytes))
        return fail(v, "the file is too short for its CELLS");
    v->start = sti__tetscan_borrow(v->s, sti__size(sti__add(ncell, 1), sizeof(int64_t)));
    if (!v->start) return v->s->error->code;
    v->ncell = ncell;
    v->list = sti__tetscan_borrow(v->s, sti__size(nlist, sizeof(int64_t)));
    if (!v->list) return v->s->error->code;
    v->nlist = nlist;
    return STI_OK;
}

/* Before version 5: `size` numbers, a count before the nodes of each cell. */
static sti_status read_counted(vtk *v, int64_t ncell, int64_t size) {
    if (size < ncell) return fail(v, "CELLS has fewer numbers than cells");
    sti_status status = reserve_cells(v, ncell, size - ncell, v->s->binary ? 4 : 2);
    if (status != STI_OK) return status;
    int64_t at = 0, count;
    for (int64_t c = 0; c < ncell; c++) {
        if (!read_integer(v, &kinds[2], &count)) return fail(v, "a cell is missing");
        if (count < 0 || count > v->nlist - at) return fail(v, "a cell has more nodes than CELLS says");
        for (int64_t i = 0; i < count; i++)
            if (!read_integer(v, &kinds[2], &v->list[at++])) return fail(v, "a node of a cell is missing");
        v->start[c + 1] = at;
    }
    return STI_OK;
}

static sti_status read_array(vtk *v, const char *title, int64_t *out, int64_t count) {
    const char *word;
    size_t n;
    if (!sti__tetscan_word(v->s, &word, &n) || !sti__tetscan_is(word, n, title))
        return fail(v, "OFFSETS and CONNECTIVITY must follow CELLS");
    const kind *k = read_kind(v);
    if (!k || k->real || k->size < 4) return fail(v, "CELLS must be 32 or 64 bit integers");
    end_line(v);
    if (!sti__tetscan_fits(v->s, count, bytes_of(v, k) - (v->s->binary ? 0 : 1)))
        return fail(v, "the file is too short for its CELLS");
    for (int64_t i = 0; i < count; i++)
        if (!read_integer(v, k, &out[i])) return fail(v, "a number of CELLS is missing");
    return STI_OK;
}

/* From version 5: two arrays; the first has one number more than there are cells. */
static sti_status read_offsets(vtk *v, int64_t noffset, int64_t nlist) {
    if (noffset < 1) return fail(v, "CELLS needs offsets");
    sti_status status = reserve_cells(v, noffset - 1, nlist, v->s->binary ? 4 : 1);
    if (status == STI_OK) status = read_array(v, "OFFSETS", v->start, noffset);
    if (status == STI_OK) status = read_array(v, "CONNECTIVITY", v->list, nlist);
    if (status != STI_OK) return status;
    for (int64_t c = 0; c < v->ncell; c++)
        if (v->start[c] < 0 || v->start[c + 1] < v->start[c] || v->start[c + 1] > nlist)
            return fail(v, "the OFFSETS of the cells do not rise");
    return STI_OK;
}

static sti_status read_cells(vtk *v) {
    int64_t a, b;
    if (!sti__tetscan_integer(v->s, &a) || !sti__tetscan_integer(v->s, &b) || a < 0 || b < 0)
        return fail(v, "CELLS needs two numbers");
    end_line(v);
    return v->offsets ? read_offsets(v, a, b) : read_counted(v, a, b);
}

/* A tet by its corners; true also for what is not solid and may be skipped. */
static bool take_cell(vtk *v, int64_t c, int64_t type) {
    int64_t first = v->start[c], count = v->start[c + 1] - first;
    if (type >= 0 && type <= 9) return true;   /* points, lines, faces */
    if (type >= 21 && type <= 23) return true; /* the same, quadratic */
    if (!(type == 10 && count == 4) && !(type == 24 && count == 10)) return false;
    for (int k = 0; k < 4; k++) {
        int64_t node = v->list[first + k];
        v->s->tet[4 * v->s->ntet + k] = node >= 0 && node < v->s->nnode ? (int)node : -1;
    }
    v->s->ntet++;
    return true;
}

static sti_status read_types(vtk *v) {
    int64_t count, type;
    if (!v->start || !v->s->node) return fail(v, "CELL_TYPES comes before POINTS or CELLS");
    if (!sti__tetscan_integer(v->s, &count) || count != v->ncell)
        return fail(v, "CELL_TYPES and CELLS differ in number");
    end_line(v);
    sti_status status = sti__tetscan_tets(v->s, count, v->s->binary ? 4 : 1);
    for (int64_t c = 0; status == STI_OK && c < count; c++) {
        if (!read_integer(v, &kinds[2], &type)) return fail(v, "a cell type is missing");
        int64_t tet = v->s->ntet;
        if (!take_cell(v, c, type))
            status = sti__tetscan_fail(v->s, STI_UNSUPPORTED, "only tetrahedra are supported as solid cells");
        v->start[c] = v->s->ntet > tet ? tet : -1;
    }
    v->typed = true;
    return status;
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static int matter_of(const vtk *v, const char *name, size_t n) {
    static const char *const names[STI__MATTERS] = {"young", "poisson", "density"};
    for (int k = 0; v->of_cell && k < STI__MATTERS; k++)
        if (sti__tetscan_is(name, n, names[k])) return k;
    return -1;
}

static sti_status skip_numbers(vtk *v, const kind *k, int64_t count) {
    double x;
    if (!sti__tetscan_fits(v->s, count, v->s->binary ? (size_t)k->size : 1))
        return fail(v, "the file is too short for its data");
    if (v->s->binary) v->s->p += count * k->size;
    else
        for (int64_t i = 0; i < count; i++)
            if (!sti__tetscan_real(v->s, &x)) return fail(v, "data have something that is not a number");
    return STI_OK;
}

static bool read_number(vtk *v, const kind *k, double *x) {
    int64_t whole;
    if (k->real || !v->s->binary) return read_real(v, k, x);
    if (!read_integer(v, k, &whole)) return false;
    *x = (double)whole;
    return true;
}

/* One number for every cell. */
static sti_status read_matter(vtk *v, int matter, const kind *k) {
    sti__tetscan *s = v->s;
    double x;
    if (s->matter[matter]) return fail(v, "young, poisson or density is there twice");
    if (s->binary && k->size < 4) return fail(v, "young, poisson and density must be float, double or int");
    s->matter[matter] = sti__tetscan_borrow(s, sti__size(s->max_tet, sizeof(double)));
    if (!s->matter[matter]) return s->error->code;
    for (int64_t c = 0; c < v->ncell; c++) {
        if (!read_number(v, k, &x)) return fail(v, "a number of young, poisson or density is missing");
        if (v->start[c] >= 0) s->matter[matter][v->start[c]] = x;
    }
    return STI_OK;
}

static sti_status read_data(vtk *v, int matter, const kind *k, int64_t width, int64_t count) {
    if (width < 0 || count < 0 || (count > 0 && width > INT64_MAX / count))
        return fail(v, "SCALARS or an array of FIELD has a bad size");
    if (matter < 0) return skip_numbers(v, k, width * count);
    if (width != 1 || count != v->ncell)
        return fail(v, "young, poisson and density need a number for every cell");
    return read_matter(v, matter, k);
}

/* FIELD name n, then n arrays: name, components, tuples, type, numbers. */
static sti_status read_field(vtk *v) {
    const char *word;
    size_t n;
    int64_t arrays, width, count;
    if (!sti__tetscan_word(v->s, &word, &n) || !sti__tetscan_integer(v->s, &arrays))
        return fail(v, "FIELD needs a number");
    for (int64_t a = 0; a < arrays; a++) {
        if (!sti__tetscan_word(v->s, &word, &n)) return fail(v, "an array of FIELD needs a name");
        if (sti__tetscan_is(word, n, "METADATA")) { /* of the array before */
            const char *text;
            end_line(v);
            while (sti__tetscan_line(v->s, &text, &n) && n > 0) continue;
            a--;
            continue;
        }
        int matter = matter_of(v, word, n);
        if (!sti__tetscan_integer(v->s, &width) || !sti__tetscan_integer(v->s, &count))
            return fail(v, "an array of FIELD needs a name and two numbers");
        const kind *k = read_kind(v);
        if (!k) return fail(v, "an array of FIELD has an unknown type");
        end_line(v);
        sti_status status = read_data(v, matter, k, width, count);
        if (status != STI_OK) return status;
    }
    return STI_OK;
}

/* SCALARS name type [components], then LOOKUP_TABLE name. */
static sti_status read_scalars(vtk *v) {
    const char *word, *text;
    size_t n;
    int64_t width = 1;
    if (!sti__tetscan_word(v->s, &word, &n)) return fail(v, "SCALARS needs a name");
    int matter = matter_of(v, word, n);
    const kind *k = read_kind(v);
    if (!k) return fail(v, "SCALARS has an unknown type");
    if (!sti__tetscan_line(v->s, &text, &n)) return fail(v, "the file ends after SCALARS");
    while (n > 0 && (*text == ' ' || *text == '\t')) text++, n--;
    if (n > 0) width = *text >= '1' && *text <= '4' && n == 1 ? *text - '0' : -1;
    if (!sti__tetscan_word(v->s, &word, &n) || !sti__tetscan_is(word, n, "LOOKUP_TABLE"))
        return fail(v, "LOOKUP_TABLE must follow SCALARS");
    end_line(v);
    return read_data(v, matter, k, width, v->ndata);
}

/* Data of points and cells; true while there may be more. What is not known ends it: the mesh is complete. */
static bool read_attribute(vtk *v, sti_status *status) {
    const char *word;
    size_t n;
    if (!sti__tetscan_word(v->s, &word, &n)) return false;
    bool cells = sti__tetscan_is(word, n, "CELL_DATA");
    if (cells || sti__tetscan_is(word, n, "POINT_DATA")) {
        v->of_cell = cells;
        bool counted = sti__tetscan_integer(v->s, &v->ndata) && v->ndata == (cells ? v->ncell : v->s->nnode);
        if (!counted && !cells) return false;
        if (!counted) *status = fail(v, "CELL_DATA has another number than CELLS");
        else end_line(v);
    } else if (sti__tetscan_is(word, n, "SCALARS")) *status = read_scalars(v);
    else if (sti__tetscan_is(word, n, "FIELD")) *status = read_field(v);
    else if (sti__tetscan_is(word, n, "METADATA")) {
        end_line(v);
        while (sti__tetscan_line(v->s, &word, &n) && n > 0) continue;
    } else return false;
    return *status == STI_OK;
}

/* Lines until an empty one. */
static void skip_metadata(vtk *v) {
    const char *text;
    size_t n;
    end_line(v);
    while (sti__tetscan_line(v->s, &text, &n) && n > 0) continue;
}

static sti_status read_section(vtk *v, const char *word, size_t n) {
    if (sti__tetscan_is(word, n, "POINTS")) return read_points(v);
    if (sti__tetscan_is(word, n, "CELLS")) return read_cells(v);
    if (sti__tetscan_is(word, n, "CELL_TYPES")) return read_types(v);
    if (sti__tetscan_is(word, n, "FIELD")) return read_field(v);
    if (sti__tetscan_is(word, n, "METADATA")) return skip_metadata(v), STI_OK;
    return fail(v, "an unknown section: POINTS, CELLS and CELL_TYPES are expected");
}

static sti_status read_sections(vtk *v) {
    const char *word;
    size_t n;
    while (!v->typed) {
        if (!sti__tetscan_word(v->s, &word, &n)) return fail(v, "the file ends before CELL_TYPES");
        sti_status status = read_section(v, word, n);
        if (status != STI_OK) return status;
    }
    sti_status status = STI_OK;
    while (read_attribute(v, &status)) continue;
    return status;
}

/* ---- header -------------------------------------------------------------------------------------------------- */

static bool little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static sti_status read_header(vtk *v) {
    const char *text, *word;
    size_t n;
    sti__tetscan_line(v->s, &text, &n); /* "# vtk DataFile Version 5.1" */
    v->offsets = n > 23 && text[23] >= '5';
    if (!sti__tetscan_line(v->s, &text, &n)) return fail(v, "the file has no title");
    if (!sti__tetscan_word(v->s, &word, &n)) return fail(v, "the file ends after its title");
    bool binary = sti__tetscan_is(word, n, "BINARY");
    if (!binary && !sti__tetscan_is(word, n, "ASCII"))
        return fail(v, "the third line must be ASCII or BINARY");
    if (!sti__tetscan_word(v->s, &word, &n) || !sti__tetscan_is(word, n, "DATASET") ||
        !sti__tetscan_word(v->s, &word, &n) || !sti__tetscan_is(word, n, "UNSTRUCTURED_GRID"))
        return fail(v, "only DATASET UNSTRUCTURED_GRID holds tetrahedra");
    v->s->binary = binary;
    v->s->swap = little_endian();
    return STI_OK;
}

sti_status sti__tetscan_vtk(sti__tetscan *s) {
    vtk v = {.s = s};
    sti_status status = read_header(&v);
    if (status == STI_OK) status = read_sections(&v);
    sti__tetscan_return(s, v.start, ((size_t)v.ncell + 1) * sizeof(int64_t));
    sti__tetscan_return(s, v.list, (size_t)v.nlist * sizeof(int64_t));
    return status;
}
