/* SPDX-License-Identifier: Apache-2.0 */
/* Height fields from numbers, binary files and PNG pictures; pictures that are damaged. */
#include "bad_scene.h"
#include "mesh/png.h"
#include "pictures.h"

enum { NPICTURE = sizeof pictures / sizeof *pictures };

/* Grey of a pixel, by what the pictures are made of. */
static int gray_of(const struct picture *p, int row, int col) {
    int v = (37 * row + 11 * col) % (1 << p->depth);
    if (p->kind == 3) return 7 * v % 256;
    return p->depth == 16 ? v >> 8 : p->depth == 8 ? v : v * 255 / ((1 << p->depth) - 1);
}

/* NULL if it is read, else why not. */
static const char *read_png(const unsigned char *data, size_t size, int *width, int *height, uint8_t *gray) {
    const char *why = NULL;
    size_t work = sti__png_work(data, size, width, height, &why);
    if (work == 0) return why ? why : "no reason";
    if ((size_t)*width * (size_t)*height > 10000) return "large";
    void *memory = malloc(work);
    bool good = sti__png_gray(data, size, memory, gray, &why);
    free(memory);
    return good ? NULL : why ? why : "no reason";
}

TEST(pictures_of_every_kind_are_read) {
    uint8_t gray[10000];
    for (int i = 0; i < NPICTURE; i++) {
        const struct picture *p = &pictures[i];
        int width = 0, height = 0;
        CHECK(read_png(p->data, p->size, &width, &height, gray) == NULL);
        CHECK(width == p->cols && height == p->rows);
        for (int r = 0; r < p->rows; r++)
            for (int k = 0; k < p->cols; k++) CHECK(gray[r * p->cols + k] == gray_of(p, r, k));
    }
}

/* ---- damage ------------------------------------------------------------------------------------------- */

static uint32_t crc_of(const unsigned char *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

/* Check sums of all chunks made right again, so that the damage is seen behind them. */
static void mend(unsigned char *data, size_t size) {
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        size_t n =
            (size_t)data[at] << 24 | (size_t)data[at + 1] << 16 | (size_t)data[at + 2] << 8 | data[at + 3];
        if (n > size - at - 12) return;
        uint32_t c = crc_of(data + at + 4, n + 4);
        for (int k = 0; k < 4; k++) data[at + 8 + n + (size_t)k] = (unsigned char)(c >> (24 - 8 * k));
        at += n + 12;
    }
}

/* A picture cut short is refused at every length; one with a wrong bit too, except where its check sums are made right: then
   it is refused by zlib's own sum, or shows the same pixels (in what nobody reads). */
TEST(damaged_pictures_are_refused) {
    static unsigned char copy[4000];
    uint8_t gray[10000];
    int width, height, plain = 0, mended = 0;
    for (int i = 0; i < NPICTURE; i++) {
        const struct picture *p = &pictures[i];
        REQUIRE(p->size <= sizeof copy);
        for (size_t n = 0; n < p->size; n++) CHECK(read_png(p->data, n, &width, &height, gray) != NULL);
        for (size_t bit = 0; bit < 8 * p->size; bit++) {
            memcpy(copy, p->data, p->size);
            copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
            plain += read_png(copy, p->size, &width, &height, gray) == NULL;
            mend(copy, p->size);
            if (read_png(copy, p->size, &width, &height, gray) != NULL) continue;
            mended++;
            CHECK(width > 0 && height > 0);
        }
    }
    CHECK(plain == 0);
    CHECK(mended > 0); /* bits of check sums, of palettes, of what only says how it is packed */
}

typedef struct packed {
    const char *what;
    unsigned char data[24];
    size_t size, count;
    const char *why;
} packed;

