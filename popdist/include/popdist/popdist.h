/* PopDist: the place of a training program among the instances of a distributed run, and collective
 * operations between those instances on host memory.
 *
 * The queries read the environment that poprun or ipu-launch has set (popdist/contract.h names it) and need
 * neither MPI nor popdist_init(). Without such an environment they answer for a program that runs alone.
 *
 * The library never prints, never ends the process and never aborts. Every call that may fail returns a
 * status, and writes a sentence into *error; error is always the last argument and may be NULL. Results are
 * unchanged on failure. All functions may be called from any thread.
 *
 * What is in this header keeps its meaning within one major version of the library. */
#ifndef POPDIST_POPDIST_H
#define POPDIST_POPDIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POPDIST_API __attribute__((visibility("default")))
#else
#define POPDIST_API
#endif

enum popdist_status {
    POPDIST_OK = 0,
    POPDIST_INVALID = 1,     /* an argument or a variable of the environment is invalid */
    POPDIST_MISUSE = 2,      /* the calls came in the wrong order */
    POPDIST_MISMATCH = 3,    /* the instances disagree about the operation */
    POPDIST_TIMEOUT = 4,     /* an instance did not take part in time */
    POPDIST_BROKEN = 5,      /* communication failed; no further collective operation is possible */
    POPDIST_UNAVAILABLE = 6, /* the backend's library cannot be loaded, or it cannot start */
    POPDIST_NO_MEMORY = 7
};

#define POPDIST_ERROR_MAX 1000

struct popdist_error {
    enum popdist_status status;
    char text[POPDIST_ERROR_MAX]; /* one or more sentences, without a newline at the end */
};

/* Queries. */

/* Whether poprun or ipu-launch started this program: POPDIST_NUM_TOTAL_REPLICAS is set. */
POPDIST_API bool popdist_is_env_set(void);
POPDIST_API enum popdist_status popdist_num_total_replicas(uint32_t *ret, struct popdist_error *error);
POPDIST_API enum popdist_status popdist_num_local_replicas(uint32_t *ret, struct popdist_error *error);
POPDIST_API enum popdist_status popdist_num_ipus_per_replica(uint32_t *ret, struct popdist_error *error);
/* Index of this instance's first replica among those of all instances. */
POPDIST_API enum popdist_status popdist_replica_index_offset(uint32_t *ret, struct popdist_error *error);
/* These two are defined only if every instance has the same number of replicas. */
POPDIST_API enum popdist_status popdist_num_instances(uint32_t *ret, struct popdist_error *error);
POPDIST_API enum popdist_status popdist_instance_index(uint32_t *ret, struct popdist_error *error);
/* Index of this instance among those on its host. */
POPDIST_API enum popdist_status popdist_local_instance_index(uint32_t *ret, struct popdist_error *error);
/* False if the environment has a different number of IPUs per replica. */
POPDIST_API enum popdist_status popdist_check_num_ipus_per_replica(uint32_t ipus, bool *ret,
                                                                   struct popdist_error *error);
/* The device of this instance. 0 IPUs per replica: the number in the environment. */
POPDIST_API enum popdist_status popdist_device_id(uint32_t ipus_per_replica, uint32_t *ret,
                                                  struct popdist_error *error);
/* The directory for compiled executables, or NULL if caching is off. Owned by the environment. */
POPDIST_API const char *popdist_executable_cache_path(void);

/* Profiling as requested with poprun --autoreport-dir. *enable_all: autoReport.all must be set as well,
 * because POPLAR_ENGINE_OPTIONS does not mention reports. Writes this instance's directory into directory
 * (empty if there is nothing to set), and creates it unless POPLAR_ENGINE_OPTIONS switches all reports off.
 */
POPDIST_API enum popdist_status popdist_autoreport(char *directory, size_t size, bool *enable_all,
                                                   struct popdist_error *error);

/* Reports to the operator how far this program is, so that the job's status shows it: percent from 0 to 100,
 * the remaining seconds or -1, and metrics ("loss=0.23") up to NULL, or NULL. Does not wait, and sends at
 * most one report in 5 s; that of 100 percent is always sent and waited for. Only instance 0 reports, and
 * outside of a job nobody. POPDIST_UNAVAILABLE: the last report has not arrived, which need not stop the
 * program. */
POPDIST_API enum popdist_status popdist_progress(uint32_t percent, int64_t remaining_s,
                                                 const char *const *metrics, struct popdist_error *error);

/* The backend carries messages between instances. Register, initialise, finalise, in this order; anything
 * else is POPDIST_MISUSE. */

