#include "operator/reconcile/state/dry_run_cache.h"

#include "base/core/mem.h"
#include "operator/reconcile/state/rejection_backoff.h"

/* When there are more, the oldest are dropped; they are requested again. */
#define DRY_RUN_CACHE_MAX 1024

struct dry_run_entry {
    bool in_progress;
    int64_t until_ms; /* the result is valid until then; 0: no result */
    struct dry_run_result result;
    char *text;          /* of that result */
    unsigned rejections; /* rejections in a row */
    struct strv waiting; /* keys of jobs */
};

/* Leaves out what depends on the job's name alone. */
char *dry_run_cache_key(const struct job *job)
{
    return mem_printf("%s/%llx/%llx/%u", job->ns, (unsigned long long)job->revision,
                      (unsigned long long)job->launcher_revision, job->spec.workers_per_instance);
}

static void free_entry(struct dry_run_entry *entry)
{
    mem_free(entry->text);
    strv_release(&entry->waiting);
    mem_free(entry);
}

static struct dry_run_entry *find(const struct dry_run_cache *cache, const struct job *job)
{
    AUTO(mem) char *key = dry_run_cache_key(job);

    return map_get(&cache->templates, key);
}

const struct dry_run_result *dry_run_cache_get(const struct dry_run_cache *cache, const struct job *job,
                                               int64_t now_ms)
{
    const struct dry_run_entry *entry = find(cache, job);

    return entry && now_ms < entry->until_ms ? &entry->result : NULL;
}

static void forget_answered(struct dry_run_cache *cache)
{
    struct map kept = {0};
    const char *key;
    void *value;

    for (size_t i = 0; map_next(&cache->templates, &i, &key, &value);) {
        if (((struct dry_run_entry *)value)->in_progress)
            map_set(&kept, key, value);
        else
            free_entry(value);
    }
    map_release(&cache->templates);
    cache->templates = kept;
}

bool dry_run_cache_begin(struct dry_run_cache *cache, const struct job *job)
{
    struct dry_run_entry *entry = find(cache, job);

    if (entry && entry->in_progress) {
        strv_push(&entry->waiting, job->key);
        return false;
    }
    if (!entry) {
        AUTO(mem) char *key = dry_run_cache_key(job);

        if (cache->templates.count >= DRY_RUN_CACHE_MAX)
            forget_answered(cache);
        entry = NEW(struct dry_run_entry);
        map_set(&cache->templates, key, entry);
    }
    entry->in_progress = true;
    return true;
}

static void keep(struct dry_run_entry *entry, const char *fingerprint, struct dry_run_result *result,
                 int64_t now_ms)
{
    entry->rejections = result->reason ? entry->rejections + 1 : 0;
    if (result->reason)
        result->retry_at_ms = now_ms + rejection_backoff_ms(fingerprint, entry->rejections);
    mem_set_str(&entry->text, result->text);
    entry->result = *result;
    entry->result.text = entry->text;
}

void dry_run_cache_complete(struct dry_run_cache *cache, const char *fingerprint,
                            struct dry_run_result *result, int64_t now_ms, struct strv *ret_waiting)
{
    struct dry_run_entry *entry = map_get(&cache->templates, fingerprint);

    if (!entry)
        return;
    entry->in_progress = false;
    entry->until_ms = result ? now_ms + DRY_RUN_VALID_MS : 0;
    if (result)
        keep(entry, fingerprint, result, now_ms);
    *ret_waiting = entry->waiting;
    entry->waiting = (struct strv){0};
}

void dry_run_cache_release(struct dry_run_cache *cache)
{
    void *value;

    for (size_t i = 0; map_next(&cache->templates, &i, NULL, &value);)
        free_entry(value);
    map_release(&cache->templates);
    cache->templates = (struct map){0};
}
