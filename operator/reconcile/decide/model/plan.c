#include "operator/reconcile/decide/model/plan.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "operator/api/names.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"

struct op *plan_add(struct plan *plan, enum op_kind kind)
{
    if (plan->count == plan->cap) {
        plan->cap = plan->cap ? 2 * plan->cap : 8;
        plan->ops = mem_grow(plan->ops, plan->cap, sizeof(*plan->ops));
    }

    struct op *op = &plan->ops[plan->count++];

    *op = (struct op){.kind = kind};
    return op;
}

void plan_pod_delete(struct plan *plan, const struct pod *pod)
{
    if (pod->deleting)
        return;

    struct op *op = plan_add(plan, OP_POD_DELETE);

    op->name = mem_strdup(pod->name);
    op->uid = mem_strdup(pod->uid);
    /* A pod without a node is deleted at once, even if it gets a node in that very moment; then it is
     * unknown whether it ran. */
    if (!pod->node)
        op->version = mem_strdup(pod->resource_version);
}

void plan_pod_stop(struct plan *plan, const struct pod *pod, int64_t now_unix_s)
{
    char when[TIMEFMT_RFC3339_SIZE];
    struct op *op = plan_add(plan, OP_POD_STOP);

    op->name = mem_strdup(pod->name);
    op->uid = mem_strdup(pod->uid);
    op->version = mem_strdup(pod->resource_version); /* it may have ended meanwhile */
    op->text = mem_strdup(timefmt_rfc3339(now_unix_s, when));
}

void plan_pod_drop(struct plan *plan, const struct pod *pod)
{
    struct op *op = plan_add(plan, OP_POD_DELETE);

    op->name = mem_strdup(pod->name);
    op->uid = mem_strdup(pod->uid);
    op->now = true;
}

struct op *plan_record_delete(struct plan *plan, const struct record *record)
{
    struct op *op = plan_add(plan, OP_RECORD_DELETE);

    op->name = mem_strdup(record->name);
    op->uid = mem_strdup(record->uid);
    return op;
}

void plan_keys_delete(struct plan *plan, const struct record *record)
{
    plan_add(plan, OP_KEYS_DELETE)->name = name_keys_secret(
        record->job_name, record->job_uid, record->has_launcher, record->instance, record->start);
}

static struct op *find_op(const struct plan *plan, enum op_kind kind)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == kind)
            return &plan->ops[i];
    }
    return NULL;
}

void plan_note_restart(struct plan *plan, const struct record *record, const char *reason)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].record == record)
            mem_set_str(&plan->ops[i].reason, reason);
    }
}

/* The instances of a job wait for the same: all are ready, or none is. */
static struct op *claim_op(struct plan *plan, bool ready)
{
    struct op *op = find_op(plan, OP_CLAIM);

    if (!op)
        op = plan_add(plan, OP_CLAIM);
    op->ready = ready;
    return op;
}

void plan_claim(struct plan *plan, uint32_t instance, bool ready)
{
    indexset_add(&claim_op(plan, ready)->instances, instance);
}

void plan_claim_all(struct plan *plan, const struct indexset *instances, bool ready)
{
    if (indexset_count(instances))
        indexset_add_all(&claim_op(plan, ready)->instances, instances);
}

const struct op *plan_claims(const struct plan *plan)
{
    return find_op(plan, OP_CLAIM);
}

void plan_hold(struct plan *plan, const char *partition, char *text_take)
{
    if (!strv_has(&plan->held, partition))
        strv_push(&plan->held, partition);
    if (plan->hold)
        mem_free(text_take);
    else
        plan->hold = text_take;
}

void plan_event(struct plan *plan, const char *reason, const char *text, bool warning)
{
    struct op *op = plan_add(plan, OP_EVENT);

    op->reason = mem_strdup(reason);
    op->text = mem_strdup(text);
    op->warning = warning;
}

int64_t plan_details_since(const struct plan *plan, int64_t since_ms, int64_t now_ms)
{
    if (!plan->holds_details)
        return 0;
    return since_ms ? since_ms : now_ms;
}

void plan_again_at(struct plan *plan, int64_t at_ms)
{
    if (plan->again_at_ms == 0 || at_ms < plan->again_at_ms)
        plan->again_at_ms = at_ms;
}

