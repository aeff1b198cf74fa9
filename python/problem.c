/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: problems, their solvers and the certificate. Shapes and types of arrays are checked here;
   matrices and rows are made ready in stiction/problem.py. */
#include "core.h"
#include <stdatomic.h>
#include <string.h>

typedef struct core_problem {
    PyObject_HEAD sti_problem *problem;
    PyObject *module;
} core_problem;

typedef struct core_workspace {
    PyObject_HEAD sti_workspace *workspace;
    sti_pool *pool; /* NULL = this thread only */
    atomic_flag busy;
} core_workspace;

/* ---- errors and objects --------------------------------------------------------------------------- */

static PyObject *raise_in(PyObject *module, const sti_error *error) {
    PyObject *type = PyObject_GetAttrString(module, "Error");
    if (!type) return NULL;
    core_raise(type, error);
    Py_DECREF(type);
    return NULL;
}

static PyTypeObject *type_named(PyObject *module, const char *name) {
    PyObject *type = PyObject_GetAttrString(module, name);
    Py_XDECREF(type); /* the module keeps it */
    return (PyTypeObject *)type;
}

static PyObject *wrap_problem(PyObject *module, sti_problem *problem, const sti_error *error) {
    if (!problem) return raise_in(module, error);
    PyTypeObject *type = type_named(module, "Problem");
    core_problem *p = type ? PyObject_New(core_problem, type) : NULL;
    if (!p) {
        sti_problem_free(problem);
        return NULL;
    }
    p->problem = problem;
    p->module = Py_NewRef(module);
    return (PyObject *)p;
}

static void problem_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    sti_problem_free(((core_problem *)self)->problem);
    Py_XDECREF(((core_problem *)self)->module);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- arrays ------------------------------------------------------------------------------------------ */

enum { MAX_BUFFERS = 24 };
/* Buffers held during a call. */
typedef struct buffers {
    Py_buffer view[MAX_BUFFERS];
    int count;
} buffers;

static void release(buffers *b) {
    while (b->count > 0) PyBuffer_Release(&b->view[--b->count]);
}

/* The data of a contiguous array of `count` items ('d' or 'i'; count < 0: any number, returned in *found).
   NULL without an exception for None. */
static void *hold(buffers *b, PyObject *object, const char *name, char type, Py_ssize_t count,
                  Py_ssize_t *found, bool write) {
    Py_ssize_t item = type == 'd' ? (Py_ssize_t)sizeof(double) : (Py_ssize_t)sizeof(int);
    if (object == Py_None) return NULL;
    Py_buffer *v = &b->view[b->count];
    if (PyObject_GetBuffer(object, v, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0)) < 0)
        return NULL;
    b->count++;
    if (v->itemsize != item || !v->format || v->format[0] != type)
        return PyErr_Format(PyExc_TypeError, "%s must be an array of %s", name,
                            type == 'd' ? "float64" : "int32"),
               NULL;
    if (count >= 0 && v->len != count * item)
        return PyErr_Format(PyExc_ValueError, "%s has %zd numbers, must have %zd", name, v->len / item,
                            count),
               NULL;
    if (found) *found = v->len / item;
    return v->buf;
}

/* (value, col, start) */
static int hold_csr(buffers *b, PyObject *object, const char *name, int nrow, int ncol, sti_csr *out) {
    PyObject *value, *col, *start;
    Py_ssize_t count = 0;
    if (object == Py_None) return 0;
    if (!PyArg_ParseTuple(object, "OOO", &value, &col, &start)) return -1;
    *out = (sti_csr){nrow, ncol, NULL, NULL, NULL};
    out->start = hold(b, start, name, 'i', (Py_ssize_t)nrow + 1, NULL, false);
    if (!out->start) return -1;
    out->value = hold(b, value, name, 'd', -1, &count, false);
    out->col = out->value ? hold(b, col, name, 'i', count, NULL, false) : NULL;
    if (!out->col) return -1;
    for (int i = 0; i < nrow; i++)
        if (out->start[i] < 0 || out->start[i + 1] < out->start[i] || out->start[i + 1] > count)
            return PyErr_Format(PyExc_ValueError, "%s: the row starts do not fit its %zd entries", name,
                                count),
                   -1;
    return 0;
}

