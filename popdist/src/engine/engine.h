/* Runs collective operations of any number of threads over one backend: the progress engine, its lock, the
 * clock and the thread that drives it. Only waiting threads move messages: one of them drives, for all, and
 * hands over when its own operation is done. A thread of the engine's own finishes sends and answers other
 * instances while no thread waits. */
#ifndef POPDIST_ENGINE_H
#define POPDIST_ENGINE_H

#include "popdist/src/core/group.h"
#include "popdist/src/core/stream.h"
#include "popdist/src/core/wire.h"

struct engine;

/* Only the engine uses the link until engine_free. */
enum popdist_status engine_new(const struct link *link, int64_t timeout_ms, struct engine **ret,
                               struct popdist_error *error);
/* POPDIST_MISUSE while operations run; then nothing has happened. *ret_clean: the backend can be closed
 * together with the other instances. */
enum popdist_status engine_free(struct engine *engine, bool *ret_clean, struct popdist_error *error);

/* Every operation fails from now on, also those that are running, for this reason. */
void engine_stop(struct engine *engine, const char *reason);

uint32_t engine_instances(const struct engine *engine);
uint32_t engine_index(const struct engine *engine);
void engine_set_timeout_ms(struct engine *engine, int64_t timeout_ms);

/* The group must contain this instance and outlive the call. space and key together identify the operation
 * on all instances; space separates the keys of communicators. data: for all-gather, this instance's part is
 * in its place. timeout_ms 0: the default of engine_set_timeout_ms. */
enum popdist_status engine_run(struct engine *engine, const struct group *group, const char *space,
                               const char *key, const struct layout *layout, void *data, int64_t timeout_ms,
                               struct popdist_error *error);
/* The last call of this instance: waits, for any time, until the others come to theirs, but not for one that
 * waits for this instance in another operation; this is POPDIST_MISUSE. */
enum popdist_status engine_run_last(struct engine *engine, const struct group *group,
                                    struct popdist_error *error);

#endif
