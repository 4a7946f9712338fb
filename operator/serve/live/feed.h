/* The messages of the live page's WebSocket, as JSON. Pure. Control characters of texts from the cluster are
 * visible (visible.h). All texts are owned by the caller. */
#pragma once

#include "base/doc/json.h"

enum feed_kind { FEED_JOB, FEED_CONTROLLER, FEED_POD, FEED_EVENT, FEED_KINDS };

extern const char *const feed_kind_names[FEED_KINDS];

/* Events of other objects than jobs and their pods are of no interest. */
bool feed_shows(enum feed_kind kind, const cJSON *object);

/* ns NULL: all namespaces; is_filtered: those of them that the user may see. clock_ahead_s: of this machine,
 * before the API server's clock. */
char *feed_hello(const char *ns, bool is_filtered, const char *user, int64_t clock_ahead_s);
/* The object without what the page does not show: most of its metadata, pod templates, most of a pod. */
char *feed_put(enum feed_kind kind, const cJSON *object);
char *feed_delete(enum feed_kind kind, const char *key);
char *feed_synced(void);
char *feed_state(bool is_connected, const char *message);
char *feed_forbidden(const char *kind, const char *message);
/* Lines of one rank; lines is moved in. */
char *feed_log(const char *job, const char *rank, int64_t attempt, cJSON *lines);
char *feed_log_dropped(uint64_t lines);

/* What the browser asks for: the logs of a job, "ns/name", or of none (""). NULL: nothing that there is. */
char *feed_read_request(struct slice text);
