/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: what is where on them, and that the PNG files hold them. */
#include "failing.h"
#include "shot.h"

TEST(red_ball_in_the_middle) {
    shot s;
    open_shot(&s, WORLD(BALL));
    s.options.lookat[0] = s.options.lookat[1] = 0;
    s.options.lookat[2] = 1;
    s.options.distance = 2;
    s.options.elevation = 0;
    take(&s);
    CHECK(reddish(at(&s, W / 2, H / 2)));
    CHECK(skyish(at(&s, 0, 0)) && skyish(at(&s, W - 1, 0)) && skyish(at(&s, 0, H - 1)) &&
          skyish(at(&s, W - 1, H - 1)));
    /* a ball of radius r at distance d covers a circle of tangent r / sqrt(d2 - r2) */
    double cx, cy, scale = 0.5 * H / tan(22.5 * acos(-1) / 180), r = scale * 0.2 / sqrt(4 - 0.04);
    CHECK_NEAR(count(&s, reddish, &cx, &cy), acos(-1) * r * r, 0.12 * acos(-1) * r * r);
    CHECK_NEAR(cx, W / 2.0, 0.5);
    CHECK_NEAR(cy, H / 2.0, 0.8);
    close_shot(&s);
}

/* From azimuth 90 the eye looks along +y with +x to its right; from 0 along +x with -y to its right. */
TEST(free_camera_follows_mujoco) {
    shot s;
    double cx, cy;
    open_shot(&s, WORLD("<geom type='box' size='0.1 0.1 0.1' pos='0.4 0 1' rgba='1 0 0 1'/>"
                        "<geom type='box' size='0.1 0.1 0.1' pos='0 -0.4 1' rgba='0 1 0 1'/>"));
    s.options.lookat[0] = s.options.lookat[1] = 0;
    s.options.lookat[2] = 1;
    s.options.distance = 3;
    s.options.elevation = 0;
    s.options.azimuth = 90;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) > 10 && cx > W / 2 + 5);
    CHECK(count(&s, greenish, &cx, &cy) > 10 && fabs(cx - W / 2) < 2);
    s.options.azimuth = 0;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) > 10 && fabs(cx - W / 2) < 2);
    CHECK(count(&s, greenish, &cx, &cy) > 10 && cx > W / 2 + 5);
    /* from above, what lies ahead is up on the picture */
    s.options.azimuth = 90;
    s.options.elevation = -90;
    take(&s);
    CHECK(count(&s, greenish, &cx, &cy) > 10 && cy > H / 2 + 5 && fabs(cx - W / 2) < 2);
    s.options.lookat[2] = 1.5;
    s.options.elevation = 0;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) > 10 && cy > H / 2 + 5);
    close_shot(&s);
}

/* With nothing asked for, everything is in the picture, wherever it went. */
TEST(free_camera_finds_the_scene) {
    shot s;
    double cx, cy;
    open_shot(&s, WORLD("<geom type='plane' size='0 0 1'/>" BALL));
    double *qpos = sti_world_view(s.world, STI_FIELD_qpos).data;
    qpos[0] = 7;
    qpos[1] = -30;
    qpos[2] = 2;
    CHECK(sti_forward(s.world) == STI_OK);
    s.options.elevation = -20;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) > W * H / 10);
    CHECK_NEAR(cx, W / 2.0, 1.5);
    CHECK_NEAR(cy, H / 2.0, 3);
    close_shot(&s);
}

TEST(fixed_camera) {
    shot s;
    double cx, cy;
    open_shot(&s, WORLD("<camera name='a' pos='0 -1 1' xyaxes='1 0 0 0 0 1' fovy='45'/>"
                        "<camera name='b' pos='0 -1 1' xyaxes='1 0 0 0 0 1' fovy='90'/>"
                        "<camera name='away' pos='0 -2 1' xyaxes='-1 0 0 0 0 1'/>" BALL));
    s.options.camera = 0;
    take(&s);
    int narrow = count(&s, reddish, &cx, &cy);
    CHECK(reddish(at(&s, W / 2, H / 2)));
    s.options.camera = 1;
    take(&s);
    double zoom = tan(45 * acos(-1) / 180) / tan(22.5 * acos(-1) / 180),
           ratio = narrow / (double)count(&s, reddish, &cx, &cy);
    CHECK_NEAR(ratio, zoom * zoom, 0.2 * zoom * zoom);
    s.options.camera = 2;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) == 0);
    close_shot(&s);
}