/* rows: (kind, dim, mu, lo, hi) arrays. */
static sti_row *make_rows(buffers *b, PyObject *object, int *nrow, int *m) {
    PyObject *o[5];
    Py_ssize_t n = 0, total = 0;
    if (!PyArg_ParseTuple(object, "OOOOO", &o[0], &o[1], &o[2], &o[3], &o[4])) return NULL;
    const int *kind = hold(b, o[0], "kind", 'i', -1, &n, false),
              *dim = kind ? hold(b, o[1], "dim", 'i', n, NULL, false) : NULL;
    const double *mu = dim ? hold(b, o[2], "mu", 'd', 5 * n, NULL, false) : NULL;
    const double *lo = mu ? hold(b, o[3], "lo", 'd', n, NULL, false) : NULL;
    const double *hi = lo ? hold(b, o[4], "hi", 'd', n, NULL, false) : NULL;
    if (!hi || n > INT32_MAX / 8) return NULL;
    sti_row *rows = PyMem_Calloc((size_t)n + 1, sizeof *rows);
    for (Py_ssize_t i = 0; rows && i < n; i++) {
        rows[i] = (sti_row){.kind = kind[i], .dim = dim[i], .lo = lo[i], .hi = hi[i]};
        memcpy(rows[i].mu, mu + 5 * i, sizeof rows[i].mu);
        total += dim[i] > 0 && dim[i] <= STI_ROW_DIM ? dim[i] : 0;
    }
    *nrow = (int)n;
    *m = (int)total;
    return rows ? rows : (sti_row *)PyErr_NoMemory();
}

/* problem(rows, n, R, vhat, A, vstar, J, W, q, h) */
static PyObject *core_problem_new(PyObject *module, PyObject *args) {
    PyObject *rows, *R, *vhat, *A, *vstar, *J, *W, *q, *result = NULL;
    sti_problem_arrays a = sti_problem_arrays_default();
    buffers b = {.count = 0};
    sti_error error = {0};
    int m = 0;
    if (!PyArg_ParseTuple(args, "OiOOOOOOOd", &rows, &a.n, &R, &vhat, &A, &vstar, &J, &W, &q, &a.h))
        return NULL;
    sti_row *list = make_rows(&b, rows, &a.nrow, &m);
    a.rows = list;
    if (list) {
        a.R = hold(&b, R, "R", 'd', m, NULL, false);
        if (!PyErr_Occurred()) a.vhat = hold(&b, vhat, "vhat", 'd', m, NULL, false);
        if (!PyErr_Occurred()) a.vstar = hold(&b, vstar, "vstar", 'd', a.n, NULL, false);
        if (!PyErr_Occurred()) a.q = hold(&b, q, "q", 'd', m, NULL, false);
        if (!PyErr_Occurred()) hold_csr(&b, A, "A", a.n, a.n, &a.A);
        if (!PyErr_Occurred()) hold_csr(&b, J, "J", m, a.n, &a.J);
        if (!PyErr_Occurred()) hold_csr(&b, W, "W", m, m, &a.W);
    }
    if (!PyErr_Occurred()) result = wrap_problem(module, sti_problem_create(&a, NULL, &error), &error);
    PyMem_Free(list);
    release(&b);
    return result;
}

static PyObject *core_problem_load(PyObject *module, PyObject *args) {
    const char *path;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    return wrap_problem(module, sti_problem_load(path, NULL, &error), &error);
}

/* ---- what a problem holds ----------------------------------------------------------------------------- */

static PyObject *problem_sizes(PyObject *self, PyObject *unused) {
    (void)unused;
    const sti_problem *p = ((core_problem *)self)->problem;
    return Py_BuildValue("iii", sti_problem_view(p)->n, sti_problem_view(p)->nrow,
                         sti_problem_scalar_rows(p));
}

