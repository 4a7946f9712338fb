/* kubectl ipu queue and top: a list of jobs as a table, once or whenever it changes. */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "kubectl/core/jobs.h"
#include "kubectl/core/operator_sign.h"
#include "kubectl/shell/objects.h"
#include "kubectl/shell/silence.h"

/* Changes that come together are shown together. */
enum { SETTLE_MS = 200 };

struct listing {
    struct session *session;
    cJSON *(*report)(const cJSON *jobs, const cJSON *controllers);
    const struct column *columns;
    void (*say_nothing)(const cJSON *jobs, const char *ns, struct str *out); /* instead of an empty table */
    const char *ns;                                                          /* NULL: all */
    cJSON *controllers; /* NULL: they may not be listed */
    struct watch *watch, *controllers_watch;
    struct silence silence;
    struct loop_timer timer;
    struct strv shown; /* rows of the last table that was printed into a pipe */
    bool has_failed;
};

static void add_names(const cJSON *items, struct str *out)
{
    JSON_EACH (item, items) {
        str_adds(out, "ipujob.graphcore.ai/");
        (void)str_add_visible(out, slice_of(json_str(item, "name", "")), VISIBLE_LINE);
        str_addc(out, '\n');
    }
}

static void add_report(const struct listing *listing, const cJSON *report, bool no_headers, struct str *out)
{
    const struct options *options = listing->session->options;
    const cJSON *items = json_at(report, "items");

    if (session_add_json(listing->session, report, out))
        return;
    if (options->output == OUTPUT_NAME) {
        add_names(items, out);
    } else if (items->child) {
        table_add(out, listing->columns, items, &listing->session->look,
                  &(struct table_options){.no_headers = no_headers,
                                          .wide = options->output == OUTPUT_WIDE,
                                          .now_s = session_now(listing->session)});
    }
}

/* ---- once ---- */

static int print_once(const struct listing *listing, const cJSON *jobs)
{
    AUTO(json)
    cJSON *report = listing->report(json_at(jobs, "items"), json_at(listing->controllers, "items"));
    AUTO(str) struct str text = {0};

    operator_sign_put(report, json_at(listing->controllers, "items"), session_now(listing->session));
    add_report(listing, report, listing->session->options->no_headers, &text);
    if (text.len == 0) {
        AUTO(str) struct str nothing = {0};

        listing->say_nothing(json_at(jobs, "items"), listing->ns, &nothing);
        (void)fprintf(stderr, "%s\n", str_text(&nothing));
    }
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

static bool fetch_jobs(struct session *session, const char *ns, struct fetch *ret)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};

    ret->request =
        (struct kube_request){.method = "GET", .resource = &KUBE_IPUJOBS, .ns = ns, .query = query};
    session_fetch(session, ret, 1);
    return ret->body && session_fetch_rest(session, ret, &ret->err);
}

/* Without a choice: as much as the user may see. */
static const char *namespace_to_list(struct session *session, struct fetch *jobs)
{
    const struct options *options = session->options;
    const char *ns = options->ns && !options->all_namespaces ? options->ns : NULL;

    if (fetch_jobs(session, ns, jobs) || ns || options->all_namespaces || jobs->err.code != 403)
        return ns;
    complain("only namespace %s is shown: you may not list the IPUJobs of all namespaces", session->ns);
    jobs->err = (struct err){0};
    cJSON_Delete(TAKE(jobs->body));
    (void)fetch_jobs(session, session->ns, jobs);
    return session->ns;
}

/* ---- with every change ---- */

/* Into a pipe, rows are appended that were not in the table before, as kubectl get -w does. */
static void append_changes(struct listing *listing, const struct str *table, struct str *out)
{
    AUTO(strv) struct strv rows = {0};

    strv_split(str_text(table), '\n', &rows);
    for (size_t i = 0; i < rows.count; i++) {
        if (!strv_has(&listing->shown, rows.items[i]))
            str_addf(out, "%s\n", rows.items[i]);
    }
    strv_release(&listing->shown);
    listing->shown = rows;
    rows = (struct strv){0};
}

