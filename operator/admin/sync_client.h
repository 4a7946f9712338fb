/* Blocking requests to the API server and to the operator's endpoints, for subcommands about partitions: each
 * function runs the loop until its response arrives. Never for the operator itself. */
#pragma once

#include "base/doc/json.h"
#include "base/io/loop.h"
#include "operator/admin/subcommand.h"
#include "operator/api/partition/record.h"
#include "operator/kube/client/client.h"

struct http_client;

struct sync_client {
    struct loop *loop;
    struct kube *kube;
    struct http_client *http;
    const char *operator_url; /* "http://host:port"; borrowed */
};

/* Runs the subcommand. False without an error: the problems are already printed. */
typedef bool (*sync_client_fn)(struct sync_client *client, const void *settings, struct err *err);

/* The first member of such a subcommand's settings. */
struct sync_client_settings {
    struct subcommand_access access;
    sync_client_fn work; /* set by sync_client_main */
    char *operator_url, *ns, *controller;
    bool dry_run;
};

/* Options of subcommands that change one partition. */
#define SYNC_CLIENT_PARTITION_ROWS                                                                           \
    OPT_SWITCH("dry-run", offsetof(struct sync_client_settings, dry_run),                                    \
               "Print what would be done without changing anything", .fallback = "false"),                   \
        OPT_VALUE("controller", OPT_STR, offsetof(struct sync_client_settings, controller), "HOST:PORT",     \
                  "V-IPU controller of the partition, if several have a partition with this ID")

/* Namespace of the records. */
#define SYNC_CLIENT_NAMESPACE_ROW                                                                            \
    OPT_VALUE("namespace", OPT_STR, offsetof(struct sync_client_settings, ns), "NAME",                       \
              "Namespace of the operator; default: namespace of the pod or of the context")

/* URL of the operator's endpoints: a row of every command that reads them, and its old spelling. */
#define SYNC_CLIENT_URL_ROWS(at)                                                                             \
    OPT_VALUE("operator-url", OPT_STR, (at), "URL", "URL of the operator's endpoints",                       \
              .fallback = "http://localhost:8081"),                                                          \
        OPT_VALUE("pages", OPT_STR, (at), "URL", NULL)

/* Runs it on the settings and prints the error; returns the exit status. */
int sync_client_main(const struct opts_spec *spec, struct sync_client_settings *settings, sync_client_fn work,
                     int argc, char **argv, const char *(*env)(const char *));
/* The operator's namespace, borrowed. */
const char *sync_client_ns(const struct sync_client_settings *settings);

/* All pages of /partitions as one, owned by the caller. A status other than 200 is an error with the
 * response's text. */
MUST_USE cJSON *sync_get_partitions(struct sync_client *client, struct err *err);
/* The response body, owned by the caller. A rejection is an error of its kind with the API server's message.
 */
MUST_USE cJSON *sync_kube_request(struct sync_client *client, const struct kube_request *request,
                                  struct err *err);
/* Makes the record in the operator's namespace. */
MUST_USE bool sync_create_record(struct sync_client *client, const char *ns, const struct record *record,
                                 struct err *err);
void sync_sleep(struct sync_client *client, int64_t ms);