/* The nearer one hides the other, whatever their order. */
TEST(depth_decides) {
    for (int swap = 0; swap < 2; swap++) {
        shot s;
        open_shot(&s, swap ? WORLD("<camera pos='0 -2 0' xyaxes='1 0 0 0 0 1'/><geom type='box' size='1 0.01 "
                                   "1' pos='0 1 0' rgba='0 1 0 1'/>"
                                   "<geom type='sphere' size='0.3' rgba='1 0 0 1'/>")
                           : WORLD("<camera pos='0 -2 0' xyaxes='1 0 0 0 0 1'/><geom type='sphere' "
                                   "size='0.3' rgba='1 0 0 1'/>"
                                   "<geom type='box' size='1 0.01 1' pos='0 1 0' rgba='0 1 0 1'/>"));
        s.options.camera = 0;
        take(&s);
        CHECK(reddish(at(&s, W / 2, H / 2)));
        CHECK(greenish(at(&s, W / 2 + H / 3, H / 2)));
        close_shot(&s);
    }
}

TEST(alpha_mixes) {
    shot s;
    open_shot(&s, WORLD("<camera pos='0 -2 0' xyaxes='1 0 0 0 0 1'/><geom type='box' size='1 0.01 1' pos='0 "
                        "1 0' rgba='0 1 0 1'/>"
                        "<geom type='sphere' size='0.3' rgba='1 0 0 0.5'/><geom type='sphere' size='0.9' "
                        "rgba='1 0 0 0'/>"));
    s.options.camera = 0;
    take(&s);
    const uint8_t *p = at(&s, W / 2, H / 2);
    CHECK(p[0] > 60 && p[1] > 60 && p[2] < p[0] && p[2] < p[1]);
    CHECK(greenish(at(&s, W / 2 + H / 3, H / 2)));
    close_shot(&s);
}

/* Every kind of geom shows, and groups hide. */
TEST(all_kinds_show) {
    const char *kinds[] = {"type='sphere' size='0.3'",
                           "type='capsule' size='0.2 0.2'",
                           "type='ellipsoid' size='0.4 0.2 0.3'",
                           "type='cylinder' size='0.3 0.2'",
                           "type='box' size='0.2 0.2 0.2'",
                           "type='mesh' mesh='m'",
                           "type='hfield' hfield='h'"};
    for (int i = 0; i < 7; i++) {
        char xml[600];
        double cx, cy;
        snprintf(xml, sizeof xml,
                 "<mujoco><asset><mesh name='m' vertex='-.3 -.3 -.3 .3 -.3 -.3 0 .3 -.3 0 0 "
                 ".4'/><hfield name='h' nrow='2' ncol='3' elevation='0 1 0 0 1 0' size='.4 .3 .3 "
                 ".1'/></asset><worldbody>"
                 "<camera pos='0 -2 0.2' xyaxes='1 0 0 0 0.1 1'/><geom %s rgba='1 0 0 1' "
                 "group='1'/></worldbody></mujoco>",
                 kinds[i]);
        shot s;
        open_shot(&s, xml);
        s.options.camera = 0;
        take(&s);
        CHECK(count(&s, reddish, &cx, &cy) > 40);
        s.options.groups = 1;
        take(&s);
        CHECK(count(&s, reddish, &cx, &cy) == 0);
        close_shot(&s);
    }
}

TEST(sites_and_tendons_on_request) {
    shot s;
    double cx, cy;
    open_shot(&s, "<mujoco><worldbody><camera pos='0 -2 0' xyaxes='1 0 0 0 0 1'/><site name='a' pos='-.5 0 "
                  "0' rgba='0 1 0 1' size='.05'/>"
                  "<body><joint type='slide'/><geom size='.01' mass='1' rgba='0 0 1 1'/><site name='b' "
                  "pos='.5 0 0' rgba='0 1 0 1' size='.05'/></body></worldbody>"
                  "<tendon><spatial width='.02' rgba='1 0 0 1'><site site='a'/><site "
                  "site='b'/></spatial></tendon></mujoco>");
    s.options.camera = 0;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) + count(&s, greenish, &cx, &cy) == 0);
    s.options.sites = true;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) > 20 && fabs(cx - W / 2) < 2);
    CHECK(count(&s, greenish, &cx, &cy) > 6 && fabs(cx - W / 2) < 2);
    close_shot(&s);
}

