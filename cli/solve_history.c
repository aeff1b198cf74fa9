/* SPDX-License-Identifier: Apache-2.0 */
/* stiction solve --history: the certificate's headline after each iteration of a solver. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 40 };

static void print_history(const double *headline, int count) {
    int stride = (count + MOST_LINES - 1) / MOST_LINES;
    printf("history      headline after each of %d iterations", count);
    if (stride > 1) printf(", one of %d (--csv FILE has all)", stride);
    printf("\n");
    for (int i = 0; i < count; i++)
        if (i % stride == 0 || i == count - 1) printf("             %7d  %.3e\n", i + 1, headline[i]);
}

static int write_history(const char *path, const double *headline, int count) {
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    fprintf(out, "iteration,headline\n");
    for (int i = 0; i < count; i++) fprintf(out, "%d,%.17g\n", i + 1, headline[i]);
    return close_written(out, path);
}

/* Plots are made of a CSV file, of the caller's or of one that goes again. */
static int plot_history(const char *csv, const char *plot, const double *headline, int count) {
    char scratch[] = "/tmp/stiction_XXXXXX.csv";
    if (csv) return run_plot(csv, plot, NULL);
    int fd = mkstemps(scratch, 4);
    if (fd < 0) {
        fprintf(stderr, "%s: %s\n", scratch, strerror(errno));
        return EXIT_FAILED;
    }
    close(fd);
    int status = write_history(scratch, headline, count);
    if (status == EXIT_OK) status = run_plot(scratch, plot, NULL);
    unlink(scratch);
    return status;
}

int show_history(const sti_workspace *workspace, const char *csv, const char *plot) {
    int count, status = EXIT_OK;
    const double *headline = sti_workspace_history(workspace, &count);
    print_history(headline, count);
    if (csv) status = write_history(csv, headline, count);
    if (plot && status == EXIT_OK) status = plot_history(csv, plot, headline, count);
    return status;
}
