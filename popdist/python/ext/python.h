/* Python's limited API, and the buffer protocol, which became part of it with 3.11, unchanged since 3.3. */
#ifndef POPDIST_PYTHON_H
#define POPDIST_PYTHON_H

/* One wheel for Python 3.8 and later. */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

#define PyBUF_SIMPLE 0
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)

int PyObject_GetBuffer(PyObject *object, Py_buffer *buffer, int flags);
void PyBuffer_Release(Py_buffer *buffer);

#endif
