/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of several worlds into lanes and out of them: squares of four by four are turned over in registers. */
#include "base/lane.h"
#include <string.h>

void STI_K(gather)(const double *const *from, int count, double *to);
void STI_K(scatter)(const double *from, int count, double *const *to);

#if STI_LANES == 1

void STI_K(gather)(const double *const *from, int count, double *to) {
    if (count) memcpy(to, from[0], sizeof *to * (size_t)count);
}
void STI_K(scatter)(const double *from, int count, double *const *to) {
    if (count) memcpy(to[0], from, sizeof *from * (size_t)count);
}

#else

typedef double four __attribute__((vector_size(32), aligned(8)));
#define PICK(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)

/* Row i becomes column i. */
static inline void turn(four r[4]) {
    four a = PICK(r[0], r[1], 0, 4, 2, 6), b = PICK(r[0], r[1], 1, 5, 3, 7);
    four c = PICK(r[2], r[3], 0, 4, 2, 6), d = PICK(r[2], r[3], 1, 5, 3, 7);
    r[0] = PICK(a, c, 0, 1, 4, 5);
    r[1] = PICK(b, d, 0, 1, 4, 5);
    r[2] = PICK(a, c, 2, 3, 6, 7);
    r[3] = PICK(b, d, 2, 3, 6, 7);
}

void STI_K(gather)(const double *const *from, int count, double *to) {
    int whole = count & ~3;
    for (int l = 0; l < STI_LANES; l += 4)
        for (int i = 0; i < whole; i += 4) {
            four r[4];
            for (int k = 0; k < 4; k++) r[k] = *(const four *)(from[l + k] + i);
            turn(r);
            for (int k = 0; k < 4; k++) *(four *)(to + (i + k) * STI_LANES + l) = r[k];
        }
    for (int i = whole; i < count; i++)
        for (int l = 0; l < STI_LANES; l++) to[i * STI_LANES + l] = from[l][i];
}

void STI_K(scatter)(const double *from, int count, double *const *to) {
    int whole = count & ~3;
    for (int l = 0; l < STI_LANES; l += 4)
        for (int i = 0; i < whole; i += 4) {
            four r[4];
            for (int k = 0; k < 4; k++) r[k] = *(const four *)(from + (i + k) * STI_LANES + l);
            turn(r);
            for (int k = 0; k < 4; k++) *(four *)(to[l + k] + i) = r[k];
        }
    for (int i = whole; i < count; i++)
        for (int l = 0; l < STI_LANES; l++) to[l][i] = from[i * STI_LANES + l];
}

#endif
