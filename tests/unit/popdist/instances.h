/* The instances of a test's run, each with an engine and on a thread of its own, over inproc's transport. */
#pragma once

#include "inproc.h"
#include "popdist/src/core/group.h"

#define LONG_MS 60000 /* never reached when all is well */
#define SHORT_MS 1000 /* long enough for all who do take part, on a busy machine too */

/* Checks fail in the main thread only, so scripts leave what they found here. */
struct instance {
    struct inproc *world;
    struct engine *engine;
    struct group *all;
    uint32_t index, count;
    struct popdist_error error;
    enum popdist_status status;
    size_t row;
};

typedef void (*script_fn)(struct instance *self);

void instances_open(struct instance *instances, uint32_t count, int64_t timeout_ms);
/* All ended well, or (broken) none: what the transport may still read is kept then. */
void instances_close(struct instance *instances, uint32_t count, bool broken);
/* Returns when all have played the script. */
void instances_run(struct instance *instances, uint32_t count, script_fn script);
void instances_expect_good(const struct instance *instances, uint32_t count);

/* In a script: an operation among all; and a status that tells what was wrong with its outcome. */
enum popdist_status instance_call(struct instance *self, enum operation operation, const char *key,
                                  void *data, uint64_t count, enum popdist_type type, uint32_t root);
enum popdist_status instance_wrong(struct instance *self, const char *what);
