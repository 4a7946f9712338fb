/* vipu-server's answers: one function per method of the user API, between the wire and the controller. What a
 * call changes is on disk before the caller hears of it; all calls of a turn of the loop share one
 * transaction. */
#pragma once

#include "base/core/err.h"
#include "base/io/loop.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/config/config.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/storage/store.h"
#include "vipu/wire/grpc/grpc_server.h"

struct methods;

/* All four outlive the methods. `on_storage_failure` is called when a change could not be written: what the
 * memory holds is then ahead of the disk, and the program has to end. */
struct methods *methods_new(struct loop *loop, const struct server_config *config,
                            struct controller *controller, struct store *store, struct metrics *metrics,
                            void (*on_storage_failure)(void *ctx, const struct err *err), void *ctx);
void methods_free(struct methods *methods); /* after the gRPC server */
/* They are in force from now on; the struct is emptied. What they do once, they do now, but for the
 * connections, which are the gRPC server's. */
void methods_set_faults_take(struct methods *methods, struct faults *faults);
const struct faults *methods_faults(const struct methods *methods); /* with what is left of them */
/* A grpc_server_fn; ctx is the struct methods. */
void methods_answer(void *ctx, struct grpc_server_call *call, struct slice path, struct slice message);
