/* The extension module: Python's way into the compiled functions.

   Every argument of every call is checked here, against the signature that the function declares (kernel.h): its type,
   that an array is C-contiguous and of the right element type, that it can be written if it is, and that sizes agree.
   Arrays are held for the length of the call and no longer. */

#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define AS_TEXT(x) #x
#define TEXT(x) AS_TEXT(x)
#define JOIN(a, b) a##b
#define INIT(variant) JOIN(PyInit__, variant)

enum type { INTEGER, REAL, FLOAT32, FLOAT64, INT64, INT32, UINT8, TYPES };
static const char *const TYPE_NAMES[] = {"int", "float", "float32", "float64", "int64", "int32", "uint8"};
static const char *const FORMATS[] = {0, 0, "f", "d", "lq", "il", "B?"};
static const Py_ssize_t BYTES[] = {0, 0, 4, 8, 8, 4, 1};

struct argument {
    char name[24];
    enum type type;
    int dimensions, size[4]; /* of an array: a place among the named sizes, or minus one minus a fixed number */
    int written, optional;
};

struct function {
    const struct kernel *kernel;
    int arguments, sizes;
    struct argument argument[MOST_ARGUMENTS];
    char size_name[MOST_SIZES][24];
    PyMethodDef method;
};

static struct function functions[24];

/* -- signatures ---------------------------------------------------------------------------------------------------- */

static int named_size(struct function *f, const char *name, size_t length) {
    if (name[0] >= '0' && name[0] <= '9') return -1 - atoi(name);
    for (int i = 0; i < f->sizes; i++)
        if (strlen(f->size_name[i]) == length && !strncmp(f->size_name[i], name, length)) return i;
    memcpy(f->size_name[f->sizes], name, length);
    return f->sizes++;
}

/* Reads a signature; signatures are part of this program, so that only their form is trusted. */
static void parse(struct function *f) {
    for (const char *at = f->kernel->sizes; *at;) {
        size_t length = strcspn(at, ",");
        named_size(f, at, length);
        at += length + strspn(at + length, ", ");
    }
    for (const char *at = f->kernel->signature; *at;) {
        struct argument *a = &f->argument[f->arguments++];
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");
        memcpy(a->name, at, length);
        at += length + 1;
        length = strcspn(at, "[; ");
        for (int type = 0; type < TYPES; type++)
            if (strlen(TYPE_NAMES[type]) == length && !strncmp(TYPE_NAMES[type], at, length)) a->type = type;
        at += length;
        while (*at == '[' || *at == ',') {
            length = strcspn(++at, ",]");
            if (length) a->size[a->dimensions++] = named_size(f, at, length);
            at += length;
        }
        length = strcspn(at, ";");
        char rest[64] = {0};
        memcpy(rest, at, length < 63 ? length : 63);
        a->written = strstr(rest, " out") != 0;
        a->optional = strstr(rest, " optional") != 0;
        at += length + (at[length] == ';');
    }
}

/* -- arguments ----------------------------------------------------------------------------------------------------- */

/* Says what an array should be; the text is put together only when it is needed. */
static int wrong_array(const struct function *f, const struct argument *a) {
    PyErr_Format(PyExc_ValueError, "%s: %s should be a C-contiguous %s array%s of %d dimensions", f->kernel->name,
                 a->name, TYPE_NAMES[a->type], a->written ? " that can be written," : "", a->dimensions);
    return 0;
}

