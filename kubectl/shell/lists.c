/* kubectl ipu queue and top: a list of jobs as a table, once or whenever it changes. */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "kubectl/core/jobs.h"
#include "kubectl/shell/session.h"
#include "operator/api/names.h"
#include "operator/kube/watch/watch.h"

/* Changes that come together are shown together. */
enum { SETTLE_MS = 200 };

struct listing {
    struct session *session;
    cJSON *(*report)(const cJSON *jobs);
    const struct column *columns;
    void (*say_nothing)(const cJSON *jobs, const char *ns, struct str *out); /* instead of an empty table */
    const char *ns;                                                          /* NULL: all */
    struct watch *watch;
    struct loop_timer timer;
    struct strv shown; /* rows of the last table that was printed into a pipe */
    bool is_closed;    /* standard output */
};

static void add_names(const cJSON *items, struct str *out)
{
    JSON_EACH (item, items)
        str_addf(out, "ipujob.graphcore.ai/%s\n", json_str(item, "name", ""));
}

static void add_report(const struct listing *listing, const cJSON *report, bool no_headers, struct str *out)
{
    const struct options *options = listing->session->options;
    const cJSON *items = json_at(report, "items");

    if (options->output == OUTPUT_JSON) {
        AUTO(mem) char *printed = options->watch ? json_print(report) : json_print_pretty(report);

        str_addf(out, "%s\n", printed);
    } else if (options->output == OUTPUT_NAME) {
        add_names(items, out);
    } else if (items->child) {
        table_add(out, listing->columns, items, &listing->session->look,
                  &(struct table_options){.no_headers = no_headers,
                                          .wide = options->output == OUTPUT_WIDE,
                                          .now_s = now_seconds()});
    }
}

/* ---- once ---- */

static int print_once(const struct listing *listing, const cJSON *jobs)
{
    AUTO(json) cJSON *report = listing->report(json_at(jobs, "items"));
    AUTO(str) struct str text = {0};

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

static bool keep_job(void *ctx, const cJSON *item, void **ret_view)
{
    cJSON *copy = json_dup(item);

    (void)ctx;
    json_make_visible(copy, VISIBLE_LINES);
    *ret_view = copy;
    return true;
}

static void free_job(void *view)
{
    cJSON_Delete(view);
}

static cJSON *jobs_of(const struct store *store)
{
    cJSON *jobs = json_array();

    for (const struct store_item *item = store_first(store); item; item = store_next(item))
        json_push_take(jobs, json_dup(item->view));
    return jobs;
}

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

static void redraw(struct loop_timer *timer)
{
    struct listing *listing = CONTAINER_OF(timer, struct listing, timer);
    AUTO(json) cJSON *jobs = jobs_of(watch_store(listing->watch));
    AUTO(json) cJSON *report = listing->report(jobs);
    AUTO(str) struct str table = {0};
    AUTO(str) struct str out = {0};

    add_report(listing, report, listing->session->options->no_headers, &table);
    if (listing->session->is_terminal && table.len == 0)
        listing->say_nothing(jobs, listing->ns, &table);
    if (listing->session->is_terminal)
        str_addf(&out, "\x1b[H\x1b[J%s", str_text(&table));
    else
        append_changes(listing, &table, &out);
    if (!print_out(str_text(&out), out.len)) {
        listing->is_closed = true;
        loop_stop(listing->session->loop);
    }
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

static int print_changes(struct listing *listing)
{
    listing->watch = watch_new(listing->session->kube, &(struct watch_options){.resource = &KUBE_IPUJOBS,
                                                                               .ns = listing->ns,
                                                                               .view = keep_job,
                                                                               .view_free = free_job,
                                                                               .on_change = on_change,
                                                                               .on_synced = on_synced,
                                                                               .ctx = listing});
    loop_run(listing->session->loop);
    loop_timer_stop(&listing->timer);
    watch_free(listing->watch);
    strv_release(&listing->shown);
    return listing->is_closed ? STATUS_FAILED : STATUS_OK;
}

static int list(struct listing *listing)
{
    struct session *session = listing->session;
    struct fetch jobs = {0};
    int status;

    listing->ns = namespace_to_list(session, &jobs);
    if (jobs.err.kind != ERR_NONE)
        status = session_complain(session, &jobs.err);
    else
        status = session->options->watch ? print_changes(listing) : print_once(listing, jobs.body);
    cJSON_Delete(jobs.body);
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
