/* The control messages between instances: the announcement of a call, and how the participants agree to abort
 * it. Their bytes are little-endian on every machine. A small operation's data is part of the message. Pure;
 * received messages are validated. */
#ifndef POPDIST_WIRE_H
#define POPDIST_WIRE_H

#include "popdist/popdist.h"

/* A communicator's name, a zero byte, and the operation's key. */
#define WIRE_KEY_MAX (2 * POPDIST_KEY_MAX + 1)
/* An operation's data up to this size is part of the announcement; keeps usual messages below the 4 KiB that
 * MPI sends without asking the receiver. */
#define WIRE_PAYLOAD_MAX 2048
#define WIRE_MAX (32 + WIRE_KEY_MAX + WIRE_PAYLOAD_MAX)

enum operation {
    OPERATION_BARRIER,
    OPERATION_BROADCAST,
    OPERATION_ALL_REDUCE,
    OPERATION_ALL_GATHER,
    OPERATION_REGISTER, /* a communicator; count is a hash of its participants */
    OPERATION_COUNT
};

/* What all participants of an operation must agree about. */
struct layout {
    enum operation operation;
    enum popdist_type type;
    uint32_t root;
    uint64_t count;
};

/* Aborting is a two-phase commit, coordinated by the instance that timed out. */
enum wire_kind {
    WIRE_NOTHING = 0,
    WIRE_CALL = 1,
    WIRE_ABORT = 2,         /* decided: the call fails on all instances */
    WIRE_PREPARE_ABORT = 3, /* asks whether the call may be aborted */
    WIRE_VOTE_YES = 4,      /* not begun here, and will not be until the decision arrives */
    WIRE_VOTE_NO = 5,       /* begun or already ended here */
    WIRE_RESUME = 6,        /* decided: the call goes on */
    WIRE_KIND_END
};

struct wire_message {
    enum wire_kind kind;
    struct layout layout;
    uint32_t tag; /* the tag that the caller (for votes: the receiver) expects the operation's data with;
                     identifies the call among its calls */
    const char *key;
    size_t key_size;
    const void *payload;
    size_t payload_size;
};

size_t wire_size(const struct wire_message *message);
void wire_write(const struct wire_message *message, void *bytes);
/* Key and payload point into bytes. False if the bytes are not such a message. */
bool wire_read(const void *bytes, size_t size, struct wire_message *ret);

bool layout_equals(const struct layout *one, const struct layout *other);
/* "all-gather of float[16]" */
void layout_print(const struct layout *layout, char *text, size_t size);
const char *operation_name(enum operation operation);

#endif
