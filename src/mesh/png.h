/* SPDX-License-Identifier: Apache-2.0 */
/* PNG pictures as heights and colours. All kinds of the format; of 16 bits the upper 8 count, as in MuJoCo; heights are the red of colours. */
#ifndef STI_MESH_PNG_H
#define STI_MESH_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sti__is_png(const void *data, size_t size);

/* Bytes of memory that the two below work in; 0 if the file is no good, and then why says so. */
size_t sti__png_work(const void *data, size_t size, int *width, int *height, const char **why);

/* 0 to 255 for each pixel, rows from the top; gray has width * height bytes. Takes a time bounded by the file's size and
   the picture's. */
bool sti__png_gray(const void *data, size_t size, void *work, uint8_t *gray, const char **why);
/* Red, green and blue of each pixel: width * height * 3 bytes. */
bool sti__png_colors(const void *data, size_t size, void *work, uint8_t *rgb, const char **why);

/* zlib stream to exactly `count` bytes. */
bool sti__inflate(const uint8_t *data, size_t size, uint8_t *out, size_t count, const char **why);

#endif
