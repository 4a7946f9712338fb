/* The connections to one API server: a pool each for work, watches and the lease, with the identity's
 * credentials. When the identity's files change, new pools are made; the old ones finish what is in flight
 * and are closed. Internal to operator/kube. */
#pragma once

#include "base/http/http_client.h"
#include "operator/kube/client/client.h"
#include "operator/kube/client/counters.h"

struct transport;

MUST_USE struct transport *transport_new(struct loop *loop, struct client_config *config,
                                         const struct kube_options *options, struct err *err);
void transport_free(struct transport *transport);

/* Sends; url and bearer_token of the request are filled in here. `path` starts with '/' and may hold a query.
 */
struct http_call *transport_send(struct transport *transport, enum kube_class class, const char *path,
                                 struct http_request *request);
/* Nothing of class KUBE_WORK that waits inside the HTTP library is sent any more: its connections are reset.
 */
void transport_abort(struct transport *transport);
/* Reads the credentials again whether or not their files look changed: after 401. */
void transport_renew(struct transport *transport);
/* For metrics and for the client's counters. */
struct counters *transport_counters(struct transport *transport);

/* The transport of a client, for the other files of operator/kube. */
struct transport *kube_transport(const struct kube *kube);
