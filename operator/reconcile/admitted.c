#include "operator/reconcile/admitted.h"

#include "base/core/mem.h"

/* More than that are forgotten; they are asked about again. */
#define ADMITTED_MAX 1024

struct judged {
    bool asking;
    int64_t until_ms; /* passed, and good until then; 0: not */
    int32_t priority;
    struct strv waiting; /* keys of jobs */
};

/* What depends on the job's name alone is not part of it. */
char *admitted_fingerprint(const struct job *job)
{
    return mem_printf("%s/%llx/%llx/%u", job->ns, (unsigned long long)job->revision,
                      (unsigned long long)job->launcher_revision, job->spec.workers_per_instance);
}

static struct judged *find(const struct admitted *admitted, const struct job *job)
{
    AUTO(mem) char *key = admitted_fingerprint(job);

    return map_get(&admitted->templates, key);
}

bool admitted_has(const struct admitted *admitted, const struct job *job, int64_t now_ms,
                  int32_t *ret_priority)
{
    const struct judged *judged = find(admitted, job);

    if (!judged || now_ms >= judged->until_ms)
        return false;
    *ret_priority = judged->priority;
    return true;
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
            mem_free(value);
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

void admitted_answer(struct admitted *admitted, const char *fingerprint, bool passed, int32_t priority,
                     int64_t now_ms, struct strv *ret_waiting)
{
    struct judged *judged = map_get(&admitted->templates, fingerprint);

    if (!judged)
        return;
    judged->asking = false;
    judged->priority = priority;
    judged->until_ms = passed ? now_ms + ADMITTED_FOR_MS : 0;
    *ret_waiting = judged->waiting;
    judged->waiting = (struct strv){0};
}

void admitted_release(struct admitted *admitted)
{
    void *value;

    for (size_t i = 0; map_next(&admitted->templates, &i, NULL, &value);) {
        strv_release(&((struct judged *)value)->waiting);
        mem_free(value);
    }
    map_release(&admitted->templates);
    admitted->templates = (struct map){0};
}
