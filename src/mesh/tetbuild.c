/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/tetbuild.h"
#include "base/det.h"
#include <limits.h>
#include <math.h>

void sti__tetbuild_init(sti__tetbuild *build, const sti__tetmesh_options *options, sti_error *error) {
    *build = (sti__tetbuild){.error = error};
    if (options) build->options = *options;
    sti__vec_init(&build->node, 3 * sizeof(double), build->options.allocator);
    sti__vec_init(&build->tet, 4 * sizeof(int), build->options.allocator);
}

sti_status sti__tetbuild_expect(const sti__tetbuild *build, double ntet) {
    int limit = build->options.max_tet > 0 ? build->options.max_tet : STI__TET_MAX;
    if (ntet <= limit) return STI_OK;
    if (!(ntet < 1e15))
        return sti__fail_at(build->error, build->options.place, STI_LIMIT,
                            "the mesh would have more than the limit of %d tetrahedra", limit);
    return sti__fail_at(build->error, build->options.place, STI_LIMIT,
                        "the mesh would have about %.3g tetrahedra, more than the limit of %d; make the "
                        "edges %.2g times as long",
                        ntet, limit, sti__pow(ntet / limit, 1.0 / 3) * 1.05);
}

int sti__tetbuild_node(sti__tetbuild *build, double x, double y, double z) {
    double p[3] = {x, y, z};
    if (build->node.count >= INT_MAX / 4 || !sti__vec_push(&build->node, p)) {
        build->failed = true;
        return 0;
    }
    return (int)build->node.count - 1;
}

void sti__tetbuild_tet(sti__tetbuild *build, int a, int b, int c, int d) {
    int t[4] = {a, b, c, d};
    if (a == b || a == c || a == d || b == c || b == d || c == d) return;
    if (build->tet.count >= INT_MAX / 4 || !sti__vec_push(&build->tet, t)) build->failed = true;
}

void sti__tetbuild_prism(sti__tetbuild *build, const int bottom[3], const int top[3]) {
    int p[3] = {0, 1, 2};
    for (int pass = 0; pass < 3; pass++) {
        int k = pass % 2, t = p[k], a = p[k], b = p[k + 1];
        if (top[a] < top[b] || (top[a] == top[b] && bottom[a] < bottom[b])) continue;
        p[k] = p[k + 1];
        p[k + 1] = t;
    }
    sti__tetbuild_tet(build, bottom[p[0]], bottom[p[1]], bottom[p[2]], top[p[2]]);
    sti__tetbuild_tet(build, bottom[p[0]], bottom[p[1]], top[p[1]], top[p[2]]);
    sti__tetbuild_tet(build, bottom[p[0]], top[p[0]], top[p[1]], top[p[2]]);
}

sti_status sti__tetbuild_finish(sti__tetbuild *build, sti__tetmesh *mesh) {
    sti_status status;
    if (build->failed) {
        memset(mesh, 0, sizeof *mesh);
        mesh->allocator = build->options.allocator;
        status = sti__fail_at(build->error, build->options.place, STI_NO_MEMORY,
                              "out of memory for the tetrahedral mesh");
    } else {
        build->options.turn = true;
        status = sti__tetmesh_create((int)build->node.count, (const double *)build->node.data,
                                     (int)build->tet.count, (const int *)build->tet.data, &build->options,
                                     mesh, NULL, build->error);
    }
    sti__vec_free(&build->node);
    sti__vec_free(&build->tet);
    return status;
}

sti_status sti__tetbuild_check(const sti__tetbuild *build, const double *size, int nsize, double edge) {
    bool good = edge >= 0 && edge < HUGE_VAL;
    for (int k = 0; k < nsize; k++) good = good && size[k] > 0 && size[k] <= 1e9;
    return good ? STI_OK
                : sti__fail_at(build->error, build->options.place, STI_VALUE,
                               "the sizes of a shape must be above 0 and up to 1e9 m, and its edge length "
                               "not negative");
}

int sti__tetbuild_pieces(double length, double edge, int least) {
    double n = edge > 0 ? floor(length / edge + 0.5) : 0;
    return n < least ? least : n > 1e6 ? 1000000 : (int)n;
}
