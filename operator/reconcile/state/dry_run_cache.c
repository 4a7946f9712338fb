#include "operator/reconcile/state/dry_run_cache.h"

#include "base/core/mem.h"
#include "operator/reconcile/state/job_cache.h"

/* More than that are forgotten; they are asked about again. */
#define ADMITTED_MAX 1024

struct judged {
    bool asking;
    int64_t until_ms; /* the judgement is good until then; 0: there is none */
    struct judgement judgement;
    char *text;          /* of it */
    unsigned refusals;   /* one after the other */
    struct strv waiting; /* keys of jobs */
};

/* What depends on the job's name alone is not part of it. */
char *admitted_fingerprint(const struct job *job)
{
    return mem_printf("%s/%llx/%llx/%u", job->ns, (unsigned long long)job->revision,
                      (unsigned long long)job->launcher_revision, job->spec.workers_per_instance);
}

static void free_judged(struct judged *judged)
{
    mem_free(judged->text);
    strv_release(&judged->waiting);
    mem_free(judged);
}

static struct judged *find(const struct admitted *admitted, const struct job *job)
{
    AUTO(mem) char *key = admitted_fingerprint(job);

    return map_get(&admitted->templates, key);
}

const struct judgement *admitted_judgement(const struct admitted *admitted, const struct job *job,
                                           int64_t now_ms)
{
    const struct judged *judged = find(admitted, job);

    return judged && now_ms < judged->until_ms ? &judged->judgement : NULL;
}

static void forget_answered(struct admitted *admitted)
{
    struct map kept = {0};
    const char *key;
    void *value;

    for (size_t i = 0; map_next(&admitted->templates, &i, &key, &value);) {
        if (((struct judged *)value)->asking)
            map_set(&kept, key, value);
        else
            free_judged(value);
    }
    map_release(&admitted->templates);
    admitted->templates = kept;
}

bool admitted_ask(struct admitted *admitted, const struct job *job)
{
    struct judged *judged = find(admitted, job);

    if (judged && judged->asking) {
        strv_push(&judged->waiting, job->key);
        return false;
    }
    if (!judged) {
        AUTO(mem) char *key = admitted_fingerprint(job);

        if (admitted->templates.count >= ADMITTED_MAX)
            forget_answered(admitted);
        judged = NEW(struct judged);
        map_set(&admitted->templates, key, judged);
    }
    judged->asking = true;
    return true;
}

static void keep(struct judged *judged, const char *fingerprint, struct judgement *judgement, int64_t now_ms)
{
    judged->refusals = judgement->reason ? judged->refusals + 1 : 0;
    if (judgement->reason)
        judgement->retry_at_ms = now_ms + refused_again_ms(fingerprint, judged->refusals);
    mem_set_str(&judged->text, judgement->text);
    judged->judgement = *judgement;
    judged->judgement.text = judged->text;
}

void admitted_answer(struct admitted *admitted, const char *fingerprint, struct judgement *judgement,
                     int64_t now_ms, struct strv *ret_waiting)
{
    struct judged *judged = map_get(&admitted->templates, fingerprint);

    if (!judged)
        return;
    judged->asking = false;
    judged->until_ms = judgement ? now_ms + ADMITTED_FOR_MS : 0;
    if (judgement)
        keep(judged, fingerprint, judgement, now_ms);
    *ret_waiting = judged->waiting;
    judged->waiting = (struct strv){0};
}

void admitted_release(struct admitted *admitted)
{
    void *value;

    for (size_t i = 0; map_next(&admitted->templates, &i, NULL, &value);)
        free_judged(value);
    map_release(&admitted->templates);
    admitted->templates = (struct map){0};
}
