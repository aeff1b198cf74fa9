/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh of tetrahedra, cut open, as a picture: flat shading, a depth buffer, dark edges. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

typedef struct canvas {
    int width, height;
    double *depth;
    uint8_t *rgb;
    double centre[3], scale; /* pixels per metre */
} canvas;

/* Looking from the front, right, above; x to the right, y down, z towards the viewer. */
static void project(const canvas *c, const double p[3], double out[3]) {
    static const double right[3] = {0.81915204, 0.57357644, 0}, up[3] = {-0.24240388, 0.34618861, 0.90630779},
                        out_of[3] = {0.51983679, -0.74240388, 0.42261826};
    double x = 0, y = 0, z = 0;
    for (int k = 0; k < 3; k++) {
        double d = p[k] - c->centre[k];
        x += right[k] * d;
        y += up[k] * d;
        z += out_of[k] * d;
    }
    out[0] = 0.5 * c->width + c->scale * x;
    out[1] = 0.5 * c->height - c->scale * y;
    out[2] = c->scale * z;
}

static double cross2(const double *a, const double *b, double x, double y) {
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

/* Twice the area over the edge opposite to each corner: heights, for the distance from the edges in pixels. */
static void heights(double v[3][3], double area, double h[3]) {
    for (int k = 0; k < 3; k++) {
        const double *a = v[(k + 1) % 3], *b = v[(k + 2) % 3];
        h[k] = fabs(area) / fmax(hypot(b[0] - a[0], b[1] - a[1]), 1e-9);
    }
}

static void draw_triangle(canvas *c, double v[3][3], const double colour[3]) {
    double area = cross2(v[0], v[1], v[2][0], v[2][1]), h[3];
    if (fabs(area) < 1e-9) return;
    heights(v, area, h);
    int x0 = (int)fmax(floor(fmin(v[0][0], fmin(v[1][0], v[2][0]))), 0);
    int x1 = (int)fmin(ceil(fmax(v[0][0], fmax(v[1][0], v[2][0]))), c->width - 1);
    int y0 = (int)fmax(floor(fmin(v[0][1], fmin(v[1][1], v[2][1]))), 0);
    int y1 = (int)fmin(ceil(fmax(v[0][1], fmax(v[1][1], v[2][1]))), c->height - 1);
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            double w[3], z = 0, edge = 1e9;
            for (int k = 0; k < 3; k++) {
                w[k] = cross2(v[(k + 1) % 3], v[(k + 2) % 3], x + 0.5, y + 0.5) / area;
                z += w[k] * v[k][2];
                edge = fmin(edge, w[k] * h[k]);
            }
            size_t at = (size_t)y * (size_t)c->width + (size_t)x;
            if (edge < 0 || z <= c->depth[at]) continue;
            c->depth[at] = z;
            for (int k = 0; k < 3; k++)
                c->rgb[3 * at + (size_t)k] = (uint8_t)((edge < 0.7 ? 0.45 : 1) * colour[k]);
        }
}

/* Surface grey, cut faces warm. */
static void draw_face(canvas *c, const double *node, const int tri[3], bool skin) {
    static const double grey[3] = {205, 210, 220}, warm[3] = {240, 170, 90};
    double v[3][3], a[3], b[3], n[3], colour[3];
    const double *p[3] = {node + 3 * (size_t)tri[0], node + 3 * (size_t)tri[1], node + 3 * (size_t)tri[2]};
    for (int k = 0; k < 3; k++) {
        project(c, p[k], v[k]);
        a[k] = p[1][k] - p[0][k];
        b[k] = p[2][k] - p[0][k];
    }
    n[0] = a[1] * b[2] - a[2] * b[1];
    n[1] = a[2] * b[0] - a[0] * b[2];
    n[2] = a[0] * b[1] - a[1] * b[0];
    double norm = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    double light = norm > 0 ? (0.3 * n[0] - 0.5 * n[1] + 0.81 * n[2]) / norm : 0;
    for (int k = 0; k < 3; k++) colour[k] = (skin ? grey : warm)[k] * (0.62 + 0.38 * fmax(light, 0));
    draw_triangle(c, v, colour);
}

