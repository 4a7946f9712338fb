#include "kubectl/shell/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/text/suggest.h"
#include "kubectl/core/operator_sign.h"
#include "operator/kube/auth/config_loader.h"

enum { WATCHES_MAX = 8 }; /* of a verb, beside the logs */
/* A job that prints fast, or a flood of changes, holds up nothing else. */
#define TURN_BYTES ((size_t)256 * 1024)

void complain(const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    AUTO(mem) char *shown = NULL;
    va_list args;

    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    shown = visible_new(text, VISIBLE_LINE);
    (void)fprintf(stderr, "kubectl ipu: %s\n", shown);
}

/* As kubectl prints it. */
static void print_warning(const char *text)
{
    AUTO(mem) char *shown = visible_new(text, VISIBLE_LINE);

    (void)fprintf(stderr, "Warning: %s\n", shown);
}

/* The API server's own words. */
#define AT_CLUSTER_SCOPE " at the cluster scope"
#define NO_OBJECT "\" not found"

int session_complain(const struct session *session, const struct err *err)
{
    const char *origin = session->config.origin;

    if (err->code == 401)
        complain("the API server rejects the credentials of %s; log in again, or choose another --context",
                 origin);
    else if (err->code == 403)
        complain("%s; ask an admin for the permission%s", err->msg,
                 str_has_suffix(err->msg, AT_CLUSTER_SCOPE) ? "" : ", or choose another namespace");
    else if (err->code == 404 && str_has_suffix(err->msg, NO_OBJECT))
        complain("%s in namespace %s", err->msg, session->ns);
    else if (err->code == 404) /* not even the resource is there */
        complain("%s; is the IPU operator installed in this cluster?", err->msg);
    else if ((err->code >= 200 && err->code < 600) || err->kind == ERR_INVALID) /* it did answer */
        complain("%s", err->msg);
    else
        complain("cannot reach the API server %s of %s: %s", session->config.server, origin, err->msg);
    return STATUS_FAILED;
}

void complain_of_silence(const struct session *session, const cJSON *controllers)
{
    AUTO(json) cJSON *report = json_object();
    AUTO(str) struct str text = {0};

    operator_sign_put(report, controllers, session_now(session));
    operator_sign_add(&text, report, session_now(session));
    if (text.len > 0)
        complain("%s", str_text(&text));
}

bool session_add_json(const struct session *session, const cJSON *report, struct str *out)
{
    const struct options *options = session->options;

    if (options->output != OUTPUT_JSON)
        return false;
    AUTO(mem) char *printed = options->watch ? json_print(report) : json_print_pretty(report);
    str_addf(out, "%s\n", printed);
    return true;
}

bool print_out(const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, stdout) == len && fflush(stdout) == 0;
}

int64_t now_seconds(void)
{
    return loop_unix_micros() / 1000000;
}

int64_t session_now(const struct session *session)
{
    return now_seconds() - session->clock_ahead_s;
}

/* ---- requests ---- */

/* A response that was in progress for a while, or cached, is no sign of a wrong clock. */
static void note_clock(struct session *session, int64_t date_s)
{
    enum { USUAL_S = 60 };
    int64_t ahead_s = now_seconds() - date_s;

    if (date_s > 0)
        session->clock_ahead_s = ahead_s > USUAL_S || ahead_s < -USUAL_S ? ahead_s : 0;
}

static void on_answer(void *ctx, struct kube_response *res)
{
    struct fetch *fetch = ctx;

    fetch->bytes = res->bytes;
    note_clock(fetch->session, res->date_s);
    if (res->err.kind == ERR_NONE)
        fetch->body = TAKE(res->body);
    else
        err_set_code(&fetch->err, res->err.kind, res->err.code, "%s",
                     res->message[0] ? res->message : res->err.msg);
    if (!fetch->body && fetch->err.kind == ERR_NONE) /* the login page of a network, for example */
        err_set(&fetch->err, ERR_INVALID,
                "%s does not answer as a Kubernetes API server; check server and proxy of %s",
                fetch->session->config.server, fetch->session->config.origin);
    json_make_visible(fetch->body, VISIBLE_LINES);
    if (--*fetch->open == 0)
        loop_stop(fetch->session->loop);
}

void session_fetch(struct session *session, struct fetch *fetches, size_t count)
{
    unsigned open = (unsigned)count;

    for (size_t i = 0; i < count; i++) {
        fetches[i].session = session;
        fetches[i].open = &open;
        kube_send(session->kube, &fetches[i].request, on_answer, &fetches[i]);
    }
    if (count > 0)
        loop_run(session->loop);
}

cJSON *session_get(struct session *session, const struct kube_request *request, struct err *err)
{
    struct fetch fetch = {.request = *request};

    session_fetch(session, &fetch, 1);
    if (!fetch.body)
        *err = fetch.err;
    return fetch.body;
}