static int take_array(const struct function *f, const struct argument *a, PyObject *given, Py_buffer *view,
                      int64_t *size) {
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (a->written ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(given, view, flags)) {
        PyErr_Clear();
        return wrong_array(f, a);
    }
    int right = view->ndim == a->dimensions && view->itemsize == BYTES[a->type] && view->format;
    if (!right || !strchr(FORMATS[a->type], view->format[0]) || view->format[1]) {
        PyBuffer_Release(view);
        return wrong_array(f, a);
    }
    for (int i = 0; i < a->dimensions; i++) {
        int64_t fixed = -1 - a->size[i], *known = a->size[i] < 0 ? &fixed : &size[a->size[i]];
        if (*known < 0) *known = view->shape[i];
        if (*known == view->shape[i]) continue;
        const char *name = a->size[i] < 0 ? "axis" : f->size_name[a->size[i]];
        PyErr_Format(PyExc_ValueError, "%s: %s has %zd %s where %lld fit the other arguments", f->kernel->name, a->name,
                     view->shape[i], name, (long long)*known);
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

static int take(const struct function *f, const struct argument *a, PyObject *given, union value *value,
                Py_buffer *view, int64_t *size) {
    if (a->type == INTEGER) {
        value->integer = PyLong_AsLongLong(given);
        return !PyErr_Occurred();
    }
    if (a->type == REAL) {
        value->real = PyFloat_AsDouble(given);
        return !PyErr_Occurred();
    }
    if (a->optional && given == Py_None) {
        value->array = 0;
        return 1;
    }
    if (!take_array(f, a, given, view, size)) return 0;
    value->array = view->buf;
    return 1;
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t n) {
    const struct function *f = PyCapsule_GetPointer(self, 0);
    if (!f) return 0;
    if (n != f->arguments)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arguments, got %zd", f->kernel->name, f->arguments, n);
    struct call c;
    Py_buffer views[MOST_ARGUMENTS];
    memset(c.size, -1, sizeof c.size);
    c.result = 0;
    int taken = 0;
    for (; taken < n; taken++) {
        views[taken].obj = 0;
        if (!take(f, &f->argument[taken], given[taken], &c.value[taken], &views[taken], c.size)) break;
    }
    if (taken == n) {
        const char *problem;
        PyThreadState *state = f->kernel->long_running ? PyEval_SaveThread() : 0;
        problem = f->kernel->run(&c);
        if (state) PyEval_RestoreThread(state);
        if (problem) PyErr_Format(PyExc_ValueError, "%s: %s", f->kernel->name, problem);
    }
    for (int i = 0; i < taken; i++)
        if (views[i].obj) PyBuffer_Release(&views[i]);
    return PyErr_Occurred() ? 0 : PyLong_FromLongLong(c.result);
}

/* -- module -------------------------------------------------------------------------------------------------------- */

/* Adds a function, and its signature to what the loader compares. */
static int add(PyObject *module, PyObject *signatures, struct function *f, const struct kernel *kernel) {
    if (!f->kernel) {
        f->kernel = kernel;
        parse(f);
        f->method.ml_name = kernel->name;
        f->method.ml_meth = (PyCFunction)(void (*)(void))call;
        f->method.ml_flags = METH_FASTCALL;
        f->method.ml_doc = kernel->signature;
    }
    PyObject *self = PyCapsule_New(f, 0, 0), *function = self ? PyCFunction_New(&f->method, self) : 0;
    PyObject *text = PyUnicode_FromString(kernel->signature);
    int failed = !function || !text || PyModule_AddObjectRef(module, kernel->name, function) ||
                 PyDict_SetItemString(signatures, kernel->name, text);
    Py_XDECREF(text);
    Py_XDECREF(function);
    Py_XDECREF(self);
    return failed ? -1 : 0;
}

const char *processor(void);

static int fill(PyObject *module) {
    static const struct kernel *const all[] = {BATCH_KERNELS, FILLING_KERNELS, AGENT_KERNELS, NETWORK_KERNELS, ADAM_KERNELS};
    PyObject *signatures = PyDict_New();
    int failed = !signatures || PyModule_AddObjectRef(module, "SIGNATURES", signatures), n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (const struct kernel *one = all[k]; !failed && one->name; one++)
            failed = add(module, signatures, &functions[n++], one);
    Py_XDECREF(signatures);
    failed = failed || PyModule_AddStringConstant(module, "PROCESSOR", processor());
    return failed ? -1 : 0;
}

PyMODINIT_FUNC INIT(NGYM_VARIANT)(void);

PyMODINIT_FUNC INIT(NGYM_VARIANT)(void) {
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0, 0}};
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, .m_name = "_" TEXT(NGYM_VARIANT), .m_size = 0, .m_slots = slots};
    return PyModuleDef_Init(&definition);
}
