#include "operator/reconcile/state/dry_run_cache.h"

#include "base/core/mem.h"
#include "operator/reconcile/state/rejection_backoff.h"

/* When there are more, the oldest are dropped; they are requested again. */
#define DRY_RUN_CACHE_MAX 1024

struct dry_run_entry {
    bool sync_client;
    int64_t until_ms; /* the result is valid until then; 0: no result */
    struct dry_run_result dry_run_result;
    char *text;          /* of that result */
    unsigned refusals;   /* rejections in a row */
    struct strv waiting; /* keys of jobs */
};

/* Leaves out what depends on the job's name alone. */
char *dry_run_cache_key(const struct job *job)
{
    return mem_printf("%s/%llx/%llx/%u", job->ns, (unsigned long long)job->revision,
                      (unsigned long long)job->launcher_revision, job->spec.workers_per_instance);
}

static void free_entry(struct dry_run_entry *dry_run_entry)
{
    mem_free(dry_run_entry->text);
    strv_release(&dry_run_entry->waiting);
    mem_free(dry_run_entry);
}

static struct dry_run_entry *find(const struct dry_run_cache *dry_run_cache, const struct job *job)
{
    AUTO(mem) char *key = dry_run_cache_key(job);

    return map_get(&dry_run_cache->templates, key);
}

const struct dry_run_result *dry_run_cache_get(const struct dry_run_cache *dry_run_cache,
                                               const struct job *job, int64_t now_ms)
{
    const struct dry_run_entry *dry_run_entry = find(dry_run_cache, job);

    return dry_run_entry && now_ms < dry_run_entry->until_ms ? &dry_run_entry->dry_run_result : NULL;
}

static void forget_answered(struct dry_run_cache *dry_run_cache)
{
    struct map kept = {0};
    const char *key;
    void *value;

    for (size_t i = 0; map_next(&dry_run_cache->templates, &i, &key, &value);) {
        if (((struct dry_run_entry *)value)->sync_client)
            map_set(&kept, key, value);
        else
            free_entry(value);
    }
    map_release(&dry_run_cache->templates);
    dry_run_cache->templates = kept;
}

bool dry_run_cache_begin(struct dry_run_cache *dry_run_cache, const struct job *job)
{
    struct dry_run_entry *dry_run_entry = find(dry_run_cache, job);

    if (dry_run_entry && dry_run_entry->sync_client) {
        strv_push(&dry_run_entry->waiting, job->key);
        return false;
    }
    if (!dry_run_entry) {
        AUTO(mem) char *key = dry_run_cache_key(job);

        if (dry_run_cache->templates.count >= DRY_RUN_CACHE_MAX)
            forget_answered(dry_run_cache);
        dry_run_entry = NEW(struct dry_run_entry);
        map_set(&dry_run_cache->templates, key, dry_run_entry);
    }
    dry_run_entry->sync_client = true;
    return true;
}

static void keep(struct dry_run_entry *dry_run_entry, const char *fingerprint,
                 struct dry_run_result *dry_run_result, int64_t now_ms)
{
    dry_run_entry->refusals = dry_run_result->reason ? dry_run_entry->refusals + 1 : 0;
    if (dry_run_result->reason)
        dry_run_result->retry_at_ms = now_ms + rejection_backoff_ms(fingerprint, dry_run_entry->refusals);
    mem_set_str(&dry_run_entry->text, dry_run_result->text);
    dry_run_entry->dry_run_result = *dry_run_result;
    dry_run_entry->dry_run_result.text = dry_run_entry->text;
}

void dry_run_cache_complete(struct dry_run_cache *dry_run_cache, const char *fingerprint,
                            struct dry_run_result *dry_run_result, int64_t now_ms, struct strv *ret_waiting)
{
    struct dry_run_entry *dry_run_entry = map_get(&dry_run_cache->templates, fingerprint);

    if (!dry_run_entry)
        return;
    dry_run_entry->sync_client = false;
    dry_run_entry->until_ms = dry_run_result ? now_ms + DRY_RUN_VALID_MS : 0;
    if (dry_run_result)
        keep(dry_run_entry, fingerprint, dry_run_result, now_ms);
    *ret_waiting = dry_run_entry->waiting;
    dry_run_entry->waiting = (struct strv){0};
}

void dry_run_cache_release(struct dry_run_cache *dry_run_cache)
{
    void *value;

    for (size_t i = 0; map_next(&dry_run_cache->templates, &i, NULL, &value);)
        free_entry(value);
    map_release(&dry_run_cache->templates);
    dry_run_cache->templates = (struct map){0};
}
