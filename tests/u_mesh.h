/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_U_MESH_H
#define TESTS_U_MESH_H

/* A mesh like a U, of outer size 0.2 x 0.1 x 0.1, whose notch takes 0.42 of that: it fills 58 % of its hull. Its legs stand on x = -0.08 and 0.08, the notch has its
   floor at z = 0.03 between x = -0.06 and 0.06. */
#define U_VERTEX                                                                                       \
    "-.1 -.05 0 .1 -.05 0 .1 -.05 .1 .06 -.05 .1 .06 -.05 .03 -.06 -.05 .03 -.06 -.05 .1 -.1 -.05 .1 " \
    "-.1 .05 0 .1 .05 0 .1 .05 .1 .06 .05 .1 .06 .05 .03 -.06 .05 .03 -.06 .05 .1 -.1 .05 .1 "
#define U_FACE                                                                                        \
    "0 1 4 8 12 9 1 2 4 9 12 10 2 3 4 10 12 11 0 4 5 8 13 12 0 5 7 8 15 13 5 6 7 13 15 14 0 8 1 1 8 " \
    "9 1 9 2 2 9 10 2 10 3 3 10 11 3 11 4 4 11 12 4 12 5 5 12 13 5 13 6 6 13 14 6 14 7 7 14 15 7 15 " \
    "0 0 15 8 "

#endif