/* Under the ball the floor is darker than beside it. */
TEST(shadow_on_the_floor) {
    shot s;
    open_shot(&s, WORLD("<light directional='true' castshadow='true' pos='0 0 5' dir='0 0 -1'/>"
                        "<geom type='plane' size='0 0 1' rgba='.8 .8 .8 1'/><geom type='sphere' size='0.3' "
                        "pos='0 0 1' rgba='1 0 0 1'/>"
                        "<camera pos='0 -3 1.2' xyaxes='1 0 0 0 0.35 1'/>"));
    s.options.camera = 0;
    take(&s);
    /* the point under the ball, through the camera: forward = x cross y of its frame, turned round */
    double up[3] = {0, 0.35, 1}, n = sqrt(0.35 * 0.35 + 1), d[3] = {0, 3, -1.2};
    double forward[3] = {0, 1 / n, -0.35 / n}, depth = d[1] * forward[1] + d[2] * forward[2];
    double f = 0.5 * H / tan(22.5 * acos(-1) / 180), v = (d[1] * up[1] + d[2] * up[2]) / n / depth;
    int y = (int)(H / 2.0 - f * v);
    REQUIRE(y > 0 && y < H);
    int inside = at(&s, W / 2, y)[1], beside = at(&s, W / 2 + 30, y)[1];
    CHECK(inside + 40 < beside);
    close_shot(&s);
}

/* Eye inside a box, triangles through the near plane, huge and tiny things, odd sizes: no crash. */
TEST(awkward_views) {
    shot s;
    open_shot(
        &s,
        WORLD(
            "<camera pos='0 0 0' xyaxes='1 0 0 0 0 1'/><camera pos='0 -1 0' xyaxes='1 0 0 0 0 1' fovy='170'/>"
            "<geom type='box' size='5 5 5' rgba='0 1 0 1'/><geom type='capsule' size='1e-6 1000'/>"
            "<geom type='plane' size='0 0 1' euler='0 90 0'/><geom type='sphere' size='1e5' pos='0 3e5 0'/>"
            "<geom type='ellipsoid' size='1e-9 1 1e-9' rgba='0 0 1 .3'/>"));
    for (int camera = -1; camera < 2; camera++) {
        s.options.camera = camera;
        s.options.width = W;
        s.options.height = H;
        take(&s);
        s.options.width = 1;
        s.options.height = 64;
        take(&s);
        s.options.width = 64;
        s.options.height = 1;
        take(&s);
    }
    s.options.camera = 0;
    s.options.width = W;
    s.options.height = H;
    take(&s);
    CHECK(greenish(at(&s, W / 2, H / 2)));
    close_shot(&s);
}

TEST(refusals) {
    shot s;
    open_shot(&s, WORLD(BALL));
    const sti_picture_options good = s.options;
    sti_picture_options bad[10];
    for (int i = 0; i < 10; i++) bad[i] = good;
    bad[0].width = 0;
    bad[1].height = -1;
    bad[2].width = 8193;
    bad[3].camera = 0;
    bad[4].camera = -2;
    bad[5].distance = -1;
    bad[6].distance = NAN;
    bad[7].azimuth = INFINITY;
    bad[8].cookie = 0;
    bad[9].lookat[1] = NAN;
    for (int i = 0; i < 10; i++) {
        sti_error error = {0};
        CHECK(sti_picture_render(s.world, &bad[i], s.rgb, &error) == STI_ARGUMENT);
        CHECK(error.code == STI_ARGUMENT && error.message[0]);
    }
    CHECK(sti_picture_render(s.world, NULL, s.rgb, NULL) == STI_ARGUMENT);
    CHECK(sti_picture_render(NULL, &good, s.rgb, NULL) == STI_ARGUMENT);
    CHECK(sti_picture_write_png("x.png", s.rgb, 0, 1, NULL) == STI_ARGUMENT);
    sti_error error = {0};
    CHECK(sti_picture_write_png("no/such/folder/x.png", s.rgb, W, H, &error) == STI_FILE && error.file[0]);
    sti_picture_options none = sti_picture_options_default(NULL);
    CHECK(none.width > 0 && none.camera == -1 && none.groups == 7);
    close_shot(&s);
}

