/* SPDX-License-Identifier: Apache-2.0 */
#include "base/internal.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

static const char *const status_name[] = {
#define X(name, text) #name,
    STI_STATUSES(X)
#undef X
};
static const char *const status_text[] = {
#define X(name, text) text,
    STI_STATUSES(X)
#undef X
};

static bool known(sti_status status) { return (unsigned)status < STI_STATUS_COUNT; }

const char *sti_status_name(sti_status status) { return known(status) ? status_name[status] : "UNKNOWN"; }
const char *sti_status_text(sti_status status) {
    return known(status) ? status_text[status] : "unknown status";
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Bytes of the well-formed UTF-8 sequence at s, 0 if there is none. */
static int utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
            : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;  /* overlong */
    if (s[0] == 0xed && s[1] >= 0xa0) return 0; /* surrogate */
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;  /* overlong */
    if (s[0] == 0xf4 && s[1] >= 0x90) return 0; /* above U+10FFFF */
    return n;
}

/* C0, DEL and C1: what could move a terminal's cursor */
static bool is_control(const unsigned char *s) {
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

void sti__copy_text(char *out, size_t size, const char *text) {
    if (size == 0) return;
    size_t used = 0;
    const unsigned char *s = (const unsigned char *)(text ? text : "");
    while (*s) {
        int n = utf8_length(s);
        bool bad = n == 0 || is_control(s);
        size_t bytes = bad ? 1 : (size_t)n;
        if (used + bytes >= size) break;
        if (bad) out[used] = n && *s < 0x20 ? ' ' : '?';
        else memcpy(out + used, s, bytes);
        used += bytes;
        s += n ? n : 1;
    }
    out[used] = 0;
}

/* ---- errors ------------------------------------------------------------------------------------ */

/* printf with a decimal point whatever the caller's locale */
static void format_c(char *out, size_t size, const char *format, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    if (vsnprintf(out, size, format, args) < 0) out[0] = 0;
    if (c) {
        uselocale(before);
        freelocale(c);
    }
}

static void fill(sti_error *error, sti__place place, sti_status code, const char *format, va_list args) {
    char text[2 * sizeof error->message];
    format_c(text, sizeof text, format, args);
    memset(error, 0, sizeof *error);
    error->code = code;
    error->line = place.line;
    sti__copy_text(error->file, sizeof error->file, place.file);
    sti__copy_text(error->element, sizeof error->element, place.element);
    sti__copy_text(error->attribute, sizeof error->attribute, place.attribute);
    sti__copy_text(error->message, sizeof error->message, text);
}

sti_status sti__fail_at(sti_error *error, sti__place place, sti_status code, const char *format, ...) {
    if (!error) return code;
    va_list args;
    va_start(args, format);
    fill(error, place, code, format, args);
    va_end(args);
    return code;
}

sti_status sti__fail(sti_error *error, sti_status code, const char *format, ...) {
    if (!error) return code;
    va_list args;
    va_start(args, format);
    fill(error, (sti__place){0}, code, format, args);
    va_end(args);
    return code;
}

/* Appends at *used, never beyond size - 1. */
STI__PRINTF(4, 5) static void append(char *out, size_t size, size_t *used, const char *format, ...) {
    if (*used + 1 >= size) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + *used, size - *used, format, args);
    va_end(args);
    if (n > 0) *used += (size_t)n < size - *used ? (size_t)n : size - *used - 1;
}

char *sti_error_format(const sti_error *error, char *out, size_t size) {
    if (!out || size == 0) return out;
    size_t used = 0;
    out[0] = 0;
    if (error->file[0] && error->line > 0) append(out, size, &used, "%s:%d: ", error->file, error->line);
    else if (error->file[0]) append(out, size, &used, "%s: ", error->file);
    else if (error->line > 0) append(out, size, &used, "line %d: ", error->line);
    const char *at = error->element[0] && error->attribute[0] ? "@" : "";
    if (error->element[0] || error->attribute[0])
        append(out, size, &used, "%s%s%s: ", error->element, at, error->attribute);
    append(out, size, &used, "%s", error->message[0] ? error->message : sti_status_text(error->code));
    return out;
}

/* ---- reports ------------------------------------------------------------------------------------- */

void sti_report_init(sti_report *report, const sti_allocator *allocator) {
    *report = (sti_report){.allocator = allocator};
}

void sti_report_free(sti_report *report) {
    if (!report) return;
    sti__free(report->allocator, report->items, (size_t)report->capacity * sizeof *report->items);
    sti_report_init(report, report->allocator);
}

static bool report_grow(sti_report *report) {
    int capacity = report->capacity ? 4 * report->capacity : 8;
    if (capacity > STI_REPORT_MAX) capacity = STI_REPORT_MAX;
    size_t item = sizeof *report->items;
    sti_diagnostic *items = sti__resize(report->allocator, report->items, sti__size(report->capacity, item),
                                        sti__size(capacity, item));
    if (!items) return false;
    report->items = items;
    report->capacity = capacity;
    return true;
}

void sti__report_add(sti_report *report, sti_severity severity, const sti_error *error) {
    if (!report) return;
    if (severity == STI_SEVERITY_ERROR) report->nerror++;
    else report->nwarning++;
    if (report->count == STI_REPORT_MAX) return;
    if (report->count == report->capacity && !report_grow(report)) return;
    report->items[report->count++] = (sti_diagnostic){severity, *error};
}
