/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, allocation, arena, hash, pool, numbers and profile. */
#include "base/room.h"
#include "base/simd.h"
#include "test.h"
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an allocator that counts, checks sizes, and fails on request ------------------------------ */

typedef struct counter {
    size_t live, blocks, calls;
    size_t fail_at; /* 0 = never */
    int wrong_size;
} counter;

static void *count_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    size_t *block = ptr ? (size_t *)ptr - 2 : NULL;
    if (block && block[0] != old_size) c->wrong_size++;
    if (new_size && ++c->calls == c->fail_at) return NULL;
    c->live += new_size - (block ? old_size : 0);
    if (new_size == 0) {
        c->blocks--;
        free(block);
        return NULL;
    }
    if (!block) c->blocks++;
    block = realloc(block, new_size + 2 * sizeof *block);
    block[0] = new_size;
    if (!ptr) memset(block + 2, 0xa5, new_size);
    return block + 2;
}
static sti_allocator counting(counter *c) { return (sti_allocator){count_resize, c}; }

/* ---- errors ---------------------------------------------------------------------------------- */

TEST(statuses) {
    CHECK(strcmp(sti_status_name(STI_OK), "OK") == 0);
    CHECK(strcmp(sti_status_name(STI_FORMAT), "FORMAT") == 0);
    CHECK(strcmp(sti_status_text(STI_NO_MEMORY), "out of memory") == 0);
    CHECK(sti_status_name((sti_status)-1) != NULL && sti_status_text((sti_status)1000) != NULL);
}

/* The number of the library is that of its headers. */
TEST(version) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", STI_VERSION_MAJOR, STI_VERSION_MINOR, STI_VERSION_PATCH);
    CHECK(strcmp(sti_version(), text) == 0);
}

TEST(error_text) {
    sti_error e;
    char text[256], little[8];
    sti__place place = {"robot.xml", 12, "geom", "size"};
    CHECK(sti__fail_at(&e, place, STI_VALUE, "must be %s", "positive") == STI_VALUE);
    CHECK(e.code == STI_VALUE && e.line == 12);
    CHECK(strcmp(sti_error_format(&e, text, sizeof text), "robot.xml:12: geom@size: must be positive") == 0);
    CHECK(strcmp(sti_error_format(&e, little, sizeof little), "robot.x") == 0);
    sti__fail(&e, STI_FILE, "gone");
    CHECK(strcmp(sti_error_format(&e, text, sizeof text), "gone") == 0);
    CHECK(sti__fail(NULL, STI_LIMIT, "nobody listens") == STI_LIMIT);
    sti__fail_at(&e, (sti__place){.element = "body"}, STI_SCHEMA, "%s", "");
    CHECK(strcmp(sti_error_format(&e, text, sizeof text),
                 "body: an element or attribute is unknown or misplaced") == 0);
}

TEST(text_is_clean) {
    char out[8];
    sti__copy_text(out, sizeof out, "a\nb\x1b[\x7f");
    CHECK(strcmp(out, "a b [?") == 0);
    sti__copy_text(out, sizeof out, "12345\xc3\xa9"); /* fits exactly */
    CHECK(strcmp(out, "12345\xc3\xa9") == 0);
    sti__copy_text(out, sizeof out, "123456\xc3\xa9"); /* would be cut inside a character */
    CHECK(strcmp(out, "123456") == 0);
    sti__copy_text(out, sizeof out, "\xff\xc0\xaf\xed\xa0\x80"); /* stray, overlong, surrogate */
    CHECK(strcmp(out, "??????") == 0);
    sti__copy_text(out, sizeof out, "\xe2\x82"); /* unfinished at the end of the string */
    CHECK(strcmp(out, "??") == 0);
    sti__copy_text(out, sizeof out, NULL);
    CHECK(out[0] == 0);
    sti_error e;
    char huge[5000];
    memset(huge, 'x', sizeof huge - 1), huge[sizeof huge - 1] = 0;
    sti__fail_at(&e, (sti__place){huge, 1, huge, huge}, STI_VALUE, "%s", huge);
    CHECK(strlen(e.message) == sizeof e.message - 1 && strlen(e.element) == sizeof e.element - 1);
}

TEST(reports) {
    counter c = {0};
    sti_allocator a = counting(&c);
    sti_report report;
    sti_report_init(&report, &a);
    sti_error e;
    for (int i = 0; i < 500; i++) {
        sti__fail(&e, STI_VALUE, "number %d", i);
        sti__report_add(&report, i % 5 ? STI_SEVERITY_ERROR : STI_SEVERITY_WARNING, &e);
    }
    CHECK(report.count == STI_REPORT_MAX && report.nerror == 400 && report.nwarning == 100);
    CHECK(strcmp(report.items[7].error.message, "number 7") == 0);
    sti__report_add(NULL, STI_SEVERITY_ERROR, &e);
    sti_report_free(&report);
    CHECK(c.blocks == 0 && c.live == 0 && c.wrong_size == 0);
    c = (counter){.fail_at = 1};
    sti__report_add(&report, STI_SEVERITY_ERROR, &e);
    CHECK(report.nerror == 1 && report.count == 0);
    sti_report_free(&report);
}

/* ---- memory ------------------------------------------------------------------------------------ */

TEST(sizes_saturate) {
    CHECK(sti__mul(SIZE_MAX / 2, 3) == SIZE_MAX && sti__mul(6, 7) == 42 && sti__mul(0, SIZE_MAX) == 0);
    CHECK(sti__add(SIZE_MAX, 1) == SIZE_MAX && sti__add(40, 2) == 42);
    CHECK(sti__alloc(NULL, SIZE_MAX) == NULL && sti__alloc_aligned(NULL, SIZE_MAX) == NULL);
    CHECK(sti__alloc_aligned(NULL, SIZE_MAX - 8) == NULL);
}

TEST(allocation) {
    counter c = {0};
    sti_allocator a = counting(&c);
    for (int pass = 0; pass < 2; pass++) {
        const sti_allocator *use = pass ? NULL : &a;
        unsigned char *p = sti__alloc(use, 100);
        REQUIRE(p);
        int sum = 0;
        for (int i = 0; i < 100; i++) sum += p[i];
        p[99] = 7;
        p = sti__resize(use, p, 100, 1000);
        for (int i = 0; i < 1000; i++) sum += p[i];
        CHECK(sum == 7);
        sti__free(use, p, 1000);
        sti__free(use, NULL, 10);
        p = sti__alloc(use, 0);
        CHECK(p != NULL);
        sti__free(use, p, 0);
        for (size_t n = 0; n < 300; n += 37) {
            p = sti__alloc_aligned(use, n);
            CHECK(p && (uintptr_t)p % STI__ALIGN == 0);
            for (size_t i = 0; i < n; i++) sum += p[i], p[i] = 0xff;
            sti__free_aligned(use, p, n);
        }
        CHECK(sum == 7);
    }
    CHECK(c.blocks == 0 && c.live == 0 && c.wrong_size == 0 && c.calls > 0);
}

/* Sizes that do not fit are SIZE_MAX, whatever follows, and no allocation satisfies them. */
TEST(sizes_do_not_wrap) {
    int n = 1 << 30;
    CHECK(sti__size(n, n, 3) == (size_t)3 << 60);
    CHECK(sti__size(n, n, n) == SIZE_MAX && sti__size(n, n, n, 0) == 0 && sti__size(0, n, n, n) == 0);
    CHECK(sti__size(-1, 2) == SIZE_MAX);
    CHECK(sti__sum(n, n, n, n) == (size_t)n * 4 && sti__sum(SIZE_MAX - 3, 2, 2) == SIZE_MAX);
    CHECK(sti__padded(0) == 0 && sti__padded(1) == STI__ALIGN && sti__padded(STI__ALIGN) == STI__ALIGN);
    CHECK(sti__padded(SIZE_MAX) == SIZE_MAX && sti__padded(SIZE_MAX - 1) == SIZE_MAX);
    sti__cutter c = {0};
    sti__cut(&c, SIZE_MAX, 8);
    sti__cut(&c, 1, 1);
    CHECK(c.used == SIZE_MAX && sti__alloc_aligned(NULL, c.used) == NULL);
}

/* Blocks that grow: without memory all of them are as they were. */
TEST(growth_keeps_the_old_until_the_new_is_there) {
    for (int fail = 1; fail < 6; fail++) {
        counter n = {0};
        sti_allocator allocator = {count_resize, &n};
        sti__watch watch;
        sti_allocator watched = sti__watched(&watch, &allocator);
        int *a = NULL;
        double *b = NULL;
        void *block = NULL;
        size_t room = 0;
        const sti__array list[] = {{&a, sizeof *a}, {&b, 3 * sizeof *b}};
        REQUIRE(sti__grow_arrays(&watched, list, 2, 0, 4) && sti__make_room(&watched, &block, &room, 10, 2));
        a[3] = 7, b[11] = 8;
        CHECK(!watch.failed && room == 12);
        n.fail_at = n.calls + (size_t)fail;
        const void *old[] = {a, b, block};
        bool grown = sti__grow_arrays(&watched, list, 2, 4, 100);
        CHECK(grown == (fail > 2) && a[3] == 7 && b[11] == 8);
        CHECK(grown || (a == old[0] && b == old[1]));
        bool made = sti__make_room(&watched, &block, &room, 1000, 0);
        CHECK(made == (fail != 3) && room == (made ? 1000 : 12) && (made || block == old[2]));
        CHECK(watch.failed == (fail <= 3));
        sti__free(&watched, a, sti__size(grown ? 100 : 4, sizeof *a));
        sti__free(&watched, b, sti__size(grown ? 100 : 4, 3, sizeof *b));
        sti__free_aligned(&watched, block, room);
        CHECK(n.live == 0);
    }
}

TEST(vectors_grow) {
    counter c = {0};
    sti_allocator a = counting(&c);
    sti__vec v;
    sti__vec_init(&v, sizeof(int), &a);
    for (int i = 0; i < 1000; i++) CHECK(*(int *)sti__vec_push(&v, &i) == i);
    CHECK(v.count == 1000 && ((int *)v.data)[999] == 999 && ((int *)v.data)[0] == 0);
    v.count = 10;
    CHECK(*(int *)sti__vec_push(&v, NULL) == 0);
    sti__vec_free(&v);
    CHECK(c.blocks == 0 && c.wrong_size == 0 && v.count == 0);
    int i = 5;
    c = (counter){.fail_at = 2};
    for (int n = 0; n < 8; n++) CHECK(sti__vec_push(&v, &i));
    CHECK(sti__vec_push(&v, &i) == NULL && v.count == 8 && ((int *)v.data)[7] == 5);
    CHECK(sti__vec_push(&v, &i) != NULL);
    sti__vec_free(&v);
    CHECK(c.blocks == 0);
}

TEST(arenas) {
    size_t size = 2 * sti__arena_cost(100) + sti__arena_cost(1);
    sti__arena arena = {.base = sti__alloc_aligned(NULL, size), .size = size};
    char *p = sti__arena_take(&arena, 100);
    size_t mark = sti__arena_mark(&arena);
    char *q = sti__arena_take(&arena, 100), *r = sti__arena_take(&arena, 1);
    CHECK(p && q && r && q >= p + 100 && r >= q + 100);
    CHECK((uintptr_t)p % 64 == 0 && (uintptr_t)q % 64 == 0 && (uintptr_t)r % 64 == 0);
    CHECK(sti__arena_take(&arena, 1) == NULL && sti__arena_take(&arena, SIZE_MAX) == NULL);
    memset(q, 1, 100);
    sti__arena_release(&arena, mark);
    CHECK(arena.used == mark && arena.peak == size);
    CHECK(sti__arena_take(&arena, 50) == q);
    sti__arena_close(&arena);
    sti__free_aligned(NULL, arena.base, size);
}

/* ---- hash ---------------------------------------------------------------------------------------- */

/* Every bit of the input must turn about half of the output's bits. */
TEST(hash_mixes) {
    unsigned char data[70];
    for (int i = 0; i < 70; i++) data[i] = (unsigned char)(i * 37);
    for (size_t size = 1; size <= sizeof data; size += 23) {
        uint64_t h = sti__hash(STI__HASH_SEED, data, size);
        double total = 0;
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            int turned = __builtin_popcountll(h ^ sti__hash(STI__HASH_SEED, data, size));
            CHECK(turned > 8 && turned < 56);
            total += turned;
            data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        CHECK_NEAR(total / (8 * (double)size), 32, size == 1 ? 6 : 2);
        CHECK(h != sti__hash(1, data, size));
    }
}

TEST(hash_tells_lengths_apart) {
    unsigned char zero[256] = {0};
    uint64_t seen[257];
    for (size_t n = 0; n <= 256; n++) {
        seen[n] = sti__hash(0, zero, n);
        for (size_t m = 0; m < n; m++) CHECK(seen[m] != seen[n]);
    }
    CHECK(sti__hash(0, NULL, 0) == seen[0]);
}

/* ---- pool ------------------------------------------------------------------------------------------ */

