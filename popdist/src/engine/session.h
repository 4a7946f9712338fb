/* The process's only backend and its communicators: registered, initialised, finalised, in this order. */
#ifndef POPDIST_SESSION_H
#define POPDIST_SESSION_H

#include "popdist/src/engine/engine.h"

#define SESSION_DEFAULT_ID "popdist.default"
#define SESSION_GROUPS_MAX 4096

/* Between session_enter and session_leave the engine stays. POPDIST_MISUSE: there is none. *ret is NULL if
 * there is none yet and this program runs alone: then there is neither another instance nor a group. */
enum popdist_status session_enter(struct engine **ret, struct popdist_error *error);
void session_leave(void);

/* Only between them. */
const struct group *session_world(void);
const struct group *session_find(const char *id); /* a registered communicator, or NULL */
const struct group *session_thread_group(void);   /* of operations without a communicator, in this thread */
void session_set_thread_group(const struct group *group); /* NULL: all */
/* Instead of all instances, for threads that have chosen none; NULL: all again. */
void session_set_default_group(const struct group *group);
/* Takes ownership of the group. The id must be free. */
enum popdist_status session_add(struct group *group, struct popdist_error *error);
/* For session_set_thread_group; identified by their members. */
enum popdist_status session_instances(const uint32_t *participants, size_t count, const struct group **ret,
                                      struct popdist_error *error);

#endif