bool plan_is_due(struct plan *plan, int64_t now_ms, int64_t at_ms)
{
    if (now_ms < at_ms)
        plan_again_at(plan, at_ms);
    return now_ms >= at_ms;
}

/* Clocks of nodes differ; a time in the future is not waited for. */
bool plan_is_within(struct plan *plan, int64_t now_ms, int64_t now_unix_s, int64_t from_s, int64_t length_s)
{
    int64_t rest_s = from_s + length_s - now_unix_s;

    if (!from_s || rest_s <= 0 || rest_s > length_s)
        return false;
    plan_again_at(plan, now_ms + rest_s * 1000);
    return true;
}

bool plan_has(const struct plan *plan, enum op_kind kind)
{
    return find_op(plan, kind) != NULL;
}

static const char *kind_name(enum op_kind kind)
{
    static const char *const names[] = {
        [OP_FINALIZER_ADD] = "finalizer-add",
        [OP_FINALIZER_REMOVE] = "finalizer-remove",
        [OP_JOB_DELETE] = "job-delete",
        [OP_CLAIM] = "claim",
        [OP_OFFER] = "offer",
        [OP_DRY_RUN] = "dry-run",
        [OP_SERVICE_CREATE] = "service-create",
        [OP_ENDPOINTS_WRITE] = "names-write",
        [OP_POLICY_CREATE] = "policy-create",
        [OP_KEYS_CREATE] = "keys-create",
        [OP_KEYS_DELETE] = "keys-delete",
        [OP_RECORD_CREATE] = "record-create",
        [OP_RECORD_PATCH] = "record-patch",
        [OP_RECORD_DELETE] = "record-delete",
        [OP_PARTITION_CREATE] = "partition-create",
        [OP_PARTITION_RESET] = "partition-reset",
        [OP_PARTITION_REMOVE] = "partition-remove",
        [OP_POD_CREATE] = "pod-create",
        [OP_POD_STOP] = "pod-stop",
        [OP_POD_DELETE] = "pod-delete",
        [OP_STATUS] = "status",
        [OP_EVENT] = "event",
    };

    return names[kind];
}

static void print_claim(const struct op *op, struct str *out)
{
    AUTO(mem) char *instances = indexset_print(&op->instances);

    str_addf(out, " instances=%s%s", instances, op->ready ? "" : " not-ready");
}

static void print_op(const struct op *op, struct str *out)
{
    str_adds(out, kind_name(op->kind));
    if (op->name)
        str_addf(out, " %s", op->name);
    if (op->now)
        str_adds(out, " now");
    if (op->kind == OP_CLAIM)
        print_claim(op, out);
    if (op->kind == OP_OFFER)
        str_adds(out, op->ready ? "" : " not-ready");
    if (op->kind == OP_POD_CREATE)
        str_addf(out, " instance=%u worker=%u", op->instance, op->worker);
    if (op->record)
        str_addf(out, " controller=%s size=%u gcds=%u%s%s%s", op->record->controller, op->record->size,
                 op->record->gcds, op->record->started ? " started" : "",
                 op->record->launched ? " launched" : "",
                 op->record->spent_s     ? " spent"
                 : op->record->releasing ? " releasing"
                                         : "");
    if (op->reason && !op->record)
        str_addf(out, " %s: %s", op->reason, op->text ? op->text : "");
    if (op->kind == OP_ENDPOINTS_WRITE)
        str_addf(out, " workers=%d", cJSON_GetArraySize(json_at(op->body, "endpoints")));
    else if (op->body)
        str_addf(out, " %s: %s", json_str(op->body, "launcherStatus", ""),
                 json_str(op->body, "lastMessage", ""));
    str_addc(out, '\n');
}

void plan_print(const struct plan *plan, struct str *out)
{
    for (size_t i = 0; i < plan->count; i++)
        print_op(&plan->ops[i], out);
}

void op_release(struct op *op)
{
    mem_free(op->name);
    mem_free(op->uid);
    mem_free(op->version);
    mem_free(op->reason);
    mem_free(op->text);
    indexset_release(&op->instances);
    record_free(op->record);
    cJSON_Delete(op->body);
    *op = (struct op){0};
}

void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        op_release(&plan->ops[i]);
    mem_free(plan->ops);
    mem_free(plan->hold);
    strv_release(&plan->held);
    *plan = (struct plan){0};
}
