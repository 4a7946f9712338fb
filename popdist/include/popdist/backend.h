/* The interface between PopDist and a backend: a library that exports popdist_backend() and carries messages
 * between the instances of a run. PopDist makes these calls one at a time, from any thread, between open and
 * close.
 *
 * There are two kinds of messages. Those with a tag of 1 or more are received into memory that the receiver
 * names; those from one instance with one tag arrive in the order in which they were sent. Those with tag 0
 * are at most POPDIST_CONTROL_MAX bytes long and are received one by one from any sender; they too keep
 * their order per sender. Nothing may block: send and receive only start, test tells whether they are done.
 */
#ifndef POPDIST_BACKEND_H
#define POPDIST_BACKEND_H

#include "popdist/popdist.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POPDIST_BACKEND_ABI 1
#define POPDIST_CONTROL_MAX 8192
#define POPDIST_TAG_MAX 32767

/* The backend's own state; all zero means: no operation in progress. */
struct popdist_request {
    uint64_t words[2];
};

struct popdist_backend {
    uint32_t abi; /* POPDIST_BACKEND_ABI */
    const char *name;
    enum popdist_status (*open)(void **ret_self, struct popdist_error *error);
    /* clean: all instances call it, so the backend may wait for them. Otherwise it must not. */
    enum popdist_status (*close)(void *self, bool clean, struct popdist_error *error);
    uint32_t (*instances)(void *self);
    uint32_t (*index)(void *self);
    /* The bytes belong to the backend until test reports completion. */
    enum popdist_status (*send)(void *self, uint32_t instance, uint32_t tag, const void *bytes, size_t size,
                                struct popdist_request *request, struct popdist_error *error);
    enum popdist_status (*receive)(void *self, uint32_t instance, uint32_t tag, void *bytes, size_t size,
                                   struct popdist_request *request, struct popdist_error *error);
    enum popdist_status (*test)(void *self, struct popdist_request *request, bool *ret_done,
                                struct popdist_error *error);
    /* *ret_size is 0 if there is no control message. bytes has space for POPDIST_CONTROL_MAX. */
    enum popdist_status (*take)(void *self, void *bytes, size_t *ret_size, uint32_t *ret_instance,
                                struct popdist_error *error);
};

typedef const struct popdist_backend *(*popdist_backend_fn)(void);

#define POPDIST_BACKEND_SYMBOL "popdist_backend"

#ifdef __cplusplus
}
#endif

#endif