static PyObject *problem_rows(PyObject *self, PyObject *unused) {
    (void)unused;
    static const char *const names[] = {
#define X(id, name) name,
        STI_ROWS(X)
#undef X
    };
    const sti_problem_arrays *a = sti_problem_view(((core_problem *)self)->problem);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < a->nrow; i++) {
        const sti_row *r = &a->rows[i];
        PyObject *item = Py_BuildValue("si(ddddd)dd", names[r->kind], r->dim, r->mu[0], r->mu[1], r->mu[2],
                                       r->mu[3], r->mu[4], r->lo, r->hi);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* view("R") or view("A.col") -> Array, None if the problem does not have it. */
static PyObject *problem_view(PyObject *self, PyObject *arg) {
    core_problem *p = (core_problem *)self;
    const sti_problem_arrays *a = sti_problem_view(p->problem);
    const char *name = PyUnicode_AsUTF8AndSize(arg, NULL);
    int m = sti_problem_scalar_rows(p->problem);
    if (!name) return NULL;
    const struct {
        const char *name;
        const void *data;
        int count;
        char type;
    } fields[] = {
        {"R", a->R, m, 'd'}, {"vhat", a->vhat, m, 'd'}, {"vstar", a->vstar, a->n, 'd'}, {"q", a->q, m, 'd'}};
    for (int i = 0; i < 4; i++)
        if (strcmp(fields[i].name, name) == 0 && fields[i].data)
            return core_window(p->module, self,
                               (sti_view){(void *)fields[i].data, fields[i].count, 1, 'd', false});
    const sti_csr *c = name[0] == 'A' ? &a->A : name[0] == 'J' ? &a->J : &a->W;
    bool known = name[0] && strchr("AJW", name[0]) && name[1] == '.';
    if (!known || !c->start) Py_RETURN_NONE;
    sti_view v = {(void *)c->start, c->nrow + 1, 1, 'i', false};
    if (strcmp(name + 2, "col") == 0) v = (sti_view){(void *)c->col, c->start[c->nrow], 1, 'i', false};
    if (strcmp(name + 2, "value") == 0) v = (sti_view){(void *)c->value, c->start[c->nrow], 1, 'd', false};
    return core_window(p->module, self, v);
}

static PyObject *problem_islands(PyObject *self, PyObject *args) {
    const sti_problem *p = ((core_problem *)self)->problem;
    PyObject *dof, *row;
    buffers b = {.count = 0};
    if (!PyArg_ParseTuple(args, "OO", &dof, &row)) return NULL;
    int *d = hold(&b, dof, "dof", 'i', sti_problem_view(p)->n, NULL, true);
    int *r = PyErr_Occurred() ? NULL : hold(&b, row, "row", 'i', sti_problem_view(p)->nrow, NULL, true);
    PyObject *count = PyErr_Occurred() ? NULL : PyLong_FromLong(sti_problem_islands(p, d, r));
    release(&b);
    return count;
}

static PyObject *write_file(PyObject *self, PyObject *args,
                            sti_status (*write)(const sti_problem *, const char *, sti_error *)) {
    core_problem *p = (core_problem *)self;
    const char *path;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
    if (write(p->problem, path, &error) == STI_OK) Py_RETURN_NONE;
    return raise_in(p->module, &error);
}
static PyObject *problem_save(PyObject *self, PyObject *args) {
    return write_file(self, args, sti_problem_save);
}
static PyObject *problem_export(PyObject *self, PyObject *args) {
    return write_file(self, args, sti_problem_export_fclib);
}

/* ---- certificate -------------------------------------------------------------------------------------- */

/* X(member, 'd' or 'i') */
/* clang-format off */
#define CERTIFICATE(X)                                                                                \
    X(error_bar, 'd')                                                                                 \
    X(relative, 'd')                                                                                  \
    X(gap, 'd') X(momentum, 'd') X(natural, 'd') X(cone, 'd') X(dissipation, 'd') X(penetration, 'd') \
        X(desaxce, 'd') X(full_raw, 'd') X(full_scaled, 'd') X(joints, 'd') X(headline, 'd') X(ndetermined, 'i')     \
            X(nregularised, 'i')
/* clang-format on */

PyObject *core_certificate(const sti_certificate *c) {
    PyObject *dict = PyDict_New(), *item = NULL;
    bool bad = !dict;
#define X(name, type)                                                                          \
    item = type == 'd' ? PyFloat_FromDouble((double)c->name) : PyLong_FromLong((long)c->name); \
    bad = bad || !item || PyDict_SetItemString(dict, #name, item) < 0;                         \
    Py_XDECREF(item);
    CERTIFICATE(X)
#undef X
    if (bad) Py_CLEAR(dict);
    return dict;
}

/* certify(v or None, g, exact, rank, share or None) -> dict */
static PyObject *problem_certify(PyObject *self, PyObject *args) {
    core_problem *p = (core_problem *)self;
    const sti_problem_arrays *a = sti_problem_view(p->problem);
    PyObject *v, *g, *share;
    int exact, rank;
    buffers b = {.count = 0};
    sti_error error = {0};
    sti_certificate c;
    sti_status status = STI_OK;
    if (!PyArg_ParseTuple(args, "OOppO", &v, &g, &exact, &rank, &share)) return NULL;
    const double *dv = hold(&b, v, "v", 'd', a->n, NULL, false);
    const double *dg =
        PyErr_Occurred() ? NULL : hold(&b, g, "gamma", 'd', sti_problem_scalar_rows(p->problem), NULL, false);
    double *ds = PyErr_Occurred() ? NULL : hold(&b, share, "share", 'd', a->nrow, NULL, true);
    bool ok = !PyErr_Occurred();
    if (ok) {
        Py_BEGIN_ALLOW_THREADS status = sti_certify(
            p->problem, dv, dg, exact ? STI_COULOMB_EXACT : STI_COULOMB_RELAXED, rank, &c, ds, &error);
        Py_END_ALLOW_THREADS
    }
    release(&b);
    if (!ok) return NULL;
    return status == STI_OK ? core_certificate(&c) : raise_in(p->module, &error);
}

/* ---- solving ----------------------------------------------------------------------------------------- */

static void workspace_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_workspace *w = (core_workspace *)self;
    sti_workspace_free(w->workspace);
    sti_pool_destroy(w->pool);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* workspace(threads) */
static PyObject *core_workspace_new(PyObject *module, PyObject *args) {
    int threads = 1;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "i", &threads)) return NULL;
    if (threads < 1 || threads > 1024)
        return PyErr_Format(PyExc_ValueError, "threads must be between 1 and 1024"), NULL;
    PyTypeObject *type = type_named(module, "Workspace");
    core_workspace *w = type ? PyObject_New(core_workspace, type) : NULL;
    if (!w) return NULL;
    atomic_flag_clear(&w->busy);
    w->pool = NULL;
    w->workspace = sti_workspace_create(NULL, &error);
    if (w->workspace && threads > 1) w->pool = sti_pool_create(threads, NULL);
    if (w->workspace && (threads == 1 || w->pool)) return (PyObject *)w;
    Py_DECREF(w);
    return PyErr_NoMemory();
}

