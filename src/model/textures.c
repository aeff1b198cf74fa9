/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels of textures, as MuJoCo makes them: generated, or from PNG files and MuJoCo's binary ones (int32 width, int32
   height, then red, green and blue of each pixel). They are only looked at: what cannot be read is a warning. Those of the
   sky have none, since pictures have a sky of their own. */
#include "base/det.h"
#include "mesh/png.h"
#include "model/bodies.h"
#include <math.h>
#include <string.h>

struct sti__pixels {
    int width, height; /* 0: none */
    uint8_t *rgb;      /* scratch */
};

typedef struct sti__pixels pixels;

#define MOST_PIXELS (1 << 26) /* of all textures: 8192 by 8192 */
#define MOST_SIDE (1 << 15)

enum { SKYBOX = 2, CUBE = 1, FACES = 6 };
enum { GRADIENT = 1, CHECKER, FLAT };
enum { EDGE = 1, CROSS, RANDOM };

static size_t bytes_of(int width, int height) { return sti__size(width, height, 3); }

/* Scratch for a picture; false, with a warning, if there are too many pixels. */
static bool make_room(sti__compiler *c, const sti_element *e, int width, int height, pixels *out) {
    if (width < 1 || height < 1 || width > MOST_SIDE || height > FACES * MOST_SIDE ||
        (int64_t)width * height > MOST_PIXELS - c->m->ntexdata / 3 ||
        bytes_of(width, height) > c->memory / 4) {
        sti__warn(c, e, STI_A_COUNT, "a texture of %d by %d pixels is not drawn: a scene has 1 to %d pixels",
                  width, height, MOST_PIXELS);
        return false;
    }
    *out = (pixels){width, height, sti__scratch(c, sti__size(width, height), 3)};
    return out->rgb != NULL;
}

static uint8_t *row_of(const pixels *p, int row) { return p->rgb + 3 * (size_t)row * (size_t)p->width; }

/* ---- files -------------------------------------------------------------------------------------------- */

static void not_drawn(sti__compiler *c, const sti_element *e, sti__aid attribute, const char *why) {
    sti__warn(c, e, attribute, "the texture is not drawn: %s", why);
}

static bool decode_png(sti__compiler *c, const sti_element *e, sti__aid attribute, const void *data,
                       size_t size, pixels *out) {
    const char *why;
    int width = 0, height = 0;
    size_t need = sti__png_work(data, size, &width, &height, &why);
    if (need == 0) return not_drawn(c, e, attribute, why), false;
    if (need > c->memory / 4) return not_drawn(c, e, attribute, "it needs too much memory"), false;
    if (!make_room(c, e, width, height, out)) return false;
    void *work = sti__alloc(c->allocator, need);
    bool good = work && sti__png_colors(data, size, work, out->rgb, &why);
    sti__free(c->allocator, work, need);
    if (!work) return sti__complain(c, e, attribute, STI_NO_MEMORY, "no memory to read the texture");
    if (!good) not_drawn(c, e, attribute, why);
    return good;
}

static bool decode_raw(sti__compiler *c, const sti_element *e, sti__aid attribute, const void *data,
                       size_t size, pixels *out) {
    int32_t head[2] = {0};
    if (size >= sizeof head) memcpy(head, data, sizeof head);
    if (head[0] < 1 || head[1] < 1 || head[0] > MOST_SIDE || head[1] > MOST_SIDE ||
        size != sizeof head + bytes_of(head[0], head[1]))
        return not_drawn(c, e, attribute, "its file is no PNG picture"), false;
    if (!make_room(c, e, head[0], head[1], out)) return false;
    memcpy(out->rgb, (const char *)data + sizeof head, bytes_of(head[0], head[1]));
    return true;
}

static void swap_pixels(uint8_t *a, uint8_t *b) {
    uint8_t t[3];
    memcpy(t, a, 3), memcpy(a, b, 3), memcpy(b, t, 3);
}

