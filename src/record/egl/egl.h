/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures drawn by OpenGL ES through EGL, without display: the same scene, lenses and lights as the CPU's. EGL's library is opened
   at run time. */
#ifndef STI_RECORD_EGL_H
#define STI_RECORD_EGL_H

#include "record/scene.h"

typedef struct sti__egl sti__egl;

/* STI_UNSUPPORTED and why, if there is no EGL or it lacks something. hardware: only a real GPU will do, not a program that stands
   in for one. */
sti_status sti__egl_open(sti__egl **out, const sti_allocator *allocator, bool hardware, sti_error *error);
void sti__egl_close(sti__egl *egl);
/* The driver's name of what draws. */
const char *sti__egl_name(const sti__egl *egl);
/* The shapes have changed. */
void sti__egl_forget(sti__egl *egl);
sti_status sti__egl_draw(sti__egl *egl, const sti__scene *scene, sti__lights *lights,
                         const sti_picture_options *options, const sti_picture *out, sti_error *error);

#endif
