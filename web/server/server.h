/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the viewer. Two threads: the one that steps (viewer.c, frame.c, drag.c, history.c) and the one that
   serves (serve.c). They share a mailbox of frames, a list of commands and the numbers marked as shared; nothing else.
     viewer.c    create, sync, run; what commands do
     scene.c     the model as JSON and its meshes as bytes, made once
     frame.c     the state of a world as bytes
     drag.c      a spring between a body and the mouse
     history.c   snapshots to go back to
     mailbox.c   what the threads hand to each other
     message.c   what a page sends, checked
     serve.c     HTTP and WebSocket */
#ifndef STI_WEB_SERVER_H
#define STI_WEB_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stiction/stiction.h>
#include <stiction/viewer.h>

/* ---- bytes that grow ---------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
    bool failed; /* memory was short; what was to be added is lost */
    const sti_allocator *allocator;
} bytes;

void bytes_add(bytes *b, const void *data, size_t size);
/* Room for as many bytes, for the caller to fill; NULL if memory is short. */
void *bytes_room(bytes *b, size_t size);
void bytes_text(bytes *b, const char *text);
void bytes_print(bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bytes_free(bytes *b);

/* A file of the page, compressed, built in. */
typedef struct asset {
    const char *name, *type;
    const uint8_t *data;
    size_t size;
} asset;
extern const asset page_assets[];
extern const int page_nasset;

/* ---- commands of a page --------------------------------------------------------------------------- */

typedef enum operation {
    OP_PAUSE = 1, /* index: 1 pause, 0 play */
    OP_STEP,      /* index: how many */
    OP_SPEED,     /* x[0] */
    OP_RESET,     /* index: key, 0xffffffff = none */
    OP_CONTROL,   /* index: actuator, x[0] */
    OP_DRAG,      /* index: body, x[0..2] point in its frame, x[3..5] where it is to go */
    OP_RELEASE,   /* end of dragging */
    OP_SEEK,      /* index: frame of the history */
    OP_REPLAY,    /* index: 1 play the history from here, 0 stop */
    OP_LIVE,      /* back to the simulation */
    OP_RESUME,    /* simulate on from the frame that is shown */
    OP_LOOK,      /* index: body, 0xffffffff = scene; x[0] = sti_contact_look */
    OP_RECORD,    /* index: 1 start, 0 stop to write to the recorder */
    OP_STRESS,    /* a page shows stress: frames have it for the next seconds */
    OP_JOINT,     /* index: slide or hinge joint, x[0]: where it is to be; at rest there */
    OP_EQUALITY,  /* index: equality, x[0]: 0 off, 1 on */
    OP_WORLD,     /* index: world of a batch to be shown */
    OP_GRID,      /* index: how many worlds of a batch to show side by side */
    OP_TWIST,     /* index: body, x[0..3] quaternion that it is to turn to; ends with OP_RELEASE */
    OP_OPTION,    /* index: an option_number, x[0]: its value */
    OP_COUNT
} operation;

/* Of the options that a page may change, and of the floats of section OPTI. */
typedef enum option_number {
    OPTION_TIMESTEP, /* s */
    OPTION_GRAVITY,  /* and two more, m/s2 */
    OPTION_DISABLED =
        OPTION_GRAVITY + 3 /* with OP_OPTION + bit of a flag, 0 or 1: the flag is off; in OPTI all bits */
} option_number;

/* As it comes over the wire: little endian, 56 bytes. */
typedef struct command {
    uint32_t op, index;
    double x[6];
} command;
_Static_assert(sizeof(command) == 56, "the wire format");

/* A message that has come so far; zeroed: nothing yet. */
typedef struct message {
    uint8_t data[sizeof(command)];
    size_t size;
} message;
/* A further piece, perhaps the last: 1 and a command that is known and has finite numbers, 0 if more is to come, -1 if the
   message is no command. */
int message_add(message *m, const void *piece, size_t size, bool last, command *out);

/* ---- what the threads share ------------------------------------------------------------------------- */

enum { INBOX = 256, HEADROOM = 64 }; /* HEADROOM: bytes before a message, for libwebsockets */

/* Three frames: one is written, one waits, one is sent. */
typedef struct mailbox {
    pthread_mutex_t lock; /* held for the exchange of pointers only */
    bytes frame[3];
    bytes *back, *ready, *front;
    bool fresh;
    command inbox[INBOX];
    int first, count;
    uint32_t dropped;
    _Atomic int waiting; /* commands, to look without the lock */
} mailbox;

bool mailbox_init(mailbox *m, const sti_allocator *allocator);
void mailbox_free(mailbox *m);
void mailbox_publish(mailbox *m); /* back becomes ready */
bool mailbox_take(mailbox *m);    /* ready becomes front; false if there is nothing new */
void mailbox_send(mailbox *m, const command *c);
bool mailbox_receive(mailbox *m, command *c);

/* ---- history -------------------------------------------------------------------------------------------- */

typedef struct moment {
    uint8_t *data;
    size_t size;
    double time;
} moment;

typedef struct history {
    moment *item; /* a ring */
    int capacity, first, count;
    int64_t number; /* of the first, counted from the start */
    size_t bytes, limit;
    const sti_allocator *allocator;
} history;

void history_add(history *h, const sti_world *world, double time);
void history_clear(history *h);
void history_free(history *h);
/* By number; NULL if it is not there. */
const moment *history_at(const history *h, int64_t number);
/* Forgets everything after a number. */
void history_cut(history *h, int64_t number);

/* ---- the viewer -------------------------------------------------------------------------------------------- */

typedef struct drag {
    int body;   /* -1 = none */
    bool twist; /* by a torque towards quat, else by a force towards target */
    double point[3], target[3], quat[4];
} drag;

typedef struct server server;

struct sti_viewer {
    const sti_model *model;
    sti_viewer_options options;
    sti_allocator allocator;
    bytes scene, meshes; /* written once, before the server starts */
    mailbox mail;
    server *server;
    char url[256];
    /* shared */
    _Atomic int nclient;
    _Atomic bool stop, paused, welcome; /* welcome: a page has come and wants a frame */
    _Atomic double speed;
    _Atomic int chosen;          /* world of a batch */
    _Atomic unsigned char *look; /* 1 + nbody: the scene's, then the bodies' */
    /* of the thread that steps */
    sti_batch *batch; /* during a call for one, else NULL */
    sti_world *ghost; /* what is shown while going back; NULL until needed */
    history past;
    drag drag;
    int64_t shown; /* frame of the history that is shown, -1 = live */
    bool replaying, recording, changed, running, begun, seen; /* seen: a page has been there */
    int steps;                                                /* to do while paused */
    uint32_t sequence;
    double last_frame, next_moment, replay_wall, replay_time, next_record;
    double pace_wall, pace_time;       /* where real time and simulated time were in step */
    double rate_wall, rate_time, rate; /* simulated seconds per second, measured */
    int64_t profile_steps, profile_ticks[64];
    double *path; /* pieces of a tendon */
    int npath;
    int *skin, nskin; /* nflexvert: vertices on surfaces of soft bodies; nskin of them */
    double *stress;   /* nflexelem + 2 nflexvert: of tets, sums at vertices, how many */
    double stress_until;
    bytes polygons;    /* sti_patch of a frame */
    char message[256]; /* why it stopped */
    bytes markers;     /* sti_marker */
    char note[1024];   /* the user's text */
    double eye[8];     /* how often it was asked for, camera, lookat, distance, azimuth, elevation */
};

double now(void); /* s of the monotonic clock */
void *take(const sti_allocator *a, size_t size);
void give(const sti_allocator *a, void *ptr, size_t size);

/* Vertices of soft bodies that lie on their surfaces, ascending; skin: nflexvert. Returns how many. */
int scene_skin(const sti_model *model, int *skin);
void scene_write(const sti_model *model, const int *skin, int nskin, bytes *json, bytes *meshes);
void frame_write(sti_viewer *v, sti_world *world, bytes *out);
/* Writes the spring's force into xfrc_applied. */
void drag_apply(const drag *d, sti_world *world);
void drag_clear(drag *d, sti_world *world);

server *server_start(sti_viewer *v, int port, sti_error *error);
void server_wake(server *s);
void server_stop(server *s);

sti_status fail(sti_error *error, sti_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
