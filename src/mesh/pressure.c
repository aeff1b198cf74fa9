/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure by depth: the distance of a node from the surface over the largest one, times the stiffness. */
#include "mesh/pressure.h"
#include "math/rot.h"
#include "mesh/distance.h"

void sti__pressure_gradients(const sti__tetmesh *mesh, const double *node, const double *value,
                             double *gradient) {
    for (int t = 0; t < mesh->ntet; t++) {
        const int *n = mesh->tet + 4 * (size_t)t;
        double g[4][3], *out = gradient + 3 * (size_t)t;
        double volume = sti__tet_gradients(node + 3 * (size_t)n[0], node + 3 * (size_t)n[1],
                                           node + 3 * (size_t)n[2], node + 3 * (size_t)n[3], g);
        v3_zero(out);
        if (!(volume > 0)) continue;
        for (int k = 0; k < 4; k++) v3_add_scaled(out, g[k], value[n[k]]);
    }
}

/* Nodes of the surface lie on it: -1 marks them before the others are measured. */
static double measure(const sti__tetmesh *mesh, const sti__distance *d, double *value) {
    double deepest = 0;
    for (int i = 0; i < 3 * mesh->ntri; i++) value[mesh->tri[i]] = -1;
    for (int i = 0; i < mesh->nnode; i++) {
        value[i] = value[i] < 0 ? 0 : sti__distance_to(d, mesh->node + 3 * (size_t)i, NULL, NULL);
        deepest = fmax(deepest, value[i]);
    }
    return deepest;
}

static bool is_shallow(const double *value, const int *tet) {
    return value[tet[0]] == 0 && value[tet[1]] == 0 && value[tet[2]] == 0 && value[tet[3]] == 0;
}

static double measure_middle(const sti__tetmesh *mesh, const sti__distance *d, const int *tet) {
    double x[3] = {0};
    for (int k = 0; k < 4; k++) v3_add_scaled(x, mesh->node + 3 * (size_t)tet[k], 0.25);
    return sti__distance_to(d, x, NULL, NULL);
}

/* Tets without a node inside are measured in their middle; false without memory. */
static bool measure_middles(const sti__tetmesh *mesh, const sti__distance *d, sti__pressure *f) {
    int count = 0;
    for (int t = 0; t < mesh->ntet; t++) count += is_shallow(f->value, mesh->tet + 4 * (size_t)t);
    if (count == 0) return true;
    f->middle = sti__alloc(f->allocator, sti__size(f->ntet, sizeof(double)));
    if (!f->middle) return false;
    for (int t = 0; t < mesh->ntet; t++) {
        const int *tet = mesh->tet + 4 * (size_t)t;
        f->middle[t] = is_shallow(f->value, tet) ? measure_middle(mesh, d, tet) : 0;
        f->deepest = fmax(f->deepest, f->middle[t]);
    }
    return true;
}

static sti_status measure_depths(const sti__tetmesh *mesh, sti__place place, sti__pressure *f,
                                 sti_error *error) {
    sti__distance d;
    sti_status status =
        sti__distance_create(mesh->node, mesh->ntri, mesh->tri, f->allocator, place, &d, error);
    if (status != STI_OK) return status;
    f->deepest = measure(mesh, &d, f->value);
    bool done = measure_middles(mesh, &d, f);
    sti__distance_free(&d);
    if (!done) return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the pressure field");
    if (!(f->deepest > 0)) return sti__fail_at(error, place, STI_MESH, "the mesh has no depth");
    for (int i = 0; i < mesh->nnode; i++) f->value[i] /= f->deepest;
    for (int t = 0; f->middle && t < mesh->ntet; t++) f->middle[t] /= f->deepest;
    return STI_OK;
}

static sti_status copy_depths(const sti__tetmesh *mesh, const double *depth, sti__place place,
                              sti__pressure *f, sti_error *error) {
    for (int i = 0; i < mesh->nnode; i++) {
        if (!(depth[i] >= 0 && depth[i] <= 1))
            return sti__fail_at(error, place, STI_ARGUMENT, "the depth of node %d is not between 0 and 1", i);
        f->value[i] = depth[i];
    }
    return STI_OK;
}

static sti_status fill(const sti__tetmesh *mesh, const double *depth, sti__place place, sti__pressure *f,
                       sti_error *error) {
    f->value = sti__alloc(f->allocator, sti__size(f->nnode, sizeof(double)));
    f->gradient = sti__alloc(f->allocator, sti__size(f->ntet, 3, sizeof(double)));
    if (!f->value || !f->gradient)
        return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the pressure field");
    return depth ? copy_depths(mesh, depth, place, f, error) : measure_depths(mesh, place, f, error);
}

sti_status sti__pressure_field(const sti__tetmesh *mesh, double stiffness, const double *depth,
                               const sti_allocator *allocator, sti__place place, sti__pressure *field,
                               sti_error *error) {
    *field = (sti__pressure){.nnode = mesh->nnode, .ntet = mesh->ntet, .allocator = allocator};
    sti_status status = STI_OK;
    if (!(stiffness > 0 && stiffness < HUGE_VAL))
        status = sti__fail_at(error, place, STI_VALUE, "the stiffness of a pressure field must be positive");
    if (status == STI_OK) status = fill(mesh, depth, place, field, error);
    if (status != STI_OK) {
        sti__pressure_free(field);
        return status;
    }
    for (int i = 0; i < mesh->nnode; i++) field->value[i] *= stiffness;
    for (int t = 0; field->middle && t < mesh->ntet; t++) field->middle[t] *= stiffness;
    sti__pressure_gradients(mesh, mesh->node, field->value, field->gradient);
    return STI_OK;
}

void sti__pressure_free(sti__pressure *field) {
    const sti_allocator *a = field->allocator;
    sti__free(a, field->value, (size_t)field->nnode * sizeof(double));
    sti__free(a, field->gradient, (size_t)field->ntet * 3 * sizeof(double));
    sti__free(a, field->middle, (size_t)field->ntet * sizeof(double));
    *field = (sti__pressure){.allocator = a};
}
