#include "operator/reconcile/admitted.h"

#include "base/core/mem.h"

/* More than that are forgotten all at once; they are asked about again. */
#define ADMITTED_MAX 1024

/* FNV-1a, 64 bits; what depends on the job's name alone is not part of it. */
static char *fingerprint(const struct job *job)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *p = job->template_json; *p; p++)
        hash = (hash ^ (uint8_t)*p) * UINT64_C(1099511628211);
    return mem_printf("%s/%llx/%u", job->ns, (unsigned long long)hash, job->spec.workers_per_instance);
}

void admitted_note(struct admitted *admitted, const struct job *job, int64_t now_ms)
{
    AUTO(mem) char *key = fingerprint(job);

    if (admitted->until.count >= ADMITTED_MAX)
        admitted_release(admitted);
    map_set(&admitted->until, key, (void *)(uintptr_t)(now_ms + ADMITTED_FOR_MS));
}

bool admitted_has(const struct admitted *admitted, const struct job *job, int64_t now_ms)
{
    AUTO(mem) char *key = fingerprint(job);

    return now_ms < (int64_t)(uintptr_t)map_get(&admitted->until, key);
}

void admitted_release(struct admitted *admitted)
{
    map_release(&admitted->until);
    admitted->until = (struct map){0};
}
