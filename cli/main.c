/* SPDX-License-Identifier: Apache-2.0 */
/* The `stiction` program: one command per file. */
#include "cli.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", command_run, "simulate a scene; record, plot or picture it"},
    {"view", command_view, "show a scene in the browser: contact forces, plots, dragging"},
    {"info", command_info, "show what is in a scene: sizes, tree, actuators, sensors"},
    {"check", command_check, "validate scenes: all errors and warnings, with lines"},
    {"profile", command_profile, "show where the time of a step goes"},
    {"bench", command_bench, "steps per second, as a table"},
    {"picture", command_picture, "draw a scene into a PNG file, without a display"},
    {"plot", command_plot, "plot a recorded trajectory"},
    {"mesh", command_mesh, "fill a surface with tetrahedra, or check a file of them"},
    {"solve", command_solve, "solve a contact problem from a file; compare solvers"},
};
enum { NCOMMAND = sizeof commands / sizeof commands[0] };

static void help(FILE *out) {
    fprintf(out, "usage: stiction COMMAND [OPTIONS] [FILE]\n\nPhysics of robots from MJCF files.\n\n");
    for (int i = 0; i < NCOMMAND; i++) fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "  %-9s this text, or that of a command\n  %-9s the version\n", "help", "version");
    fprintf(out, "\nexamples:\n"
                 "  stiction run robot.xml --time 3 --record run.h5 --plot run.png\n"
                 "  stiction info robot.xml\n"
                 "  stiction check models/*.xml\n"
                 "  stiction help run\n"
                 "\nexit status: 0 all well, 1 something failed, 2 wrong usage\n");
}

static int find_command(const char *name) {
    for (int i = 0; i < NCOMMAND; i++)
        if (strcmp(commands[i].name, name) == 0) return i;
    return -1;
}

static int unknown_command(const char *name) {
    const char *names[NCOMMAND];
    for (int i = 0; i < NCOMMAND; i++) names[i] = commands[i].name;
    const char *near = nearest(name, names, NCOMMAND);
    fprintf(stderr, "stiction: there is no command \"%s\"", name);
    if (near) fprintf(stderr, "; did you mean \"%s\"?", near);
    fprintf(stderr, "\nSee `stiction help` for all of them.\n");
    return EXIT_USAGE;
}

static int help_command(int argc, char **argv) {
    char flag[] = "--help", *arguments[] = {argc > 0 ? argv[0] : NULL, flag, NULL};
    if (argc == 0) {
        help(stdout);
        return EXIT_OK;
    }
    int i = find_command(argv[0]);
    return i < 0 ? unknown_command(argv[0]) : commands[i].run(2, arguments);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_command(argc - 2, argv + 2);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("stiction %s\n", sti_version());
        return EXIT_OK;
    }
    int i = find_command(name);
    return i < 0 ? unknown_command(name) : commands[i].run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    int status = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
        perror("stiction: standard output");
        status = EXIT_FAILED;
    }
    return status;
}
