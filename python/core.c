/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: the module, on CPython's limited API. Everything that does not touch memory of the library is Python, in
   stiction/__init__.py. */
#include "objects.h"

static int add_constants(PyObject *module) {
    PyObject *objects = PyDict_New(), *sizes = PyList_New(0), *fields = PyList_New(0), *state = PyList_New(0);
    PyObject *options = PyList_New(0), *handlers = PyList_New(0), *troubles = PyList_New(0);
    PyObject *bounds = PyList_New(0);
    int bad = !objects || !sizes || !fields || !state || !options || !handlers || !troubles || !bounds;
    PyObject *item;
#define PUSH(list, value) \
    (bad = bad || !(item = (value)) || PyList_Append(list, item) < 0, bad ? (void)0 : Py_DECREF(item))
#define X(id, name, field, count)                                                                          \
    bad = bad || !(item = PyLong_FromLong(STI_OBJ_##id)) || PyDict_SetItemString(objects, name, item) < 0; \
    if (!bad) Py_DECREF(item);
    STI_OBJECTS(X)
#undef X
#define X(name, meaning) PUSH(sizes, core_text(#name));
    STI_MODEL_SIZES(X)
#undef X
#define X(type, name, rows, cols, vary, change) \
    PUSH(fields, Py_BuildValue("sCC", #name, #vary[0], #change[0]));
    STI_MODEL_FIELDS(X)
#undef X
#define X(name, rows, cols, role) PUSH(state, Py_BuildValue("ss", #name, #role));
    STI_STATE_FIELDS(X)
#undef X
#define X(type, name, attribute, least, most, meaning) PUSH(options, Py_BuildValue("sC", #name, CODE_##type));
    STI_OWN_OPTIONS(X)
#undef X
#define BOUNDS(type, name, least, most, meaning) \
    PUSH(bounds, Py_BuildValue("sdd", #name, (double)(least), (double)(most)));
#define X(type, name, attribute, least, most, meaning) BOUNDS(type, name, least, most, meaning)
    STI_MJCF_OPTIONS(BOUNDS)
    STI_FLAG_OPTIONS(BOUNDS)
    STI_OWN_OPTIONS(X)
#undef X
#undef BOUNDS
#define X(id, attribute, meaning) PUSH(handlers, core_text(#id));
    STI_HANDLERS(X)
#undef X
#define X(id, word, meaning) PUSH(troubles, core_text(word));
    STI_TROUBLES(X)
#undef X
    bad = bad || PyModule_AddObjectRef(module, "OBJECTS", objects) < 0 ||
          PyModule_AddObjectRef(module, "TROUBLES", troubles) < 0 ||
          PyModule_AddObjectRef(module, "OPTIONS", options) < 0 ||
          PyModule_AddObjectRef(module, "BOUNDS", bounds) < 0 ||
          PyModule_AddObjectRef(module, "HANDLERS", handlers) < 0 ||
          PyModule_AddObjectRef(module, "SIZES", sizes) < 0 ||
          PyModule_AddObjectRef(module, "FIELDS", fields) < 0 ||
          PyModule_AddObjectRef(module, "STATE", state) < 0 ||
          PyModule_AddStringConstant(module, "VERSION", sti_version()) < 0;
    Py_XDECREF(objects);
    Py_XDECREF(sizes);
    Py_XDECREF(fields);
    Py_XDECREF(state);
    Py_XDECREF(options);
    Py_XDECREF(bounds);
    Py_XDECREF(handlers);
    Py_XDECREF(troubles);
    return bad ? -1 : 0;
}

/* ENUMS: {name: {member: value}} of the library's enumerations. */
static int add_enums(PyObject *module) {
    PyObject *all = PyDict_New(), *one = NULL, *value;
    int bad = !all;
#define BEGIN(name)     \
    one = PyDict_New(); \
    bad = bad || !one || PyDict_SetItemString(all, name, one) < 0;
#define MEMBER(name, number)                                           \
    value = PyLong_FromLong(number);                                   \
    bad = bad || !value || PyDict_SetItemString(one, name, value) < 0; \
    Py_XDECREF(value);
#define END Py_CLEAR(one);
/* clang-format off */
#define X(id, bit) MEMBER(#id, STI_JOINT_##id)
    BEGIN("Joint") X(FREE, ) X(BALL, ) X(SLIDE, ) X(HINGE, ) END
#undef X
#define X(id, bit) MEMBER(#id, STI_GEOM_##id)
    BEGIN("Geom") X(PLANE, ) X(HFIELD, ) X(SPHERE, ) X(CAPSULE, ) X(ELLIPSOID, ) X(CYLINDER, ) X(BOX, ) X(MESH, ) END
#undef X
#define X(id, bit) MEMBER(#id, STI_INTEGRATOR_##id)
    BEGIN("Integrator") X(EULER, ) X(RK4, ) X(IMPLICIT, ) X(IMPLICITFAST, ) X(ALM, ) END
#undef X
#define X(id, bit) MEMBER(#id, STI_EQ_##id)
    BEGIN("Equality") X(CONNECT, ) X(WELD, ) X(JOINT, ) X(TENDON, ) X(DISTANCE, ) X(COUPLED, ) END
#undef X
#define X(id, bit) MEMBER(#id, STI_TRN_##id)
    BEGIN("Transmission") X(JOINT, ) X(JOINTINPARENT, ) X(SLIDERCRANK, ) X(TENDON, ) X(SITE, ) X(BODY, ) X(SO3, ) END
#undef X
#define X(id, text, stage) MEMBER(#id, STI_SENSOR_##id)
    BEGIN("Sensor") STI_SENSORS(X) END
#undef X
#define X(id, text, field, count) MEMBER(#id, STI_OBJ_##id)
    BEGIN("Object") STI_OBJECTS(X) MEMBER("XBODY", STI_OBJ_XBODY) END
#undef X
#define X(id, text, bit) MEMBER(#id, STI_DISABLE_##id)
    BEGIN("Disable") STI_DISABLE_FLAGS(X) END
#undef X
#define X(id, text, bit) MEMBER(#id, STI_ENABLE_##id)
    BEGIN("Enable") STI_ENABLE_FLAGS(X) END
#undef X
#define X(id, bit) MEMBER(#id, STI_STATE_##id)
    BEGIN("State") STI_STATE_BITS(X) X(PHYSICS, ) X(FULLPHYSICS, ) X(USER, ) X(INTEGRATION, ) END
#undef X
/* clang-format on */
#undef BEGIN
#undef MEMBER
#undef END
                                                    bad = bad ||
                                                          PyModule_AddObjectRef(module, "ENUMS", all) < 0;
    Py_XDECREF(all);
    return bad ? -1 : 0;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0) Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int core_exec(PyObject *module) {
    core_state *s = core_state_of(module);
    PyObject *members = Py_BuildValue("{s:s,s:s,s:i,s:s,s:s,s:s}", "code", "", "file", "", "line", 0,
                                      "element", "", "attribute", "", "message", "");
    if (!members) return -1;
    s->error = PyErr_NewExceptionWithDoc(
        "stiction.Error", "What went wrong and where: code, file, line, element, attribute, message.", NULL,
        members);
    Py_DECREF(members);
    if (!s->error || PyModule_AddObjectRef(module, "Error", s->error) < 0) return -1;
    s->model = add_type(module, &core_model_spec);
    s->world = add_type(module, &core_world_spec);
    s->array = add_type(module, &core_array_spec);
    s->recorder = add_type(module, &core_recorder_spec);
    s->batch = add_type(module, &core_batch_spec);
    s->spec = add_type(module, &core_spec_spec);
    s->element = add_type(module, &core_element_spec);
    if (!s->model || !s->world || !s->array || !s->recorder || !s->batch || !s->spec || !s->element)
        return -1;
    return add_constants(module) < 0 || add_enums(module) < 0 || core_add_problem(module) < 0 ||
                   core_add_coupled(module) < 0 || core_add_mesh(module) < 0 || core_add_ik(module) < 0 ||
                   core_add_control(module) < 0
               ? -1
               : core_add_viewer(module);
}

static void core_free(void *module) {
    core_state *s = core_state_of(module);
    if (!s) return;
    Py_CLEAR(s->error);
    Py_CLEAR(s->model);
    Py_CLEAR(s->world);
    Py_CLEAR(s->array);
    Py_CLEAR(s->recorder);
    Py_CLEAR(s->batch);
    Py_CLEAR(s->spec);
    Py_CLEAR(s->element);
}

static PyMethodDef core_methods[] = {{"load", core_load, METH_VARARGS, "load and compile a model"},
                                     {"unpack", core_unpack, METH_O, "a model of bytes"},
                                     {"world", core_world_new, METH_VARARGS, "a world of a model"},
                                     {"spec", core_spec_new, METH_VARARGS, "an editable scene"},
                                     {"batch", core_batch_new, METH_VARARGS, "many worlds of a model"},
                                     {"lanes", core_lanes, METH_NOARGS, "worlds a register holds"},
                                     {"renderer", core_renderer_new, METH_VARARGS, "what makes pictures"},
                                     {"renderer_device", core_renderer_device, METH_O, "what draws"},
                                     {"recorder", core_recorder_new, METH_VARARGS, "an HDF5 recorder"},
                                     {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};
static struct PyModuleDef core_module = {.m_base = PyModuleDef_HEAD_INIT,
                                         .m_name = "stiction._core",
                                         .m_size = sizeof(core_state),
                                         .m_methods = core_methods,
                                         .m_slots = core_slots,
                                         .m_free = core_free};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }
