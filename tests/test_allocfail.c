/* SPDX-License-Identifier: Apache-2.0 */
/* Fails every allocation in turn while a scene is loaded, compiled, simulated and written: first
   through the user's allocator, then in the C library, which covers expat and qhull too. */
#include "robust.h"
#include "test.h"
#include <errno.h>
#include <unistd.h>

/* ---- malloc of the whole process --------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
#define OWN_MALLOC 1

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void __libc_free(void *ptr);

static struct {
    bool armed, failed;
    long calls, fail_at, live;
} heap;

/* Whether this allocation is the one to fail. */
static bool fails(void) {
    if (!heap.armed || ++heap.calls != heap.fail_at) return false;
    heap.failed = true;
    errno = ENOMEM;
    return true;
}

/* visible, so that shared libraries call these too */
#pragma GCC visibility push(default)
void *malloc(size_t size) {
    if (fails()) return NULL;
    void *p = __libc_malloc(size);
    heap.live += heap.armed && p;
    return p;
}
void *calloc(size_t count, size_t size) {
    if (fails()) return NULL;
    void *p = __libc_calloc(count, size);
    heap.live += heap.armed && p;
    return p;
}
void *realloc(void *ptr, size_t size) {
    if (fails()) return NULL;
    void *p = __libc_realloc(ptr, size);
    heap.live += heap.armed && p && !ptr;
    return p;
}
void free(void *ptr) {
    heap.live -= heap.armed && ptr;
    __libc_free(ptr);
}
#pragma GCC visibility pop
#endif

/* ---- what is done ---------------------------------------------------------------------------------- */

static unsigned char cube[CUBE_SIZE];
static sti_asset assets[2];

static sti_load_options load_options(const sti_allocator *allocator) {
    sti_load_options options = sti_load_options_default();
    make_cube(cube);
    assets[0] = (sti_asset){"part.xml", part_xml, sizeof part_xml - 1};
    assets[1] = (sti_asset){"cube.stl", cube, sizeof cube};
    options.assets = assets;
    options.nasset = 2;
    options.allocator = allocator;
    options.no_disk = true;
    return options;
}

static sti_status use_world(const sti_model *model, const sti_allocator *allocator, sti_error *error) {
    sti_world_options options = sti_world_options_default();
    options.allocator = allocator;
    options.profile = true;
    sti_world *world = sti_world_create(model, &options, error);
    if (!world) return error->code;
    sti_status status = sti_step(world, 2);
    if (status == STI_OK) status = sti_world_reset(world, 0);
    if (status != STI_OK) *error = *sti_world_error(world);
    sti_world_destroy(world);
    return status;
}

static char disk_path[64]; /* the scene as a file, while a test runs */

static void write_scene(void) {
    snprintf(disk_path, sizeof disk_path, "/tmp/stiction-XXXXXX");
    int file = mkstemp(disk_path);
    ssize_t size = (ssize_t)sizeof everything_xml - 1;
    REQUIRE(file >= 0 && write(file, everything_xml, (size_t)size) == size);
    close(file);
}

static sti_status from_disk(const sti_allocator *allocator, sti_error *error) {
    sti_load_options options = load_options(allocator);
    options.no_disk = false;
    sti_model *model = sti_model_load(disk_path, &options, NULL, error);
    sti_model_free(model);
    return model ? STI_OK : error->code;
}

/* From memory to a world and back to text. */
static sti_status from_memory(const sti_allocator *allocator, sti_error *error) {
    sti_load_options options = load_options(allocator);
    memset(error, 0, sizeof *error);
    sti_spec *spec = sti_spec_parse(everything_xml, sizeof everything_xml - 1, &options, NULL, error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, error) : NULL;
    sti_model *copy = model ? sti_model_copy(model, error) : NULL;
    sti_status status = copy ? use_world(copy, allocator, error) : error->code;
    size_t size;
    char *text = copy && status == STI_OK ? sti_spec_write(spec, false, &size, error) : NULL;
    if (text) sti_string_free(spec, text, size);
    else if (status == STI_OK) status = error->code;
    sti_model_free(copy);
    sti_model_free(model);
    sti_spec_free(spec);
    return status;
}

static sti_status everything(const sti_allocator *allocator, sti_error *error) {
    sti_status status = from_memory(allocator, error);
    return status == STI_OK ? from_disk(allocator, error) : status;
}

TEST(all_is_well) {
    write_scene();
    counter c = {0};
    sti_allocator allocator = counter_allocator(&c);
    sti_error error;
    sti_status status = everything(&allocator, &error);
    char text[1024];
    if (status != STI_OK) fprintf(stderr, "%s\n", sti_error_format(&error, text, sizeof text));
    CHECK(status == STI_OK);
    CHECK(c.blocks == 0 && c.live == 0 && c.wrong_size == 0);
    unlink(disk_path);
    printf("     %ld allocations, at most %zu bytes\n", c.calls, c.peak);
}

/* ---- failing ------------------------------------------------------------------------------------------ */

/* Some failures are survived, such as that of a table that only saves time (made anew for a net of a mesh) and of a warning; few may
   be. */
typedef struct tally {
    long bad, leaks, survived;
} tally;

static void judge(tally *t, long n, bool failed, sti_status status, const sti_error *error, long left) {
    t->survived += failed && status == STI_OK;
    if (status != STI_OK && (status != STI_NO_MEMORY || !failed) && t->bad++ < 5)
        fprintf(stderr, "allocation %ld: %s, %s\n", n, sti_status_name(status), error->message);
    if (left && t->leaks++ < 5) fprintf(stderr, "allocation %ld: %ld blocks leak\n", n, left);
}

static long user_allocations;

static void conclude(const tally *t, long n) {
    printf("     %ld allocations failed in turn, %ld survived\n", n, t->survived);
    CHECK(t->bad == 0);
    CHECK(t->leaks == 0);
    CHECK(t->survived <= 6);
    CHECK(n > 100);
}

TEST(user_allocator_fails) {
    tally t = {0};
    write_scene();
    long n = 0;
    for (bool failed = true; failed;) {
        counter c = {.fail_at = ++n};
        sti_allocator allocator = counter_allocator(&c);
        sti_error error;
        sti_status status = everything(&allocator, &error);
        failed = c.failed;
        judge(&t, n, failed, status, &error, c.blocks);
        if (c.live || c.wrong_size) CHECK(false);
    }
    unlink(disk_path);
    conclude(&t, n - 1);
    user_allocations = n - 1;
}

#ifdef OWN_MALLOC
/* The C library may keep what it allocates for itself, so a first round warms it up. */
TEST(process_malloc_fails) {
    tally t = {0};
    long n = 0;
    sti_error error;
    write_scene();
    everything(NULL, &error);
    for (bool failed = true; failed;) {
        memset(&heap, 0, sizeof heap);
        heap.fail_at = ++n;
        heap.armed = true;
        sti_status status = everything(NULL, &error);
        heap.armed = false;
        failed = heap.failed;
        judge(&t, n, failed, status, &error, heap.live);
    }
    unlink(disk_path);
    conclude(&t, n - 1);
    CHECK(n > user_allocations + 100); /* expat and qhull are really covered */
}
#else
TEST(process_malloc_fails) {
    printf("     skipped: a sanitizer or another C library owns malloc\n");
    CHECK(true);
}
#endif

MAIN(CASE(all_is_well), CASE(user_allocator_fails), CASE(process_malloc_fails))
