/* SPDX-License-Identifier: Apache-2.0 */
/* stiction solve: one problem from a file, with its certificate; or all solvers on a folder of them. */
#include "cli.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const solver_names[] = {
#define X(id, name) name,
    STI_SOLVERS(X)
#undef X
};
static const char *const kind_names[] = {
#define X(id, name) name,
    STI_ROWS(X)
#undef X
};

/* Where neither the command nor a capsule says another. */
#define STANDARD_TOL 1e-8

/* ---- options ------------------------------------------------------------------------------------ */

typedef struct settings {
    const char *solver, *coulomb, *linear, *preconditioner, *compare, *csv, *plot;
    double tol, full_error;
    int max_iterations, threads, repeat;
    bool rank, cold, history, all; /* all: every solver in turn */
} settings;

/* Index of a word in a list, -1 after saying what is wrong. */
static int find_word(const usage *u, const char *option, const char *word, const char *const *list,
                     int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return i;
    const char *near = nearest(word, list, count);
    usage_error(u, "%s cannot be \"%s\"%s%s%s", option, word, near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
    return -1;
}

static bool make_options(const usage *u, const settings *s, sti_solve_options *o) {
    static const char *const coulomb[] = {"relaxed", "exact"}, *const linear[] = {"auto", "direct", "pcg"};
    static const char *const preconditioners[] = {
#define X(id, name) name,
        STI_PRECONDITIONERS(X)
#undef X
    };
    *o = sti_solve_options_default();
    int a = s->all ? STI_SOLVER_AUTO : find_word(u, "--solver", s->solver, solver_names, STI_SOLVER_COUNT);
    int b = a < 0 ? -1 : find_word(u, "--coulomb", s->coulomb ? s->coulomb : "relaxed", coulomb, 2);
    int c = b < 0 ? -1 : find_word(u, "--linear", s->linear, linear, 3);
    int d = c < 0 ? -1
                  : find_word(u, "--preconditioner", s->preconditioner, preconditioners,
                              STI_PRECONDITIONER_COUNT);
    if (d < 0) return false;
    o->preconditioner = (sti_preconditioner)d;
    o->solver = (sti_solver)a;
    o->coulomb = (sti_coulomb)b;
    o->linear = (sti_linear)c;
    o->tol = s->tol > 0 ? s->tol : STANDARD_TOL;
    o->full_error = s->full_error;
    o->history = s->history;
    if (s->max_iterations > 0) o->max_iterations = s->max_iterations;
    bool good = s->tol >= 0 && s->full_error >= 0 && s->max_iterations >= 0 && s->threads >= 1 &&
                s->threads <= 256 && s->repeat >= 1;
    if (!good) usage_error(u, "tolerances, iterations, repeats and threads must be positive");
    return good;
}

/* ---- one solve ------------------------------------------------------------------------------------ */

/* A problem, room for its answer, and what the solver said. */
typedef struct job {
    sti_problem *problem;
    sti_capsule *capsule; /* NULL: a problem alone */
    sti_workspace *workspace;
    sti_pool *pool;
    double *v, *g;
    sti_solve_info info;
    sti_error error;
} job;

static void job_close(job *j) {
    free(j->v);
    free(j->g);
    sti_workspace_free(j->workspace);
    sti_capsule_close(j->capsule);
    sti_problem_free(j->problem);
    sti_pool_destroy(j->pool);
}

static bool job_open(job *j, const char *path, int threads) {
    memset(j, 0, sizeof *j);
    j->problem = sti_problem_load(path, NULL, &j->error);
    if (!j->problem) return false;
    j->capsule = sti_capsule_open(path, NULL, NULL);
    size_t n = (size_t)sti_problem_view(j->problem)->n, m = (size_t)sti_problem_scalar_rows(j->problem);
    j->v = calloc(n + 1, sizeof(double));
    j->g = calloc(m + 1, sizeof(double));
    j->workspace = sti_workspace_create(NULL, &j->error);
    if (threads > 1) j->pool = sti_pool_create(threads, NULL);
    if (j->v && j->g && j->workspace && (threads == 1 || j->pool)) return true;
    j->error = (sti_error){.code = STI_NO_MEMORY};
    snprintf(j->error.message, sizeof j->error.message, "not enough memory for a problem of %zu rows", m);
    return false;
}

/* A capsule is solved as its step was, where the command says nothing else. */
static void take_capsule(const job *j, const settings *s, sti_solve_options *o) {
    const sti_capsule *c = j->capsule;
    if (!c) return;
    if (!s->coulomb) o->coulomb = c->options.coulomb;
    if (!(s->tol > 0)) o->tol = c->options.tol;
    if (s->cold || c->n != sti_problem_view(j->problem)->n || c->m != sti_problem_scalar_rows(j->problem))
        return;
    o->guess_v = c->options.guess_v;
    o->guess_g = c->options.guess_g;
}

/* Solves `repeat` times; the time is the shortest. */
static bool job_run(job *j, sti_solve_options o, int repeat) {
    double best = INFINITY;
    if (j->pool) o.tasks = sti_pool_tasks(j->pool);
    for (int k = 0; k < repeat; k++) {
        if (sti_solve(j->problem, &o, j->workspace, j->v, j->g, &j->info, &j->error) != STI_OK) return false;
        best = fmin(best, j->info.seconds);
    }
    j->info.seconds = best;
    return true;
}

static void print_problem(const char *path, const sti_problem *p) {
    const sti_problem_arrays *a = sti_problem_view(p);
    int count[STI_ROW_KINDS] = {0}, hard = 0, m = sti_problem_scalar_rows(p);
    for (int i = 0; i < a->nrow; i++) count[a->rows[i].kind]++;
    for (int i = 0; i < m; i++) hard += a->R[i] == 0;
    printf("problem      %s\n", path);
    printf("rows         %d in %d blocks:", m, a->nrow);
    for (int k = 0; k < STI_ROW_KINDS; k++)
        if (count[k]) printf(" %d %s", count[k], kind_names[k]);
    printf("%s\n", hard ? hard == m ? ", hard" : ", partly hard" : ", regularised");
    if (a->n) printf("dofs         %d", a->n);
    else printf("form         Delassus, %d numbers", a->W.start[m]);
    int islands = sti_problem_islands(p, NULL, NULL);
    printf(", %d island%s\n", islands, islands == 1 ? "" : "s");
}

/* What is not defined for the problem is left out. */
static void print_certificate(const sti_certificate *c, bool rank) {
    const struct {
        const char *name, *unit;
        double value;
    } part[] = {{"momentum", "", c->momentum},
                {"natural map", "", c->natural},
                {"cone", "", c->cone},
                {"dissipation", " rad", c->dissipation},
                {"penetration", " m/s", c->penetration},
                {"De Saxce", "", c->desaxce}};
    printf("certificate  headline        %.3e\n", c->headline);
    if (isfinite(c->error_bar))
        printf("             error bar       %.3e sqrt(J), %.3e relative\n", c->error_bar, c->relative);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (!isnan(part[i].value))
            printf("             %-15s %.3e%s\n", part[i].name, part[i].value, part[i].unit);
    if (isfinite(c->full_raw))
        printf("             full error      %.3e raw, %.3e scaled\n", c->full_raw, c->full_scaled);
    if (rank) printf("forces       %d determined, %d only regularised\n", c->ndetermined, c->nregularised);
}

static void print_capsule(const sti_capsule *c, bool cold) {
    char headline[32] = "unknown (it was not solved)";
    if (!isnan(c->headline)) snprintf(headline, sizeof headline, "%.3e", c->headline);
    printf("capsule      t = %.6g s, certificate %s, trouble: %s; %s\n", c->time, headline,
           sti_trouble_word(c->troubles), cold ? "without its guess" : "from its guess");
}

static void print_answer(const job *j, const settings *s, const sti_solve_options *o) {
    const sti_solve_info *i = &j->info;
    printf("solver       %s, %s Coulomb\n", solver_names[i->solver],
           o->coulomb == STI_COULOMB_EXACT ? "exact" : "relaxed");
    printf("iterations   %d", i->iterations);
    const struct {
        const char *name;
        int count;
    } more[] = {{"outer", i->outer},
                {"products", i->products},
                {"pcg", i->pcg},
                {"line search", i->line_search},
                {"factorisations", i->factorisations}};
    for (size_t k = 0; k < sizeof more / sizeof more[0]; k++)
        if (more[k].count) printf(", %s %d", more[k].name, more[k].count);
    printf("\ntime         %.3f ms\n", 1e3 * i->seconds);
    for (int k = 0; k < STI_WARN_COUNT; k++)
        if (i->warnings[k])
            printf("warning      %s (%d)\n", sti_solve_warning_text((sti_solve_warning)k), i->warnings[k]);
    print_certificate(&i->certificate, s->rank);
    double tol = s->full_error > 0 ? s->full_error : o->tol;
    printf("%s at %s %g\n", i->converged ? "converged" : "NOT CONVERGED",
           s->full_error > 0 ? "full error" : "tolerance", tol);
}

static int solve_file(const char *path, const settings *s, sti_solve_options o) {
    job j;
    int status = EXIT_FAILED;
    bool open = job_open(&j, path, s->threads);
    if (open) take_capsule(&j, s, &o);
    if (!open || !job_run(&j, o, s->repeat)) report_error(&j.error);
    else {
        const double *v = sti_problem_view(j.problem)->n ? j.v : NULL;
        if (s->rank &&
            sti_certify(j.problem, v, j.g, o.coulomb, true, &j.info.certificate, NULL, &j.error) != STI_OK)
            report_error(&j.error);
        print_problem(path, j.problem);
        if (j.capsule) print_capsule(j.capsule, s->cold);
        print_answer(&j, s, &o);
        status = j.info.converged ? EXIT_OK : EXIT_FAILED;
        if (s->history && show_history(j.workspace, s->csv, s->plot) != EXIT_OK) status = EXIT_FAILED;
    }
    job_close(&j);
    return status;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

static bool is_problem(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void free_list(char **list, int count) {
    for (int i = 0; i < count; i++) free(list[i]);
    free(list);
}

/* The names of a folder's problems, sorted; -1 after saying what is wrong. */
static int list_folder(const char *folder, char ***out) {
    DIR *dir = opendir(folder);
    int count = 0;
    *out = NULL;
    if (!dir) {
        perror(folder);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_problem(entry->d_name)) continue;
        char **grown = realloc(*out, sizeof **out * ((size_t)count + 1)), *name = strdup(entry->d_name);
        if (grown) *out = grown;
        if (!grown || !name) {
            free(name);
            break;
        }
        (*out)[count++] = name;
    }
    closedir(dir);
    if (count) qsort(*out, (size_t)count, sizeof **out, by_name);
    else fprintf(stderr, "stiction solve: %s has no problems (*.h5, *.hdf5)\n", folder);
    return count ? count : -1;
}

static void progress(int done, int total, const char *name) {
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    if (!isatty(STDERR_FILENO)) return;
    memset(bar, '.', WIDTH);
    memset(bar, '#', (size_t)(WIDTH * done / total));
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %d/%d %-40.40s", bar, done, total, name);
    if (done == total) fprintf(stderr, "\r%*s\r", WIDTH + 60, "");
    fflush(stderr);
}

/* One line of the table and of the CSV file; an empty time where a solver cannot take the problem. */
static void report(const char *name, const char *solver, const job *j, bool solved, FILE *csv) {
    const sti_problem_arrays *a = sti_problem_view(j->problem);
    const sti_solve_info *i = &j->info;
    const sti_certificate *c = &i->certificate;
    if (solved)
        printf("%-36.36s %-7s %6d %6d %8d %10.3f %10.2e %10.2e %s\n", name, solver, a->nrow, a->n,
               i->iterations, 1e3 * i->seconds, c->headline, c->full_raw, i->converged ? "yes" : "no");
    else printf("%-36.36s %-7s %6d %6d %8s  %s\n", name, solver, a->nrow, a->n, "-", j->error.message);
    if (!csv) return;
    fprintf(csv, "\"%s\",%s,%d,%d,%d,", name, solver, a->nrow, a->n, solved ? i->iterations : 0);
    if (solved)
        fprintf(csv, "%.9g,%d,%.6e,%.6e,%.6e\n", i->seconds, i->converged, c->headline, c->full_raw,
                c->full_scaled);
    else fprintf(csv, ",0,,,\n");
}

static void print_header(void) {
    printf("%-36s %-7s %6s %6s %8s %10s %10s %10s %s\n", "problem", "solver", "blocks", "dofs", "iter", "ms",
           "headline", "full error", "converged");
}

/* All solvers on one problem; false if it cannot be read. */
static bool compare_file(const char *path, const char *name, const settings *s, sti_solve_options o,
                         FILE *csv) {
    job j;
    bool open = job_open(&j, path, s->threads);
    if (open) take_capsule(&j, s, &o);
    else report_error(&j.error);
    for (int k = 0; open && k < STI_SOLVER_AUTO; k++) {
        o.solver = (sti_solver)k;
        memset(&j.error, 0, sizeof j.error);
        bool solved = job_run(&j, o, s->repeat);
        report(name, solver_names[k], &j, solved, csv);
    }
    job_close(&j);
    return open;
}

static int compare(const settings *s, const sti_solve_options *o) {
    char **names, path[4096];
    static char scratch[] = "/tmp/stiction_XXXXXX.csv";
    const char *csv_path = s->csv;
    int count = list_folder(s->compare, &names), status = EXIT_OK;
    if (count < 0) return EXIT_FAILED;
    if (!csv_path && s->plot) {
        int fd = mkstemps(scratch, 4);
        if (fd >= 0) close(fd);
        csv_path = scratch;
    }
    FILE *csv = csv_path ? fopen(csv_path, "w") : NULL;
    if (csv_path && !csv) {
        perror(csv_path);
        free_list(names, count);
        return EXIT_FAILED;
    }
    if (csv)
        fprintf(csv,
                "problem,solver,blocks,dofs,iterations,seconds,converged,headline,full_raw,full_scaled\n");
    print_header();
    for (int i = 0; i < count; i++) {
        progress(i, count, names[i]);
        snprintf(path, sizeof path, "%s/%s", s->compare, names[i]);
        if (!compare_file(path, names[i], s, *o, csv)) status = EXIT_FAILED;
        fflush(stdout);
    }
    progress(count, count, "");
    if (csv && close_written(csv, csv_path) != EXIT_OK) status = EXIT_FAILED;
    else if (s->plot && run_plot(csv_path, s->plot, NULL) != EXIT_OK) status = EXIT_FAILED;
    if (csv_path == scratch) unlink(scratch);
    free_list(names, count);
    return status;
}

/* ---- command ------------------------------------------------------------------------------------------ */

int command_solve(int argc, char **argv) {
    settings s = {.solver = "auto", .linear = "auto", .preconditioner = "auto", .threads = 1, .repeat = 1};
    const arg args[] = {
        {"--solver", "NAME", "sap, apgd, newton, auto, or all of them in turn (auto)", ARG_TEXT, &s.solver},
        {"--tol", "X", "tolerance on the certificate's headline (the capsule's, or 1e-8)", ARG_REAL, &s.tol},
        {"--coulomb", "LAW", "exact (De Saxce) or relaxed, convex (the capsule's, or relaxed)", ARG_TEXT,
         &s.coulomb},
        {"--cold", NULL, "without the guess of a capsule", ARG_FLAG, &s.cold},
        {"--full-error", "X", "stop at this full error of FCLIB instead", ARG_REAL, &s.full_error},
        {"--linear", "NAME", "direct, pcg or auto (auto)", ARG_TEXT, &s.linear},
        {"--preconditioner", "NAME", "of pcg in soft bodies: jacobi, mg or auto (auto)", ARG_TEXT,
         &s.preconditioner},
        {"--max-iterations", "N", "stop there, with the best iterate", ARG_INT, &s.max_iterations},
        {"--threads", "N", "threads; the answer does not depend on them (1)", ARG_INT, &s.threads},
        {"--repeat", "N", "solve N times, report the shortest time (1)", ARG_INT, &s.repeat},
        {"--rank", NULL, "count the forces that the motion determines", ARG_FLAG, &s.rank},
        {"--history", NULL, "print the certificate's headline after each iteration", ARG_FLAG, &s.history},
        {"--compare", "FOLDER", "run all solvers on all problems of a folder", ARG_TEXT, &s.compare},
        {"--csv", "FILE", "with --compare or --history: write the table to a file", ARG_TEXT, &s.csv},
        {"--plot", "FILE.png", "with --compare: draw a performance profile; with --history: the headlines",
         ARG_TEXT, &s.plot},
    };
    const usage u = {
        "solve",
        "FILE | --compare FOLDER",
        "Solves a contact problem from an HDF5 file (ours or FCLIB's) and prints the error of the\n"
        "answer. Exit status 1 if it did not converge.",
        "  stiction solve stack.h5 --solver apgd --tol 1e-8 --coulomb exact\n"
        "  stiction solve bad/capsule-0001-certificate.h5 --history --plot history.png\n"
        "  stiction solve --compare problems --full-error 1e-6 --coulomb exact --csv out.csv --plot "
        "out.png\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    sti_solve_options options;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    s.all = strcmp(s.solver, "all") == 0;
    if (!make_options(&u, &s, &options)) return EXIT_USAGE;
    if (s.history && (s.compare || s.all)) return usage_error(&u, "--history is that of one solver");
    if (s.compare)
        return files.count ? usage_error(&u, "--compare takes a folder and no files") : compare(&s, &options);
    if ((s.csv || s.plot) && !s.history)
        return usage_error(&u, "--csv and --plot belong to --compare or --history");
    if (files.count == 0) return usage_error(&u, "which file?");
    if ((s.csv || s.plot) && files.count > 1) return usage_error(&u, "--csv and --plot are of one file");
    status = EXIT_OK;
    if (s.all) print_header();
    for (int i = 0; i < files.count; i++) {
        const char *path = files.item[i];
        bool good =
            s.all ? compare_file(path, path, &s, options, NULL) : solve_file(path, &s, options) == EXIT_OK;
        if (!good) status = EXIT_FAILED;
    }
    return status;
}
