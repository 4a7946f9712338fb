/* Faults at run time: /faults of the admin endpoint. GET shows the active and pending faults, PUT replaces
 * them with those of the body. An invalid body gets 400 with one mistake per line and changes nothing. */
#pragma once

#include "base/http/http_server.h"
#include "vipu/server/api/methods.h"
#include "vipu/wire/grpc/grpc_server.h"

struct faults_admin { /* all borrowed */
    struct loop *loop;
    struct controller *controller;
    struct methods *methods;
    struct grpc_server *grpc;
};

/* Activates the faults, whatever their source; the struct is emptied. */
void faults_admin_set_take(struct faults_admin *admin, struct faults *faults);
/* A http_server_handler_fn; ctx is the struct faults_admin. */
void faults_admin_answer(void *ctx, struct http_server_request *request,
                         const struct http_server_request_info *view);
