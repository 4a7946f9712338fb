/* popdist._popdist: the C library's functions, with exceptions for errors. Collectives run without the GIL.
 */
#include "popdist/python/ext/array.h"

static PyObject *error_class;

static PyObject *raise(enum popdist_status status, const struct popdist_error *error)
{
    PyObject *arguments = Py_BuildValue("(s)", error->text);
    PyObject *raised = arguments ? PyObject_CallObject(error_class, arguments) : NULL;
    PyObject *code = raised ? PyLong_FromLong((long)status) : NULL;

    if (code && PyObject_SetAttrString(raised, "status", code) == 0)
        PyErr_SetObject(error_class, raised);
    Py_XDECREF(code);
    Py_XDECREF(raised);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *none_or_raise(enum popdist_status status, const struct popdist_error *error)
{
    if (status)
        return raise(status, error);
    Py_RETURN_NONE;
}

static PyObject *number_of(enum popdist_status (*query)(uint32_t *, struct popdist_error *))
{
    struct popdist_error error;
    uint32_t number;
    enum popdist_status status = query(&number, &error);

    return status ? raise(status, &error) : PyLong_FromUnsignedLong(number);
}

#define QUERY(name, query)                                                                                   \
    static PyObject *name(PyObject *self, PyObject *nothing)                                                 \
    {                                                                                                        \
        (void)self, (void)nothing;                                                                           \
        return number_of(query);                                                                             \
    }

QUERY(get_num_total_replicas, popdist_num_total_replicas)
QUERY(get_num_local_replicas, popdist_num_local_replicas)
QUERY(get_num_ipus_per_replica, popdist_num_ipus_per_replica)
QUERY(get_replica_index_offset, popdist_replica_index_offset)
QUERY(get_num_instances, popdist_num_instances)
QUERY(get_instance_index, popdist_instance_index)
QUERY(get_local_instance_index, popdist_local_instance_index)
#undef QUERY

static PyObject *is_env_set(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyBool_FromLong(popdist_is_env_set());
}

/* Waiting for other instances must not stop this one's other threads. */
static PyObject *run(enum popdist_status (*function)(struct popdist_error *))
{
    struct popdist_error error;
    enum popdist_status status;

    Py_BEGIN_ALLOW_THREADS;
    status = function(&error);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status, &error);
}

#define STEP(name, function)                                                                                 \
    static PyObject *name(PyObject *self, PyObject *nothing)                                                 \
    {                                                                                                        \
        (void)self, (void)nothing;                                                                           \
        return run(function);                                                                                \
    }

STEP(init, popdist_init)
STEP(register_default_backend, popdist_register_default_backend)
STEP(initialize_backend, popdist_initialize_backend)
STEP(finalize_backend, popdist_finalize_backend)
#undef STEP

static PyObject *stop_collectives(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    const char *reason;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "s", &reason))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_stop_collectives(reason, &error);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status, &error);
}

static PyObject *register_backend(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    const char *path;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "s", &path))
        return NULL;
    return none_or_raise(popdist_register_backend(path, &error), &error);
}

static PyObject *is_backend_initialized(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyBool_FromLong(popdist_is_backend_initialized());
}

static PyObject *backend_place(PyObject *self, PyObject *nothing)
{
    struct popdist_error error;
    uint32_t instances, index;
    enum popdist_status status = popdist_backend_place(&instances, &index, &error);

    (void)self, (void)nothing;
    return status ? raise(status, &error)
                  : Py_BuildValue("(kk)", (unsigned long)instances, (unsigned long)index);
}

/* For "O&": a number that is too small or too large is an error, where "I" truncates it to 32 bits. */
static int to_uint32(PyObject *object, void *ret)
{
    PyObject *index = PyNumber_Index(object);
    unsigned long number = index ? PyLong_AsUnsignedLong(index) : 0;

    Py_XDECREF(index);
    if (PyErr_Occurred() ? PyErr_ExceptionMatches(PyExc_OverflowError) : number > UINT32_MAX)
        (void)PyErr_Format(PyExc_OverflowError, "%R is not a number from 0 to 4294967295", object);
    if (PyErr_Occurred())
        return 0;
    *(uint32_t *)ret = (uint32_t)number;
    return 1;
}

static PyObject *device_id(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    uint32_t ipus, device;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&", to_uint32, &ipus))
        return NULL;
    status = popdist_device_id(ipus, &device, &error);
    return status ? raise(status, &error) : PyLong_FromUnsignedLong(device);
}

static PyObject *check_num_ipus_per_replica(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    uint32_t ipus;
    bool fits;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&", to_uint32, &ipus))
        return NULL;
    status = popdist_check_num_ipus_per_replica(ipus, &fits, &error);
    return status ? raise(status, &error) : PyBool_FromLong(fits);
}

