#include "operator/reconcile/report/progress_board.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/observed/pod.h"
#include "operator/progress/job_progress.h"
#include "operator/progress/token.h"
#include "operator/reconcile/state/partitions.h"
#include "operator/reconcile/state/reconciler_state.h"

enum { TICK_MS = 200, WRITES_MAX = 8, RETRY_S = PROGRESS_WRITE_EVERY_S };

struct progress_board {
    struct reconciler *r;
    struct map jobs; /* uid -> struct board_job */
    size_t turn;     /* where in `jobs` the next tick begins */
    struct loop_timer tick;
    unsigned writes; /* in flight */
    bool is_restored;
};

struct board_job {
    struct progress_board *board;
    char *ns, *name, *uid;
    struct job_progress progress;
    cJSON *written, *sent; /* as job_progress_print has made them; NULL: none */
    int64_t written_s;
    int64_t due_s; /* of the next look */
    struct kube_call *call;
};

static int64_t now_s(const struct progress_board *board)
{
    return loop_now_ms(board->r->loop) / 1000;
}

static struct progress_time now(const struct progress_board *board)
{
    return (struct progress_time){now_s(board), loop_unix_micros() / 1000000};
}

static void end_call(struct board_job *it)
{
    it->call = NULL;
    it->board->writes--;
}

static void board_job_free(struct board_job *it)
{
    if (it->call) {
        kube_cancel(it->call);
        end_call(it);
    }
    job_progress_release(&it->progress);
    cJSON_Delete(it->written);
    cJSON_Delete(it->sent);
    mem_free(it->ns);
    mem_free(it->name);
    mem_free(it->uid);
    mem_free(it);
}

/* ---- who reports ---- */

/* Anybody who may create pods in a namespace can give one the labels and the owner of a job's. The partition
 * record is the operator's own: it says which job the partition is of, and so which names its pods have. */
static bool is_pod_of_record(const struct pod *pod, const struct record *record, const struct job *job)
{
    uint32_t workers = record->workers, first = record->instance * workers;
    AUTO(mem) char *worker = name_worker_pod(job->name, first + pod->worker);
    AUTO(mem) char *launcher = name_launcher_pod(job->name, record->instance);

    return pod->instance == record->instance && pod->run == record->run &&
           str_eq(pod->name, pod->worker < workers ? worker : launcher);
}

static const struct pod *find_pod(const struct reconciler *r, const struct token_pod *token,
                                  const struct job **ret_job)
{
    const struct pod *pod = store_view(watch_store(r->pods), token->ns, token->name);
    const struct job *job =
        pod && pod->job_name ? store_view(watch_store(r->jobs), token->ns, pod->job_name) : NULL;
    const struct record *record = pod && pod->partition ? reconciler_record(r, pod->partition) : NULL;

    if (!job || !record || !str_eq(pod->uid, token->uid) || !str_eq(pod->job_uid, job->uid) ||
        !str_eq(record->job_uid, job->uid) || !is_pod_of_record(pod, record, job))
        return NULL;
    *ret_job = job;
    return pod;
}

/* What the status says was written at an unknown time, which must not delay the next write. */
static void restore(struct board_job *it, const struct job *job)
{
    struct progress_time at = now(it->board);
    struct err ignored = {0};
    AUTO(json) cJSON *status = job_status(job, &ignored);

    if (!json_at(status, "progress"))
        return;
    job_progress_restore(&it->progress, status, at);
    it->written = job_progress_print(&it->progress, at.loop_s);
    it->written_s = at.loop_s - PROGRESS_DETAILS_EVERY_S;
    it->due_s = job_progress_stale_at_s(&it->progress, at.loop_s);
}

static struct board_job *board_job_of(struct progress_board *board, const struct job *job)
{
    struct board_job *it = map_get(&board->jobs, job->uid);

    if (it)
        return it;
    it = NEW(struct board_job);
    *it = (struct board_job){.board = board,
                             .ns = mem_strdup(job->ns),
                             .name = mem_strdup(job->name),
                             .uid = mem_strdup(job->uid),
                             .due_s = INT64_MAX};
    map_set(&board->jobs, it->uid, it);
    restore(it, job);
    return it;
}

/* NULL: it is gone. */
static const struct job *find_job(const struct board_job *it)
{
    const struct job *job = store_view(watch_store(it->board->r->jobs), it->ns, it->name);

    return job && str_eq(job->uid, it->uid) ? job : NULL;
}

static bool has_ended(const struct job *job)
{
    return str_eq(job->state, "Completed") || str_eq(job->state, "Failed");
}

/* ---- writes ---- */

static void look(struct board_job *it);

static void on_written(void *ctx, struct kube_response *res)
{
    struct board_job *it = ctx;

    end_call(it);
    it->written_s = now_s(it->board);
    if (res->err.kind == ERR_NONE) {
        cJSON_Delete(it->written);
        it->written = TAKE(it->sent);
        look(it);
        return;
    }
    cJSON_Delete(TAKE(it->sent));
    it->due_s = it->written_s + RETRY_S;
}