/* Options by name. */
typedef struct option {
    const char *name;
    char type; /* d, i, b */
    size_t offset;
} option;
#define OPTION(name, type) \
    { #name, type, offsetof(sti_solve_options, name) }
static const option options_known[] = {OPTION(tol, 'd'),
                                       OPTION(full_error, 'd'),
                                       OPTION(atol, 'd'),
                                       OPTION(rtol, 'd'),
                                       OPTION(pcg_tol, 'd'),
                                       OPTION(max_step, 'd'),
                                       OPTION(ls_tol, 'd'),
                                       OPTION(gradient_limit, 'd'),
                                       OPTION(relaxation, 'd'),
                                       OPTION(max_newton, 'i'),
                                       OPTION(max_pcg, 'i'),
                                       OPTION(max_work, 'd'),
                                       OPTION(max_line_search, 'i'),
                                       OPTION(max_iterations, 'i'),
                                       OPTION(finish, 'b'),
                                       OPTION(history, 'b'),
                                       OPTION(adaptive_atol, 'b'),
                                       OPTION(solver, 'i'),
                                       OPTION(coulomb, 'i'),
                                       OPTION(linear, 'i'),
                                       OPTION(preconditioner, 'i')};

static int set_option(sti_solve_options *o, const char *name, PyObject *value) {
    for (size_t i = 0; i < sizeof options_known / sizeof *options_known; i++) {
        if (strcmp(options_known[i].name, name) != 0) continue;
        char *to = (char *)o + options_known[i].offset;
        if (options_known[i].type == 'd') *(double *)to = PyFloat_AsDouble(value);
        else if (options_known[i].type == 'b') *(bool *)to = PyObject_IsTrue(value) == 1;
        else {
            long x = PyLong_AsLong(value);
            if (x < 0 || x > INT32_MAX)
                return PyErr_Occurred() ? -1
                                        : (PyErr_Format(PyExc_ValueError, "%s is out of range", name), -1);
            *(int *)to = (int)x;
        }
        return PyErr_Occurred() ? -1 : 0;
    }
    return PyErr_Format(PyExc_TypeError, "solve has no option %s", name), -1;
}

static int set_options(sti_solve_options *o, PyObject *dict) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name || set_option(o, name, value) < 0) return -1;
    }
    return 0;
}