static PyObject *executable_cache_path(PyObject *self, PyObject *nothing)
{
    const char *path = popdist_executable_cache_path();

    (void)self, (void)nothing;
    if (path)
        return PyUnicode_DecodeFSDefault(path);
    Py_RETURN_NONE;
}

static PyObject *autoreport(PyObject *self, PyObject *nothing)
{
    struct popdist_error error;
    char directory[4096];
    bool enable_all;
    enum popdist_status status = popdist_autoreport(directory, sizeof directory, &enable_all, &error);

    (void)self, (void)nothing;
    if (status)
        return raise(status, &error);
    return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(directory), PyBool_FromLong(enable_all));
}

/* The texts of a list of bytes, borrowed from it, up to NULL. The caller frees them. */
static const char **read_texts(PyObject *list)
{
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
    const char **texts = PyMem_Malloc(((size_t)count + 1) * sizeof *texts);

    if (!texts)
        return (const char **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), (char **)&texts[i], NULL)) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    texts[count] = NULL;
    return texts;
}

static PyObject *progress(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    uint32_t percent;
    long long remaining_s;
    PyObject *list;
    const char **metrics;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O&LO", to_uint32, &percent, &remaining_s, &list))
        return NULL;
    metrics = read_texts(list);
    if (!metrics)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_progress(percent, remaining_s, metrics, &error);
    Py_END_ALLOW_THREADS;
    PyMem_Free(metrics);
    if (status && status != POPDIST_UNAVAILABLE)
        return raise(status, &error);
    return PyBool_FromLong(!status);
}

/* A list or set of instance numbers. The caller frees *ret. */
static int read_participants(PyObject *object, uint32_t **ret, size_t *ret_count)
{
    PyObject *list = PySequence_List(object);
    Py_ssize_t count = list ? PyList_Size(list) : -1;

    *ret = count >= 0 ? PyMem_Malloc(((size_t)count + 1) * sizeof **ret) : NULL;
    *ret_count = 0;
    for (Py_ssize_t i = 0; *ret && i < count; i++) {
        if (!to_uint32(PyList_GetItem(list, i), *ret + *ret_count))
            break;
        (*ret_count)++;
    }
    Py_XDECREF(list);
    if (*ret && !PyErr_Occurred())
        return 1;
    PyMem_Free(*ret);
    if (!PyErr_Occurred())
        (void)PyErr_NoMemory();
    return 0;
}

static PyObject *register_communicator(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    PyObject *object;
    const char *id;
    uint32_t *participants;
    size_t count;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "Os", &object, &id) || !read_participants(object, &participants, &count))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_register_communicator(participants, count, id, &error);
    Py_END_ALLOW_THREADS;
    PyMem_Free(participants);
    return none_or_raise(status, &error);
}

static PyObject *use_instances(PyObject *self, PyObject *object)
{
    struct popdist_error error;
    uint32_t *participants;
    size_t count;
    enum popdist_status status;

    (void)self;
    if (!read_participants(object, &participants, &count))
        return NULL;
    status = popdist_use_instances(participants, count, &error);
    PyMem_Free(participants);
    return none_or_raise(status, &error);
}

static PyObject *broadcast(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    struct array array;
    PyObject *object;
    uint32_t root;
    const char *id;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO&s", &object, to_uint32, &root, &id) ||
        !array_take(object, 1, &array))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_broadcast(array.data, array.count, array.type, root, id, &error);
    Py_END_ALLOW_THREADS;
    array_release(&array);
    return none_or_raise(status, &error);
}

static PyObject *all_reduce_sum(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    struct array array;
    PyObject *object;
    const char *id;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "Os", &object, &id) || !array_take(object, 1, &array))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_all_reduce_sum(array.data, array.count, array.type, id, &error);
    Py_END_ALLOW_THREADS;
    array_release(&array);
    return none_or_raise(status, &error);
}

/* How many elements each participant has; 0 with an exception. */
static int part_of(const struct array *in, const struct array *out, uint32_t participants, size_t *ret)
{
    if (out->count % participants) {
        PyErr_Format(PyExc_ValueError, "%zu elements cannot be gathered from %lu participants alike",
                     out->count, (unsigned long)participants);
        return 0;
    }
    *ret = out->count / participants;
    if (in && (in->type != out->type || in->count != *ret)) {
        PyErr_Format(PyExc_ValueError,
                     "the input is %s[%zu], but the output fits %s[%zu] of each participant",
                     popdist_type_name(in->type), in->count, popdist_type_name(out->type), *ret);
        return 0;
    }
    return 1;
}

static PyObject *gather(const struct array *in, const struct array *out, const char *id)
{
    struct popdist_error error;
    uint32_t participants;
    size_t count;
    enum popdist_status status = popdist_num_participants(id, &participants, &error);

    if (status)
        return raise(status, &error);
    if (!part_of(in, out, participants, &count))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_all_gather(in ? in->data : NULL, out->data, count, out->type, id, &error);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status, &error);
}