/* Streams that no packer makes, from the rules of RFC 1950 and 1951. */
TEST(bad_streams_say_why) {
    static const packed cases[] = {
        {"short", {0x78, 0x01, 1}, 3, 1, "not a zlib"},
        {"method", {0x77, 0x01, 0, 0, 0, 0}, 6, 1, "not a zlib"},
        {"header", {0x78, 0x02, 0, 0, 0, 0}, 6, 1, "not a zlib"},
        {"dictionary", {0x78, 0x20, 0, 0, 0, 0}, 6, 1, "not a zlib"},
        {"kind", {0x78, 0x01, 7, 0, 0, 0}, 6, 1, "unknown kind"},
        {"stored, cut", {0x78, 0x01, 1, 5, 0, 0xfa}, 6, 5, "too soon"},
        {"stored, length", {0x78, 0x01, 1, 5, 0, 0, 0, 1, 2}, 9, 5, "stored block"},
        {"stored, too few", {0x78, 0x01, 1, 5, 0, 0xfa, 0xff, 1, 2}, 9, 5, "stored block"},
        {"stored, too many", {0x78, 0x01, 1, 2, 0, 0xfd, 0xff, 1, 2, 0, 0, 0, 0}, 13, 1, "longer"},
        {"shorter", {0x78, 0x01, 1, 1, 0, 0xfe, 0xff, 9, 0, 0, 0, 0}, 12, 5, "shorter"},
        {"sum", {0x78, 0x01, 1, 1, 0, 0xfe, 0xff, 9, 0, 0, 0, 0}, 12, 1, "check sum"},
        {"no sum", {0x78, 0x01, 1, 1, 0, 0xfe, 0xff, 9}, 8, 1, "check sum"},
        {"before its start", {0x78, 0x01, 0x03, 0x02, 0, 0, 0, 0}, 8, 9, "before its start"},
        {"table", {0x78, 0x01, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, 9, ""},
        {"table, cut", {0x78, 0x01, 0x05, 0xc0, 0, 0}, 6, 9, ""},
        {"end", {0x78, 0x01, 0x63, 0x00, 0x00, 0x00}, 6, 9, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[16];
        const char *why = NULL;
        bool good = sti__inflate(cases[i].data, cases[i].size, out, cases[i].count, &why);
        if (good || !strstr(why, cases[i].why))
            fprintf(stderr, "%s: %s\n", cases[i].what, good ? "good" : why);
        CHECK(!good && why && strstr(why, cases[i].why));
    }
}

/* ---- scenes ------------------------------------------------------------------------------------------- */

#define FIELD(attributes)                                            \
    "<mujoco>\n<asset><hfield name='h' size='2 1 3 0.5' " attributes \
    "/></asset><worldbody><geom type='hfield' hfield='h'/>"          \
    "</worldbody></mujoco>"

static sti_model *compile(const char *xml) {
    sti_load_options options = sti_load_options_default();
    sti_error error = {0};
    options.assets = given;
    options.nasset = ngiven;
    options.no_disk = true;
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), &options, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_spec_free(spec);
    return model;
}

/* Numbers are seen from above, first row far; heights are scaled to 0..1. */
TEST(heights_from_numbers) {
    sti_model *m = compile(FIELD("nrow='2' ncol='3' elevation='1 2 3  5 5 9'"));
    REQUIRE(m);
    static const float expected[] = {0.5f, 0.5f, 1, 0, 0.125f, 0.25f};
    CHECK(m->nhfielddata == 6 && m->hfield_nrow[0] == 2 && m->hfield_ncol[0] == 3);
    for (int i = 0; i < 6; i++) CHECK(m->hfield_data[i] == expected[i]);
    CHECK_NEAR(m->geom_size[2], 0.25 * 3 + 0.5 * 0.5, 1e-15);
    CHECK_NEAR(m->geom_rbound[0], sqrt(4 + 1 + 9), 1e-15);
    sti_model_free(m);
    m = compile(FIELD("nrow='2' ncol='2' elevation='7 7 7 7'")); /* flat stays 0 */
    REQUIRE(m);
    for (int i = 0; i < 4; i++) CHECK(m->hfield_data[i] == 0);
    sti_model_free(m);
    m = compile(FIELD("nrow='2' ncol='2'"));
    CHECK(m && m->hfield_data[3] == 0);
    sti_model_free(m);
}

TEST(heights_from_files) {
    static unsigned char binary[8 + 4 * 6];
    int32_t head[2] = {2, 3};
    float height[6] = {0, 1, 2, 3, 4, 8};
    memcpy(binary, head, 8);
    memcpy(binary + 8, height, sizeof height);
    ngiven = 0;
    give("a.bin", binary, sizeof binary);
    give("a.png", png_gray8, sizeof png_gray8);
    sti_model *m = compile(FIELD("file='a.bin'"));
    REQUIRE(m);
    for (int i = 0; i < 6; i++) CHECK(m->hfield_data[i] == height[i] / 8);
    sti_model_free(m);
    m = compile(FIELD("file='a.png'"));
    REQUIRE(m);
    const struct picture *p = &pictures[0];
    int low = 255, high = 0;
    for (int i = 0; i < p->rows * p->cols; i++) {
        int g = gray_of(p, i / p->cols, i % p->cols);
        low = g < low ? g : low;
        high = g > high ? g : high;
    }
    for (int r = 0; r < p->rows; r++)
        for (int k = 0; k < p->cols; k++)
            CHECK_NEAR(m->hfield_data[(p->rows - 1 - r) * p->cols + k],
                       (double)(gray_of(p, r, k) - low) / (high - low), 1e-6);
    sti_model_free(m);
    ngiven = 0;
}

/* clang-format off */
TEST(bad_height_fields) {
    static unsigned char short_file[4], sizes[12], nan_file[8 + 16], rows[8 + 4];
    int32_t two[2] = {2, 2}, many[2] = {2000000000, 2000000000}, one[2] = {1, 1};
    memcpy(sizes, many, 8);
    memcpy(nan_file, two, 8);
    memset(nan_file + 8, 0xff, 16);
    memcpy(rows, one, 8);
    static unsigned char cut[200];
    memcpy(cut, png_gray8, 60);
    static unsigned char spoilt[sizeof png_gray8];
    memcpy(spoilt, png_gray8, sizeof spoilt);
    spoilt[19]++; /* a column more than there are numbers for */
    mend(spoilt, sizeof spoilt);
    ngiven = 0;
    give("short", short_file, sizeof short_file);
    give("sizes", sizes, sizeof sizes);
    give("nan", nan_file, sizeof nan_file);
    give("rows", rows, sizeof rows);
    give("cut.png", cut, 60);
    give("spoilt.png", spoilt, sizeof spoilt);
    static const bad cases[] = {
        {FIELD("file='short'"), STI_FILE, 2, "hfield", "file"},
        {FIELD("file='sizes'"), STI_FILE, 2, "hfield", "file"},
        {FIELD("file='rows'"), STI_VALUE, 2, "hfield", "nrow"},
        {FIELD("file='nan'"), STI_VALUE, 2, "hfield", NULL},
        {FIELD("file='cut.png'"), STI_FILE, 2, "hfield", "file"},
        {FIELD("file='spoilt.png'"), STI_FILE, 2, "hfield", "file"},
        {FIELD("file='missing'"), STI_FILE, 2, "hfield", "file"},
        {FIELD("nrow='1' ncol='5'"), STI_VALUE, 2, "hfield", "nrow"},
        {FIELD("nrow='5' ncol='-1'"), STI_VALUE, 2, "hfield", "nrow"},
        {FIELD("nrow='2' ncol='2' elevation='1 2 3'"), STI_VALUE, 2, "hfield", "elevation"},
        {FIELD("nrow='2' ncol='2' elevation='1 2 3 1e39'"), STI_VALUE, 2, "hfield", NULL},
        {FIELD("nrow='10000' ncol='10000'"), STI_LIMIT, 2, "hfield", "nrow"},
        {TOP("<asset><hfield name='h' nrow='2' ncol='2' size='1 1 0 1'/></asset>"), STI_PHYSICS, 3, "hfield", "size"},
        {WORLD("<geom type='hfield'/>"), STI_REFERENCE, 3, "geom", "hfield"},
        {WORLD("<geom type='hfield' hfield='none'/>"), STI_REFERENCE, 3, "geom", "hfield"},
        {FIELD("nrow='2' ncol='2'/></asset><worldbody><geom size='1' hfield='h'/></worldbody><asset><material name='m'"), STI_VALUE, 2, "geom", "hfield"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
    ngiven = 0;
}
/* clang-format on */

MAIN(CASE(pictures_of_every_kind_are_read), CASE(damaged_pictures_are_refused), CASE(bad_streams_say_why),
     CASE(heights_from_numbers), CASE(heights_from_files), CASE(bad_height_fields))