typedef struct tally {
    atomic_int hits[1000];
    atomic_int uneven, depth;
    int count, grain;
    sti_tasks tasks;
} tally;

static void count_range(void *context, int begin, int end) {
    tally *t = context;
    if (begin % t->grain || (end - begin != t->grain && end != t->count)) atomic_fetch_add(&t->uneven, 1);
    for (int i = begin; i < end; i++) atomic_fetch_add(&t->hits[i], 1);
}

TEST(pool_covers_once) {
    static const int counts[] = {0, 1, 7, 64, 1000}, grains[] = {1, 3, 8, 2000};
    for (int nthread = 1; nthread <= 8; nthread++) {
        sti_pool *pool = sti_pool_create(nthread, NULL);
        REQUIRE(pool);
        sti_tasks tasks = sti_pool_tasks(pool);
        CHECK(tasks.nthread == nthread);
        for (int k = 0; k < 20; k++) {
            tally t = {.count = counts[k % 5], .grain = grains[k % 4]};
            tasks.run(tasks.system, t.count, t.grain, count_range, &t);
            int bad = 0;
            for (int i = 0; i < 1000; i++) bad += t.hits[i] != (i < t.count);
            CHECK(bad == 0 && t.uneven == 0);
        }
        sti_pool_destroy(pool);
    }
}

static void nest(void *context, int begin, int end) {
    tally *t = context;
    (void)end;
    tally inner = {.count = 100, .grain = 7};
    t->tasks.run(t->tasks.system, 100, 7, count_range, &inner);
    for (int i = 0; i < 100; i++)
        if (inner.hits[i] != 1) atomic_fetch_add(&t->uneven, 1);
    atomic_fetch_add(&t->hits[begin], 1);
}

TEST(pool_nests) {
    sti_pool *pool = sti_pool_create(4, NULL);
    tally t = {.tasks = sti_pool_tasks(pool)};
    t.tasks.run(t.tasks.system, 50, 1, nest, &t);
    for (int i = 0; i < 50; i++) CHECK(t.hits[i] == 1);
    CHECK(t.uneven == 0);
    sti_pool_destroy(pool);
}

static void *visitor(void *context) {
    tally *t = context;
    for (int i = 0; i < 50; i++) t->tasks.run(t->tasks.system, t->count, t->grain, count_range, t);
    return NULL;
}

TEST(pool_serves_two_callers) {
    sti_pool *pool = sti_pool_create(3, NULL);
    static tally a, b;
    a = (tally){.count = 500, .grain = 5, .tasks = sti_pool_tasks(pool)};
    b = (tally){.count = 300, .grain = 2, .tasks = sti_pool_tasks(pool)};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, visitor, &a) == 0);
    visitor(&b);
    pthread_join(thread, NULL);
    CHECK(a.uneven == 0 && b.uneven == 0);
    for (int i = 0; i < 500; i++) CHECK(a.hits[i] == 50 && b.hits[i] == (i < 300 ? 50 : 0));
    sti_pool_destroy(pool);
}

/* A child of fork has none of the threads: it works alone, and frees the pool without waiting for them; whatever the
   threads were doing when it began. */
