/* The memory of a Python object: of anything with the buffer protocol, or with __dlpack__ on the CPU.
 * Borrowed without a copy; the object is kept until array_release. */
#ifndef POPDIST_ARRAY_H
#define POPDIST_ARRAY_H

#include "popdist/python/ext/python.h"
#include "popdist/popdist.h"

struct array {
    void *data;
    size_t count;
    enum popdist_type type;
    Py_buffer buffer;  /* obj is NULL: not in use */
    PyObject *capsule; /* of __dlpack__, or NULL */
};

/* False with a Python exception: the object has no such memory, it is not contiguous, its elements have a
 * type that PopDist does not support, or it is read-only although it must be writable. */
int array_take(PyObject *object, int writable, struct array *ret);
void array_release(struct array *array);

#endif
