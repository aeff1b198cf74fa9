/* SPDX-License-Identifier: Apache-2.0 */
/* Problems in files: the two layouts. */
#ifndef STI_RECORD_PROBLEM_FILE_H
#define STI_RECORD_PROBLEM_FILE_H

#include "contact/problem.h"
#include "record/hdf.h"

/* Each fills arrays whose memory belongs to h. */
void sti__native_read(sti__hdf *h, sti_problem_arrays *arrays);
void sti__fclib_read_local(sti__hdf *h, sti_problem_arrays *arrays);
void sti__fclib_read_global(sti__hdf *h, sti_problem_arrays *arrays);

/* The native layout; user rows cannot be written. */
sti_status sti__native_writable(const sti_problem *problem, sti_error *error);
void sti__native_write(sti__hdf *h, const sti_problem *problem);

#endif
