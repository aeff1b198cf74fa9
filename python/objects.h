/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of stiction._core, and what its files do with them. */
#ifndef STI_PYTHON_OBJECTS_H
#define STI_PYTHON_OBJECTS_H

#include "core.h"
#include <stdatomic.h>
#include <stdbool.h>

typedef struct core_state {
    PyObject *error; /* stiction.Error */
    PyTypeObject *model, *world, *array, *recorder, *batch, *spec, *element;
} core_state;

typedef struct core_model {
    PyObject_HEAD sti_model *model;
    bool shown;     /* some array of it that can be written is in users' hands */
    int running;    /* calls that use it without the GIL just now: it must not be renewed under them */
    sti_option opt; /* what model.opt shows; worlds take it over, the model itself stays as it is */
} core_model;

/* Work on a world or batch of the model without the GIL. */
#define CORE_RUN(owner)                     \
    {                                       \
        ((core_model *)(owner))->running++; \
        Py_BEGIN_ALLOW_THREADS
#define CORE_RUN_END(owner)                                 \
    Py_END_ALLOW_THREADS((core_model *)(owner))->running--; \
    }

typedef struct core_world {
    PyObject_HEAD sti_world *world;
    PyObject *model; /* core_model, kept alive */
    sti_pool *pool;  /* its threads; NULL = the caller's alone */
    PyObject *batch; /* core_batch that the world belongs to, kept alive; NULL: its own */
    atomic_flag own;
    atomic_flag *busy; /* a step runs without the GIL; of a batch, of any of its worlds */
    struct core_callback *callbacks;
    PyObject
        *data; /* weak reference to the Data that has the callbacks' functions; NULL until there is one */
    PyObject *raised[3];  /* what a callback raised, until the call that stepped returns */
    sti_rows *rows;       /* of the handler that runs; NULL: none does */
    unsigned long inside; /* the thread of the callback that runs; 0: none does */
} core_world;

typedef struct core_batch {
    PyObject_HEAD sti_batch *batch;
    PyObject *model; /* core_model, kept alive */
    sti_pool *pool;  /* NULL = the caller's thread alone */
    atomic_flag busy;
    PyThreadState *thread; /* of the caller, while it has given up the GIL */
    uintptr_t caller;
    double looked;       /* when signals were looked at, s */
    atomic_bool stopped; /* by one */
} core_batch;

/* A buffer on memory inside a model or world, which it keeps alive. */
typedef struct core_array {
    PyObject_HEAD PyObject *owner;
    void *data;
    Py_ssize_t shape[2], strides[2];
    int ndim;
    bool writable;
    char format[2];
    Py_ssize_t item;
} core_array;

typedef struct core_recorder {
    PyObject_HEAD sti_recorder *recorder;
    PyObject *world;
} core_recorder;

/* dict of name -> bytes to sti_asset. What they point into stays as it is while other threads change the dict: names and
   values are held in `pairs`, the values' memory in `views`. */
typedef struct core_assets {
    PyObject *pairs; /* list of tuples (name, value) */
    sti_asset *items;
    Py_buffer *views;
    int count;
} core_assets;
int core_assets_fill(core_assets *list, PyObject *dict);
void core_assets_free(core_assets *list);

static inline core_state *core_state_of(PyObject *module) { return PyModule_GetState(module); }
/* our types cannot be subclassed, so a type's module is this one */
static inline core_state *core_state_of_type(PyTypeObject *type) {
    PyObject *module = PyType_GetModule(type);
    return module ? core_state_of(module) : NULL;
}

/* Text of the library, which may have been a user's and no UTF-8. */
PyObject *core_text(const char *s);
/* stiction.Error; NULL. */
PyObject *core_error(core_state *s, const sti_error *e);
/* The bytes of os.fsencode, which may be no text at all; NULL if a 0 is in them. */
const char *core_path(PyObject *bytes);
/* A window on memory of `owner`; one column becomes a vector. */
PyObject *core_array_new(core_state *s, PyObject *owner, sti_view v);
/* A world; with `batch` one of that object's, else it takes over the world and its threads, which are destroyed on failure. */
PyObject *core_wrap_world(core_state *s, sti_world *world, PyObject *model, sti_pool *pool, PyObject *batch);
/* Seconds of a clock. */
double core_seconds(void);
/* One caller at a time; the model's present options and fields are taken over. */
bool core_take(core_world *w);
/* The same for calls that change the world or compute in it: callbacks may not make them. */
bool core_take_idle(core_world *w);
/* The exception of a call that stepped and failed: what a callback raised, else stiction.Error. NULL. */
PyObject *core_failed(core_world *w, const sti_error *error);
/* Functions of Python that steps call: callback.c */
void core_callbacks_free(core_world *w);
void core_callbacks_drop(const core_world *w, sti_world *copy); /* from a copy of its world */
PyObject *core_world_set_data(PyObject *self, PyObject *data);
PyObject *core_world_add_callback(PyObject *self, PyObject *args);
PyObject *core_world_remove_callback(PyObject *self, PyObject *key);
PyObject *core_world_rows_add(PyObject *self, PyObject *args);
PyObject *core_world_rows_touch(PyObject *self, PyObject *args);
/* A model, which it takes over: it is freed on failure. */
PyObject *core_wrap_model(core_state *s, sti_model *model);
/* Errors and warnings as a list of dicts. */
PyObject *core_report(const sti_report *report);
/* Carries over what was written into fields; false with an exception if a value is impossible. */
bool core_model_update(core_state *s, PyObject *model);

/* Letters of the types of options. */
#define CODE_int 'i'
#define CODE_double 'd'

/* Types and what makes their objects. */
bool core_batch_take(core_batch *b); /* one caller at a time; the model's present options are taken over */
/* How a batch's call ended that is no step, as an exception; NULL. */
PyObject *core_batch_lost(core_batch *b, int world, sti_status status);
/* STI_FIELD_COUNT if there is no such field. */
sti_field core_field(PyObject *name);
/* Batches on devices: device.c */
PyObject *core_batch_device(PyObject *self, PyObject *none);
PyObject *core_batch_place(PyObject *self, PyObject *args);
PyObject *core_batch_move_parameter(PyObject *self, PyObject *args);
PyObject *core_batch_dlpack(PyObject *self, PyObject *args);
PyObject *core_batch_scatter_there(PyObject *self, PyObject *args);
PyObject *core_batch_save(PyObject *self, PyObject *args);
PyObject *core_batch_restore(PyObject *self, PyObject *args);
extern PyType_Spec core_array_spec, core_model_spec, core_world_spec, core_recorder_spec, core_batch_spec,
    core_spec_spec, core_element_spec;
PyObject *core_load(PyObject *module, PyObject *args);
PyObject *core_unpack(PyObject *module, PyObject *bytes);
PyObject *core_pack(core_state *s, const sti_model *model);
PyObject *core_world_new(PyObject *module, PyObject *args);
PyObject *core_recorder_new(PyObject *module, PyObject *args);
PyObject *core_renderer_new(PyObject *module, PyObject *args);
PyObject *core_renderer_device(PyObject *module, PyObject *capsule);
PyObject *core_world_picture(PyObject *world, PyObject *args);
PyObject *core_batch_new(PyObject *module, PyObject *args);
PyObject *core_lanes(PyObject *module, PyObject *none);
PyObject *core_spec_new(PyObject *module, PyObject *args);

#endif
