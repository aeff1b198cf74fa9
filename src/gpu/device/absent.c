/* SPDX-License-Identifier: Apache-2.0 */
/* What a device has not: allocation other than from heaps, locales, files; and what the compiler calls for atomics. Compiled for the
   device alone. */
#include "gpu/orders.h"
#include "load/element.h"
#include "mesh/mesh.h"
#include "world/world.h"
#include <locale.h>
#include <stdlib.h>
#include <time.h>

void *calloc(size_t n, size_t size) { return (void)n, (void)size, NULL; }
void *realloc(void *block, size_t size) { return (void)block, (void)size, NULL; }
void free(void *block) { (void)block; }

locale_t newlocale(int mask, const char *name, locale_t base) { return (void)mask, (void)name, base; }
locale_t uselocale(locale_t locale) { return locale; }
void freelocale(locale_t locale) { (void)locale; }

int clock_gettime(clockid_t id, struct timespec *t) {
    uint64_t ns;
    (void)id;
    __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    t->tv_sec = (time_t)(ns / 1000000000u);
    t->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

/* Nobody can ask a world on a device for capsules. */
void sti__capsule_numbered(sti_world *world, int troubles) { (void)world, (void)troubles; }

/* ---- meshes that are made when a world is ------------------------------------------------------------------------- */

/* Models that need a hull which no collision does are refused before they get here. */
sti_status sti__mesh_from_lists(const double *vert, int nvert3, const double *face, int nface3,
                                const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                                sti_error *error) {
    (void)vert, (void)nvert3, (void)face, (void)nface3, (void)allocator, (void)place, (void)mesh, (void)error;
    return STI_UNSUPPORTED;
}
void sti__mesh_free(sti__mesh *mesh) { (void)mesh; }

/* ---- specs --------------------------------------------------------------------------------------------------------- */

/* What is derived of a model again, after its parameters were written, has no file to name. */
sti__eid sti__eid_of(const sti_element *element) { return (void)element, (sti__eid)0; }
sti__place sti__place_of(const sti_element *element) { return (void)element, (sti__place){0}; }
sti__place sti__place_attr(const sti_element *element, sti__aid attribute) {
    return (void)element, (void)attribute, (sti__place){0};
}
const sti_element *sti__first(const sti_element *parent, sti__eid id) { return (void)parent, (void)id, NULL; }
const sti_element *sti__next_same(const sti_element *element) { return (void)element, NULL; }
const sti_element *sti__root(const sti_spec *spec) { return (void)spec, NULL; }
const sti_allocator *sti__spec_allocator(const sti_spec *spec) { return (void)spec, NULL; }
const char *sti__text(const sti_element *element, sti__aid attribute) {
    return (void)element, (void)attribute, NULL;
}
int sti__keyword(const sti_element *element, sti__aid attribute, int otherwise) {
    return (void)element, (void)attribute, otherwise;
}
sti_element *sti_element_child(const sti_element *element) { return (void)element, NULL; }
sti_element *sti_element_next(const sti_element *element) { return (void)element, NULL; }
sti_element *sti_element_parent(const sti_element *element) { return (void)element, NULL; }
size_t strspn(const char *text, const char *set) { return (void)text, (void)set, (size_t)0; }
size_t strcspn(const char *text, const char *set) { return (void)text, (void)set, (size_t)0; }

/* ---- orderings that the processor was not asked for ------------------------------------------------------------- */

unsigned long long sti_gpu_reordered; /* of all worlds */
void sti__gpu_count_reordered(void) { __nvvm_atom_add_gen_ll((long long *)&sti_gpu_reordered, 1); }

/* ---- atomics ------------------------------------------------------------------------------------------------------- */

unsigned long __atomic_load_8(const volatile void *p, int order) {
    return (void)order, *(const volatile unsigned long *)p;
}
unsigned __atomic_load_4(const volatile void *p, int order) {
    return (void)order, *(const volatile unsigned *)p;
}
bool __atomic_load_1(const volatile void *p, int order) { return (void)order, *(const volatile bool *)p; }
void __atomic_store_8(volatile void *p, unsigned long x, int order) {
    (void)order;
    *(volatile unsigned long *)p = x;
}
void __atomic_store_4(volatile void *p, unsigned x, int order) {
    (void)order;
    *(volatile unsigned *)p = x;
}
void __atomic_store_1(volatile void *p, bool x, int order) {
    (void)order;
    *(volatile bool *)p = x;
}
unsigned long __atomic_fetch_add_8(volatile void *p, unsigned long x, int order) {
    return (void)order, (unsigned long)__nvvm_atom_add_gen_ll((long long *)p, (long long)x);
}
bool __atomic_compare_exchange_8(volatile void *p, void *expected, unsigned long desired, int success,
                                 int failure) {
    unsigned long want = *(unsigned long *)expected;
    unsigned long was =
        (unsigned long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)want, (long long)desired);
    (void)success, (void)failure;
    *(unsigned long *)expected = was;
    return was == want;
}

/* Of a world alone, which is one thread's. */
unsigned __atomic_fetch_add_4(volatile void *p, unsigned x, int order) {
    unsigned was = *(volatile unsigned *)p;
    (void)order;
    *(volatile unsigned *)p = was + x;
    return was;
}
bool __atomic_compare_exchange_4(volatile void *p, void *expected, unsigned desired, int success,
                                 int failure) {
    unsigned want = *(unsigned *)expected, was = *(volatile unsigned *)p;
    (void)success, (void)failure;
    if (was == want) *(volatile unsigned *)p = desired;
    *(unsigned *)expected = was;
    return was == want;
}

/* ---- copies ---------------------------------------------------------------------------------------------------------- */

void sti__gpu_memcpy(void *to, const void *from, size_t n);
void sti__gpu_memmove(void *to, const void *from, size_t n);
void sti__gpu_memset(void *to, unsigned char byte, size_t n);

/* Whether all is of whole numbers of eight bytes. */
static bool is_whole(const void *to, const void *from, size_t n) {
    return (((uintptr_t)to | (uintptr_t)from | n) & 7) == 0;
}

__attribute__((no_builtin("memcpy", "memmove"))) void sti__gpu_memcpy(void *to, const void *from, size_t n) {
    if (!is_whole(to, from, n)) {
        for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
        return;
    }
    uint64_t *out = to;
    const uint64_t *in = from;
    size_t i = 0;
    for (n /= 8; i + 4 <= n; i += 4) {
        uint64_t a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < n; i++) out[i] = in[i];
}

__attribute__((no_builtin("memcpy", "memmove"))) void sti__gpu_memmove(void *to, const void *from, size_t n) {
    if ((uintptr_t)to <= (uintptr_t)from) {
        sti__gpu_memcpy(to, from, n);
    } else if (is_whole(to, from, n)) {
        for (size_t i = n / 8; i-- > 0;) ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
    } else {
        for (size_t i = n; i-- > 0;) ((char *)to)[i] = ((const char *)from)[i];
    }
}

__attribute__((no_builtin("memset"))) void sti__gpu_memset(void *to, unsigned char byte, size_t n) {
    if (is_whole(to, to, n))
        for (size_t i = 0; i < n / 8; i++) ((uint64_t *)to)[i] = UINT64_C(0x0101010101010101) * byte;
    else
        for (size_t i = 0; i < n; i++) ((unsigned char *)to)[i] = byte;
}