static void flip(const sti_element *e, const pixels *p) {
    int w = p->width, h = p->height;
    for (int r = 0; sti__keyword(e, STI_A_hflip, 0) && r < h; r++)
        for (int k = 0; k < w / 2; k++) swap_pixels(row_of(p, r) + 3 * k, row_of(p, r) + 3 * (w - 1 - k));
    for (int r = 0; sti__keyword(e, STI_A_vflip, 0) && r < h / 2; r++)
        for (int k = 0; k < w; k++) swap_pixels(row_of(p, r) + 3 * k, row_of(p, h - 1 - r) + 3 * k);
}

static bool read_file(sti__compiler *c, const sti_element *e, sti__aid attribute, pixels *out) {
    void *data = NULL;
    size_t size = 0;
    sti_error error = {0};
    if (!sti__try_named_file(c, e, attribute, c->texturedir, &data, &size, &error)) {
        if (error.code == STI_NO_MEMORY) return sti__pass_on(c, &error);
        return not_drawn(c, e, attribute, error.message), false;
    }
    bool good = sti__is_png(data, size) ? decode_png(c, e, attribute, data, size, out)
                                        : decode_raw(c, e, attribute, data, size, out);
    sti__free(sti__spec_allocator(c->spec), data, size);
    if (good) flip(e, out);
    return good;
}

/* ---- cubes from files ----------------------------------------------------------------------------------- */

static const char face_letter[FACES + 1] = "RLUDFB";
static const sti__aid face_file[FACES] = {STI_A_fileright, STI_A_fileleft,  STI_A_fileup,
                                          STI_A_filedown,  STI_A_filefront, STI_A_fileback};

static void color_of(const sti_element *e, sti__aid attribute, uint8_t out[3]) {
    double v[3] = {0};
    sti__reals(e, attribute, v, 3);
    for (int k = 0; k < 3; k++) out[k] = (uint8_t)(255 * fmin(fmax(v[k], 0), 1));
}

static void paint(const pixels *p, int row, int rows, const uint8_t color[3]) {
    for (size_t i = 0, n = (size_t)rows * (size_t)p->width; i < n; i++)
        memcpy(row_of(p, row) + 3 * i, color, 3);
}

/* A face of a cube from the square of `from` at that row and column. */
static void copy_face(const pixels *to, int face, const pixels *from, int row, int column) {
    size_t side = (size_t)to->width;
    for (int r = 0; r < to->width; r++)
        memcpy(row_of(to, face * to->width + r), row_of(from, row + r) + 3 * column, 3 * side);
}

/* Room for six faces, in the colour of those that no file has. */
static bool make_cube(sti__compiler *c, const sti_element *e, int side, pixels *out) {
    uint8_t color[3];
    color_of(e, STI_A_rgb1, color);
    if (!make_room(c, e, side, FACES * side, out)) return false;
    paint(out, 0, FACES * side, color);
    return true;
}

static bool read_cube(sti__compiler *c, const sti_element *e, pixels *out) {
    pixels all;
    double grid[2] = {1, 1};
    const char *layout = sti__text(e, STI_A_gridlayout);
    sti__reals(e, STI_A_gridsize, grid, 2);
    if (!read_file(c, e, STI_A_file, &all)) return false;
    if (!(grid[0] >= 1 && grid[1] >= 1 && grid[0] * grid[1] <= 2 * FACES))
        return not_drawn(c, e, STI_A_gridsize, "there are 1 to 12 squares"), false;
    int rows = (int)grid[0], columns = (int)grid[1], side = all.width / columns;
    if (side < 1 || side * columns != all.width || side * rows != all.height)
        return not_drawn(c, e, STI_A_file, "its file is not cut into squares"), false;
    if (rows * columns == 1) return *out = all, true;
    if (!make_cube(c, e, side, out)) return false;
    for (int k = 0; layout && k < rows * columns && layout[k]; k++) {
        const char *letter = strchr(face_letter, layout[k]);
        if (letter)
            copy_face(out, (int)(letter - face_letter), &all, side * (k / columns), side * (k % columns));
        else if (layout[k] != '.')
            sti__warn(c, e, STI_A_gridlayout, "'%c' is none of R, L, U, D, F, B and a dot", layout[k]);
    }
    return true;
}

