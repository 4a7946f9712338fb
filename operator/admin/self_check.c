#include "operator/admin/self_check.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/http/http_client.h"
#include "base/io/loop.h"
#include "operator/admin/sync_client.h"
#include "operator/admin/subcommand.h"
#include "operator/api/leader_note.h"
#include "operator/api/names.h"
#include "operator/kube/client/client.h"
#include "operator/kube/leader_election/lease_step.h"

#define CONTROLLERS_PAGE "/controllers"

enum { RETRY_MS = 1000, TIMEOUT_MS = 15000, FORBIDDEN = 403 };

struct settings {
    struct subcommand_access access;
    char *ns, *operator_url, *operator_ns, *lease;
    bool jobs, admission;
    uint32_t seconds;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    SYNC_CLIENT_URL_ROWS(AT(operator_url)),
    OPT_VALUE("operator-namespace", OPT_STR, AT(operator_ns), "NAME",
              "Namespace of the operator; default: namespace of the pod or of the context"),
    OPT_VALUE(
        "lease-name", OPT_STR, AT(lease), "NAME",
        "Name of the leader election Lease, which has the key to the V-IPU controllers' state; read only "
        "if the operator requires it",
        .fallback = "ipu-operator"),
    OPT_VALUE("namespace", OPT_STR, AT(ns), "NAME", "Namespace for the dry run of an IPUJob",
              .fallback = "default"),
    OPT_SWITCH("jobs", AT(jobs), "Dry-run an IPUJob on the API server; needs permission to create IPUJobs",
               .fallback = "true"),
    OPT_SWITCH("admission", AT(admission),
               "Expect the admission webhooks to set defaults and to reject invalid jobs",
               .fallback = "false"),
    OPT_VALUE("seconds", OPT_U32, AT(seconds), "SECONDS", "Seconds to retry a failed check", .fallback = "30",
              .min = 1, .max = 3600),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator self-check",
    .usage = "ipu-operator self-check [options]",
    .about = "Checks the operator, its V-IPU controllers and its admission webhooks, and reports what is not "
             "working. Exits with status 0 if all checks pass. Changes nothing.",
    .rows = ROWS,
};

struct check;

/* One check, repeated until it succeeds or its failure is final. */
struct probe {
    const char *name;
    void (*start)(struct probe *probe);
    struct check *check;
    struct loop_timer retry_timer;
    char *trouble;          /* of the last attempt; NULL: success */
    bool has_leader_result; /* the leader has responded, well or not */
    bool is_final;          /* another attempt would not help */
};

enum { HEALTH, CONTROLLERS, ADMISSION, PROBES };

struct check {
    const struct settings *settings;
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
    struct loop_timer deadline;
    struct probe probes[PROBES];
    size_t pending; /* probes that are not finished */
};

static void on_retry(struct loop_timer *timer)
{
    struct probe *q = CONTAINER_OF(timer, struct probe, retry_timer);

    q->start(q);
}

/* trouble_take: NULL when all is well. */
static void set_result(struct probe *q, char *trouble_take)
{
    struct check *check = q->check;

    mem_free(q->trouble);
    q->trouble = trouble_take;
    if (q->trouble && !q->is_final)
        loop_timer_start(check->loop, &q->retry_timer, RETRY_MS, on_retry);
    else if (--check->pending == 0)
        loop_stop(check->loop);
}

/* ---- the operator's pages ---- */

/* Each time by a new connection: behind the Service there are several replicas, and only one leads. */
static void get_page(struct probe *q, const char *path, const char *key, http_done_fn done)
{
    AUTO(mem) char *url = mem_printf("%s%s", q->check->settings->operator_url, path);

    http_send(q->check->http,
              &(struct http_request){.method = "GET",
                                     .url = url,
                                     .bearer_token = key,
                                     .headers = (const char *const[]){"Connection: close", NULL},
                                     .timeout_ms = TIMEOUT_MS,
                                     .on_done = done,
                                     .ctx = q});
}

/* Why the response is unusable, owned by the caller; NULL: it is usable. */
static char *page_trouble(const struct http_response *res, const struct err *err)
{
    if (err->kind != ERR_NONE)
        return mem_strdup(err->msg);
    if (res->status != 200)
        return mem_printf("responded with %d: %.*s", res->status, (int)res->body.len, res->body.ptr);
    return NULL;
}

