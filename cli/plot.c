/* SPDX-License-Identifier: Apache-2.0 */
/* stiction plot: hands over to the Python package. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of a program, 127 if it could not be started. */
static int run_program(char *const *argv, bool silent) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return 127;
    if (child == 0) {
        if (silent && !freopen("/dev/null", "w", stderr)) _exit(127);
        execvp(argv[0], argv);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The Python beside this program, as in a virtual environment; false if there is none. */
static bool python_beside(char *path, size_t size) {
    ssize_t n = readlink("/proc/self/exe", path, size);
    char *slash = n > 0 && (size_t)n < size ? memrchr(path, '/', (size_t)n) : NULL;
    if (!slash || (size_t)(slash + 1 - path) + sizeof "python3" > size) return false;
    memcpy(slash + 1, "python3", sizeof "python3");
    return access(path, X_OK) == 0;
}

/* The Python to use: $STICTION_PYTHON, or the one beside this program, or python3 on the path. */
static char *python(void) {
    static char fallback[] = "python3", beside[4096];
    char *chosen = getenv("STICTION_PYTHON");
    if (chosen && *chosen) return chosen;
    return python_beside(beside, sizeof beside) ? beside : fallback;
}

static int missing(void) {
    fprintf(stderr,
            "stiction plot: plots need the Python package of Stiction with matplotlib and h5py,\n"
            "  and %s does not have them.\n"
            "  next: `pip install '.[plot]'` in the source tree, or name another Python in "
            "STICTION_PYTHON\n",
            python());
    return EXIT_FAILED;
}

/* Runs the plotting module with some arguments. Python looks for modules where they are installed, neither in the present
   folder (-P) nor where the environment says (-E): what lies beside a recording must not be run. */
static int run_module(char *const *arguments, int count) {
    enum { MOST = 8 };
    static char e[] = "-E", p[] = "-P", m[] = "-m", module[] = "stiction.plot", c[] = "-c";
    static char probe[] = "import os; os.chdir('/'); import stiction.plot, h5py, matplotlib";
    char *test[] = {python(), e, p, c, probe, NULL}, *argv[5 + MOST + 1] = {python(), e, p, m, module};
    if (run_program(test, true) != 0) return missing();
    for (int i = 0; i < count && i < MOST; i++) argv[5 + i] = arguments[i];
    return run_program(argv, false) == 0 ? EXIT_OK : EXIT_FAILED;
}

int run_plot(const char *recording, const char *output, const char *fields) {
    static char o[] = "-o", field[] = "--field", end[] = "--", all[] = "";
    char *arguments[] = {o, (char *)output, field, fields ? (char *)fields : all, end, (char *)recording};
    return run_module(arguments, 6);
}

/* stiction plot coupled FILE.csv */
static int plot_coupled(const char *file, const char *output, bool summary) {
    static char word[] = "coupled", o[] = "-o", flag[] = "--summary-json", end[] = "--";
    char *arguments[] = {word,        o, (char *)output, summary ? flag : end, summary ? end : (char *)file,
                         (char *)file};
    return run_module(arguments, summary ? 6 : 5);
}

int command_plot(int argc, char **argv) {
    const char *output = "plot.png", *fields = NULL;
    bool summary = false;
    const arg args[] = {
        {"-o", "FILE", "the PNG file to write (plot.png)", ARG_TEXT, &output},
        {"--output", "FILE", "the same", ARG_TEXT, &output},
        {"--field", "LIST", "fields, separated by commas; all if not given", ARG_TEXT, &fields},
        {"--summary-json", NULL, "of coupled constraints: write a summary beside the picture, too", ARG_FLAG,
         &summary},
    };
    const usage u = {
        "plot",
        "[coupled] FILE",
        "Plots a trajectory that `stiction run --record` wrote, or after the word coupled the CSV file of\n"
        "`stiction bench coupled`. Needs the Python package.",
        "  stiction run robot.xml --record run.h5\n"
        "  stiction plot run.h5 -o run.png --field qpos,energy\n"
        "  stiction plot coupled coupled.csv -o coupled.png --summary-json\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    bool coupled = files.count > 0 && strcmp(files.item[0], "coupled") == 0;
    int left = files.count - coupled;
    if (left != 1) return usage_error(&u, left ? "one file, please" : "which file?");
    const char *file = files.item[coupled];
    if (access(file, R_OK) != 0) {
        fprintf(stderr, "%s: %s\n", file, strerror(errno));
        return EXIT_FAILED;
    }
    return coupled ? plot_coupled(file, output, summary) : run_plot(file, output, fields);
}