/* The same picture twice, and the same in one band or many. */
TEST(pictures_repeat) {
    shot s;
    static uint8_t again[W * H * 3];
    open_shot(&s, WORLD("<geom type='plane' size='0 0 1'/>" BALL));
    take(&s);
    memcpy(again, s.rgb, sizeof again);
    take(&s);
    CHECK(memcmp(again, s.rgb, sizeof again) == 0);
    close_shot(&s);
}

/* ---- reading PNG back: a small inflate ------------------------------------------------------------- */

typedef struct bits {
    const uint8_t *data;
    size_t size, at;
    uint32_t hold;
    int count;
    bool short_of;
} bits;

static uint32_t get(bits *b, int n) {
    while (b->count < n) {
        if (b->at >= b->size) b->short_of = true;
        b->hold |= (uint32_t)(b->at < b->size ? b->data[b->at++] : 0) << b->count;
        b->count += 8;
    }
    uint32_t value = b->hold & ((1u << n) - 1);
    b->hold >>= n;
    b->count -= n;
    return value;
}

/* Canonical Huffman codes: how many of each length, and the symbols in order. */
typedef struct codes {
    int count[16], symbol[320];
} codes;

static void make_codes(codes *c, const int *length, int n) {
    int offset[16] = {0};
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++) c->count[length[i]]++;
    c->count[0] = 0;
    for (int i = 1; i < 15; i++) offset[i + 1] = offset[i] + c->count[i];
    for (int i = 0; i < n; i++)
        if (length[i]) c->symbol[offset[length[i]]++] = i;
}

static int symbol(bits *b, const codes *c) {
    int code = 0, first = 0, index = 0;
    for (int length = 1; length < 16; length++) {
        code |= (int)get(b, 1);
        if (code - first < c->count[length]) return c->symbol[index + code - first];
        index += c->count[length];
        first = (first + c->count[length]) << 1;
        code <<= 1;
    }
    return -1;
}

static bool read_codes(bits *b, codes *lit, codes *dist) {
    static const int order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int nlit = (int)get(b, 5) + 257, ndist = (int)get(b, 5) + 1, nlen = (int)get(b, 4) + 4, length[320] = {0},
        n = 0;
    codes meta;
    for (int i = 0; i < nlen; i++) length[order[i]] = (int)get(b, 3);
    make_codes(&meta, length, 19);
    memset(length, 0, sizeof length);
    while (n < nlit + ndist) {
        int s = symbol(b, &meta), repeat = 1, value = s;
        if (s < 0 || (s == 16 && n == 0)) return false;
        if (s == 16) value = length[n - 1], repeat = 3 + (int)get(b, 2);
        if (s == 17) value = 0, repeat = 3 + (int)get(b, 3);
        if (s == 18) value = 0, repeat = 11 + (int)get(b, 7);
        if (n + repeat > nlit + ndist) return false;
        while (repeat-- > 0) length[n++] = value;
    }
    make_codes(lit, length, nlit);
    make_codes(dist, length + nlit, ndist);
    return true;
}

static void fixed_codes(codes *lit, codes *dist) {
    int length[288];
    for (int i = 0; i < 288; i++) length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_codes(lit, length, 288);
    for (int i = 0; i < 30; i++) length[i] = 5;
    make_codes(dist, length, 30);
}