PyObject *core_warnings(const int64_t *counts) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < STI_WARN_COUNT; i++) {
        if (counts[i] == 0) continue;
        sti_solve_warning warning = (sti_solve_warning)i;
        PyObject *item = Py_BuildValue("Ls", (long long)counts[i], sti_solve_warning_text(warning));
        if (!item || PyDict_SetItemString(dict, sti_solve_warning_name(warning), item) < 0) Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    return dict;
}

static PyObject *warnings_dict(const sti_solve_info *info) {
    int64_t counts[STI_WARN_COUNT];
    for (int i = 0; i < STI_WARN_COUNT; i++) counts[i] = info->warnings[i];
    return core_warnings(counts);
}

static PyObject *info_dict(const sti_solve_info *info) {
    static const char *const names[] = {
#define X(id, name) name,
        STI_SOLVERS(X)
#undef X
    };
    return Py_BuildValue("{s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:d,s:d,s:N,s:N,s:N}", "solver", names[info->solver],
                         "iterations", info->iterations, "outer", info->outer, "products", info->products,
                         "pcg", info->pcg, "line_search", info->line_search, "factorisations",
                         info->factorisations, "r4", info->r4, "seconds", info->seconds, "converged",
                         PyBool_FromLong(info->converged), "warnings", warnings_dict(info), "certificate",
                         core_certificate(&info->certificate));
}

static bool workspace_take(core_workspace *w) {
    if (!atomic_flag_test_and_set(&w->busy)) return true;
    PyErr_SetString(PyExc_RuntimeError, "this workspace is in use by another thread");
    return false;
}

