/* SPDX-License-Identifier: Apache-2.0 */
/* stiction check: load and compile, and say everything that is wrong. */
#include "cli.h"

/* Returns whether the file is in order. */
static bool check_file(const char *path, bool outside, bool strict, bool quiet) {
    sti_load_options options = load_options(outside);
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_load(path, &options, &report, &error);
    sti_model *model = spec ? sti_model_compile(spec, &report, &error) : NULL;
    if (model && sti_model_check_overlaps(model, &report, &error) != STI_OK) report_error(&error);
    bool good = model && !(strict && report.nwarning);
    if (!quiet) print_report(&report, stdout);
    if (!model && report.nerror == 0) report_error(&error); /* such as a missing file */
    if (!quiet)
        printf("%s: %s, %d error%s, %d warning%s\n", path, good ? "ok" : "failed", report.nerror,
               report.nerror == 1 ? "" : "s", report.nwarning, report.nwarning == 1 ? "" : "s");
    sti_model_free(model);
    sti_spec_free(spec);
    sti_report_free(&report);
    return good;
}

int command_check(int argc, char **argv) {
    bool strict = false, quiet = false, outside = false;
    const arg args[] = {
        {"--strict", NULL, "warnings count as errors", ARG_FLAG, &strict},
        {"--quiet", NULL, "print nothing, only set the exit status", ARG_FLAG, &quiet},
        ARG_OUTSIDE(&outside),
    };
    const usage u = {"check",
                     "FILE...",
                     "Validates MJCF files: loads and compiles them, and prints all errors and warnings,\n"
                     "among them links whose shapes overlap although no joint can separate them.\n"
                     "Exit status 0 if all are in order, 1 if not.",
                     "  stiction check robot.xml\n  stiction check --strict models/*.xml\n",
                     args,
                     sizeof args / sizeof args[0]};
    operands files;
    int status, failed = 0;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count == 0) return usage_error(&u, "which file?");
    for (int i = 0; i < files.count; i++) failed += !check_file(files.item[i], outside, strict, quiet);
    if (files.count > 1 && !quiet) printf("%d of %d files are in order\n", files.count - failed, files.count);
    return failed ? EXIT_FAILED : EXIT_OK;
}
