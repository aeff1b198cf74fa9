/* SPDX-License-Identifier: Apache-2.0 */
/* _core.Spec and _core.Element: a scene as a tree of elements that can be edited. What is removed leaves elements of Python behind
   that say so. */
#include "objects.h"

typedef struct core_spec {
    PyObject_HEAD sti_spec *spec;
    core_assets assets; /* which the spec points into */
    PyObject
        *shown; /* {address of an sti_element: address of its core_element}, neither of them kept alive */
} core_spec;

typedef struct core_element {
    PyObject_HEAD sti_element *element; /* NULL: removed */
    PyObject *spec;                     /* core_spec, kept alive */
} core_element;

/* ---- elements ---------------------------------------------------------------------------------------------- */

static PyObject *shown_as(core_spec *s, const sti_element *e) {
    PyObject *key = PyLong_FromVoidPtr((void *)e);
    PyObject *place = key ? PyDict_GetItemWithError(s->shown, key) : NULL; /* borrowed */
    Py_XDECREF(key);
    return place ? PyLong_AsVoidPtr(place) : NULL;
}

static void forget(core_spec *s, const sti_element *e) {
    PyObject *key = PyLong_FromVoidPtr((void *)e);
    if (!key || PyDict_DelItem(s->shown, key) < 0) PyErr_Clear();
    Py_XDECREF(key);
}

/* The one object of an element; None for NULL. */
static PyObject *show(core_state *state, PyObject *spec, sti_element *e) {
    core_spec *s = (core_spec *)spec;
    if (!e) Py_RETURN_NONE;
    PyObject *known = shown_as(s, e);
    if (known || PyErr_Occurred()) return Py_XNewRef(known);
    core_element *x = PyObject_New(core_element, state->element);
    if (!x) return NULL;
    x->element = e;
    x->spec = Py_NewRef(spec);
    PyObject *key = PyLong_FromVoidPtr(e), *place = PyLong_FromVoidPtr(x);
    if (!key || !place || PyDict_SetItem(s->shown, key, place) < 0) {
        x->element = NULL;
        Py_CLEAR(x);
    }
    Py_XDECREF(key);
    Py_XDECREF(place);
    return (PyObject *)x;
}

static void element_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_element *x = (core_element *)self;
    if (x->element) forget((core_spec *)x->spec, x->element);
    Py_XDECREF(x->spec);
    PyObject_Free(self);
    Py_DECREF(type);
}

static sti_element *alive(PyObject *self) {
    sti_element *e = ((core_element *)self)->element;
    if (!e) PyErr_SetString(PyExc_ReferenceError, "this element was removed from its spec");
    return e;
}

static PyObject *show_beside(PyObject *self, sti_element *e) {
    return show(core_state_of_type(Py_TYPE(self)), ((core_element *)self)->spec, e);
}

static PyObject *fail(PyObject *self, const sti_error *error) {
    return core_error(core_state_of_type(Py_TYPE(self)), error);
}

static PyObject *element_tag(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_element *e = alive(self);
    return e ? core_text(sti_element_name(e)) : NULL;
}

#define NEIGHBOUR(name)                                                 \
    static PyObject *element_##name(PyObject *self, PyObject *unused) { \
        (void)unused;                                                   \
        sti_element *e = alive(self);                                   \
        return e ? show_beside(self, sti_element_##name(e)) : NULL;     \
    }
NEIGHBOUR(parent)
NEIGHBOUR(child)
NEIGHBOUR(next)

static PyObject *element_add(PyObject *self, PyObject *arg) {
    const char *tag = PyUnicode_AsUTF8AndSize(arg, NULL);
    sti_element *e = tag ? alive(self) : NULL;
    sti_error error = {0};
    if (!e) return NULL;
    sti_element *added = sti_element_add(e, tag, &error);
    return added ? show_beside(self, added) : fail(self, &error);
}

/* Objects of what goes with an element lose it. */
static void detach(core_spec *s, sti_element *e) {
    for (sti_element *c = sti_element_child(e); c; c = sti_element_next(c)) detach(s, c);
    PyObject *shown = shown_as(s, e);
    if (!shown) return;
    ((core_element *)shown)->element = NULL;
    forget(s, e);
}

static PyObject *element_remove(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_element *e = alive(self);
    if (!e) return NULL;
    if (!sti_element_parent(e)) return PyErr_Format(PyExc_ValueError, "the root of a spec stays"), NULL;
    detach((core_spec *)((core_element *)self)->spec, e);
    sti_element_remove(e);
    Py_RETURN_NONE;
}

static PyObject *element_set(PyObject *self, PyObject *args) {
    const char *name, *text;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "sz", &name, &text)) return NULL;
    sti_element *e = alive(self);
    if (!e) return NULL;
    return sti_element_set(e, name, text, &error) == STI_OK ? Py_NewRef(Py_None) : fail(self, &error);
}

static PyObject *element_get(PyObject *self, PyObject *arg) {
    const char *name = PyUnicode_AsUTF8AndSize(arg, NULL);
    sti_element *e = name ? alive(self) : NULL;
    const char *text = e ? sti_element_get(e, name) : NULL;
    if (!e) return NULL;
    return text ? core_text(text) : Py_NewRef(Py_None);
}

static const char *const kinds[] = {"numbers", "words", "text", "name", "file"};

/* knows(name) -> kind of an attribute, None if there is no such one */
static PyObject *element_knows(PyObject *self, PyObject *arg) {
    const char *name = PyUnicode_AsUTF8AndSize(arg, NULL);
    sti_element *e = name ? alive(self) : NULL;
    sti_attribute_kind kind;
    if (!e) return NULL;
    return sti_element_knows(e, name, &kind) ? PyUnicode_FromString(kinds[kind]) : Py_NewRef(Py_None);
}

