/* Faults at run time: /faults of the admin endpoint. GET shows what is in force and still to come, PUT
 * replaces it by what the body says; what is wrong with a body is answered with 400, one mistake per line,
 * and changes nothing. */
#pragma once

#include "base/io/http_server.h"
#include "vipu/server/api/methods.h"
#include "vipu/wire/grpc/grpc_server.h"

struct faults_admin { /* all borrowed */
    struct loop *loop;
    struct controller *controller;
    struct methods *methods;
    struct grpc_server *grpc;
};

/* Puts them in force, whoever they come from; the struct is emptied. */
void faults_admin_set_take(struct faults_admin *admin, struct faults *faults);
/* A http_server_handler_fn; ctx is the struct faults_admin. */
void faults_admin_answer(void *ctx, struct http_server_request *request,
                         const struct http_server_request_info *view);