TEST(pool_in_a_child) {
    for (int n = 0; n < 40; n++) {
        sti_pool *pool = sti_pool_create(2 + n % 4, NULL);
        static tally busy;
        busy = (tally){.count = 500, .grain = 5, .tasks = sti_pool_tasks(pool)};
        pthread_t thread;
        bool other = n % 2; /* another thread uses it meanwhile */
        if (other) REQUIRE(pthread_create(&thread, NULL, visitor, &busy) == 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            tally t = {.count = 700, .grain = 3};
            int bad = 0;
            sti_tasks tasks = sti_pool_tasks(pool);
            alarm(120);
            tasks.run(tasks.system, t.count, t.grain, count_range, &t);
            for (int i = 0; i < 1000; i++) bad += t.hits[i] != (i < t.count);
            sti_pool_destroy(pool);
            _exit(bad || t.uneven);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        if (other) pthread_join(thread, NULL);
        sti_pool_destroy(pool);
    }
}

TEST(pool_memory) {
    counter c = {.fail_at = 1};
    sti_allocator a = counting(&c);
    CHECK(sti_pool_create(2, &a) == NULL && c.blocks == 0);
    sti_pool *pool = sti_pool_create(-5, &a);
    CHECK(pool && sti_pool_tasks(pool).nthread == 1);
    sti_pool_destroy(pool);
    sti_pool_destroy(NULL);
    CHECK(c.blocks == 0 && c.wrong_size == 0);
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

/* The number that text starts with; `used` characters of it must be consumed. */
static double read_real(const char *text, int used) {
    double x;
    bool ok;
    const char *after = sti__parse_real(text, text + strlen(text), &x, &ok);
    CHECK(after == text + used && ok);
    return x;
}

static bool refused(const char *text, bool number) {
    double x;
    bool ok = true;
    const char *after = sti__parse_real(text, text + strlen(text), &x, &ok);
    return !ok && (after != NULL) == number;
}

static void all_numbers(void) {
    static const char *const good[] = {"0",
                                       "1",
                                       "-1",
                                       "+1",
                                       ".5",
                                       "5.",
                                       "-.5e1",
                                       "1e-5",
                                       "1E+5",
                                       "0.1",
                                       "123456789.123456789",
                                       "9007199254740993",
                                       "1.7976931348623157e308",
                                       "2.2250738585072014e-308",
                                       "5e-324",
                                       "2e-324",
                                       "1e-400",
                                       "0e999999999999999999999",
                                       "0.000000000000000000000000000000000000000000001e45",
                                       "123456789012345678901234567890",
                                       "8.5e22",
                                       "1e23",
                                       "9007199254740992.5",
                                       "3.14159265358979323846264338",
                                       "2.2250738585072011e-308",
                                       "179769313486231580793728971405301e276"};
    char *before = setlocale(LC_NUMERIC, NULL), name[64];
    snprintf(name, sizeof name, "%s", before);
    for (int i = 0; i < STI__COUNT(good); i++) {
        double x = read_real(good[i], (int)strlen(good[i]));
        setlocale(LC_NUMERIC, "C");
        double y = strtod(good[i], NULL);
        setlocale(LC_NUMERIC, name);
        CHECK(memcmp(&x, &y, sizeof x) == 0);
    }
}

TEST(numbers) {
    all_numbers();
    CHECK(read_real("1.5 2", 3) == 1.5 && read_real("1,5", 1) == 1 && read_real("1e", 1) == 1);
    CHECK(read_real("2e+x", 1) == 2 && read_real("1..2", 2) == 1 && signbit(read_real("-0", 2)));
    CHECK(refused("", false) && refused("-", false) && refused(".", false) && refused("e5", false));
    CHECK(refused(" 1", false) && refused("x", false) && refused("--1", false) && refused("n", false));
    CHECK(refused("nan", true) && refused("-INF", true) && refused("Infinity", true) && refused("NaN", true));
    CHECK(refused("1e400", true) && refused("-1e999999999999", true) && refused("0x10", true));
    CHECK(refused("1.7976931348623159e308", true));
    double x;
    bool ok;
    const char cut[] = "1234";
    CHECK(sti__parse_real(cut, cut + 2, &x, &ok) == cut + 2 && ok && x == 12);
}

/* Halfway between two doubles, decided by a digit far away. */
TEST(numbers_long) {
    char text[3000];
    int n = snprintf(text, sizeof text, "9007199254740993.");
    memset(text + n, '0', 2000);
    text[n + 2000] = 0;
    CHECK(read_real(text, n + 2000) == 9007199254740992.0); /* a tie goes to even */
    text[n + 1999] = '1';
    CHECK(read_real(text, n + 2000) == 9007199254740994.0);
    memset(text, '0', sizeof text - 1);
    text[sizeof text - 1] = 0;
    text[1] = '.';
    memcpy(text + 2990, "25e2989", 8);
    CHECK(read_real(text, (int)strlen(text)) == 2.5);
    memset(text, '1', 2999);
    CHECK(refused(text, true)); /* 1.1e2998 */
}

static uint64_t random_bits(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

TEST(numbers_round_trip) {
    uint64_t seed = 1;
    int bad = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_bits(&seed);
        double x, y;
        char text[40];
        bool ok;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        if (i % 2) x = (double)(int64_t)(bits % 2000000) * 1e-4 - 100;
        snprintf(text, sizeof text, "%.17g", x);
        sti__parse_real(text, text + strlen(text), &y, &ok);
        bad += !ok || memcmp(&x, &y, sizeof x) != 0;
    }
    CHECK(bad == 0);
}

TEST(numbers_ignore_locale) {
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    sti_error e;
    for (int i = 0; i < STI__COUNT(comma); i++)
        if (setlocale(LC_ALL, comma[i])) break;
    all_numbers();
    sti__fail(&e, STI_VALUE, "%.1f", 2.5);
    setlocale(LC_ALL, "C");
    CHECK(strcmp(e.message, "2.5") == 0);
}

/* ---- profile ------------------------------------------------------------------------------------------ */

TEST(profile_tree) {
    sti__profile p = {.on = true};
    for (int i = 0; i < 3; i++) {
        STI__ENTER(&p, "step");
        STI__ENTER(&p, "position");
        if (i) {
            STI__ENTER(&p, "tendon"); /* met later than its uncle "velocity" */
            STI__LEAVE(&p);
        }
        STI__LEAVE(&p);
        STI__ENTER(&p, "velocity");
        STI__LEAVE(&p);
        STI__LEAVE(&p);
    }
    static const char *const name[] = {"step", "position", "tendon", "velocity"};
    static const int parent[] = {-1, 0, 1, 0}, depth[] = {0, 1, 2, 1}, count[] = {3, 3, 2, 3};
    REQUIRE(p.count == 4 && p.depth == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(strcmp(p.node[i].name, name[i]) == 0);
        CHECK(p.node[i].parent == parent[i] && p.node[i].depth == depth[i] && p.node[i].count == count[i]);
    }
    CHECK(p.node[0].ticks >= p.node[1].ticks + p.node[3].ticks && p.node[1].ticks >= p.node[2].ticks);
    sti__profile_leave(&p); /* one too many */
    CHECK(p.depth == 0);
}

TEST(profile_limits) {
    static char names[100][16];
    sti__profile p = {.on = true};
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        sti__profile_enter(&p, names[i]);
        sti__profile_leave(&p);
    }
    CHECK(p.count == STI__PROFILE_MAX);
    p = (sti__profile){.on = true};
    for (int i = 0; i < 100; i++) sti__profile_enter(&p, names[i]);
    for (int i = 0; i < 100; i++) sti__profile_leave(&p);
    CHECK(p.depth == 0 && p.count == STI__COUNT(p.stack) && p.node[0].count == 1);
}

/* ---- vector loops ------------------------------------------------------------------------------------- */

TEST(simd_equals_scalar) {
    double a[103], b[103], y[103], z[103];
    uint64_t seed = 3;
    for (int n = 0; n <= 100; n++) {
        double exact = 0, size = 0;
        for (int i = 0; i < n + 3; i++) {
            a[i] = (double)(int64_t)random_bits(&seed) * 0x1p-60;
            b[i] = (double)(int64_t)random_bits(&seed) * 0x1p-63;
            y[i] = z[i] = a[i] - 3 * b[i];
        }
        for (int i = 0; i < n; i++) exact += a[i + 1] * b[i], size += fabs(a[i + 1] * b[i]);
        double s = sti__dot_scalar(a + 1, b, n), v = sti__dot_simd(a + 1, b, n); /* not aligned */
        CHECK(memcmp(&s, &v, sizeof s) == 0);
        CHECK_NEAR(v, exact, 1e-14 * size);
        sti__axpy_scalar(y + 1, 0.3, a, n);
        sti__axpy_simd(z + 1, 0.3, a, n);
        CHECK(memcmp(y, z, sizeof(double) * (size_t)(n + 3)) == 0);
        CHECK(n == 0 || z[n] == (a[n] - 3 * b[n]) + 0.3 * a[n - 1]);
        sti__scale_sub_scalar(y, 0.7, b + 2, n);
        sti__scale_sub_simd(z, 0.7, b + 2, n);
        CHECK(memcmp(y, z, sizeof(double) * (size_t)(n + 3)) == 0);
    }
}

MAIN(CASE(statuses), CASE(version), CASE(error_text), CASE(text_is_clean), CASE(reports),
     CASE(sizes_saturate), CASE(allocation), CASE(sizes_do_not_wrap),
     CASE(growth_keeps_the_old_until_the_new_is_there), CASE(vectors_grow), CASE(arenas), CASE(hash_mixes),
     CASE(hash_tells_lengths_apart), CASE(pool_covers_once), CASE(pool_nests), CASE(pool_serves_two_callers),
     CASE(pool_in_a_child), CASE(pool_memory), CASE(numbers), CASE(numbers_long), CASE(numbers_round_trip),
     CASE(numbers_ignore_locale), CASE(profile_tree), CASE(profile_limits), CASE(simd_equals_scalar))