static PyObject *all_gather(PyObject *self, PyObject *arguments)
{
    struct array in, out;
    PyObject *from, *to, *result = NULL;
    const char *id;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOs", &from, &to, &id) || !array_take(to, 1, &out))
        return NULL;
    if (from == Py_None) {
        result = gather(NULL, &out, id);
    } else if (array_take(from, 0, &in)) {
        result = gather(&in, &out, id);
        array_release(&in);
    }
    array_release(&out);
    return result;
}

static PyObject *synchronize(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    const char *id;
    double seconds;
    enum popdist_status status;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "sd", &id, &seconds))
        return NULL;
    if (!(seconds >= 0 && seconds < 1e12)) {
        PyErr_SetString(PyExc_ValueError, "a time limit must be a positive number of seconds");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = popdist_synchronize_for(id, (int64_t)(seconds * 1000), &error);
    Py_END_ALLOW_THREADS;
    return none_or_raise(status, &error);
}

static PyObject *get_timeout(PyObject *self, PyObject *nothing)
{
    struct popdist_error error;
    int64_t timeout_ms;
    enum popdist_status status = popdist_timeout_ms(&timeout_ms, &error);

    (void)self, (void)nothing;
    return status ? raise(status, &error) : PyFloat_FromDouble((double)timeout_ms / 1000);
}

static PyObject *set_timeout(PyObject *self, PyObject *arguments)
{
    struct popdist_error error;
    double seconds;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "d", &seconds))
        return NULL;
    if (!(seconds > 0 && seconds < 1e12)) {
        PyErr_SetString(PyExc_ValueError, "a time limit must be a positive number of seconds");
        return NULL;
    }
    /* Less than a millisecond still counts as a limit. */
    return none_or_raise(popdist_set_timeout_ms(seconds < 0.001 ? 1 : (int64_t)(seconds * 1000), &error),
                         &error);
}

static PyMethodDef methods[] = {
    {"isPopdistEnvSet", is_env_set, METH_NOARGS, NULL},
    {"getNumTotalReplicas", get_num_total_replicas, METH_NOARGS, NULL},
    {"getNumLocalReplicas", get_num_local_replicas, METH_NOARGS, NULL},
    {"getNumIpusPerReplica", get_num_ipus_per_replica, METH_NOARGS, NULL},
    {"getReplicaIndexOffset", get_replica_index_offset, METH_NOARGS, NULL},
    {"getNumInstances", get_num_instances, METH_NOARGS, NULL},
    {"getInstanceIndex", get_instance_index, METH_NOARGS, NULL},
    {"getLocalInstanceIndex", get_local_instance_index, METH_NOARGS, NULL},
    {"getDeviceId", device_id, METH_VARARGS, NULL},
    {"checkNumIpusPerReplica", check_num_ipus_per_replica, METH_VARARGS, NULL},
    {"executable_cache_path", executable_cache_path, METH_NOARGS, NULL},
    {"autoreport", autoreport, METH_NOARGS, NULL},
    {"progress", progress, METH_VARARGS, NULL},
    {"init", init, METH_NOARGS, NULL},
    {"registerDefaultBackend", register_default_backend, METH_NOARGS, NULL},
    {"registerBackend", register_backend, METH_VARARGS, NULL},
    {"initializeBackend", initialize_backend, METH_NOARGS, NULL},
    {"isBackendInitialized", is_backend_initialized, METH_NOARGS, NULL},
    {"finalizeBackend", finalize_backend, METH_NOARGS, NULL},
    {"stop_collectives", stop_collectives, METH_VARARGS, NULL},
    {"backend_place", backend_place, METH_NOARGS, NULL},
    {"register_communicator", register_communicator, METH_VARARGS, NULL},
    {"use_instances", use_instances, METH_O, NULL},
    {"broadcast", broadcast, METH_VARARGS, NULL},
    {"all_reduce_sum", all_reduce_sum, METH_VARARGS, NULL},
    {"all_gather", all_gather, METH_VARARGS, NULL},
    {"synchronize", synchronize, METH_VARARGS, NULL},
    {"get_timeout", get_timeout, METH_NOARGS, NULL},
    {"set_timeout", set_timeout, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "popdist._popdist",
                                    "The C library libpopdist.",
                                    -1,
                                    methods,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__popdist(void);

PyMODINIT_FUNC PyInit__popdist(void)
{
    PyObject *self = PyModule_Create(&module);

    if (!self)
        return NULL;
    error_class = PyErr_NewException("popdist.PopdistError", PyExc_RuntimeError, NULL);
    if (!error_class || PyModule_AddObject(self, "PopdistError", error_class) < 0 ||
        PyModule_AddStringConstant(self, "defaultCommunicatorId", popdist_default_communicator_id()) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(error_class);
    return self;
}