static void write_status(struct board_job *it, cJSON *printed_take)
{
    AUTO(json) cJSON *body = json_object();

    json_put_str(json_put_object(body, "metadata"), "uid", it->uid);
    json_put_take(body, "status", job_progress_patch(printed_take));
    it->sent = printed_take;
    it->board->writes++;
    it->call = kube_send(it->board->r->kube,
                         &(struct kube_request){.method = "PATCH",
                                                .resource = &KUBE_IPUJOBS,
                                                .ns = it->ns,
                                                .name = it->name,
                                                .sub = "status",
                                                .body = body,
                                                .content_type = KUBE_MERGE_PATCH},
                         on_written, it);
}

/* Writes the status if that is due, or finds out when it will be. The last report of a job that has ended is
 * written at once, and does not become stale. */
static void look(struct board_job *it)
{
    int64_t at_s = now_s(it->board), stale_s = job_progress_stale_at_s(&it->progress, at_s), due_s;
    const struct job *job = find_job(it);
    AUTO(json) cJSON *printed = NULL;

    if (it->call || !job)
        return;
    printed = job_progress_print(&it->progress, at_s);
    due_s = job_progress_write_due_s(it->written, it->written_s, printed);
    if (has_ended(job)) {
        stale_s = INT64_MAX;
        due_s = due_s == INT64_MAX ? due_s : at_s;
    }
    it->due_s = due_s < stale_s ? due_s : stale_s;
    if (due_s <= at_s && !it->board->r->aborted)
        write_status(it, TAKE(printed));
}

/* Programs may have stopped reporting while nobody led. */
static void restore_all(struct progress_board *board)
{
    const struct store *jobs = watch_store(board->r->jobs);

    if (board->is_restored || !reconciler_watches_are_synced(board->r))
        return;
    board->is_restored = true;
    for (const struct store_item *item = store_first(jobs); item; item = store_next(item)) {
        const struct job *job = item->view;

        if (str_eq(job->state, "Running"))
            (void)board_job_of(board, job);
    }
}

static struct board_job *next_job(struct progress_board *board)
{
    void *value = NULL;

    if (!map_next(&board->jobs, &board->turn, NULL, &value)) {
        board->turn = 0;
        (void)map_next(&board->jobs, &board->turn, NULL, &value);
    }
    return value;
}

/* If more is to be written than may be, the next tick goes on with those that had no turn. */
static void on_tick(struct loop_timer *timer)
{
    struct progress_board *board = CONTAINER_OF(timer, struct progress_board, tick);
    AUTO(strv) struct strv done = {0};
    int64_t at_s = now_s(board);

    restore_all(board);
    for (size_t left = board->jobs.count; left > 0 && board->writes < WRITES_MAX; left--) {
        struct board_job *it = next_job(board);
        const struct job *job = find_job(it);

        if (job && (it->due_s <= at_s || has_ended(job)))
            look(it);
        if (!job || (has_ended(job) && !it->call && it->due_s == INT64_MAX))
            strv_push(&done, it->uid);
    }
    for (size_t i = 0; i < done.count; i++)
        board_job_free(map_remove(&board->jobs, done.items[i]));
    loop_timer_start(board->r->loop, &board->tick, TICK_MS, on_tick);
}

/* ---- reports ---- */

bool progress_board_report(struct progress_board *board, const struct token_pod *token, struct slice body)
{
    struct progress_time at = now(board);
    AUTO(progress_report) struct progress_report report = {0};
    const struct job *job;
    const struct pod *pod = find_pod(board->r, token, &job);
    struct board_job *it;
    struct err err = {0};

    if (!pod)
        return false;
    it = board_job_of(board, job);
    if (!job_progress_admit(&it->progress, pod->instance, at.loop_s))
        return true;
    if (progress_report_parse(body, &report, &err))
        job_progress_add(&it->progress, pod->instance, pod->worker, &report, at);
    else
        job_progress_reject(&it->progress, err.msg);
    /* At the next tick, so that several reports at once are one look. */
    if (it->due_s > at.loop_s + 1)
        it->due_s = at.loop_s;
    return true;
}

void progress_board_put(const struct progress_board *board, const char *uid, cJSON *status)
{
    const struct board_job *it = map_get(&board->jobs, uid);
    AUTO(json) cJSON *printed = it ? job_progress_print(&it->progress, now_s(board)) : NULL;

    if (!json_at(printed, "trainerStatus") && !json_at(printed, "progress/problem"))
        return; /* nothing has been reported */
    JSON_EACH (member, printed)
        json_put_take(status, json_key(member), json_dup(member));
}

static const struct instance_progress *progress_of(const struct progress_board *board,
                                                   const struct record *record)
{
    const struct board_job *it = map_get(&board->jobs, record->job_uid);
    const struct instance_progress *instance = it ? job_progress_find(&it->progress, record->instance) : NULL;

    /* Before, the instance ran on another partition. */
    return instance && instance->reported.unix_s >= record->created_s ? instance : NULL;
}

struct progress_board *progress_board_new(struct reconciler *reconciler)
{
    struct progress_board *board = NEW(struct progress_board);

    board->r = reconciler;
    board->jobs.borrows_keys = true;
    reconciler->progress = board;
    reconciler->progress_of = progress_of;
    loop_timer_start(reconciler->loop, &board->tick, TICK_MS, on_tick);
    return board;
}

void progress_board_free(struct progress_board *board)
{
    void *value;

    if (!board)
        return;
    loop_timer_stop(&board->tick);
    board->r->progress_of = NULL;
    for (size_t i = 0; map_next(&board->jobs, &i, NULL, &value);)
        board_job_free(value);
    map_release(&board->jobs);
    mem_free(board);
}