static bool check_list(const struct fetch *list, size_t objects, unsigned pages, struct err *err)
{
    const char *plural = list->request.resource->plural;

    if (objects > OBJECTS_MAX)
        return err_set(err, ERR_INVALID, "there are more than %zu %s; choose a namespace with -n",
                       OBJECTS_MAX, plural);
    if (list->bytes > BYTES_MAX)
        return err_set(err, ERR_INVALID, "the %s have more than %zu MiB; choose a namespace with -n", plural,
                       BYTES_MAX >> 20);
    if (pages > PAGES_MAX)
        return err_set(err, ERR_INVALID,
                       "the list of %s has no end after %u pages; check server and proxy of %s", plural,
                       PAGES_MAX, list->session->config.origin);
    return true;
}

bool session_fetch_rest(struct session *session, struct fetch *list, struct err *err)
{
    AUTO(mem) char *more = mem_strdup(json_str(list->body, "metadata/continue", ""));
    const char *const *query = list->request.query;
    cJSON *items = json_at_mut(list->body, "items");
    size_t objects = (size_t)cJSON_GetArraySize(items);

    for (unsigned pages = 1; check_list(list, objects, pages, err); pages++) {
        const char *next[16] = {"continue", more};
        struct fetch page = {.request = list->request};

        if (!more || !*more || !items)
            return true;
        for (size_t i = 0; query && query[i] && i + 3 < COUNT_OF(next); i++)
            next[i + 2] = query[i];
        page.request.query = next;
        session_fetch(session, &page, 1);
        if (!page.body) {
            *err = page.err;
            return false;
        }
        list->bytes += page.bytes;
        for (cJSON *from = json_at_mut(page.body, "items"); from && from->child; objects++)
            json_push_take(items, cJSON_DetachItemViaPointer(from, from->child));
        mem_set_str(&more, json_str(page.body, "metadata/continue", ""));
        cJSON_Delete(page.body);
    }
    return false;
}

/* ---- a job that there is not ---- */

int session_complain_of_job(struct session *session, const char *name, const struct err *err)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_PODS, .ns = session->ns, .name = name}},
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->ns, .query = query}},
    };
    struct suggest suggest = suggest_init(name);
    const char *job, *best;

    if (err->code != 404 || !str_has_suffix(err->msg, NO_OBJECT))
        return session_complain(session, err);
    session_fetch(session, fetches, COUNT_OF(fetches));
    job = json_str(fetches[0].body, "metadata/labels/graphcore.ai~1job-name", NULL);
    JSON_EACH (item, json_at(fetches[1].body, "items"))
        suggest_candidate(&suggest, json_str(item, "metadata/name", ""));
    best = suggest_best(&suggest);
    if (job)
        complain("%s is a pod of job %s in namespace %s; name the job", name, job, session->ns);
    else
        complain("%s in namespace %s%s%s%s", err->msg, session->ns, best ? "; did you mean " : "",
                 best ? best : "", best ? "?" : "");
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return STATUS_FAILED;
}

/* ---- the terminal ---- */

static size_t terminal_width(env_fn env)
{
    struct winsize size = {0};
    uint32_t columns = 80;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    (void)parse_u32(env("COLUMNS"), 1, 10000, &columns);
    return columns;
}

/* kubectl looks whether NO_COLOR is there, whatever its value. */
static bool wants_colors(const struct options *options, bool is_terminal, env_fn env)
{
    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return is_terminal && !env("NO_COLOR") && !str_eq(env("TERM"), "dumb");
}

/* ---- the whole ---- */

int session_run(const struct options *options, const struct strv *words, env_fn env, verb_fn verb)
{
    struct session session = {.options = options, .words = words, .is_terminal = isatty(STDOUT_FILENO)};
    struct err err = {0};
    int status = STATUS_FAILED;

    session.look.colors = wants_colors(options, session.is_terminal, env);
    session.look.width = session.is_terminal ? terminal_width(env) : 0;
    if (client_config_load(&(struct client_config_options){.kubeconfig = options->kubeconfig,
                                                           .context = options->context,
                                                           .is_personal = true,
                                                           .may_run_plugins = true,
                                                           .env = env},
                           &session.config, &err)) {
        session.ns = options->ns ? options->ns : session.config.ns;
        session.loop = loop_new();
        session.kube =
            kube_new(session.loop, &session.config,
                     &(struct kube_options){.program = "kubectl-ipu",
                                            .turn_bytes = TURN_BYTES,
                                            .on_warning = print_warning,
                                            .watch_connections = options->max_streams + WATCHES_MAX},
                     &err);
        if (session.kube) {
            status = verb(&session);
            kube_free(session.kube);
        }
        loop_free(session.loop);
    }
    if (err.kind != ERR_NONE)
        complain("%s", err.msg);
    client_config_release(&session.config);
    return status;
}