static void on_health(void *ctx, const struct http_response *res, const struct err *err)
{
    set_result(ctx, page_trouble(res, err));
}

static void probe_health(struct probe *q)
{
    get_page(q, "/health", NULL, on_health);
}

/* Unresponsive controllers, owned by the caller; NULL: none. Final if all of them have been for longer than
 * this command waits. */
static char *list_unresponsive(const cJSON *controllers, uint32_t seconds, bool *ret_is_over)
{
    AUTO(str) struct str out = {0};

    *ret_is_over = true;
    JSON_EACH (item, controllers) {
        int64_t down_s = json_i64(item, "downSeconds", 0);

        if (json_bool(item, "up", false))
            continue;
        str_addf(&out, "%s%s is not responding", out.len ? "; " : "", json_str(item, "name", "?"));
        if (down_s > seconds)
            str_addf(&out, ", for %lld s", (long long)down_s);
        else
            *ret_is_over = false;
        str_addf(&out, ": %s", json_str(item, "error", "not checked yet"));
    }
    return out.len ? str_take(&out) : NULL;
}

static char *check_controllers(struct probe *q, struct slice page)
{
    struct err err = {0};
    AUTO(json) cJSON *body = json_parse(page, &err);
    const cJSON *controllers = json_at(body, "controllers");

    if (!body)
        return mem_printf("the response of the operator is not valid JSON: %s", err.msg);
    if (cJSON_GetArraySize(controllers) == 0)
        return mem_strdup("none configured; set global.vipuControllers");
    return list_unresponsive(controllers, q->check->settings->seconds, &q->is_final);
}

/* The leader's response counts more than a later failure. */
static void set_unanswered(struct probe *q, char *trouble_take)
{
    if (q->has_leader_result) {
        mem_free(trouble_take);
        trouble_take = TAKE(q->trouble);
    }
    set_result(q, trouble_take);
}

static void on_controllers_answered(void *ctx, const struct http_response *res, const struct err *err)
{
    struct probe *q = ctx;
    char *trouble = page_trouble(res, err);

    if (trouble) {
        set_unanswered(q, trouble);
        return;
    }
    q->has_leader_result = true;
    set_result(q, check_controllers(q, res->body));
}

static void on_lease(void *ctx, struct kube_response *res)
{
    struct probe *q = ctx;
    struct lease_record lease = {0};
    const char *key;

    if (res->err.kind != ERR_NONE) {
        set_unanswered(q, mem_printf("cannot read the operator's lease: %s",
                                     res->message[0] ? res->message : res->err.msg));
        return;
    }
    key = lease_record_read(res->body, &lease) ? leader_note_key(lease.note) : NULL;
    if (key)
        get_page(q, CONTROLLERS_PAGE, key, on_controllers_answered);
    else
        set_unanswered(q, mem_strdup("no leader has published a key in the operator's lease yet"));
}

/* In another pod than the operator's, the page requires the leader's key. */
static void on_controllers(void *ctx, const struct http_response *res, const struct err *err)
{
    struct probe *q = ctx;
    const struct settings *settings = q->check->settings;

    if (err->kind != ERR_NONE || res->status != FORBIDDEN)
        on_controllers_answered(q, res, err);
    else
        kube_send(
            q->check->kube,
            &(struct kube_request){.method = "GET",
                                   .resource = &KUBE_LEASES,
                                   .ns = settings->operator_ns ? settings->operator_ns : settings->access.ns,
                                   .name = settings->lease,
                                   .timeout_ms = TIMEOUT_MS},
            on_lease, q);
}

static void probe_controllers(struct probe *q)
{
    get_page(q, CONTROLLERS_PAGE, NULL, on_controllers);
}

/* ---- the API server ---- */

/* With a part for the end of its container. */
#define DRY_RUN_JOB(part)                                                                                    \
    SLICE_LIT("{\"apiVersion\":\"" API_GROUP_VERSION "\",\"kind\":\"" API_KIND                               \
              "\",\"metadata\":{\"generateName\":\"self-check-\"},\"spec\":{\"jobInstances\":1,"             \
              "\"ipusPerJobInstance\":\"1\",\"workers\":{\"template\":{\"spec\":{\"containers\":[{"          \
              "\"name\":\"main\",\"image\":\"self-check\"" part "}]}}}}}")

