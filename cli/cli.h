/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the `stiction` program share. */
#ifndef STI_CLI_H
#define STI_CLI_H

#include <stdio.h>
#include <stiction/stiction.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* ---- arguments -------------------------------------------------------------------------------- */

typedef enum arg_kind { ARG_FLAG, ARG_TEXT, ARG_REAL, ARG_INT } arg_kind;

/* An option; `to` is a bool, const char *, double or int by kind. */
typedef struct arg {
    const char *name; /* "--time"; "-o" for a short one */
    const char *metavar;
    const char *help;
    arg_kind kind;
    void *to;
} arg;

typedef struct usage {
    const char *name;     /* "run" */
    const char *operands; /* "FILE" */
    const char *summary;
    const char *examples; /* lines */
    const arg *args;
    int narg;
} usage;

typedef struct operands {
    const char **item; /* inside argv */
    int count;
} operands;

/* Reads options into their places and moves the operands to the front of argv. Returns false when the
   command is to end with *status: help was asked for, or something is wrong (and said). */
bool args_parse(const usage *usage, int argc, char **argv, operands *operands, int *status);
/* "stiction run: what is wrong", and where help is; returns EXIT_USAGE. */
int usage_error(const usage *usage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The item nearest to word, NULL if none is near. */
const char *nearest(const char *word, const char *const *items, int count);

/* ---- loading and saying what is wrong ------------------------------------------------------------ */

/* "file:line: element@attribute: message" and what to do next, on stderr; returns EXIT_FAILED. */
int report_error(const sti_error *error);
/* All errors and warnings of a report, on `out`. */
void print_report(const sti_report *report, FILE *out);
/* --allow-outside, for commands that load a scene. */
#define ARG_OUTSIDE(to) \
    { "--allow-outside", NULL, "let the scene name files outside its folder", ARG_FLAG, to }
sti_load_options load_options(bool outside);
/* A model, with warnings on stderr unless quiet; NULL after saying why. */
sti_model *load_model(const char *path, bool outside, bool quiet);
/* A world at a keyframe given by name or number (NULL = none); NULL after saying why. */
/* The keyframe of this name or number; -1 after saying which there are. */
int require_key(const sti_model *model, const char *key);
sti_world *make_world(const sti_model *model, const char *key, bool profile);
/* Its tree of stages with times, shares and iterations. */
void print_profile(const sti_world *world, int steps);
/* Sets opt.integrator by its MJCF name; false after saying what is wrong. */
bool set_integrator(sti_world *world, const char *name);
bool set_solver(sti_world *world, const char *name);
const char *integrator_name(int integrator);

/* ---- helpers ---------------------------------------------------------------------------------------- */

double seconds(void); /* of the monotonic clock */
/* Closes a file that was written; EXIT_FAILED after saying that something of it is lost. */
int close_written(FILE *file, const char *path);

/* A bar on stderr; on what is no terminal, a line at each quarter. */
typedef struct progress_bar {
    bool on, terminal;
    double start, shown; /* wall times */
    int quarter;         /* last quarter that was printed, when not on a terminal */
} progress_bar;
progress_bar progress_start(bool quiet);
void progress_show(progress_bar *bar, double fraction, const char *text);
void progress_stop(const progress_bar *bar);

/* A world as a PNG file of the given size ("640x480"); camera may be NULL. */
int write_picture(sti_world *world, const char *path, sti_picture_options *options);
bool parse_size(const char *text, int *width, int *height);
/* Runs the plotting module of the Python package. */
int run_plot(const char *recording, const char *output, const char *fields);
/* The history of the last solve: printed, and written and drawn if files are named. */
int show_history(const sti_workspace *workspace, const char *csv, const char *plot);
/* stiction bench coupled */
int bench_coupled(int argc, char **argv);

/* A mesh of tetrahedra, cut open, as a PNG file of the given size. */
int draw_tetmesh(const sti_tetmesh *mesh, const char *path, const char *size);

/* ---- commands ------------------------------------------------------------------------------------- */

int command_run(int argc, char **argv);
int command_info(int argc, char **argv);
int command_check(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_picture(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_solve(int argc, char **argv);
int command_view(int argc, char **argv);
int command_mesh(int argc, char **argv);

#endif
