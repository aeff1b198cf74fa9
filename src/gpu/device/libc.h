/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the C library that stages call, for a device that has none. Under the library's own names there; elsewhere under
   names of their own, so that tests can hold them against the library's. */
#ifndef STI_GPU_DEVICE_LIBC_H
#define STI_GPU_DEVICE_LIBC_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __NVPTX__
#define STI__LIBC(name) name
#else
#define STI__LIBC(name) sti__gpu_libc_##name
#endif

int STI__LIBC(memcmp)(const void *a, const void *b, size_t n);
size_t STI__LIBC(strlen)(const char *s);
int STI__LIBC(strcmp)(const char *a, const char *b);
int STI__LIBC(strncmp)(const char *a, const char *b, size_t n);
char *STI__LIBC(strncpy)(char *to, const char *from, size_t n);
/* Stable, in place. */
void STI__LIBC(qsort)(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
double STI__LIBC(nextafter)(double x, double y);
/* The text of the format with a question mark for each argument: the compiler cannot read arguments of variable number there. */
int STI__LIBC(vsnprintf)(char *out, size_t size, const char *format, va_list args);
int STI__LIBC(snprintf)(char *out, size_t size, const char *format, ...);

#endif