/* attributes() -> [(name, kind, text), ...] of those that are given */
static PyObject *element_attributes(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_element *e = alive(self);
    sti_attribute a;
    PyObject *list = e ? PyList_New(0) : NULL;
    for (int i = 0; list && sti_element_attribute(e, i, &a); i++) {
        PyObject *name = PyUnicode_FromFormat("%s%s", a.own ? "sti:" : "", a.name);
        PyObject *item = name ? Py_BuildValue("NsN", name, kinds[a.kind], core_text(a.text)) : NULL;
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef element_methods[] = {
    {"tag", element_tag, METH_NOARGS, "its name as an element"},
    {"parent", element_parent, METH_NOARGS, "the element around it"},
    {"child", element_child, METH_NOARGS, "the first in it"},
    {"next", element_next, METH_NOARGS, "the one after it"},
    {"add", element_add, METH_O, "a new child at the end"},
    {"remove", element_remove, METH_NOARGS, "takes it out, with all in it"},
    {"set", element_set, METH_VARARGS, "an attribute from text; None unsets it"},
    {"get", element_get, METH_O, "text of an attribute, or None"},
    {"knows", element_knows, METH_O, "kind of an attribute, or None"},
    {"attributes", element_attributes, METH_NOARGS, "those that are given"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot element_slots[] = {
    {Py_tp_dealloc, element_dealloc}, {Py_tp_methods, element_methods}, {0, NULL}};
PyType_Spec core_element_spec = {"stiction._core.Element", sizeof(core_element), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, element_slots};

/* ---- specs ------------------------------------------------------------------------------------------------------ */

static void spec_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_spec *s = (core_spec *)self;
    sti_spec_free(s->spec);
    core_assets_free(&s->assets);
    Py_XDECREF(s->shown);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* spec(path as bytes or None, xml or None, assets, allow_outside) -> (Spec, diagnostics); without path and xml an empty one */
PyObject *core_spec_new(PyObject *module, PyObject *args) {
    core_state *state = core_state_of(module);
    const char *path = NULL, *xml = NULL;
    Py_ssize_t size = 0;
    PyObject *place, *dict;
    int outside;
    if (!PyArg_ParseTuple(args, "Oz#Op", &place, &xml, &size, &dict, &outside)) return NULL;
    if (place != Py_None && !(path = core_path(place))) return NULL;
    core_spec *s = PyObject_New(core_spec, state->spec);
    if (!s) return NULL;
    s->spec = NULL;
    s->shown = PyDict_New();
    if (core_assets_fill(&s->assets, dict) < 0 || !s->shown) {
        Py_DECREF(s);
        return NULL;
    }
    sti_load_options options = sti_load_options_default();
    options.assets = s->assets.items;
    options.nasset = s->assets.count;
    options.allow_outside = outside;
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    if (path) s->spec = sti_spec_load(path, &options, &report, &error);
    else if (xml) s->spec = sti_spec_parse(xml, (size_t)size, &options, &report, &error);
    else s->spec = sti_spec_create(&options, &error);
    PyObject *list = core_report(&report);
    sti_report_free(&report);
    if (s->spec && list) return Py_BuildValue("NN", s, list);
    Py_XDECREF(list);
    bool bad = !s->spec;
    Py_DECREF(s);
    return bad ? core_error(state, &error) : NULL;
}

static PyObject *spec_root(PyObject *self, PyObject *unused) {
    (void)unused;
    return show(core_state_of_type(Py_TYPE(self)), self, sti_spec_root(((core_spec *)self)->spec));
}

static PyObject *spec_find(PyObject *self, PyObject *args) {
    const char *tag, *name;
    if (!PyArg_ParseTuple(args, "ss", &tag, &name)) return NULL;
    return show(core_state_of_type(Py_TYPE(self)), self, sti_spec_find(((core_spec *)self)->spec, tag, name));
}

/* compile() -> (Model, diagnostics) */
static PyObject *spec_compile(PyObject *self, PyObject *unused) {
    (void)unused;
    core_state *state = core_state_of_type(Py_TYPE(self));
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_model *model = sti_model_compile(((core_spec *)self)->spec, &report, &error);
    PyObject *list = core_report(&report);
    sti_report_free(&report);
    if (!model || !list) {
        sti_model_free(model);
        Py_XDECREF(list);
        return list ? core_error(state, &error) : NULL;
    }
    PyObject *m = core_wrap_model(state, model);
    if (!m) Py_DECREF(list);
    return m ? Py_BuildValue("NN", m, list) : NULL;
}

static PyObject *spec_write(PyObject *self, PyObject *plain) {
    const sti_spec *spec = ((core_spec *)self)->spec;
    size_t size = 0;
    sti_error error = {0};
    char *text = sti_spec_write(spec, PyObject_IsTrue(plain) == 1, &size, &error);
    if (!text) return core_error(core_state_of_type(Py_TYPE(self)), &error);
    PyObject *result = core_text(text);
    sti_string_free(spec, text, size);
    return result;
}

static PyMethodDef spec_methods[] = {{"root", spec_root, METH_NOARGS, "the mujoco element"},
                                     {"find", spec_find, METH_VARARGS, "an element by tag and name, or None"},
                                     {"compile", spec_compile, METH_NOARGS, "a model"},
                                     {"write", spec_write, METH_O, "as XML; plain: without our own"},
                                     {NULL, NULL, 0, NULL}};
static PyType_Slot spec_slots[] = {{Py_tp_dealloc, spec_dealloc}, {Py_tp_methods, spec_methods}, {0, NULL}};
PyType_Spec core_spec_spec = {"stiction._core.Spec", sizeof(core_spec), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spec_slots};