/* Open MPI; for a program that runs alone, a backend that needs no library. */
POPDIST_API enum popdist_status popdist_register_default_backend(struct popdist_error *error);
/* A library that exports popdist_backend (popdist/backend.h). */
POPDIST_API enum popdist_status popdist_register_backend(const char *path, struct popdist_error *error);
POPDIST_API enum popdist_status popdist_initialize_backend(struct popdist_error *error);
POPDIST_API bool popdist_is_backend_initialized(void);
/* Waits until all instances have called it, like MPI_Finalize. Again, it does nothing. POPDIST_MISUSE:
 * another instance waits for this one in an operation; then end the program, so that mpirun ends the others.
 */
POPDIST_API enum popdist_status popdist_finalize_backend(struct popdist_error *error);
/* For a program that is about to end because of an error: all collective operations of this instance fail at
 * once, in other threads too, and no further ones are possible. Then end the program without finalizing, so
 * that mpirun ends the other instances. */
POPDIST_API enum popdist_status popdist_stop_collectives(const char *reason, struct popdist_error *error);
/* Registers the default backend, unless one is registered, and initialises it, unless it is initialised. */
POPDIST_API enum popdist_status popdist_init(struct popdist_error *error);
/* How many instances the backend connects, and the index of this one. */
POPDIST_API enum popdist_status popdist_backend_place(uint32_t *ret_instances, uint32_t *ret_index,
                                                      struct popdist_error *error);

/* Collective operations: each instance of a communicator makes the call with the same key and layout.
 * Operations are matched by key, not by order: any order, any thread, several at a time. Each waits for the
 * others for at most popdist_timeout_ms(); after that, the same limit applies from the last byte that was
 * transferred. A program that runs alone may call them without a backend: each has one participant then. */

enum popdist_type {
    POPDIST_HALF = 0,
    POPDIST_FLOAT = 1,
    POPDIST_DOUBLE = 2,
    POPDIST_INT8 = 3,
    POPDIST_INT16 = 4,
    POPDIST_INT32 = 5,
    POPDIST_INT64 = 6,
    POPDIST_UINT8 = 7,
    POPDIST_UINT16 = 8,
    POPDIST_UINT32 = 9,
    POPDIST_UINT64 = 10,
    POPDIST_BOOL = 11 /* one byte; the sum is true if any is true */
};

#define POPDIST_KEY_MAX 1024 /* bytes of a key, and of a communicator's name */

/* Bytes of one element; 0 for an unknown type. */
POPDIST_API size_t popdist_type_size(enum popdist_type type);
POPDIST_API const char *popdist_type_name(enum popdist_type type);

/* The communicator of operations that have no other: all instances, unless it is registered for others. */
POPDIST_API const char *popdist_default_communicator_id(void);
/* All instances call it with the same arguments. The default communicator may be registered again and again.
 */
POPDIST_API enum popdist_status popdist_register_communicator(const uint32_t *participants, size_t count,
                                                              const char *id, struct popdist_error *error);
/* From now on this thread's collectives without a communicator are among these instances, which must include
 * this one. None (count 0) means all instances again. Unlike a registration, it only concerns this instance.
 */
POPDIST_API enum popdist_status popdist_use_instances(const uint32_t *participants, size_t count,
                                                      struct popdist_error *error);

/* An id that names a communicator means an operation without a key in that communicator; any other is a key
 * among the thread's instances. root counts the participants in ascending order, from 0. */
POPDIST_API enum popdist_status popdist_broadcast(void *data, size_t count, enum popdist_type type,
                                                  uint32_t root, const char *id, struct popdist_error *error);
/* How many instances take part in this thread's operations with this id. */
POPDIST_API enum popdist_status popdist_num_participants(const char *id, uint32_t *ret,
                                                         struct popdist_error *error);
/* In place; every instance gets the same bits. */
POPDIST_API enum popdist_status popdist_all_reduce_sum(void *data, size_t count, enum popdist_type type,
                                                       const char *id, struct popdist_error *error);
/* out has count elements for each participant. in may be NULL: this instance's part is in out already. */
POPDIST_API enum popdist_status popdist_all_gather(const void *in, void *out, size_t count,
                                                   enum popdist_type type, const char *id,
                                                   struct popdist_error *error);
/* A barrier. */
POPDIST_API enum popdist_status popdist_synchronize(const char *id, struct popdist_error *error);
/* The same with a time limit of its own; 0 means the usual one. */
POPDIST_API enum popdist_status popdist_synchronize_for(const char *id, int64_t timeout_ms,
                                                        struct popdist_error *error);

/* The initial value is 30 s, or the seconds in POPDIST_COLLECTIVE_TIMEOUT. */
POPDIST_API enum popdist_status popdist_timeout_ms(int64_t *ret, struct popdist_error *error);
POPDIST_API enum popdist_status popdist_set_timeout_ms(int64_t timeout_ms, struct popdist_error *error);

#ifdef __cplusplus
}
#endif

#endif