static void draw(void *ctx)
{
    struct listing *listing = ctx;
    AUTO(json) cJSON *jobs = objects_of(listing->watch);
    AUTO(json) cJSON *report = listing->report(jobs, json_at(listing->controllers, "items"));
    AUTO(str) struct str table = {0};
    AUTO(str) struct str out = {0};

    silence_put(&listing->silence, report);
    add_report(listing, report, listing->session->options->no_headers, &table);
    if (listing->session->is_terminal && table.len == 0)
        listing->say_nothing(jobs, listing->ns, &table);
    if (listing->session->is_terminal) {
        str_adds(&out, "\x1b[H\x1b[J");
        if (listing->session->options->output != OUTPUT_JSON)
            silence_add(&listing->silence, &out);
        str_adds(&out, str_text(&table));
    } else {
        append_changes(listing, &table, &out);
    }
    if (!print_out(str_text(&out), out.len)) {
        listing->has_failed = true;
        loop_stop(listing->session->loop);
    }
}

static void redraw(struct loop_timer *timer)
{
    draw(CONTAINER_OF(timer, struct listing, timer));
}

static void on_full(void *ctx, const struct err *err)
{
    struct listing *listing = ctx;

    complain("%s; choose a namespace with -n", err->msg);
    listing->has_failed = true;
    loop_stop(listing->session->loop);
}

static void settle(struct listing *listing)
{
    if (!loop_timer_is_running(&listing->timer))
        loop_timer_start(listing->session->loop, &listing->timer, SETTLE_MS, redraw);
}

static void on_change(void *ctx, const struct store_change *change)
{
    struct listing *listing = ctx;

    (void)change;
    if (listing->watch && watch_is_synced(listing->watch))
        settle(listing);
}

static void on_synced(void *ctx)
{
    settle(ctx);
}

static void on_controllers_synced(void *ctx)
{
    struct listing *listing = ctx;

    silence_look_soon(&listing->silence);
}

static void on_controller(void *ctx, const struct store_change *change)
{
    struct listing *listing = ctx;

    (void)change;
    if (listing->controllers_watch && watch_is_synced(listing->controllers_watch))
        silence_look_soon(&listing->silence);
}

static void on_look(void *ctx)
{
    struct listing *listing = ctx;

    if (watch_is_synced(listing->watch))
        draw(listing);
}

static int print_changes(struct listing *listing)
{
    if (listing->controllers)
        listing->controllers_watch =
            objects_watch(listing->session, &(struct watch_options){.resource = &KUBE_VIPU_CONTROLLERS,
                                                                    .on_change = on_controller,
                                                                    .on_synced = on_controllers_synced,
                                                                    .on_full = on_full,
                                                                    .ctx = listing});
    listing->silence = (struct silence){.session = listing->session,
                                        .controllers = listing->controllers_watch,
                                        .on_look = on_look,
                                        .ctx = listing};
    listing->watch = objects_watch(listing->session, &(struct watch_options){.resource = &KUBE_IPUJOBS,
                                                                             .ns = listing->ns,
                                                                             .on_change = on_change,
                                                                             .on_synced = on_synced,
                                                                             .on_full = on_full,
                                                                             .ctx = listing});
    loop_run(listing->session->loop);
    loop_timer_stop(&listing->timer);
    silence_release(&listing->silence);
    watch_free(listing->watch);
    watch_free(listing->controllers_watch);
    strv_release(&listing->shown);
    return listing->has_failed ? STATUS_FAILED : STATUS_OK;
}

static int list(struct listing *listing)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    struct session *session = listing->session;
    struct fetch jobs = {0};
    struct err unread = {0};
    int status;

    listing->controllers = session_get(
        session, &(struct kube_request){.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = query},
        &unread);

    if (!session->options->watch)
        complain_of_silence(session, json_at(listing->controllers, "items"));
    listing->ns = namespace_to_list(session, &jobs);
    if (jobs.err.kind != ERR_NONE)
        status = session_complain(session, &jobs.err);
    else
        status = session->options->watch ? print_changes(listing) : print_once(listing, jobs.body);
    cJSON_Delete(jobs.body);
    cJSON_Delete(listing->controllers);
    return status;
}

int queue_verb(struct session *session)
{
    return list(&(struct listing){.session = session,
                                  .report = queue_report,
                                  .columns = queue_columns,
                                  .say_nothing = queue_say_nothing});
}

int top_verb(struct session *session)
{
    return list(&(struct listing){
        .session = session, .report = top_report, .columns = top_columns, .say_nothing = top_say_nothing});
}
