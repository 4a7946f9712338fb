/* Faults at run time: /faults of the admin endpoint. GET shows the active and pending faults, PUT replaces
 * them with those of the body. An invalid body gets 400 with one mistake per line and changes nothing. A
 * transaction that is under way ends first; if it does not, the response is 503, and nothing changes. */
#pragma once

#include "base/http/http_server.h"
#include "vipu/server/api/methods.h"
#include "vipu/wire/grpc/grpc_server.h"

#define FAULTS_ADMIN_WAIT_MS 5000

struct faults_admin { /* the first four are borrowed */
    struct loop *loop;
    struct controller *controller;
    struct methods *methods;
    struct grpc_server *grpc;
    struct http_server_request *request; /* that waits for a transaction; NULL: none */
    struct faults next;                  /* of the request */
    struct loop_timer limit;
};

/* Activates the faults, whatever their source; the struct is emptied. */
void faults_admin_set_take(struct faults_admin *admin, struct faults *faults);
void faults_admin_on_idle(struct faults_admin *admin); /* of methods_on_idle */
/* A http_server_cancel_fn and a http_server_handler_fn; ctx is the struct faults_admin. */
void faults_admin_gone(void *ctx, struct http_server_request *request);
void faults_admin_answer(void *ctx, struct http_server_request *request,
                         const struct http_server_request_info *view);
