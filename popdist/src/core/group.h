/* A communicator: the instances that take part in an operation, in ascending order. A rank is an instance's
 * index among them. Immutable. */
#ifndef POPDIST_GROUP_H
#define POPDIST_GROUP_H

#include "popdist/popdist.h"

#define GROUP_NOBODY UINT32_MAX

struct group {
    char *id;
    uint32_t count;
    uint32_t self; /* this instance's rank, or GROUP_NOBODY */
    struct group *next;
    uint32_t members[]; /* instances */
};

/* participants in any order; NULL means all of them. The caller has checked that they are below the number
 * of instances. */
enum popdist_status group_new(const char *id, const uint32_t *participants, size_t count,
                              uint32_t self_instance, struct group **ret, struct popdist_error *error);
void group_free(struct group *group); /* accepts NULL */

uint32_t group_rank(const struct group *group, uint32_t instance); /* GROUP_NOBODY: not a member */
uint64_t group_hash(const struct group *group);                    /* of its members */

#endif
