/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies of cells of 1 cm, six tets each, as text for <flexcomp type="direct">. */
#ifndef STI_TEST_CELLS_H
#define STI_TEST_CELLS_H

#include <stdbool.h>
#include <stdio.h>

/* A block nx, 3, 6 with a hole from y = 0 to 3: x >= from and < to, z >= low and < 6 - low. To the end of the block it makes a clip. */
typedef struct cells {
    int nx, from, to, low;
} cells;

#define CELLS_NY 3
#define CELLS_NZ 6

static inline bool cells_has(const cells *c, int i, int j, int k) {
    bool hole = i >= c->from && i < c->to && k >= c->low && k < CELLS_NZ - c->low;
    return i >= 0 && i < c->nx && j >= 0 && j < CELLS_NY && k >= 0 && k < CELLS_NZ && !hole;
}

/* The number of a corner among those that cells have; -1: none has it. */
static inline int cells_corner(const cells *c, int i, int j, int k) {
    int count = 0;
    for (int at = 0; at < (c->nx + 1) * 28; at++) {
        int x = at / 28, y = at / 7 % 4, z = at % 7;
        bool used = false;
        for (int n = 0; n < 8; n++) used |= cells_has(c, x - n / 4, y - n / 2 % 2, z - n % 2);
        if (x == i && y == j && z == k) return used ? count : -1;
        count += used;
    }
    return -1;
}

/* Points, m, and tets around a diagonal of every cell. */
static inline void cells_write(const cells *c, char *point, char *element) {
    static const int around[] = {1, 3, 2, 6, 4, 5, 1};
    for (int at = 0; at < (c->nx + 1) * 28; at++) {
        int i = at / 28, j = at / 7 % 4, k = at % 7, v[8];
        if (cells_corner(c, i, j, k) >= 0) point += sprintf(point, " %g %g %g", .01 * i, .01 * j, .01 * k);
        if (!cells_has(c, i, j, k)) continue;
        for (int n = 0; n < 8; n++) v[n] = cells_corner(c, i + n / 4, j + n / 2 % 2, k + n % 2);
        for (int t = 0; t < 6; t++)
            element += sprintf(element, " %d %d %d %d", v[0], v[around[t + 1]], v[around[t]], v[7]);
    }
}

#endif
