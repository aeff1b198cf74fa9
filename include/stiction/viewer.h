/* SPDX-License-Identifier: Apache-2.0 */
/* A viewer in the browser, in a library of its own (stiction_viewer): a page on loopback, fed from a thread of its own.
   The thread that steps only leaves the newest state behind and never waits for a client. */
#ifndef STICTION_VIEWER_H
#define STICTION_VIEWER_H

#include <stiction/batch.h>
#include <stiction/picture.h>
#include <stiction/record.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_viewer sti_viewer;

typedef struct sti_viewer_options {
    int port;         /* 0 = any that is free */
    const char *host; /* address of this machine that is listened at; NULL = 127.0.0.1, "0.0.0.0" = all */
    double rate;      /* frames per second at most (60) */
    size_t history;   /* bytes for going back in time (128 MiB); 0 = none */
    bool paused;      /* start paused */
    bool wait;        /* sti_viewer_run simulates once a page has come (false) */
    int key;          /* keyframe to which Reset goes back; -1: the reference pose */
    sti_recorder *recorder;         /* sti_viewer_run writes every step to it; NULL = none */
    double interval;                /* simulated seconds between recorded frames, 0 = every step */
    sti_recording *replay;          /* what is shown instead of a simulation; NULL = none */
    int worlds;                     /* of a batch that are shown side by side, with the chosen one (36) */
    const sti_allocator *allocator; /* NULL = malloc */
    uint64_t cookie;                /* set by sti_viewer_options_default */
} sti_viewer_options;

STI_API sti_viewer_options sti_viewer_options_default(void);

/* Serves the model from now on. The model, recorder and recording must outlive it. options may be NULL. */
STI_API sti_viewer *sti_viewer_create(const sti_model *model, const sti_viewer_options *options,
                                      sti_error *error);
/* Ends the connections. NULL is allowed. */
STI_API void sti_viewer_destroy(sti_viewer *viewer);
/* "http://127.0.0.1:PORT/TOKEN/"; who knows it can look and touch. */
STI_API const char *sti_viewer_url(const sti_viewer *viewer);
/* Pages that are connected now. */
STI_API int sti_viewer_clients(const sti_viewer *viewer);

/* To be called from the thread that steps, after each step, with the same world each time: does what the pages ask for
   (controls, dragging, reset, going back) and leaves a frame for them if one is due. Never waits. */
STI_API sti_status sti_viewer_sync(sti_viewer *viewer, sti_world *world);
/* Steps the world in real time times speed until sti_viewer_stop, or for some seconds of the clock on the wall
   (INFINITY: no end); pages may pause it. A world that meets an error is paused, and the pages say why. */
STI_API sti_status sti_viewer_run(sti_viewer *viewer, sti_world *world, double seconds, sti_error *error);
/* The same for a batch of the viewer's model whose worlds live on the processor (else STI_UNSUPPORTED), without recorder or replay (else
   STI_ARGUMENT): one world, the chosen one, is shown with everything, and pages act on it alone; others stand beside it. While no call of
   the batch runs. */
STI_API sti_status sti_viewer_sync_batch(sti_viewer *viewer, sti_batch *batch);
/* Steps all worlds of a batch, in real time of the chosen one. If any of them meets an error it is paused, and the pages say why. */
STI_API sti_status sti_viewer_run_batch(sti_viewer *viewer, sti_batch *batch, double seconds,
                                        sti_error *error);
/* The world of a batch that is chosen, by the pages or sti_viewer_choose; the next sync obeys, if there is such a world. */
STI_API int sti_viewer_world(const sti_viewer *viewer);
STI_API void sti_viewer_choose(sti_viewer *viewer, int world);
/* Ends sti_viewer_run soon; may be called from a signal handler or another thread. */
STI_API void sti_viewer_stop(sti_viewer *viewer);
STI_API bool sti_viewer_stopped(const sti_viewer *viewer);

STI_API bool sti_viewer_paused(const sti_viewer *viewer);
STI_API void sti_viewer_pause(sti_viewer *viewer, bool paused);
/* Simulated seconds per second; 0 = as fast as it goes. */
STI_API double sti_viewer_speed(const sti_viewer *viewer);
STI_API void sti_viewer_set_speed(sti_viewer *viewer, double speed);
/* How contacts of a body are drawn (sti_contact_look); body -1 = the scene. STI_ARGUMENT for what is not there. */
STI_API sti_status sti_viewer_look(sti_viewer *viewer, int body, sti_contact_look look);

/* What pages show beside the world, until the next call; from the thread that syncs. Markers: shapes with their labels, at most
   STI_VIEWER_MARKERS. Text: lines in a corner; NULL or "": none. STI_ARGUMENT for what cannot be. */
#define STI_VIEWER_MARKERS 4096
STI_API sti_status sti_viewer_markers(sti_viewer *viewer, const sti_marker *marker, int count);
STI_API sti_status sti_viewer_text(sti_viewer *viewer, const char *text);
/* Moves the camera of all pages: to a camera of the model, or (-1) the free one, by MuJoCo's lookat (m), distance (m, 0: as it is),
   azimuth and elevation (degrees). */
STI_API sti_status sti_viewer_camera(sti_viewer *viewer, int camera, const double lookat[3], double distance,
                                     double azimuth, double elevation);

#ifdef __cplusplus
}
#endif
#endif