/* All of it in the picture, in the middle. */
static void frame(canvas *c, const sti_tetmesh *m) {
    double lo[3] = {1e300, 1e300, 1e300}, hi[3] = {-1e300, -1e300, -1e300}, wide = 0, tall = 0;
    for (int i = 0; i < 3 * m->nnode; i++) {
        lo[i % 3] = fmin(lo[i % 3], m->node[i]);
        hi[i % 3] = fmax(hi[i % 3], m->node[i]);
    }
    for (int k = 0; k < 3; k++) c->centre[k] = 0.5 * (lo[k] + hi[k]);
    c->scale = 1;
    for (int i = 0; i < m->nnode; i++) {
        double p[3];
        project(c, m->node + 3 * (size_t)i, p);
        wide = fmax(wide, fabs(p[0] - 0.5 * c->width));
        tall = fmax(tall, fabs(p[1] - 0.5 * c->height));
    }
    c->scale = 0.46 * fmin(c->width / fmax(wide, 1e-12), c->height / fmax(tall, 1e-12));
}

/* Behind the plane through the middle, seen from the viewer's right. */
static bool is_kept(const canvas *c, const sti_tetmesh *m, int t) {
    double side = 0;
    for (int k = 0; k < 4; k++) {
        const double *p = m->node + 3 * (size_t)m->tet[4 * t + k];
        side += (p[0] - c->centre[0]) - (p[1] - c->centre[1]);
    }
    return side <= 0;
}

/* Bit k of a tet: its face opposite to node k belongs to the surface. */
static void mark_skin(const sti_tetmesh *m, uint8_t *skin) {
    for (int f = 0; f < m->ntri; f++) {
        const int *v = m->tri + 3 * (size_t)f, t = m->tri_tet[f];
        for (int k = 0; k < 4; k++) {
            int node = m->tet[4 * t + k];
            if (node != v[0] && node != v[1] && node != v[2]) skin[t] |= (uint8_t)(1 << k);
        }
    }
}

/* All faces of what is kept: the depth buffer finds those that are seen. */
static void draw(canvas *c, const sti_tetmesh *m, const uint8_t *skin) {
    static const int face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (int t = 0; t < m->ntet; t++) {
        if (!is_kept(c, m, t)) continue;
        for (int k = 0; k < 4; k++) {
            const int *n = m->tet + 4 * t, tri[3] = {n[face[k][0]], n[face[k][1]], n[face[k][2]]};
            draw_face(c, m->node, tri, skin[t] >> k & 1);
        }
    }
}

int draw_tetmesh(const sti_tetmesh *mesh, const char *path, const char *size) {
    canvas c = {0};
    sti_error error = {0};
    int status = EXIT_FAILED;
    if (!parse_size(size, &c.width, &c.height)) {
        fprintf(stderr, "stiction mesh: --size must be like 800x600\n");
        return EXIT_USAGE;
    }
    size_t pixels = (size_t)c.width * (size_t)c.height;
    c.depth = calloc(pixels, sizeof(double));
    c.rgb = calloc(pixels, 3);
    uint8_t *skin = calloc((size_t)mesh->ntet, 1);
    if (c.depth && c.rgb && skin) {
        for (size_t i = 0; i < pixels; i++) c.depth[i] = -1e300;
        for (size_t i = 0; i < 3 * pixels; i++) c.rgb[i] = 250;
        frame(&c, mesh);
        mark_skin(mesh, skin);
        draw(&c, mesh, skin);
        bool good = sti_picture_write_png(path, c.rgb, c.width, c.height, &error) == STI_OK;
        status = good ? EXIT_OK : report_error(&error);
    } else {
        fprintf(stderr, "stiction mesh: no memory for the picture\n");
    }
    free(c.depth);
    free(c.rgb);
    free(skin);
    return status;
}
