#include "lib/ops.h"

#include "base/core/mem.h"
#include "operator/api/partition/record.h"

static void drop_times(cJSON *status)
{
    cJSON *conditions = json_at_mut(status, "conditions");

    json_drop(status, "lastReconcileTime");
    for (cJSON *condition = conditions ? conditions->child : NULL; condition; condition = condition->next)
        json_drop(condition, "lastUpdateTime");
}

static cJSON *body_of(const struct op *op)
{
    cJSON *body = op->body ? json_dup(op->body) : NULL;

    if (op->record)
        body = op->kind == OP_RECORD_PATCH ? record_patch(op->record) : record_build(op->record, "operator");
    drop_times(body);
    json_drop(json_at_mut(body, "metadata"), "resourceVersion");
    return body;
}

static char *op_tell(const struct op *op)
{
    const struct plan alone = {.ops = (struct op *)op, .count = 1};
    AUTO(json) cJSON *body = body_of(op);
    AUTO(mem) char *text = body ? json_print(body) : NULL;
    struct str out = {0};

    plan_print(&alone, &out);
    str_addf(&out, "  uid=%s instance=%u worker=%u%s ", op->uid ? op->uid : "none", op->instance, op->worker,
             op->ready ? " ready" : "");
    str_adds(&out, text ? text : "");
    return str_take(&out);
}

void plan_describe(const struct plan *plan, struct strv *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind != OP_CLAIM && plan->ops[i].kind != OP_OFFER)
            strv_push_take(out, op_tell(&plan->ops[i]));
    }
}
