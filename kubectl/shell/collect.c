/* kubectl ipu collect: what support needs to see, in one archive. Each part is written as soon as
 * it is read. What cannot be read is listed in the archive and does not end it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/core/visible.h"
#include "kubectl/core/archive.h"
#include "kubectl/core/redact.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"
#include "operator/kube/client/stream.h"

#define FOLDER "ipu-operator-support/"
#define OF_RELEASE "app.kubernetes.io/part-of=ipu-operator"
#define LOG_MAX ((size_t)4 * 1024 * 1024) /* of one container: its last lines */
#define LOG_LINES "5000"
/* Anybody may label pods as the operator's: these are limits of what they can add. */
enum { NAMESPACES_MAX = 10, LOGS_MAX = 10 /* containers in a namespace */ };

static const char ABOUT[] =
    "What kubectl ipu collect has read, for the support of the IPU operator.\n"
    "\n"
    "Left out: Secrets, values of variables, words of commands, annotations of others, logs of jobs.\n"
    "In it: names of namespaces, jobs, images and nodes, the last lines of failed jobs as their status has\n"
    "them, and the logs of the operator. problems.txt says what could not be read.\n";

/* A list of objects; with rights in one namespace only, that of the user. */
struct part {
    const char *file;
    const struct kube_resource *resource;
    const char *selector; /* NULL: all */
    enum { OF_JOBS, OF_OPERATOR, OF_CLUSTER } where;
};

static const struct part PARTS[] = {
    {"ipujobs.json", &KUBE_IPUJOBS, NULL, OF_JOBS},
    {"pods.json", &KUBE_PODS, LABEL_JOB_NAME, OF_JOBS},
    {"events.json", &KUBE_EVENTS, NULL, OF_JOBS},
    {"vipucontrollers.json", &KUBE_VIPU_CONTROLLERS, NULL, OF_CLUSTER},
    {"nodes.json", &KUBE_NODES, NULL, OF_CLUSTER},
    {"crds.json", &KUBE_CRDS, NULL, OF_CLUSTER},
    {"operator/leases.json", &KUBE_LEASES, NULL, OF_OPERATOR},
    {"operator/partitions.json", &KUBE_CONFIGMAPS, LABEL_RECORD, OF_OPERATOR},
};

struct collection {
    struct session *session;
    gzFile file;
    bool is_broken; /* the file cannot be written */
    bool has_list;  /* at least one */
    struct strv problems;
    struct strv operator_namespaces;
};

/* ---- the file ---- */

static void put(struct collection *collection, const void *bytes, size_t len)
{
    if (len > 0 && !collection->is_broken)
        collection->is_broken = gzwrite(collection->file, bytes, (unsigned)len) != (int)len;
}

static void add_member(struct collection *collection, const char *name, struct slice text)
{
    static const unsigned char zeros[ARCHIVE_BLOCK];
    unsigned char header[ARCHIVE_BLOCK];
    AUTO(mem) char *path = mem_printf(FOLDER "%s", name);

    archive_header(path, text.len, now_seconds(), header);
    put(collection, header, sizeof(header));
    put(collection, text.ptr, text.len);
    put(collection, zeros, archive_padding(text.len));
}

static void end_archive(struct collection *collection)
{
    static const unsigned char zeros[2 * ARCHIVE_BLOCK];

    put(collection, zeros, sizeof(zeros));
}

static void add_json(struct collection *collection, const char *name, cJSON *object)
{
    redact_object(object);
    AUTO(mem) char *text = json_print_pretty(object);

    add_member(collection, name, slice_of(text));
}

/* ---- objects ---- */

static bool fetch_list(struct collection *collection, const struct part *part, const char *ns,
                       struct fetch *ret)
{
    const char *query[] = {"limit", PAGE_LIMIT, part->selector ? "labelSelector" : NULL, part->selector,
                           NULL};

    *ret = (struct fetch){.request = {.method = "GET", .resource = part->resource, .ns = ns, .query = query}};
    session_fetch(collection->session, ret, 1);
    if (ret->body && session_fetch_rest(collection->session, ret, &ret->err))
        return true;
    cJSON_Delete(TAKE(ret->body));
    return false;
}

static void note_problem(struct collection *collection, const char *what, const struct err *err)
{
    strv_pushf(&collection->problems, "%s: %s", what, err->msg);
}