static void dry_run_job(struct probe *q, struct slice text, kube_done_fn done)
{
    struct err err = {0};
    AUTO(json) cJSON *job = json_parse(text, &err);

    kube_send(q->check->kube,
              &(struct kube_request){.method = "POST",
                                     .resource = &KUBE_IPUJOBS,
                                     .ns = q->check->settings->ns,
                                     .query = (const char *const[]){"dryRun", "All", NULL},
                                     .body = job,
                                     .timeout_ms = TIMEOUT_MS},
              done, q);
}

static char *rejection_text(const struct kube_response *res)
{
    return mem_strdup(res->message[0] ? res->message : res->err.msg);
}

/* Only the validating webhook detects this mistake: the mutating one does not ask the API server about pods.
 */
static void on_invalid_dry_run(void *ctx, struct kube_response *res)
{
    if (res->err.kind == ERR_NONE)
        set_result(ctx, mem_strdup("the validating webhook was not called: an invalid IPUJob was accepted"));
    else
        set_result(ctx,
                   strstr(res->message, "containers[0].volumeMounts[0].name") ? NULL : rejection_text(res));
}

static void on_dry_run(void *ctx, struct kube_response *res)
{
    struct probe *q = ctx;

    if (res->err.kind != ERR_NONE)
        set_result(q, rejection_text(res));
    else if (!q->check->settings->admission)
        set_result(q, NULL);
    else if (!json_str(res->body, "spec/cleanPodPolicy", NULL))
        set_result(q, mem_strdup("the mutating webhook was not called: defaults were not set"));
    else
        dry_run_job(
            q, DRY_RUN_JOB(",\"volumeMounts\":[{\"name\":\"self-check\",\"mountPath\":\"/self-check\"}]"),
            on_invalid_dry_run);
}

static void probe_admission(struct probe *q)
{
    dry_run_job(q, DRY_RUN_JOB(""), on_dry_run);
}

/* ---- the whole ---- */

static void on_deadline(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct check, deadline)->loop);
}

static bool is_enabled(const struct check *check, size_t probe)
{
    return probe != ADMISSION || check->settings->jobs;
}

static int print_results(const struct check *check)
{
    int exit_code = SUBCOMMAND_OK;

    for (size_t i = 0; i < PROBES; i++) {
        const struct probe *q = &check->probes[i];

        AUTO(mem) char *text = visible_new(q->trouble ? q->trouble : "ok", VISIBLE_LINES);

        if (is_enabled(check, i))
            printf("%s: %s\n", q->name, text);
        if (q->trouble)
            exit_code = SUBCOMMAND_FAILED;
    }
    return exit_code;
}

static void start_checks(struct check *check)
{
    static const struct {
        const char *name;
        void (*start)(struct probe *probe);
    } rows[PROBES] = {
        [HEALTH] = {"operator", probe_health},
        [CONTROLLERS] = {"V-IPU controllers", probe_controllers},
        [ADMISSION] = {"IPUJobs", probe_admission},
    };

    for (size_t i = 0; i < PROBES; i++) {
        if (!is_enabled(check, i))
            continue;
        check->pending++;
        check->probes[i] = (struct probe){
            .name = rows[i].name, .start = rows[i].start, .check = check, .trouble = mem_strdup("timed out")};
        rows[i].start(&check->probes[i]);
    }
    loop_timer_start(check->loop, &check->deadline, (int64_t)check->settings->seconds * 1000, on_deadline);
}

static void release_checks(struct check *check)
{
    loop_timer_stop(&check->deadline);
    for (size_t i = 0; i < PROBES; i++) {
        loop_timer_stop(&check->probes[i].retry_timer);
        mem_free(check->probes[i].trouble);
    }
}

static int run(void *settings, struct loop *loop, struct kube *kube)
{
    struct check check = {.settings = settings, .loop = loop, .kube = kube};
    struct err err = {0};
    int exit_code;

    check.http =
        http_client_new(check.loop, &(struct http_client_options){.user_agent = "ipu-operator"}, &err);
    if (!check.http) {
        (void)fprintf(stderr, "%s: %s\n", SPEC.program, err.msg);
        return SUBCOMMAND_FAILED;
    }
    start_checks(&check);
    loop_run(check.loop);
    exit_code = print_results(&check);
    release_checks(&check);
    http_client_free(check.http);
    return exit_code;
}

int self_check_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {0};

    return subcommand_main(&SPEC, &settings.access, run, argc, argv, env);
}