static bool has_faces(const sti_element *e) {
    for (int k = 0; k < FACES; k++)
        if (sti__text(e, face_file[k])) return true;
    return false;
}

static bool read_faces(sti__compiler *c, const sti_element *e, pixels *out) {
    for (int k = 0; k < FACES; k++) {
        pixels face;
        if (!sti__text(e, face_file[k])) continue;
        if (!read_file(c, e, face_file[k], &face)) return false;
        if (face.width != face.height || (out->width && out->width != face.width))
            return not_drawn(c, e, face_file[k], "the faces of a cube are squares of one size"), false;
        if (!out->width && !make_cube(c, e, face.width, out)) return false;
        copy_face(out, k, &face, 0, 0);
    }
    return true;
}

/* ---- generated ------------------------------------------------------------------------------------------ */

/* Two colours in the proportion that a sigmoid of -1 to 1 gives. */
static void mix(const double a[3], const double b[3], double x, uint8_t out[3]) {
    double share = 0.5 * (1 + x / sqrt(1 + x * x) / (1 / sqrt(2)));
    share = fmin(fmax(share, 0), 1);
    for (int k = 0; k < 3; k++)
        out[k] = (uint8_t)fmin(fmax(255 * (share * a[k] + (1 - share) * b[k]), 0), 255);
}

/* From the first colour in the middle to the second at the rim. */
static void paint_disc(const pixels *p, const double rgb1[3], const double rgb2[3]) {
    for (int r = 0; r < p->height; r++)
        for (int k = 0; k < p->width; k++) {
            double x = 2 * k / (double)(p->width - 1) - 1, y = 1 - 2 * r / (double)(p->height - 1);
            mix(rgb2, rgb1, 2 * sqrt(x * x + y * y) - 1, row_of(p, r) + 3 * k);
        }
}

/* From the first colour at the top to the second at the bottom, by the elevation. */
static void paint_sky(const pixels *p, const double rgb1[3], const double rgb2[3]) {
    int side = p->width;
    for (int r = 0; r < side; r++)
        for (int k = 0; k < side; k++) {
            double x = 2 * k / (double)(side - 1) - 1, y = 1 - 2 * r / (double)(side - 1);
            double length = sqrt(1 + x * x + y * y), half = 0.5 * 3.14159265358979323846;
            double beside = sti__asin(y / length) / half, above = 1 - sti__acos(1 / length) / half;
            for (int f = 0; f < FACES; f++)
                mix(rgb1, rgb2, f == 2 ? above : f == 3 ? -above : beside, row_of(p, f * side + r) + 3 * k);
        }
}

static void paint_checker(const pixels *p, int row, int height, const uint8_t a[3], const uint8_t b[3]) {
    for (int r = 0; r < height; r++)
        for (int k = 0; k < p->width; k++)
            memcpy(row_of(p, row + r) + 3 * k, (r < height / 2) == (k < p->width / 2) ? a : b, 3);
}

static void mark(const sti_element *e, const pixels *p, int row, int height) {
    int kind = sti__keyword(e, STI_A_mark, 0), w = p->width;
    uint8_t color[3];
    color_of(e, STI_A_markrgb, color);
    int rows[2] = {kind == EDGE ? 0 : height / 2, kind == EDGE ? height - 1 : height / 2},
        columns[2] = {kind == EDGE ? 0 : w / 2, kind == EDGE ? w - 1 : w / 2};
    if (kind != EDGE && kind != CROSS) return;
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < height; r++) memcpy(row_of(p, row + r) + 3 * columns[i], color, 3);
        for (int k = 0; k < w; k++) memcpy(row_of(p, row + rows[i]) + 3 * k, color, 3);
    }
}