/* Of all namespaces, else of the user's own. */
static cJSON *list(struct collection *collection, const struct part *part, const char *ns)
{
    const struct session *session = collection->session;
    bool may_narrow = part->where == OF_JOBS && !ns;
    struct fetch fetch;

    if (fetch_list(collection, part, ns, &fetch) ||
        (may_narrow && fetch.err.code == 403 && fetch_list(collection, part, session->ns, &fetch))) {
        collection->has_list = true;
        return fetch.body;
    }
    note_problem(collection, part->file, &fetch.err);
    return NULL;
}

static void add_list(struct collection *collection, const struct part *part, const char *file, const char *ns)
{
    AUTO(json) cJSON *objects = list(collection, part, ns);

    if (objects)
        add_json(collection, file, objects);
}

static void add_part(struct collection *collection, const struct part *part)
{
    const struct strv *namespaces = &collection->operator_namespaces;

    if (part->where != OF_OPERATOR)
        add_list(collection, part, part->file,
                 part->where == OF_JOBS ? collection->session->options->ns : NULL);
    for (size_t i = 0; part->where == OF_OPERATOR && i < namespaces->count; i++) {
        AUTO(mem) char *file = mem_printf("%s/%s", namespaces->items[i], part->file);

        add_list(collection, part, file, namespaces->items[i]);
    }
}

static void add_version(struct collection *collection)
{
    struct err err = {0};
    AUTO(json)
    cJSON *version =
        session_get(collection->session, &(struct kube_request){.method = "GET", .path = "/version"}, &err);
    AUTO(json) cJSON *versions = json_object();

    json_put_str(versions, "kubectl-ipu", IPU_OPERATOR_VERSION);
    if (version)
        json_put_take(versions, "server", TAKE(version));
    else
        note_problem(collection, "version.json", &err);
    add_json(collection, "version.json", versions);
}

/* ---- logs of the operator ---- */

struct log_text {
    struct loop *loop;
    struct str text;
    struct err err;
    bool has_ended;
};

static bool keep_bytes(void *ctx, const char *bytes, size_t len)
{
    struct log_text *log = ctx;

    return str_add(&log->text, bytes, len);
}

static void end_log(void *ctx, const struct err *err, int64_t retry_after_ms)
{
    struct log_text *log = ctx;

    (void)retry_after_ms;
    log->err = *err;
    log->has_ended = true;
    loop_stop(log->loop);
}

static void add_log(struct collection *collection, const cJSON *pod, const char *container, bool previous)
{
    const char *ns = json_str(pod, "metadata/namespace", ""), *name = json_str(pod, "metadata/name", "");
    struct log_text log = {.loop = collection->session->loop, .text = {.max = LOG_MAX}};
    AUTO(mem)
    char *file = mem_printf("%s/operator/%s-%s%s.log", ns, name, container, previous ? "-previous" : "");
    AUTO(strv) struct strv query = {0};

    strv_push(&query, "container");
    strv_push(&query, container);
    strv_push(&query, "tailLines");
    strv_push(&query, LOG_LINES);
    if (previous) {
        strv_push(&query, "previous");
        strv_push(&query, "true");
    }
    stream_open(collection->session->kube, &(struct stream_request){.resource = &KUBE_PODS,
                                                                    .ns = ns,
                                                                    .name = name,
                                                                    .sub = "log",
                                                                    .query = &query,
                                                                    .timeout_ms = KUBE_TIMEOUT_MS,
                                                                    .on_bytes = keep_bytes,
                                                                    .on_end = end_log,
                                                                    .ctx = &log});
    while (!log.has_ended)
        loop_run(log.loop);
    if (log.text.len > 0 || log.err.kind == ERR_NONE)
        add_member(collection, file, (struct slice){str_text(&log.text), log.text.len});
    else
        note_problem(collection, file, &log.err);
    str_release(&log.text);
}

static void add_logs(struct collection *collection, const cJSON *pods, const char *ns)
{
    unsigned logs = 0;

    JSON_EACH (pod, json_at(pods, "items")) {
        if (!str_eq(json_str(pod, "metadata/namespace", ""), ns))
            continue;
        JSON_EACH (status, json_at(pod, "status/containerStatuses")) {
            if (logs++ == LOGS_MAX) {
                strv_pushf(&collection->problems, "%s/operator: logs of more than %d containers", ns,
                           LOGS_MAX);
                return;
            }
            add_log(collection, pod, json_str(status, "name", ""), false);
            if (json_i64(status, "restartCount", 0) > 0)
                add_log(collection, pod, json_str(status, "name", ""), true);
        }
    }
}

