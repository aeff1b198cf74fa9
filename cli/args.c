/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: --name VALUE, --name=VALUE, -o VALUE, and -- for the end of options. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 32, ARG_MAX_COUNT = 40 };

/* Levenshtein distance of two short words; long ones are far from everything. */
static int distance(const char *a, const char *b) {
    int row[WORD_MAX + 1], n = (int)strlen(b);
    if (n > WORD_MAX || strlen(a) > WORD_MAX) return WORD_MAX;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

const char *nearest(const char *word, const char *const *items, int count) {
    const char *best = NULL;
    int least = 4;
    for (int i = 0; i < count; i++) {
        int d = distance(word, items[i]);
        if (d < least && d < (int)strlen(items[i])) {
            least = d;
            best = items[i];
        }
    }
    return best;
}

static void print_help(const usage *u) {
    printf("usage: stiction %s [OPTIONS] %s\n\n%s\n", u->name, u->operands, u->summary);
    printf("\noptions:\n");
    for (int i = 0; i < u->narg; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", u->args[i].name, u->args[i].metavar ? " " : "",
                 u->args[i].metavar ? u->args[i].metavar : "");
        printf("  %-22s %s\n", left, u->args[i].help);
    }
    printf("  %-22s this text\n", "--help");
    printf("\nexamples:\n%s", u->examples);
}

int usage_error(const usage *u, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "stiction %s: ", u->name);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\nSee `stiction %s --help`.\n", u->name);
    return EXIT_USAGE;
}

static const arg *find_arg(const usage *u, const char *name, size_t length) {
    for (int i = 0; i < u->narg; i++)
        if (strlen(u->args[i].name) == length && memcmp(u->args[i].name, name, length) == 0)
            return &u->args[i];
    return NULL;
}

static int unknown_option(const usage *u, const char *word, size_t length) {
    const char *names[ARG_MAX_COUNT];
    char text[64];
    int count = 0;
    for (; count < u->narg && count < ARG_MAX_COUNT - 1; count++) names[count] = u->args[count].name;
    names[count++] = "--help";
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    const char *near = nearest(text, names, count);
    return near ? usage_error(u, "there is no option %s; did you mean %s?", text, near)
                : usage_error(u, "there is no option %s", text);
}

static bool store(const usage *u, const arg *a, const char *value, int *status) {
    char *end = NULL;
    errno = 0;
    if (a->kind == ARG_TEXT) {
        *(const char **)a->to = value;
        return true;
    }
    if (a->kind == ARG_REAL) {
        double x = strtod(value, &end);
        *(double *)a->to = x;
        if (end != value && *end == 0 && errno == 0 && x == x && x - x == 0) return true;
    } else {
        long x = strtol(value, &end, 10);
        *(int *)a->to = (int)x;
        if (end != value && *end == 0 && errno == 0 && x >= INT_MIN && x <= INT_MAX) return true;
    }
    *status = usage_error(u, "%s needs a number, not \"%s\"", a->name, value);
    return false;
}

/* One option at argv[*i]; steps over its value. */
static bool parse_option(const usage *u, int argc, char **argv, int *i, int *status) {
    const char *word = argv[*i], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const arg *a = find_arg(u, word, length);
    if (!a) {
        *status = unknown_option(u, word, length);
        return false;
    }
    if (a->kind == ARG_FLAG) {
        if (equals) *status = usage_error(u, "%s takes no value", a->name);
        *(bool *)a->to = true;
        return !equals;
    }
    if (!equals && *i + 1 >= argc) {
        *status = usage_error(u, "%s needs a value: %s", a->name, a->metavar);
        return false;
    }
    return store(u, a, equals ? equals + 1 : argv[++*i], status);
}

bool args_parse(const usage *u, int argc, char **argv, operands *out, int *status) {
    *out = (operands){(const char **)argv, 0};
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (options && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            print_help(u);
            *status = EXIT_OK;
            return false;
        }
        if (options && strcmp(word, "--") == 0) options = false;
        else if (options && word[0] == '-' && word[1]) {
            if (!parse_option(u, argc, argv, &i, status)) return false;
        } else argv[out->count++] = argv[i];
    }
    return true;
}
