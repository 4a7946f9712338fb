#include "operator/reconcile/state/job_cache.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/kube/watch.h"

/* Who asks more often mostly costs others their IPUs for nothing; who asks less often keeps users waiting. */
static const struct backoff REFUSED_AGAIN = {.first_ms = 10000, .max_ms = 120000};
#define REFUSED_FORGOTTEN_MS 600000
/* A server that fails at a request is well again within seconds, or somebody has to mend it. */
#define OUTAGE_MS 10000

struct job_memory *memory_new(const char *key, const char *uid)
{
    struct job_memory *memory = NEW(struct job_memory);

    memory->key = mem_strdup(key);
    memory->uid = mem_strdup(uid);
    return memory;
}

static void release_worker(struct worker_memory *worker)
{
    mem_free(worker->pod);
    mem_free(worker->node);
    *worker = (struct worker_memory){0};
}

static void forget_ports(struct part_memory *part)
{
    mem_free(part->agent_ports);
    part->agent_ports = NULL;
    part->agent_port_count = 0;
}

static void free_part(struct part_memory *part)
{
    forget_ports(part);
    for (uint32_t i = 0; i < part->worker_count; i++)
        release_worker(&part->workers[i]);
    mem_free(part->workers);
    mem_free(part);
}

void memory_free_claims(struct job_memory *memory)
{
    for (size_t i = 0; i < memory->claim_count; i++) {
        mem_free(memory->claims[i].granted);
        mem_free(memory->claims[i].record);
        claim_wait_release(&memory->claims[i].wait);
    }
    mem_free(memory->claims);
}

void memory_free(struct job_memory *memory)
{
    void *value;

    if (!memory)
        return;
    for (size_t i = 0; map_next(&memory->parts, &i, NULL, &value);)
        free_part(value);
    map_release(&memory->parts);
    map_release(&memory->taken);
    for (size_t i = 0; i < memory->expectation_count; i++) {
        mem_free(memory->expectations[i].key);
        mem_free(memory->expectations[i].resource_version);
        mem_free(memory->expectations[i].other_than);
    }
    mem_free(memory->expectations);
    memory_free_claims(memory);
    mem_free(memory->eligible);
    mem_free(memory->versions);
    mem_free(memory->dry_run_text);
    mem_free(memory->create_text);
    mem_free(memory->write_refused);
    mem_free(memory->key);
    mem_free(memory->uid);
    mem_free(memory);
}

struct part_memory *memory_part(struct job_memory *memory, const char *id, int64_t now_ms)
{
    struct part_memory *part = map_get(&memory->parts, id);

    if (!part) {
        part = NEW(struct part_memory);
        part->since_ms = part->run_since_ms = now_ms;
        map_set(&memory->parts, id, part);
    }
    return part;
}

void memory_forget_part(struct job_memory *memory, const char *id)
{
    struct part_memory *part = map_remove(&memory->parts, id);

    if (part)
        free_part(part);
}

void memory_keep_parts(struct job_memory *memory, bool (*is_wanted)(void *ctx, const char *id), void *ctx)
{
    struct map kept = {0};
    const char *id;
    void *part;

    for (size_t i = 0; map_next(&memory->parts, &i, &id, &part);) {
        if (is_wanted(ctx, id))
            map_set(&kept, id, part);
        else
            free_part(part);
    }
    map_release(&memory->parts);
    memory->parts = kept;
}

struct worker_memory *part_worker(struct part_memory *part, uint32_t worker)
{
    if (worker >= part->worker_count) {
        part->workers = mem_grow(part->workers, worker + 1, sizeof(*part->workers));
        memset(part->workers + part->worker_count, 0,
               (worker + 1 - part->worker_count) * sizeof(*part->workers));
        part->worker_count = worker + 1;
    }
    return &part->workers[worker];
}

void part_note_launch(struct part_memory *part)
{
    if (!part->launch_is_ours) {
        part->keys = KEYS_UNKNOWN;
        part->is_refused = false; /* that was about something else */
    }
    part->launch_is_ours = true;
}

void part_begin_run(struct part_memory *part, uint32_t run, int64_t now_ms)
{
    for (uint32_t i = 0; i < part->worker_count; i++)
        release_worker(&part->workers[i]);
    part->run = run;
    part->run_since_ms = now_ms;
    part->keys = KEYS_UNKNOWN;
    part->launch_is_ours = part->is_refused = false;
    forget_ports(part);
}