static void add_namespace(struct strv *namespaces, const char *ns)
{
    if (*ns && namespaces->count < NAMESPACES_MAX && !strv_has(namespaces, ns))
        strv_push(namespaces, ns);
}

/* Where the operator is installed: first the namespaces that its webhook configurations name, which only
 * admins can write, then those with pods that look like it. */
static void find_operator(struct strv *namespaces, const cJSON *webhooks, const cJSON *pods)
{
    JSON_EACH (configuration, json_at(webhooks, "items")) {
        JSON_EACH (webhook, json_at(configuration, "webhooks"))
            add_namespace(namespaces, json_str(webhook, "clientConfig/service/namespace", ""));
    }
    JSON_EACH (pod, json_at(pods, "items"))
        add_namespace(namespaces, json_str(pod, "metadata/namespace", ""));
}

static void add_operator(struct collection *collection)
{
    static const struct part webhooks_part = {"webhooks.json", &KUBE_MUTATING_WEBHOOKS, OF_RELEASE,
                                              OF_CLUSTER};
    static const struct part pods_part = {"operator-pods.json", &KUBE_PODS, OF_RELEASE, OF_CLUSTER};
    AUTO(json) cJSON *webhooks = list(collection, &webhooks_part, NULL);
    AUTO(json) cJSON *pods = list(collection, &pods_part, NULL);
    struct strv *namespaces = &collection->operator_namespaces;

    find_operator(namespaces, webhooks, pods);
    for (size_t i = 0; i < namespaces->count; i++)
        add_logs(collection, pods, namespaces->items[i]);
    if (pods && !cJSON_GetArraySize(json_at(pods, "items")))
        strv_push(&collection->problems, "logs of the operator: no pods of the operator found");
    if (webhooks)
        add_json(collection, webhooks_part.file, webhooks);
    if (pods)
        add_json(collection, pods_part.file, pods);
}

/* ---- the whole ---- */

static void add_all(struct collection *collection)
{
    AUTO(str) struct str problems = {0};

    add_member(collection, "README.txt", slice_of(ABOUT));
    add_version(collection);
    add_operator(collection);
    for (size_t i = 0; i < COUNT_OF(PARTS); i++)
        add_part(collection, &PARTS[i]);
    for (size_t i = 0; i < collection->problems.count; i++) {
        AUTO(mem) char *line = visible_new(collection->problems.items[i], VISIBLE_LINE);

        str_addf(&problems, "%s\n", line);
    }
    add_member(collection, "problems.txt", (struct slice){str_text(&problems), problems.len});
    end_archive(collection);
}

/* The archive is its owner's alone, and never replaces a file. */
static int open_file(const char *path)
{
    return str_eq(path, "-") ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int collect_into(struct session *session, const char *path)
{
    struct collection collection = {.session = session};
    int fd = open_file(path);
    bool is_written;

    if (fd < 0) {
        complain("cannot write %s: %s", path, strerror(errno));
        return STATUS_FAILED;
    }
    collection.file = gzdopen(fd, "wb");
    add_all(&collection);
    is_written = gzclose(collection.file) == Z_OK && !collection.is_broken;
    for (size_t i = 0; i < collection.problems.count; i++)
        complain("left out %s", collection.problems.items[i]);
    if (!is_written)
        complain("cannot write %s: %s", path, strerror(errno));
    else if (!str_eq(path, "-"))
        is_written = printf("%s\n", path) > 0;
    strv_release(&collection.problems);
    strv_release(&collection.operator_namespaces);
    if (!collection.has_list)
        complain("the archive has no objects: none could be read");
    return is_written && collection.has_list ? STATUS_OK : STATUS_FAILED;
}

int collect_verb(struct session *session)
{
    char now[sizeof "20261126-221507"]; /* tar takes a name with a colon for one on another host */
    time_t seconds = now_seconds();
    struct tm parts;

    (void)strftime(now, sizeof now, "%Y%m%d-%H%M%S", gmtime_r(&seconds, &parts));
    AUTO(mem)
    char *path = session->options->file ? mem_strdup(session->options->file)
                                        : mem_printf("ipu-operator-support-%s.tar.gz", now);

    if (str_eq(path, "-") && session->is_terminal) {
        complain("the archive is not for a terminal; choose a file with --file, or a pipe");
        return STATUS_BAD_USAGE;
    }
    return collect_into(session, path);
}
