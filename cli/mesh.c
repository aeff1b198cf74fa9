/* SPDX-License-Identifier: Apache-2.0 */
/* stiction mesh: tetrahedra inside a surface, or checked from a file; one line of figures, a file, a picture. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *out, *plot, *size;
    double edge, max_volume, max_hausdorff;
    int nodes, max_tet;
    bool open, quiet;
} settings;

static void show(void *context, double fraction) { progress_show(context, fraction, "filling the surface"); }

/* What was put right or let pass, for whoever wants to know. */
static void print_notes(const sti_tetmesh_info *i) {
    if (i->turned) fprintf(stderr, "note: the faces of the surface looked inwards; they were turned over\n");
    if (i->welded) fprintf(stderr, "note: %d vertices at one place or unused\n", i->welded);
    if (i->dropped) fprintf(stderr, "note: %d triangles without area were left out\n", i->dropped);
    if (i->open_edges)
        fprintf(stderr, "note: %d open edges; inside is where the winding number is above 1/2\n",
                i->open_edges);
    if (i->crossings)
        fprintf(
            stderr,
            "note: the surface cuts itself (%d%s pairs of triangles); the union of its parts was filled\n",
            i->crossings, i->crossings >= 1000 ? " or more" : "");
    if (i->turned_tets)
        fprintf(stderr, "note: %d tetrahedra were inverted; they were turned\n", i->turned_tets);
    if (i->dropped_nodes)
        fprintf(stderr, "note: %d nodes belong to no tetrahedron; they were left out\n", i->dropped_nodes);
}

static void print_figures(const sti_tetmesh *m, const sti_tetmesh_info *i, double took) {
    printf("%d nodes, %d tets, %d surface triangles; volume %.6g m3", m->nnode, m->ntet, m->ntri, i->volume);
    if (i->filled)
        printf(" (%+.2f %%), Hausdorff %.3g m (%.2f edges)", 100 * i->volume_error, i->hausdorff,
               i->hausdorff / i->edge);
    printf("; dihedral %.1f to %.1f degrees; edges %.3g to %.3g m, mean %.3g; %.2f s\n", i->min_dihedral,
           i->max_dihedral, i->min_edge, i->max_edge, i->mean_edge, took);
}

/* Suggests what else may help, where we do not. */
static int failed(const sti_error *error, const char *path) {
    report_error(error);
    if (error->code == STI_MESH)
        fprintf(stderr,
                "  next: another --edge, or the slower way for hard surfaces: python3 -m stiction.mesh %s -o "
                "OUT.vtk\n",
                path);
    return EXIT_FAILED;
}

static int run(const char *path, const settings *s) {
    sti_tetmesh_options o = sti_tetmesh_options_default();
    sti_tetmesh_info info;
    sti_error error = {0};
    progress_bar bar = progress_start(s->quiet);
    double start = seconds();
    o.edge = s->edge;
    o.open = s->open;
    if (s->nodes > 0) o.nodes = s->nodes;
    if (s->max_tet > 0) o.max_tet = s->max_tet;
    if (s->max_volume > 0) o.max_volume = s->max_volume;
    if (s->max_hausdorff > 0) o.max_hausdorff = s->max_hausdorff;
    o.progress = show;
    o.context = &bar;
    sti_tetmesh *mesh = sti_tetmesh_load(path, &o, &info, &error);
    progress_stop(&bar);
    if (!mesh) return failed(&error, path);
    if (!s->quiet) print_notes(&info);
    print_figures(mesh, &info, seconds() - start);
    int status = EXIT_OK;
    if (s->out && sti_tetmesh_save(mesh, s->out, &error) != STI_OK) status = report_error(&error);
    if (s->plot && status == EXIT_OK) status = draw_tetmesh(mesh, s->plot, s->size);
    sti_tetmesh_free(mesh);
    return status;
}

int command_mesh(int argc, char **argv) {
    settings s = {.size = "800x600"};
    const arg args[] = {
        {"--out", "FILE", "write .vtk (binary legacy, with the depth) or .msh (Gmsh 4.1, also for MuJoCo)",
         ARG_TEXT, &s.out},
        {"--edge", "L", "edge length of the lattice, m (from --nodes)", ARG_REAL, &s.edge},
        {"--nodes", "N", "about so many nodes (1000)", ARG_INT, &s.nodes},
        {"--open", NULL, "fill surfaces with open edges too", ARG_FLAG, &s.open},
        {"--max-volume", "X", "refuse a larger relative error of the volume (0.1)", ARG_REAL, &s.max_volume},
        {"--max-hausdorff", "X", "refuse a larger distance of the surfaces, in edges (1)", ARG_REAL,
         &s.max_hausdorff},
        {"--max-tets", "N", "refuse more elements (1000000)", ARG_INT, &s.max_tet},
        {"--plot", "FILE.png", "picture of the mesh, cut open", ARG_TEXT, &s.plot},
        {"--size", "WxH", "of the picture (800x600)", ARG_TEXT, &s.size},
        {"--quiet", NULL, "no progress, no notes", ARG_FLAG, &s.quiet},
    };
    const usage u = {
        "mesh",
        "FILE",
        "Fills a closed surface (STL, OBJ, MuJoCo's MSH) with tetrahedra, or checks those of a VTK or\n"
        "Gmsh file, and reports sizes, angles and errors. Exit status 1 if the mesh is refused.",
        "  stiction mesh ball.stl --nodes 500 --out ball.vtk\n"
        "  stiction mesh finger.obj --edge 0.003 --out finger.msh --plot finger.png\n"
        "  stiction mesh body.msh\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    if (s.edge < 0 || s.nodes < 0 || s.max_tet < 0)
        return usage_error(&u, "--edge, --nodes and --max-tets must be positive");
    if (s.edge > 0 && s.nodes > 0) return usage_error(&u, "--edge or --nodes, not both");
    return run(files.item[0], &s);
}