void memory_take_judgement(struct job_memory *memory, int64_t generation, const struct judgement *judgement)
{
    memory->dry_run_generation = generation;
    memory->dry_run = judgement->reason ? DRY_RUN_FORBIDDEN : DRY_RUN_PASSED;
    memory->dry_run_reason = judgement->reason;
    mem_set_str(&memory->dry_run_text, judgement->text);
    memory->dry_run_retry_at_ms = judgement->retry_at_ms;
    if (!judgement->reason)
        memory->priority = judgement->priority;
}

int64_t refused_again_ms(const char *who, unsigned refusals)
{
    return backoff_delay_ms(&REFUSED_AGAIN, refusals, (uint32_t)str_hash(who) + refusals);
}

void memory_note_refusal(struct job_memory *memory, int64_t generation, const char *reason, char *text_take,
                         int64_t now_ms)
{
    bool is_next_try = !memory->create_refused || now_ms >= memory->create_retry_at_ms;

    if (now_ms >= memory->create_retry_at_ms + REFUSED_FORGOTTEN_MS)
        memory->create_refusals = 0;
    if (is_next_try) {
        memory->create_refused_ms = now_ms;
        memory->create_retry_at_ms = now_ms + refused_again_ms(memory->uid, ++memory->create_refusals);
    }
    memory->create_refused = true;
    memory->create_generation = generation;
    memory->create_reason = reason;
    mem_free(memory->create_text);
    memory->create_text = text_take;
}

void memory_note_creation(struct job_memory *memory, int64_t now_ms)
{
    if (now_ms >= memory->create_retry_at_ms)
        memory->create_refused = false;
}

bool memory_note_outage(struct job_memory *memory, enum op_kind op, int64_t now_ms)
{
    if (!memory->failing_since_ms || memory->failing_op != op)
        memory->failing_since_ms = now_ms;
    memory->failing_op = op;
    return now_ms >= memory->failing_since_ms + OUTAGE_MS;
}

void memory_note_success(struct job_memory *memory, enum op_kind op)
{
    if (memory->failing_op == op)
        memory->failing_since_ms = 0;
    if (memory->write_refused_op == op)
        mem_set_str(&memory->write_refused, NULL);
}

void memory_refuse_starts(struct job_memory *memory)
{
    void *part;

    memory->dry_run_generation = 0; /* what it said was not the whole truth */
    for (size_t i = 0; map_next(&memory->parts, &i, NULL, &part);)
        ((struct part_memory *)part)->is_refused = true;
}

/* Never 0, which is a place not used yet. Two versions of one job with the same hash would only let it be
 * looked at a moment too soon. */
static uint64_t version_hash(const char *resource_version)
{
    return str_hash(resource_version) | 1;
}

void memory_saw_version(struct job_memory *memory, const char *resource_version)
{
    if (watch_can_compare(resource_version))
        return; /* watch_has_passed tells */
    if (!memory->versions)
        memory->versions = mem_alloc(MEMORY_VERSIONS * sizeof(*memory->versions));
    memory->versions[memory->version_next] = version_hash(resource_version);
    memory->version_next = (memory->version_next + 1) % MEMORY_VERSIONS;
}

bool memory_has_seen_version(const struct job_memory *memory, const char *resource_version)
{
    uint64_t hash = version_hash(resource_version);

    for (size_t i = 0; memory->versions && i < MEMORY_VERSIONS; i++) {
        if (memory->versions[i] == hash)
            return true;
    }
    return false;
}

void memory_expect(struct job_memory *memory, const struct expectation *expectation)
{
    struct expectation *added;

    memory->expectations =
        mem_grow(memory->expectations, memory->expectation_count + 1, sizeof(*memory->expectations));
    added = &memory->expectations[memory->expectation_count++];
    *added = *expectation;
    added->key = mem_strdup(expectation->key);
    added->resource_version = mem_strdup(expectation->resource_version);
    added->other_than = mem_strdup(expectation->other_than);
}

void memory_drop_expectation(struct job_memory *memory, size_t index)
{
    mem_free(memory->expectations[index].key);
    mem_free(memory->expectations[index].resource_version);
    mem_free(memory->expectations[index].other_than);
    memory->expectations[index] = memory->expectations[--memory->expectation_count];
}

struct claim_memory *memory_claim(const struct job_memory *memory, uint32_t instance)
{
    size_t low = 0, high = memory->claim_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (memory->claims[middle].instance == instance)
            return &memory->claims[middle];
        if (memory->claims[middle].instance < instance)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
