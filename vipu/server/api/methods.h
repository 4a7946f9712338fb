/* The methods of the user API: one function per method, between gRPC and the controller. A call's changes
 * are on disk before its response is sent; all calls of one turn of the loop share a transaction. */
#pragma once

#include "base/core/err.h"
#include "base/io/loop.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/config/config.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/storage/store.h"
#include "vipu/wire/grpc/grpc_server.h"

struct methods;

/* All four outlive the methods. */
struct methods *methods_new(struct loop *loop, const struct server_config *config,
                            struct controller *controller, struct store *store, struct metrics *metrics);
void methods_free(struct methods *methods); /* after the gRPC server */
/* The server whose calls wait while a transaction is under way; NULL: it is about to go. */
void methods_set_server(struct methods *methods, struct grpc_server *grpc);
/* Saves what calls have changed, and responds to them. When no transaction is under way, at once or later,
 * `fn` of methods_on_idle is called: only there may a reload or a fault change the controller. */
void methods_settle(struct methods *methods);
void methods_on_idle(struct methods *methods, void (*fn)(void *ctx), void *ctx);
bool methods_is_busy(const struct methods *methods); /* a transaction is under way */
/* Activates the faults; the struct is emptied. One-time faults happen now, except for those of connections,
 * which are the gRPC server's. */
void methods_set_faults_take(struct methods *methods, struct faults *faults);
const struct faults *methods_faults(const struct methods *methods); /* including what is left of each rule */
void methods_users_changed(struct methods *methods);                /* by a reload */
enum grpc_method_kind methods_kind(struct slice path);              /* a grpc_method_kind_fn */
/* A grpc_server_fn; ctx is the struct methods. */
void methods_answer(void *ctx, struct grpc_server_call *call, struct slice path, struct slice message);
