/* An API server in memory, with the real one's rules as far as the operator leans on them: resource versions,
 * uids, names that exist already, preconditions, merge patches, the status subresource, generations,
 * finalizers, graceful deletion of pods, dry runs, lists in pages and as streams, watches with bookmarks,
 * positions that expire. tests/sim/script holds it against the real one. The simulator and ipu-run use it.
 *
 * It rejects what it does not know (another content type, an unknown resource) loudly, so that no rule is
 * made up in passing. Pure but for the loop's clock and random numbers: messages are others'. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "base/core/str.h"
#include "base/doc/json.h"

struct api_kind {
    const char *path; /* "/api/v1" */
    const char *plural;
    const char *kind;
    bool has_generation;
    bool has_status; /* which is a subresource of its own */
};

struct api_object {
    const struct api_kind *kind;
    char *key; /* "namespace/name", or "name" */
    char *ns, *name, *uid;
    cJSON *doc;
    const char *job_uid; /* in doc: of the job that owns it, or that its record is for; "" if none */
    uint64_t version;    /* its resourceVersion */
};

enum api_change_type { API_ADDED, API_MODIFIED, API_DELETED };

/* One line of history. */
struct api_change {
    enum api_change_type type;
    const struct api_kind *kind;
    uint64_t version;
    char *key, *ns;
    char *text; /* the object, printed */
    cJSON *labels;
};

/* Called when an object changes, before the response is sent; old NULL: it is new. */
typedef void (*api_hook_fn)(void *ctx, enum api_change_type type, const struct api_object *object);
/* The quota has no capacity for a pod that was to be created, or only dry-run. */
typedef void (*api_pod_rejected_fn)(void *ctx, const cJSON *pod);

struct api_watch;
struct loop;

struct api {
    struct loop *loop;      /* borrowed */
    struct map objects[16]; /* per kind: key -> struct api_object */
    bool has_changed[16];   /* per kind: since the server started */
    uint64_t version;
    uint64_t uids;
    struct api_change *history;
    size_t history_count;
    uint64_t expired; /* positions before this version are gone */
    struct api_watch *watches;
    struct map snapshots; /* of lists in pages, by their continue token */
    api_hook_fn hook;
    api_pod_rejected_fn on_pod_rejected;
    void *hook_ctx; /* of both */
    /* settings */
    bool no_stream_lists;    /* an old server: lists come in pages */
    unsigned page_limit;     /* it gives fewer items than are asked for; 0: as many */
    unsigned stale_permille; /* a list of "any" version may be an old one */
    struct { /* admission policies of the cluster, or an unavailable webhook: writes of such objects fail */
        const char *plural;
        int code;
        int64_t until_ms;
        bool spares_dry_runs;
    } rejection;
    unsigned pods_max; /* a ResourceQuota: so many that have not ended; 0: no quota */
    /* counts */
    uint64_t writes;        /* requests that changed something, leases and events aside */
    uint64_t idle_writes;   /* those that changed nothing */
    uint64_t empty_patches; /* of them, patches that said what was so already */
};

struct api_request {
    const char *method, *url, *content_type;
    struct slice body;
};

struct api_answer {
    int status;
    char *body;             /* owned */
    int64_t retry_after_ms; /* -1: none */
};

extern const struct api_kind api_kinds[];
extern const size_t api_kind_count;

void api_init(struct api *api, struct loop *loop);
void api_release(struct api *api);
void api_answer(struct api *api, const struct api_request *request, struct api_answer *ret);
void api_reject(struct api_answer *ret, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- objects, for those who live on the server's side: nodes, controllers, users ---- */

struct api_object *api_find(const struct api *api, const char *plural, const char *ns, const char *name);
struct map *api_objects(struct api *api, const char *plural);
/* doc is moved in; it needs metadata.name and, if it has one, metadata.namespace. */
struct api_object *api_create(struct api *api, const char *plural, cJSON *doc_take);
void api_set_defaults(const struct api_kind *kind, cJSON *doc); /* what a new object has in any case */
void api_changed(struct api *api, struct api_object *object);   /* after its doc was changed in place */
void api_remove(struct api *api, struct api_object *object);
/* As a DELETE: it may have to wait for finalizers, or a pod's node. grace_s -1: the object's own. */
void api_delete(struct api *api, struct api_object *object, int64_t grace_s);
void api_expire_history(struct api *api); /* positions up to now are gone: compaction */

/* ---- paths (api_path.c) ---- */

struct api_target {
    const struct api_kind *kind;
    char *ns, *name, *sub;
    struct strv query; /* key, value, key, value */
};

MUST_USE bool api_target_read(const char *url, struct api_target *ret);
void api_target_release(struct api_target *target);
const char *api_target_query(const struct api_target *target, const char *key); /* NULL: not there */
bool api_selects(const char *selector, const cJSON *labels); /* "key" or "key=value"; NULL: all */

/* ---- lists and watches (api_list.c, api_watch.c) ---- */

void api_list(struct api *api, const struct api_target *target, struct api_answer *ret);
/* All objects of a kind that the target selects, sorted by key. The caller frees the array; the items are
 * borrowed. */
struct api_object **api_select(struct api *api, const struct api_target *target, size_t *ret_count);
void api_snapshots_release(struct api *api);

/* Bytes of a watch; false ends it from the reader's side. NULL bytes: the server has ended it. */
typedef void (*api_bytes_fn)(void *ctx, const char *bytes, size_t len);
/* False: ret says why not. The watch lives until api_watch_close or until it has said NULL. */
MUST_USE bool api_watch_open(struct api *api, const struct api_request *request, api_bytes_fn fn, void *ctx,
                             struct api_watch **ret_watch, struct api_answer *ret);
void api_watch_close(struct api_watch *watch);
void api_watches_tell(struct api *api); /* there is news in the history */
void api_watches_release(struct api *api);
