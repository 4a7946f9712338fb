#include "operator/reconcile/accounting/accounting.h"

#include "base/core/mem.h"
#include "operator/reconcile/decide/model/verdict.h"

const char *accounting_name(const struct map *by_name, const char *ns)
{
    return by_name->count < ACCOUNTING_NAMESPACES_MAX || map_get(by_name, ns) ? ns : ACCOUNTING_OTHERS;
}

static struct account *account_of(struct accounting *accounting, const char *ns)
{
    const char *name = accounting_name(&accounting->accounts, ns);
    struct account *account = map_get(&accounting->accounts, name);

    if (!account) {
        account = NEW(struct account);
        map_set(&accounting->accounts, name, account);
    }
    return account;
}

static uint64_t ipu_ms(const struct account *account, int64_t now_ms)
{
    return account->ipu_ms + (uint64_t)account->ipus * (uint64_t)(now_ms - account->since_ms);
}

static void change(struct accounting *accounting, const struct record *record, bool adds, int64_t now_ms)
{
    struct account *account;

    if (!record || !record_holds_ipus(record, false))
        return;
    account = account_of(accounting, record->job_ns);
    account->ipu_ms = ipu_ms(account, now_ms);
    account->since_ms = now_ms;
    account->ipus = adds ? account->ipus + record->size : account->ipus - record->size;
}

void accounting_note_record(struct accounting *accounting, const struct record *old, const struct record *new,
                            int64_t now_ms)
{
    change(accounting, old, false, now_ms);
    change(accounting, new, true, now_ms);
}

static void count_reason(uint64_t **counts, const char *name)
{
    const struct reason *reason = reason_find(name);

    if (!*counts)
        *counts = mem_alloc((reason_count + 1) * sizeof(**counts));
    (*counts)[reason ? (size_t)(reason - reasons) : reason_count]++;
}

static void note_failure(struct accounting *accounting, const struct job *job)
{
    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    count_reason(&accounting->failed, json_str(status, "reason", ""));
}

void accounting_note_restart(struct accounting *accounting, const char *reason)
{
    count_reason(&accounting->restarts, reason);
}

void accounting_note_job(struct accounting *accounting, const struct job *old, const struct job *new)
{
    const char *completed = job_state_name(JOB_COMPLETED), *failed = job_state_name(JOB_FAILED);

    if (str_eq(new->state, old->state) || new->is_vendors)
        return;
    if (str_eq(new->state, completed))
        accounting->completed++;
    else if (str_eq(new->state, failed))
        note_failure(accounting, new);
}

double account_ipu_seconds(const struct account *account, int64_t now_ms)
{
    return (double)ipu_ms(account, now_ms) / 1000;
}

void accounting_release(struct accounting *accounting)
{
    void *account;

    for (size_t i = 0; map_next(&accounting->accounts, &i, NULL, &account);)
        mem_free(account);
    map_release(&accounting->accounts);
    mem_free(accounting->failed);
    mem_free(accounting->restarts);
    *accounting = (struct accounting){0};
}
