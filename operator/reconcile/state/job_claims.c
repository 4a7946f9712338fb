#include "operator/reconcile/state/job_claims.h"

#include "base/core/mem.h"
#include "base/core/str.h"

static void release_batches(struct job_claims *claims)
{
    for (size_t i = 0; i < claims->batch_count; i++)
        indexset_release(&claims->batches[i].instances);
    mem_free(claims->batches);
    claims->batches = NULL;
    claims->batch_count = 0;
}

static void release_grant(struct grant_cache *grant)
{
    mem_free(grant->place);
    mem_free(grant->record);
}

static void release_grants(struct job_claims *claims)
{
    for (size_t i = 0; i < claims->grant_count; i++)
        release_grant(&claims->grants[i]);
    mem_free(claims->grants);
    claims->grants = NULL;
    claims->grant_count = 0;
}

void job_claims_release(struct job_claims *claims)
{
    release_batches(claims);
    release_grants(claims);
    claim_wait_release(&claims->wait);
    *claims = (struct job_claims){0};
}

void job_claims_add_to(const struct job_claims *claims, struct indexset *ret)
{
    for (size_t i = 0; i < claims->batch_count; i++)
        indexset_add_all(ret, &claims->batches[i].instances);
}

bool job_claims_wait(const struct job_claims *claims)
{
    size_t granted = 0;

    for (size_t i = 0; i < claims->grant_count; i++)
        granted += claims->grants[i].controller != NULL;
    return claims->count > granted;
}

int64_t job_claims_since_s(const struct job_claims *claims, uint32_t instance)
{
    for (size_t i = 0; i < claims->batch_count; i++) {
        if (indexset_has(&claims->batches[i].instances, instance))
            return claims->batches[i].since_s;
    }
    return 0;
}

bool job_claims_are(const struct job_claims *claims, const struct indexset *instances, bool is_ready)
{
    AUTO(indexset) struct indexset all = {0};

    job_claims_add_to(claims, &all);
    return indexset_equal(&all, instances) && (claims->is_ready == is_ready || claims->batch_count == 0);
}

/* ---- what the job claims ---- */

static void keep_batches(struct job_claims *claims, const struct indexset *instances)
{
    size_t kept = 0;

    for (size_t i = 0; i < claims->batch_count; i++) {
        struct claim_batch batch = claims->batches[i];
        AUTO(indexset) struct indexset gone = {0};

        indexset_add_all(&gone, &batch.instances);
        indexset_remove_all(&gone, instances);
        indexset_remove_all(&batch.instances, &gone);
        if (indexset_count(&batch.instances))
            claims->batches[kept++] = batch;
        else
            indexset_release(&batch.instances);
    }
    claims->batch_count = kept;
}

static void add_batch(struct job_claims *claims, const struct indexset *instances, int64_t now_unix_s)
{
    if (claims->batch_count < JOB_CLAIMS_BATCHES) {
        claims->batches = mem_grow(claims->batches, claims->batch_count + 1, sizeof(*claims->batches));
        claims->batches[claims->batch_count++] = (struct claim_batch){.since_s = now_unix_s};
    }
    indexset_add_all(&claims->batches[claims->batch_count - 1].instances, instances);
}

/* An instance that claims again has no record. */
static void keep_grants(struct job_claims *claims, const struct indexset *instances)
{
    size_t kept = 0;

    for (size_t i = 0; i < claims->grant_count; i++) {
        mem_free(claims->grants[i].record);
        claims->grants[i].record = NULL;
        if (claims->grants[i].controller && indexset_has(instances, claims->grants[i].instance))
            claims->grants[kept++] = claims->grants[i];
        else
            release_grant(&claims->grants[i]);
    }
    claims->grant_count = kept;
}

void job_claims_set(struct job_claims *claims, const struct indexset *instances, bool is_ready,
                    int64_t now_unix_s)
{
    AUTO(indexset) struct indexset added = {0};
    AUTO(indexset) struct indexset old = {0};

    job_claims_add_to(claims, &old);
    indexset_add_all(&added, instances);
    indexset_remove_all(&added, &old);
    keep_batches(claims, instances);
    keep_grants(claims, instances);
    if (indexset_count(&added)) {
        add_batch(claims, &added, now_unix_s);
        claims->is_answered = false;
    }
    if (claims->is_ready != is_ready || claims->batch_count == 0) {
        release_grants(claims);
        claim_wait_release(&claims->wait);
        claims->is_answered = false;
    }
    claims->is_ready = is_ready;
    claims->count = indexset_count(instances);
}

/* ---- what it is granted ---- */

struct grant_cache *job_claims_grant(const struct job_claims *claims, uint32_t instance)
{
    size_t low = 0, high = claims->grant_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (claims->grants[middle].instance == instance)
            return &claims->grants[middle];
        if (claims->grants[middle].instance < instance)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The grants of before and of now, merged in the order of instances. */
struct assignment {
    struct job_claims *claims;
    const struct indexset *served;
    size_t old;
    struct grant_cache *grants;
    size_t count, cap;
    bool has_changed;
};

static void push_grant(struct assignment *to, struct grant_cache grant)
{
    if (to->count == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 4;
        to->grants = mem_grow(to->grants, to->cap, sizeof(*to->grants));
    }
    to->grants[to->count++] = grant;
}

/* Earlier grants of instances before that one. With a record, its partition is not claimed twice. */
static void pass_old(struct assignment *to, uint32_t instance)
{
    for (; to->old < to->claims->grant_count && to->claims->grants[to->old].instance < instance; to->old++) {
        struct grant_cache *grant = &to->claims->grants[to->old];

        if (!indexset_has(to->served, grant->instance)) {
            to->has_changed = to->has_changed || grant->controller;
            grant->controller = NULL;
        }
        if (grant->record)
            push_grant(to, *grant);
        else
            release_grant(grant);
    }
}

static void assign(struct assignment *to, uint32_t instance, const struct job_grant *given)
{
    struct grant_cache grant = {.instance = instance,
                                .controller = given->controller,
                                .place = mem_strdup(given->place),
                                .limit_s = given->limit_s,
                                .grace_s = given->grace_s};
    const struct grant_cache *old;

    pass_old(to, instance);
    old = to->old < to->claims->grant_count ? &to->claims->grants[to->old] : NULL;
    if (old && old->instance == instance) {
        grant.record = old->record;
        mem_free(old->place);
        to->has_changed = to->has_changed || !str_eq(old->controller, given->controller);
        to->old++;
    } else {
        to->has_changed = true;
    }
    push_grant(to, grant);
}

bool job_claims_assign(struct job_claims *claims, const struct indexset *served,
                       const struct job_grant *grants, size_t count)
{
    struct assignment to = {.claims = claims, .served = served};
    AUTO(indexset) struct indexset left = {0};
    uint32_t at = 0;

    job_claims_add_to(claims, &left);
    indexset_remove_all(&left, served);
    for (size_t i = 0; i < count && (at = indexset_next(&left, at)) < INDEXSET_MAX; i++)
        assign(&to, at++, &grants[i]);
    pass_old(&to, INDEXSET_MAX);
    mem_free(claims->grants);
    claims->grants = to.grants;
    claims->grant_count = to.count;
    return to.has_changed;
}