/* Bytes written, or -1. */
static long inflate(bits *b, uint8_t *out, long room) {
    static const int base_len[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                     31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const int extra_len[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const int base_dist[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                      33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    long n = 0;
    for (bool last = false; !last;) {
        codes lit, dist;
        last = get(b, 1);
        uint32_t kind = get(b, 2);
        if (kind == 1) fixed_codes(&lit, &dist);
        else if (kind != 2 || !read_codes(b, &lit, &dist)) return -1;
        for (int s; (s = symbol(b, &lit)) != 256;) {
            if (s < 0 || s > 285 || b->short_of) return -1;
            if (s < 256) {
                if (n >= room) return -1;
                out[n++] = (uint8_t)s;
                continue;
            }
            long length = base_len[s - 257] + (long)get(b, extra_len[s - 257]);
            int d = symbol(b, &dist);
            if (d < 0 || d > 29) return -1;
            long distance = base_dist[d] + (long)get(b, d < 2 ? 0 : d / 2 - 1);
            if (distance > n || n + length > room) return -1;
            for (; length > 0; length--, n++) out[n] = out[n - distance];
        }
    }
    return n;
}

static uint32_t big(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t crc_of(const uint8_t *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

static uint32_t adler_of(const uint8_t *p, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) a = (a + p[i]) % 65521, b = (b + a) % 65521;
    return b << 16 | a;
}

static int undo(int filter, int left, int above, int corner) {
    int p = left + above - corner, pa = abs(p - left), pb = abs(p - above), pc = abs(p - corner);
    int guess[5] = {0, left, above, (left + above) / 2,
                    pa <= pb && pa <= pc ? left
                    : pb <= pc           ? above
                                         : corner};
    return guess[filter];
}

/* IDAT chunks of a file joined in place; checks signature and CRCs. */
static size_t join_chunks(uint8_t *file, size_t size, int width, int height) {
    size_t n = 0, at = 8;
    bool end = false;
    CHECK(size > 8 && memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0);
    while (at + 12 <= size && !end) {
        size_t length = big(file + at);
        REQUIRE(at + 12 + length <= size);
        CHECK(crc_of(file + at + 4, length + 4) == big(file + at + 8 + length));
        const uint8_t *data = file + at + 8;
        if (memcmp(file + at + 4, "IHDR", 4) == 0)
            CHECK(at == 8 && length == 13 && (int)big(data) == width && (int)big(data + 4) == height &&
                  data[8] == 8 && data[9] == 2);
        end = memcmp(file + at + 4, "IEND", 4) == 0;
        bool pixels = memcmp(file + at + 4, "IDAT", 4) == 0;
        at += 12 + length;
        if (pixels) memmove(file + n, data, length), n += length;
    }
    CHECK(end && at == size);
    return n;
}

static size_t round_trip(const uint8_t *rgb, int width, int height) {
    char path[] = "/tmp/sti_picture_XXXXXX";
    int handle = mkstemp(path);
    REQUIRE(handle >= 0);
    FILE *f = fdopen(handle, "rb");
    sti_error error = {0};
    CHECK(sti_picture_write_png(path, rgb, width, height, &error) == STI_OK);
    size_t row = 3 * (size_t)width + 1, raw = row * (size_t)height, room = 2 * raw + 1000;
    uint8_t *file = malloc(room), *data = malloc(raw), *line = calloc(2, row);
    size_t size = fread(file, 1, room, f);
    fclose(f);
    remove(path);
    size_t n = join_chunks(file, size, width, height);
    bits b = {file + 2, n - 6, 0, 0, 0, false};
    CHECK(((file[0] << 8) + file[1]) % 31 == 0 && (file[0] & 15) == 8);
    CHECK(inflate(&b, data, (long)raw) == (long)raw);
    CHECK(b.at == b.size && adler_of(data, raw) == big(file + n - 4));
    int wrong = 0;
    for (int y = 0; y < height; y++) {
        const uint8_t *in = data + row * (size_t)y;
        uint8_t *now = line + 1, *before = line + row + 1;
        REQUIRE(in[0] < 5);
        for (int i = 0; i < 3 * width; i++)
            now[i] = (uint8_t)(in[1 + i] + undo(in[0], i < 3 ? 0 : now[i - 3], y ? before[i] : 0,
                                                y && i >= 3 ? before[i - 3] : 0));
        wrong += memcmp(now, rgb + 3 * (size_t)width * (size_t)y, 3 * (size_t)width) != 0;
        memcpy(before, now, 3 * (size_t)width);
    }
    CHECK(wrong == 0);
    free(file);
    free(data);
    free(line);
    return size;
}

TEST(png_round_trip) {
    shot s;
    open_shot(&s, WORLD("<geom type='plane' size='0 0 1'/>" BALL));
    take(&s);
    CHECK(round_trip(s.rgb, W, H) < sizeof s.rgb / 2);
    close_shot(&s);
    const int size[][2] = {{1, 1}, {1, 7}, {3, 1}, {257, 3}, {300, 200}};
    for (int i = 0; i < 5; i++) {
        int n = 3 * size[i][0] * size[i][1];
        uint8_t *rgb = calloc(1, (size_t)n);
        round_trip(rgb, size[i][0], size[i][1]); /* black */
        unsigned seed = 5;
        for (int k = 0; k < n; k++) rgb[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        round_trip(rgb, size[i][0], size[i][1]); /* noise */
        for (int k = 0; k < n; k++) rgb[k] = (uint8_t)(k % 600 / 3);
        round_trip(rgb, size[i][0], size[i][1]); /* stripes */
        free(rgb);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------- */

/* A soft ball is drawn as a ball; its skin follows its vertices. */
TEST(soft_bodies) {
    shot s, rigid;
    const char *ball =
        "<mujoco xmlns:sti='urn:stiction'><worldbody><sti:soft name='s' pos='0 0 1' size='0.2' "
        "edge='0.04' young='1e5' poisson='.4' rgba='1 0 0 1' group='1'/></worldbody></mujoco>";
    open_shot(&s, ball);
    open_shot(&rigid, WORLD(BALL));
    s.options.lookat[0] = s.options.lookat[1] = 0;
    s.options.lookat[2] = 1;
    s.options.distance = 1;
    s.options.elevation = 0;
    rigid.options = s.options;
    take(&s);
    take(&rigid);
    double cx, cy, pi = acos(-1), scale = 0.5 * H / tan(22.5 * pi / 180), r = scale * 0.2 / sqrt(1 - 0.04);
    int whole = count(&s, reddish, &cx, &cy), off = 0;
    CHECK_NEAR(whole, pi * r * r, 0.12 * pi * r * r);
    /* its normals are smooth: it looks as the rigid ball, but for the rim */
    for (int i = 0; i < W * H; i++) off += abs(s.rgb[3 * i] - rigid.rgb[3 * i]) > 24;
    CHECK(off < 0.15 * whole);
    double *x = sti_world_view(s.world, STI_FIELD_flexvert_xpos).data;
    for (int v = 0; v < s.model->nflexvert; v++) x[3 * v] += 0.2, x[3 * v + 2] = 1 + 0.5 * (x[3 * v + 2] - 1);
    take(&s);
    CHECK_NEAR(count(&s, reddish, &cx, &cy), 0.5 * whole, 0.04 * whole);
    CHECK_NEAR(cx, W / 2.0 + scale * 0.2, 1);
    x[0] = NAN; /* what is nowhere cannot be seen */
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) == 0);
    x[0] = 0;
    s.options.groups = 1;
    take(&s);
    CHECK(count(&s, reddish, &cx, &cy) == 0);
    close_shot(&s);
    close_shot(&rigid);
}

TEST(failing_allocations) {
    shot s;
    open_shot(&s,
              "<mujoco xmlns:sti='urn:stiction'><asset><mesh name='m' vertex='-.3 -.3 -.3 .3 -.3 -.3 0 .3 "
              "-.3 0 0 .4'/>"
              "<hfield name='h' nrow='3' ncol='3' size='.4 .3 .3 .1'/></asset><worldbody>"
              "<geom type='hfield' hfield='h' contype='0' conaffinity='0'/><geom type='mesh' mesh='m'/><geom "
              "type='plane' size='0 0 "
              "1'/><geom size='.1' rgba='1 0 0 "
              ".5'/><sti:soft name='s' pos='0 0 1' size='.2' edge='.1' young='1e5'/></worldbody></mujoco>");
    failing f = {1 << 30, 0};
    sti_world_options options = sti_world_options_default();
    sti_allocator allocator = {failing_resize, &f};
    options.allocator = &allocator;
    sti_world *world = sti_world_create(s.model, &options, NULL);
    REQUIRE(world);
    CHECK(sti_forward(world) == STI_OK);
    size_t before = f.live;
    sti_status status = STI_NO_MEMORY;
    int n = 0;
    for (; status != STI_OK && n < 200; n++) {
        f.left = n;
        sti_error error = {0};
        status = sti_picture_render(world, &s.options, s.rgb, &error);
        CHECK((status == STI_OK || status == STI_NO_MEMORY) && error.code == status);
        CHECK(f.live == before);
    }
    CHECK(n > 20 && n < 200);
    sti_world_destroy(world);
    CHECK(f.live == 0);
    close_shot(&s);
}

/* A renderer gives the pixels of single pictures, in any order of sizes, and refuses what it cannot draw. */
TEST(renderers) {
    shot s, other;
    static uint8_t kept[W * H * 3];
    float depth[W * H];
    open_shot(&s, WORLD("<geom type='plane' size='0 0 1'/>" BALL));
    open_shot(&other, WORLD(BALL));
    take(&s);
    memcpy(kept, s.rgb, sizeof kept);
    sti_renderer *r = sti_renderer_create(s.model, NULL, NULL);
    REQUIRE(r);
    sti_picture out = {.rgb = s.rgb, .depth = depth};
    sti_picture_options small = s.options;
    small.width = W / 3, small.height = H / 2;
    for (int i = 0; i < 3; i++) {
        CHECK(sti_renderer_draw(r, s.world, &small, &out, NULL) == STI_OK);
        CHECK(sti_renderer_draw(r, s.world, &s.options, &out, NULL) == STI_OK);
        CHECK(memcmp(kept, s.rgb, sizeof kept) == 0);
    }
    sti_error error = {0};
    CHECK(sti_renderer_draw(r, other.world, &s.options, &out, &error) == STI_ARGUMENT);
    CHECK(strstr(error.message, "another model"));
    CHECK(sti_renderer_draw(r, s.world, &s.options, &(sti_picture){0}, NULL) == STI_ARGUMENT);
    CHECK(sti_renderer_draw(NULL, s.world, &s.options, &out, NULL) == STI_ARGUMENT);
    CHECK(!sti_renderer_create(NULL, NULL, &error) && error.code == STI_ARGUMENT);
    sti_renderer_destroy(r);
    sti_renderer_destroy(NULL);
    close_shot(&s);
    close_shot(&other);
}

/* Threads share maps, rows of light, of shading, of layers and of bytes: the same bytes come of any number of them. */
TEST(any_number_of_threads) {
    static uint8_t kept[W * H * 3];
    shot s;
    open_shot(&s, WORLD("<geom type='plane' size='0 0 1'/><geom type='box' size='.2 .2 .2' pos='.3 0 .2' "
                        "rgba='0 1 0 .4'/>"
                        "<geom type='capsule' size='.1 .3' pos='-.4 .2 .4' rgba='.2 .4 1 .5'/>"
                        "<body pos='0 0 .199'><freejoint/><geom size='.2' rgba='1 0 0 1'/></body>"));
    CHECK(sti_step(s.world, 5) == STI_OK);
    s.options.contacts = true;
    take(&s);
    memcpy(kept, s.rgb, sizeof kept);
    for (int n = 2; n <= 11; n += 3) {
        sti_pool *pool = sti_pool_create(n, NULL);
        REQUIRE(pool);
        s.options.tasks = sti_pool_tasks(pool);
        memset(s.rgb, 0, sizeof s.rgb);
        take(&s);
        CHECK(memcmp(kept, s.rgb, sizeof kept) == 0);
        sti_pool_destroy(pool);
    }
    close_shot(&s);
}

MAIN(CASE(red_ball_in_the_middle), CASE(free_camera_follows_mujoco), CASE(free_camera_finds_the_scene),
     CASE(fixed_camera), CASE(depth_decides), CASE(alpha_mixes), CASE(all_kinds_show),
     CASE(sites_and_tendons_on_request), CASE(shadow_on_the_floor), CASE(awkward_views), CASE(refusals),
     CASE(pictures_repeat), CASE(png_round_trip), CASE(soft_bodies), CASE(failing_allocations),
     CASE(renderers), CASE(any_number_of_threads))
