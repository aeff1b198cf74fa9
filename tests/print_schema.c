/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the reference of scene files, for the documentation and for check_schema.py. */
#include <stdio.h>
#include <stiction/spec.h>

static void write_text(void *context, const char *text) { fputs(text, context); }

int main(void) {
    sti_schema_document(write_text, stdout);
    return fflush(stdout) != 0;
}
