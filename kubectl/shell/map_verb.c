/* kubectl ipu map: a drawing, once or whenever it changes. */
#include <stdio.h>

#include "base/core/mem.h"
#include "kubectl/core/map.h"
#include "kubectl/shell/objects.h"
#include "kubectl/shell/silence.h"

/* Changes that come together are shown together. */
enum { SETTLE_MS = 200 };

struct map {
    struct session *session;
    struct watch *controllers, *jobs; /* with --watch; jobs NULL: they may not be listed */
    struct silence silence;
    struct loop_timer timer;
    char *shown; /* last */
    int status;
};

static bool add_map(const struct session *session, const cJSON *controllers, const cJSON *jobs,
                    struct str *out)
{
    const struct options *options = session->options;
    AUTO(json) cJSON *report = map_report(controllers, jobs, options->domain);

    if (!session_add_json(session, report, out) && json_at(report, "items")->child)
        map_print(report, &session->look, options->output == OUTPUT_WIDE, session_now(session), out);
    return json_at(report, "items")->child != NULL;
}

/* ---- once ---- */

static int print_once(struct session *session, const cJSON *controllers, const cJSON *jobs)
{
    AUTO(str) struct str text = {0};
    bool has_items = add_map(session, controllers, jobs, &text);

    if (!has_items && session->options->domain) {
        complain("no V-IPU controller has a domain %s; see kubectl ipu map", session->options->domain);
        return STATUS_FAILED;
    }
    if (!has_items)
        (void)fprintf(stderr, "There is no VIPUController: the operator has not reported one yet.\n");
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

/* ---- with every change ---- */

static void draw_changes(void *ctx)
{
    struct map *map = ctx;
    AUTO(json) cJSON *controllers = objects_of(map->controllers);
    AUTO(json) cJSON *jobs = map->jobs ? objects_of(map->jobs) : NULL;
    AUTO(str) struct str text = {0};
    AUTO(str) struct str out = {0};

    if (map->session->is_terminal && map->session->options->output != OUTPUT_JSON)
        silence_add(&map->silence, &text);
    (void)add_map(map->session, controllers, jobs, &text);
    if (str_eq(str_text(&text), map->shown))
        return;
    mem_set_str(&map->shown, str_text(&text));
    str_addf(&out, "%s%s", map->session->is_terminal ? "\x1b[H\x1b[J" : "", str_text(&text));
    if (!print_out(str_text(&out), out.len)) {
        map->status = STATUS_FAILED;
        loop_stop(map->session->loop);
    }
}

static void redraw(struct loop_timer *timer)
{
    draw_changes(CONTAINER_OF(timer, struct map, timer));
}

static void on_synced(void *ctx)
{
    struct map *map = ctx;

    if (!watch_is_synced(map->controllers) || (map->jobs && !watch_is_synced(map->jobs)))
        return;
    silence_look_soon(&map->silence);
    if (!loop_timer_is_running(&map->timer))
        loop_timer_start(map->session->loop, &map->timer, SETTLE_MS, redraw);
}

static void on_change(void *ctx, const struct store_change *change)
{
    (void)change;
    on_synced(ctx);
}

static void on_full(void *ctx, const struct err *err)
{
    struct map *map = ctx;

    complain("%s; choose a namespace with -n", err->msg);
    map->status = STATUS_FAILED;
    loop_stop(map->session->loop);
}

static int print_changes(struct session *session, bool has_jobs)
{
    struct map map = {.session = session};
    struct watch_options options = {.resource = &KUBE_VIPU_CONTROLLERS,
                                    .on_change = on_change,
                                    .on_synced = on_synced,
                                    .on_full = on_full,
                                    .ctx = &map};

    map.controllers = objects_watch(session, &options);
    options.resource = &KUBE_IPUJOBS;
    options.ns = session->options->ns;
    map.silence = (struct silence){
        .session = session, .controllers = map.controllers, .on_look = draw_changes, .ctx = &map};
    map.jobs = has_jobs ? objects_watch(session, &options) : NULL;
    loop_run(session->loop);
    loop_timer_stop(&map.timer);
    silence_release(&map.silence);
    watch_free(map.controllers);
    watch_free(map.jobs);
    mem_free(map.shown);
    return map.status;
}

/* Without the right to list jobs, the map is without their statuses. */
static int draw(struct session *session, struct fetch *controllers, struct fetch *jobs)
{
    struct err err = {0};

    if (!controllers->body || !session_fetch_rest(session, controllers, &controllers->err))
        return session_complain(session, &controllers->err);
    if (!session->options->watch)
        complain_of_silence(session, json_at(controllers->body, "items"));
    if (jobs->body && !session_fetch_rest(session, jobs, &err))
        complain("statuses of some jobs are left out: %s", err.msg);
    if (session->options->watch)
        return print_changes(session, jobs->body != NULL);
    return print_once(session, json_at(controllers->body, "items"), json_at(jobs->body, "items"));
}

int map_verb(struct session *session)
{
    static const char *const query[] = {"limit", PAGE_LIMIT, NULL};
    struct fetch fetches[] = {
        {.request = {.method = "GET", .resource = &KUBE_VIPU_CONTROLLERS, .query = query}},
        {.request = {.method = "GET", .resource = &KUBE_IPUJOBS, .ns = session->options->ns, .query = query}},
    };
    int status;

    session_fetch(session, fetches, COUNT_OF(fetches));
    status = draw(session, &fetches[0], &fetches[1]);
    for (size_t i = 0; i < COUNT_OF(fetches); i++)
        cJSON_Delete(fetches[i].body);
    return status;
}