/* A share of all pixels, by a hash of their place. */
static void mark_random(const sti_element *e, const pixels *p) {
    double share = sti__real(e, STI_A_random, 0.01);
    uint8_t color[3];
    color_of(e, STI_A_markrgb, color);
    for (size_t i = 0, n = (size_t)p->width * (size_t)p->height; i < n; i++) {
        uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull;
        h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
        if ((double)(h >> 11) * 0x1p-53 < share) memcpy(p->rgb + 3 * i, color, 3);
    }
}

static bool generate(sti__compiler *c, const sti_element *e, int kind, bool cube, pixels *p) {
    int side = sti__int(e, STI_A_width, 0), faces = cube ? FACES : 1,
        height = cube ? side : sti__int(e, STI_A_height, 0);
    double first[3] = {0}, second[3] = {0};
    uint8_t rgb1[3], rgb2[3];
    sti__reals(e, STI_A_rgb1, first, 3), sti__reals(e, STI_A_rgb2, second, 3);
    color_of(e, STI_A_rgb1, rgb1), color_of(e, STI_A_rgb2, rgb2);
    if (side < 1 || height < 1 || height > MOST_SIDE) return false; /* planes draw their checker without */
    if (!make_room(c, e, side, faces * height, p)) return false;
    if (kind == GRADIENT) (cube ? paint_sky : paint_disc)(p, first, second);
    else
        for (int f = 0; f < faces; f++) {
            bool swap = kind == CHECKER ? f > 3 : f == 3;
            paint_checker(p, f * height, height, swap ? rgb2 : rgb1, (kind == CHECKER) != swap ? rgb2 : rgb1);
        }
    for (int f = 0; f < faces; f++) mark(e, p, f * height, height);
    if (sti__keyword(e, STI_A_mark, 0) == RANDOM) mark_random(e, p);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- */

static bool prepare(sti__compiler *c, const sti_element *e, pixels *p) {
    int type = sti__keyword(e, STI_A_type, CUBE), builtin = sti__keyword(e, STI_A_builtin, 0);
    if (type == SKYBOX) return false;
    if (builtin) return generate(c, e, builtin, type == CUBE, p);
    if (sti__text(e, STI_A_file)) return type == CUBE ? read_cube(c, e, p) : read_file(c, e, STI_A_file, p);
    return type == CUBE && has_faces(e) && read_faces(c, e, p);
}

void sti__size_textures(sti__compiler *c) {
    sti_model *m = c->m;
    c->pixels = sti__scratch(c, (size_t)m->ntex, sizeof *c->pixels);
    for (int i = 0; c->pixels && i < m->ntex; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_TEXTURE, i);
        pixels p = {0};
        if (prepare(c, e, &p) &&
            sti__add_to(c, e, STI_A_COUNT, &m->ntexdata, bytes_of(p.width, p.height), 1, "bytes of textures"))
            c->pixels[i] = p;
    }
}

static void floats(const sti_element *e, sti__aid attribute, float out[3]) {
    double v[3] = {0};
    sti__reals(e, attribute, v, 3);
    for (int i = 0; i < 3; i++) out[i] = (float)v[i];
}

void sti__fill_textures(sti__compiler *c) {
    sti_model *m = c->m;
    int at = 0;
    for (int i = 0; i < m->ntex; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_TEXTURE, i);
        const pixels *p = c->pixels + i;
        size_t bytes = bytes_of(p->width, p->height);
        m->tex_type[i] = sti__keyword(e, STI_A_type, CUBE);
        m->tex_builtin[i] = sti__keyword(e, STI_A_builtin, 0);
        floats(e, STI_A_rgb1, m->tex_rgb1 + 3 * i);
        floats(e, STI_A_rgb2, m->tex_rgb2 + 3 * i);
        m->tex_width[i] = p->width;
        m->tex_height[i] = p->height;
        m->tex_nchannel[i] = 3;
        m->tex_adr[i] = at;
        if (bytes) memcpy(m->tex_data + at, p->rgb, bytes);
        at += (int)bytes;
    }
}
