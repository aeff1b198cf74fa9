/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectories in HDF5 files. */
#ifndef STICTION_RECORD_H
#define STICTION_RECORD_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_recorder sti_recorder;

/* Opens `path` for writing (an existing file is replaced). `fields` is a list of world fields
   separated by spaces, NULL = those of the model's sti:record, else "qpos qvel act ctrl sensordata energy flexvert_xpos flexvert_xvel"; time is always there. Each field
   becomes a chunked dataset [frame, n] (time: [frame]; empty fields are left out) with an attribute
   `columns` of labels (unless these take more than 60,000 bytes); attributes of the file carry the model's title, hash, timestep and names.
   Derived fields are recorded as they stand: after sti_step they belong to the state before it, call
   sti_forward first to have them belong to the recorded qpos. The recorder may outlive the world, not its allocator. HDF5 is not thread-safe everywhere:
   use recorders from one thread at a time. */
STI_API sti_recorder *sti_recorder_create(const char *path, sti_world *world, const char *fields,
                                          sti_error *error);
/* Appends the world's present values. Frames reach the file in blocks, and after half a second at the latest: if the
   process is killed, all but those of the last second before its last frame can be read (HDF5's mode for one writer and
   many readers; other programs open such a file as SWMR readers, or after `h5clear -s`). Nothing is promised for a loss
   of power. After an error (a full disk) every later call returns it again. A child of fork cannot append. */
STI_API sti_status sti_recorder_frame(sti_recorder *recorder, const sti_world *world, sti_error *error);
/* Flushes and closes; the file is complete when this returns STI_OK. NULL is allowed. In a child of fork it only frees. */
STI_API sti_status sti_recorder_close(sti_recorder *recorder, sti_error *error);

/* A recording opened for reading; it may still be in writing, or have been when its process was killed. */
typedef struct sti_recording sti_recording;
STI_API sti_recording *sti_recording_open(const char *path, const sti_allocator *allocator, sti_error *error);
STI_API int sti_recording_frames(const sti_recording *recording);
/* Sets time, qpos, qvel, act and ctrl of the world from a frame, where recorded. */
STI_API sti_status sti_recording_apply(sti_recording *recording, int frame, sti_world *world,
                                       sti_error *error);
STI_API void sti_recording_close(sti_recording *recording);

#ifdef __cplusplus
}
#endif
#endif