static PyObject *history_list(const sti_workspace *w) {
    int count = 0;
    const double *x = sti_workspace_history(w, &count);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && x && i < count; i++) {
        PyObject *item = PyFloat_FromDouble(x[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* solve(workspace, options, guess_v, guess_g, v, g) -> (info, history) */
static PyObject *problem_solve(PyObject *self, PyObject *args) {
    core_problem *p = (core_problem *)self;
    const sti_problem_arrays *a = sti_problem_view(p->problem);
    PyObject *space, *dict, *gv, *gg, *v, *g, *result = NULL;
    sti_solve_options o = sti_solve_options_default();
    sti_solve_info info;
    sti_error error = {0};
    sti_status status = STI_OK;
    buffers b = {.count = 0};
    int m = sti_problem_scalar_rows(p->problem);
    PyTypeObject *type = type_named(p->module, "Workspace");
    if (!type || !PyArg_ParseTuple(args, "O!O!OOOO", type, &space, &PyDict_Type, &dict, &gv, &gg, &v, &g))
        return NULL;
    core_workspace *w = (core_workspace *)space;
    if (set_options(&o, dict) < 0 || !workspace_take(w)) return NULL;
    o.guess_v = hold(&b, gv, "guess_v", 'd', a->n, NULL, false);
    if (!PyErr_Occurred()) o.guess_g = hold(&b, gg, "guess_gamma", 'd', m, NULL, false);
    double *dv = PyErr_Occurred() ? NULL : hold(&b, v, "v", 'd', a->n, NULL, true);
    double *dg = PyErr_Occurred() ? NULL : hold(&b, g, "gamma", 'd', m, NULL, true);
    if (w->pool) o.tasks = sti_pool_tasks(w->pool);
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS status = sti_solve(p->problem, &o, w->workspace, dv, dg, &info, &error);
        Py_END_ALLOW_THREADS if (status != STI_OK) raise_in(p->module, &error);
        else result = Py_BuildValue("NN", info_dict(&info), history_list(w->workspace)); }
    atomic_flag_clear(&w->busy);
    release(&b);
    return result;
}

/* vjp(workspace, v, w, d_vstar, d_vhat, d_R, d_mu); outputs are arrays or None */
static PyObject *problem_vjp(PyObject *self, PyObject *args) {
    core_problem *p = (core_problem *)self;
    const sti_problem_arrays *a = sti_problem_view(p->problem);
    static const char *const names[] = {"v", "w", "d_vstar", "d_vhat", "d_R", "d_mu"};
    PyObject *space, *o[6];
    double *x[6] = {NULL};
    buffers b = {.count = 0};
    sti_error error = {0};
    sti_status status = STI_OK;
    int m = sti_problem_scalar_rows(p->problem), count[6] = {a->n, a->n, a->n, m, m, a->nrow};
    PyTypeObject *type = type_named(p->module, "Workspace");
    if (!type || !PyArg_ParseTuple(args, "O!OOOOOO", type, &space, &o[0], &o[1], &o[2], &o[3], &o[4], &o[5]))
        return NULL;
    core_workspace *w = (core_workspace *)space;
    if (!workspace_take(w)) return NULL;
    for (int i = 0; i < 6 && !PyErr_Occurred(); i++)
        x[i] = hold(&b, o[i], names[i], 'd', count[i], NULL, i > 1);
    bool ok = !PyErr_Occurred();
    if (ok) {
        Py_BEGIN_ALLOW_THREADS status =
            sti_problem_vjp(p->problem, x[0], x[1], w->workspace, x[2], x[3], x[4], x[5], &error);
        Py_END_ALLOW_THREADS
    }
    atomic_flag_clear(&w->busy);
    release(&b);
    if (!ok) return NULL;
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_in(p->module, &error);
}

/* ---- module ------------------------------------------------------------------------------------------ */

static PyMethodDef problem_methods[] = {
    {"sizes", problem_sizes, METH_NOARGS, "n, nrow, scalar rows"},
    {"rows", problem_rows, METH_NOARGS, "(kind, dim, mu, lo, hi) of each row block"},
    {"view", problem_view, METH_O, "an array by name, None if there is none"},
    {"islands", problem_islands, METH_VARARGS, "fills two arrays, returns the number"},
    {"save", problem_save, METH_VARARGS, "write the native HDF5 group"},
    {"export_fclib", problem_export, METH_VARARGS, "write FCLIB's layout"},
    {"certify", problem_certify, METH_VARARGS, "certificate of an answer"},
    {"solve", problem_solve, METH_VARARGS, "solve into two arrays"},
    {"vjp", problem_vjp, METH_VARARGS, "sensitivities"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot problem_slots[] = {
    {Py_tp_dealloc, problem_dealloc}, {Py_tp_methods, problem_methods}, {0, NULL}};
static PyType_Spec problem_spec = {"stiction._core.Problem", sizeof(core_problem), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, problem_slots};
static PyType_Slot workspace_slots[] = {{Py_tp_dealloc, workspace_dealloc}, {0, NULL}};
static PyType_Spec workspace_spec = {"stiction._core.Workspace", sizeof(core_workspace), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, workspace_slots};

static PyMethodDef functions[] = {{"problem", core_problem_new, METH_VARARGS, "a problem from arrays"},
                                  {"problem_load", core_problem_load, METH_VARARGS, "a problem from a file"},
                                  {"workspace", core_workspace_new, METH_VARARGS, "room for solvers"},
                                  {NULL, NULL, 0, NULL}};

static int add_names(PyObject *module, const char *name, const char *const *items, int count) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *item = PyUnicode_FromString(items[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    int bad = !list || PyModule_AddObjectRef(module, name, list) < 0;
    Py_XDECREF(list);
    return bad ? -1 : 0;
}

int core_add_problem(PyObject *module) {
#define X(id, name) name,
    static const char *const rows[] = {STI_ROWS(X)}, *const solvers[] = {STI_SOLVERS(X)};
#undef X
#define X(name, type) #name,
    static const char *const parts[] = {CERTIFICATE(X)};
#undef X
    PyType_Spec *specs[] = {&problem_spec, &workspace_spec};
    for (int i = 0; i < 2; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        int bad = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0;
        Py_XDECREF(type);
        if (bad) return -1;
    }
    if (add_names(module, "ROWS", rows, STI_ROW_KINDS) < 0 ||
        add_names(module, "SOLVERS", solvers, STI_SOLVER_COUNT) < 0 ||
        add_names(module, "CERTIFICATE", parts, (int)(sizeof parts / sizeof *parts)) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
