/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, reading and replacing files. */
#ifndef STI_BASE_FILE_H
#define STI_BASE_FILE_H

#include "base/internal.h"

/* Opens a regular file for reading, without ever waiting; size (may be NULL) gets its bytes. -1 and why in words
   if it is not there, or is a folder, a pipe or a device. */
int sti__file_open(const char *path, uint64_t *size, const char **why);
/* The next `size` bytes of it; NULL, or why not. */
const char *sti__file_fill(int file, void *data, size_t size);
/* Whether the process may make a file as large as this (ulimit -f). Writing more would end it by a signal. */
bool sti__file_fits(uint64_t size);
/* Writes a file as a whole: after an error what was there before is there still. */
sti_status sti__file_replace(const char *path, const void *data, size_t size, sti_error *error);
/* errno in words. */
const char *sti__file_reason(int number);

#endif
