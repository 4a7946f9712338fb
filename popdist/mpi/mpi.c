/* The Open MPI backend, a library of its own so that the queries need no MPI. It uses a communicator of its
 * own, so its messages are separate from those of other users of MPI in the process (mpi4py, Horovod). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "popdist/backend.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(struct popdist_request), "a request has room for MPI's");

static struct {
    MPI_Comm comm;
    MPI_Request control; /* the receive that is always posted */
    bool initialized;    /* MPI was initialised here */
    int instances, index;
    unsigned char inbox[POPDIST_CONTROL_MAX];
} self;

static enum popdist_status fail_text(struct popdist_error *error, enum popdist_status status,
                                     const char *text)
{
    if (error) {
        error->status = status;
        (void)snprintf(error->text, sizeof error->text, "%s", text);
    }
    return status;
}

static enum popdist_status check(int code, struct popdist_error *error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return POPDIST_OK;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        return fail_text(error, POPDIST_BROKEN, "MPI failed");
    return fail_text(error, POPDIST_BROKEN, text);
}

static enum popdist_status init_mpi(struct popdist_error *error)
{
    int initialized = 0, finalized = 0, level = MPI_THREAD_SINGLE;

    (void)MPI_Initialized(&initialized);
    (void)MPI_Finalized(&finalized);
    if (finalized)
        return fail_text(error, POPDIST_MISUSE,
                         "MPI has already been finalized; call popdist_init() before that");
    if (!initialized) {
        /* Other users of MPI in this process may start later and expect that they may call it at any time. */
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
            return fail_text(error, POPDIST_UNAVAILABLE,
                             "MPI_Init_thread failed; start the program with poprun or mpirun");
        self.initialized = true;
        /* PopDist's calls come one at a time, from several threads. */
        return level >= MPI_THREAD_SERIALIZED
                   ? POPDIST_OK
                   : fail_text(error, POPDIST_UNAVAILABLE,
                               "this MPI library does not support multiple threads");
    }
    (void)MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE
               ? POPDIST_OK
               : fail_text(error, POPDIST_UNAVAILABLE,
                           "MPI was initialized without MPI_THREAD_MULTIPLE, so PopDist cannot share it; "
                           "call popdist_init() first, or MPI_Init_thread with MPI_THREAD_MULTIPLE");
}

static int receive_control(void)
{
    return MPI_Irecv(self.inbox, POPDIST_CONTROL_MAX, MPI_BYTE, MPI_ANY_SOURCE, 0, self.comm, &self.control);
}

static enum popdist_status open_mpi(void **ret_self, struct popdist_error *error)
{
    enum popdist_status status = init_mpi(error);

    if (!status)
        status = check(MPI_Comm_dup(MPI_COMM_WORLD, &self.comm), error);
    if (!status)
        status = check(MPI_Comm_set_errhandler(self.comm, MPI_ERRORS_RETURN), error);
    if (!status)
        status = check(MPI_Comm_size(self.comm, &self.instances), error);
    if (!status)
        status = check(MPI_Comm_rank(self.comm, &self.index), error);
    if (!status)
        status = check(receive_control(), error);
    if (!status)
        *ret_self = &self;
    return status;
}

/* Unclean: MPI_Finalize would wait for instances that will not call it; mpirun sees the process end without
 * it and ends the others. */
static enum popdist_status close_mpi(void *opened, bool clean, struct popdist_error *error)
{
    int finalized = 0;
    enum popdist_status status;

    (void)opened;
    (void)MPI_Finalized(&finalized);
    if (!clean || finalized)
        return POPDIST_OK;
    status = check(MPI_Cancel(&self.control), error);
    if (!status)
        status =
            check(MPI_Wait(&self.control, MPI_STATUS_IGNORE), error); /* NOLINT: receive_control started it */
    if (!status && self.initialized)
        status = check(MPI_Finalize(), error);
    return status;
}

static uint32_t instances(void *opened)
{
    (void)opened;
    return (uint32_t)self.instances;
}

static uint32_t index_of(void *opened)
{
    (void)opened;
    return (uint32_t)self.index;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): test_mpi waits for what send and receive start. */
static enum popdist_status send_mpi(void *opened, uint32_t instance, uint32_t tag, const void *bytes,
                                    size_t size, struct popdist_request *request, struct popdist_error *error)
{
    MPI_Request pending;
    int code = MPI_Isend(bytes, (int)size, MPI_BYTE, (int)instance, (int)tag, self.comm, &pending);

    (void)opened;
    memcpy(request, &pending, sizeof pending);
    return check(code, error);
}

static enum popdist_status receive_mpi(void *opened, uint32_t instance, uint32_t tag, void *bytes,
                                       size_t size, struct popdist_request *request,
                                       struct popdist_error *error)
{
    MPI_Request pending;
    int code = MPI_Irecv(bytes, (int)size, MPI_BYTE, (int)instance, (int)tag, self.comm, &pending);

    (void)opened;
    memcpy(request, &pending, sizeof pending);
    return check(code, error);
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static enum popdist_status test_mpi(void *opened, struct popdist_request *request, bool *ret_done,
                                    struct popdist_error *error)
{
    MPI_Request pending;
    int done = 0, code;

    (void)opened;
    memcpy(&pending, request, sizeof pending);
    code = MPI_Test(&pending, &done, MPI_STATUS_IGNORE);
    memcpy(request, &pending, sizeof pending);
    *ret_done = done;
    return check(code, error);
}

static enum popdist_status take_mpi(void *opened, void *bytes, size_t *ret_size, uint32_t *ret_instance,
                                    struct popdist_error *error)
{
    MPI_Status sent;
    int done = 0, size = 0, finalized = 0;
    enum popdist_status status;

    (void)opened;
    /* The engine's thread takes messages until PopDist is finalized; calling MPI_Test later would abort. */
    (void)MPI_Finalized(&finalized);
    if (finalized)
        return fail_text(error, POPDIST_BROKEN, "MPI was finalized before PopDist");
    status = check(MPI_Test(&self.control, &done, &sent), error);
    if (!status && done)
        status = check(MPI_Get_count(&sent, MPI_BYTE, &size), error);
    if (status || !done) {
        *ret_size = 0;
        return status;
    }
    memcpy(bytes, self.inbox, (size_t)size);
    *ret_size = (size_t)size;
    *ret_instance = (uint32_t)sent.MPI_SOURCE;
    return check(receive_control(), error);
}

POPDIST_API const struct popdist_backend *popdist_backend(void);

const struct popdist_backend *popdist_backend(void)
{
    static const struct popdist_backend backend = {
        .abi = POPDIST_BACKEND_ABI,
        .name = "mpi",
        .open = open_mpi,
        .close = close_mpi,
        .instances = instances,
        .index = index_of,
        .send = send_mpi,
        .receive = receive_mpi,
        .test = test_mpi,
        .take = take_mpi,
    };

    return &backend;
}
