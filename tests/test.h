/* SPDX-License-Identifier: Apache-2.0 */
/* A tiny test framework: TEST(name) { CHECK(...); } ... MAIN(name1, name2). */
#ifndef STI_TEST_H
#define STI_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* STI_ISA=0, 1, 2: the library uses no instructions newer than the baseline, AVX2, AVX-512 in this test (base/isa.h) */
int sti__isa_most(void);
int sti__isa_most(void) {
    const char *most = getenv("STI_ISA");
    return most ? atoi(most) : 2;
}

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

static int test_failures_, test_checks_;

#define TEST(name) static void name(void)
#define CHECK(condition)                                                           \
    do {                                                                           \
        test_checks_++;                                                            \
        if (!(condition)) {                                                        \
            test_failures_++;                                                      \
            fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #condition); \
        }                                                                          \
    } while (0)
/* |a - b| <= tolerance, and neither is a NaN */
#define CHECK_NEAR(a, b, tolerance)                                                                       \
    do {                                                                                                  \
        double a_ = (a), b_ = (b), t_ = (tolerance);                                                      \
        test_checks_++;                                                                                   \
        if (!(fabs(a_ - b_) <= t_)) {                                                                     \
            test_failures_++;                                                                             \
            fprintf(stderr, "%s:%d: %s = %.17g, expected %s = %.17g within %g\n", __FILE__, __LINE__, #a, \
                    a_, #b, b_, t_);                                                                      \
        }                                                                                                 \
    } while (0)
#define REQUIRE(condition)                                                           \
    do {                                                                             \
        test_checks_++;                                                              \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: REQUIRE(%s)\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

/* Runs all cases, or those named on the command line; the exit status says whether all passed. */
static inline int test_main(const test_case *cases, int count, int argc, char **argv) {
    int failed = 0, ran = 0;
    for (int i = 0; i < count; i++) {
        int chosen = argc < 2;
        for (int a = 1; a < argc; a++) chosen |= strcmp(argv[a], cases[i].name) == 0;
        if (!chosen) continue;
        test_failures_ = test_checks_ = 0;
        cases[i].run();
        if (test_checks_ == 0) {
            fprintf(stderr, "%s: nothing was checked\n", cases[i].name);
            test_failures_++;
        }
        printf("%s %s (%d checks)\n", test_failures_ ? "FAIL" : "ok  ", cases[i].name, test_checks_);
        failed += test_failures_ != 0;
        ran++;
    }
    if (ran == 0) {
        fprintf(stderr, "no such test\n");
        return 1;
    }
    return failed ? 1 : 0;
}
#define CASE(name) \
    { #name, name }
/* A case that compares instruction sets, with its comma: where the library has one only there is nothing to compare. */
#ifdef STI_HAVE_ISA
#define CASE_OF_ISA(name) CASE(name),
#else
#define CASE_OF_ISA(name)
#endif
#define MAIN(...)                                                                   \
    int main(int argc, char **argv) {                                               \
        static const test_case cases[] = {__VA_ARGS__};                             \
        return test_main(cases, (int)(sizeof cases / sizeof cases[0]), argc, argv); \
    }

#endif
