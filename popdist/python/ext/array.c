#include "popdist/python/ext/array.h"

#include <stdint.h>
#include <string.h>

/* DLPack: the common part of its version 1 and the unversioned one before. */
struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

/* Version 1 can also mark the tensor as read-only. */
struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

#define DL_CPU 1
#define DL_NAME "dltensor"
#define DL_VERSIONED_NAME "dltensor_versioned"
#define DL_VERSION 1
#define DL_READ_ONLY 1U
#define DL_COPIED 2U
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BOOL = 6 };

static int integer_type(size_t size, int is_signed, enum popdist_type *ret)
{
    switch (size) {
    case 1:
        *ret = is_signed ? POPDIST_INT8 : POPDIST_UINT8;
        return 1;
    case 2:
        *ret = is_signed ? POPDIST_INT16 : POPDIST_UINT16;
        return 1;
    case 4:
        *ret = is_signed ? POPDIST_INT32 : POPDIST_UINT32;
        return 1;
    case 8:
        *ret = is_signed ? POPDIST_INT64 : POPDIST_UINT64;
        return 1;
    default:
        return 0;
    }
}

static int float_type(size_t size, enum popdist_type *ret)
{
    if (size != 2 && size != 4 && size != 8)
        return 0;
    *ret = size == 2 ? POPDIST_HALF : size == 4 ? POPDIST_FLOAT : POPDIST_DOUBLE;
    return 1;
}

/* The struct module's letters; sizes are the buffer's own, because they depend on the first letter. */
static int type_of_format(const char *format, size_t size, enum popdist_type *ret)
{
    const char *at = format ? format : "B";

    at += *at == '@' || *at == '=' || *at == '<';
    if (!at[0] || at[1])
        return 0;
    if (*at == '?' && size == 1) {
        *ret = POPDIST_BOOL;
        return 1;
    }
    if (strchr("efd", *at))
        return float_type(size, ret);
    if (strchr("bhilqn", *at))
        return integer_type(size, 1, ret);
    return strchr("BHILQN", *at) && integer_type(size, 0, ret);
}

static int read_buffer(struct array *ret)
{
    Py_buffer *buffer = &ret->buffer;

    if (!type_of_format(buffer->format, (size_t)buffer->itemsize, &ret->type)) {
        PyErr_Format(
            PyExc_TypeError,
            "elements of format '%s' cannot be exchanged; they must be half, float, double, bool or integers",
            buffer->format);
        PyBuffer_Release(buffer);
        return 0;
    }
    ret->data = buffer->buf;
    ret->count = (size_t)(buffer->len / buffer->itemsize);
    return 1;
}

static int type_of_tensor(const struct dl_tensor *tensor, enum popdist_type *ret)
{
    size_t size = tensor->bits / 8;

    if (tensor->bits % 8 || tensor->lanes != 1)
        return 0;
    switch (tensor->code) {
    case DL_INT:
        return integer_type(size, 1, ret);
    case DL_UINT:
        return integer_type(size, 0, ret);
    case DL_FLOAT:
        return float_type(size, ret);
    case DL_BOOL:
        *ret = POPDIST_BOOL;
        return size == 1;
    default:
        return 0;
    }
}

/* No strides means contiguous. */
static int is_contiguous(const struct dl_tensor *tensor, size_t *ret_count)
{
    int64_t count = 1;
    int good = 1;

    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->strides && tensor->shape[i] > 1 && tensor->strides[i] != count)
            good = 0;
        count *= tensor->shape[i];
    }
    *ret_count = (size_t)count;
    return good || count == 0;
}

static int read_tensor(const struct dl_tensor *tensor, struct array *ret)
{
    if (tensor->device_type != DL_CPU) {
        PyErr_SetString(PyExc_TypeError, "the tensor is not in host memory; move it to the CPU first");
        return 0;
    }
    if (!type_of_tensor(tensor, &ret->type)) {
        PyErr_Format(
            PyExc_TypeError,
            "elements of DLPack type %d with %d bits cannot be exchanged; they must be half, float, double, "
            "bool or integers",
            tensor->code, tensor->bits);
        return 0;
    }
    if (!is_contiguous(tensor, &ret->count)) {
        PyErr_SetString(PyExc_ValueError, "the tensor is not contiguous; pass a contiguous copy");
        return 0;
    }
    ret->data = (uint8_t *)tensor->data + tensor->byte_offset;
    return 1;
}

/* Version 1 is requested with max_version; older implementations do not accept the argument. */
static PyObject *ask_for_tensor(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *none = PyTuple_New(0);
    PyObject *words = Py_BuildValue("{s(ii)}", "max_version", DL_VERSION, 0), *capsule = NULL;

    if (method && none && words)
        capsule = PyObject_Call(method, none, words);
    if (!capsule && method && none && words && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(words);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

static const struct dl_tensor *open_versioned(PyObject *capsule, int writable)
{
    const struct dl_versioned *managed = PyCapsule_GetPointer(capsule, DL_VERSIONED_NAME);

    if (!managed)
        return NULL;
    if (managed->major != DL_VERSION) {
        PyErr_Format(PyExc_TypeError, "unsupported DLPack version %lu; pass a NumPy array",
                     (unsigned long)managed->major);
        return NULL;
    }
    if (writable && managed->flags & (DL_READ_ONLY | DL_COPIED)) {
        PyErr_SetString(PyExc_TypeError,
                        "the tensor is not writable or only available as a copy; pass a writable one");
        return NULL;
    }
    return &managed->tensor;
}

static int take_tensor(PyObject *object, int writable, struct array *ret)
{
    PyObject *capsule = ask_for_tensor(object);
    const struct dl_tensor *tensor = NULL;

    if (!capsule)
        return 0;
    /* A tensor without a version is the first member of what manages it. */
    if (PyCapsule_IsValid(capsule, DL_VERSIONED_NAME))
        tensor = open_versioned(capsule, writable);
    else
        tensor = PyCapsule_GetPointer(capsule, DL_NAME);
    if (!tensor || !read_tensor(tensor, ret)) {
        /* The tensor was not consumed, so the capsule frees it. */
        Py_DECREF(capsule);
        return 0;
    }
    ret->capsule = capsule;
    return 1;
}

int array_take(PyObject *object, int writable, struct array *ret)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);

    memset(ret, 0, sizeof *ret);
    if (PyObject_GetBuffer(object, &ret->buffer, flags) == 0)
        return read_buffer(ret);
    ret->buffer.obj = NULL;
    /* Any other error comes from an object that has a buffer. */
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return 0;
    PyErr_Clear();
    if (PyObject_HasAttrString(object, "__dlpack__"))
        return take_tensor(object, writable, ret);
    PyErr_SetString(
        PyExc_TypeError,
        "the data must be a NumPy array or another object with the buffer protocol or __dlpack__");
    return 0;
}

void array_release(struct array *array)
{
    if (array->buffer.obj)
        PyBuffer_Release(&array->buffer);
    /* The capsule's destructor frees the tensor, because it still has its first name. */
    Py_CLEAR(array->capsule);
}
