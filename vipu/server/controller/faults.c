#include "vipu/server/controller/faults.h"

#include "base/core/mem.h"

void faults_release(struct faults *faults)
{
    if (!faults)
        return;
    for (size_t i = 0; i < faults->call_count; i++) {
        mem_free(faults->calls[i].method);
        mem_free(faults->calls[i].partition);
        mem_free(faults->calls[i].message);
    }
    for (size_t i = 0; i < faults->partition_count; i++) {
        mem_free(faults->partitions[i].partition);
        mem_free(faults->partitions[i].error);
    }
    for (size_t i = 0; i < faults->hardware_count; i++) {
        mem_free(faults->hardware[i].agent);
        mem_free(faults->hardware[i].error);
    }
    mem_free(faults->calls);
    mem_free(faults->partitions);
    mem_free(faults->hardware);
    *faults = (struct faults){0};
}

bool fault_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool pattern_fits(const char *pattern, const char *text)
{
    return !pattern || fault_pattern_matches(pattern, text);
}

/* 0 to bound - 1; bound is not 0. */
static uint32_t next_random_below(struct faults *faults, uint32_t below)
{
    faults->seed = faults->seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)faults->seed * below >> 32);
}

static uint32_t roll_delay(struct faults *faults, struct fault_delay delay)
{
    return delay.up_to > delay.ms ? delay.ms + next_random_below(faults, delay.up_to - delay.ms + 1)
                                  : delay.ms;
}

/* Counts a match; returns whether the rule applies. */
static bool rule_applies(struct faults *faults, struct fault_count *count)
{
    if (count->times == 0)
        return false;
    if (count->after > 0) {
        count->after--;
        return false;
    }
    if (count->chance < 100 && next_random_below(faults, 100) >= count->chance)
        return false;
    if (count->times != FAULTS_ALWAYS)
        count->times--;
    return true;
}

void faults_begin(struct faults *faults, int64_t now_ms)
{
    faults->begin_ms = now_ms;
}

uint32_t faults_left_ms(const struct faults *faults, uint32_t duration_ms, int64_t now_ms)
{
    int64_t gone = now_ms - faults->begin_ms;

    if (duration_ms == FAULTS_ALWAYS || gone < 0)
        return duration_ms;
    return gone < duration_ms ? duration_ms - (uint32_t)gone : 0;
}

static bool is_over(const struct faults *faults, uint32_t duration_ms, int64_t now_ms)
{
    return faults_left_ms(faults, duration_ms, now_ms) == 0;
}

bool faults_is_stalled(const struct faults *faults, int64_t now_ms)
{
    return faults->stall || !is_over(faults, faults->stall_ms, now_ms);
}

static void sooner(const struct faults *faults, uint32_t duration_ms, int64_t now_ms, int64_t *next)
{
    int64_t end = faults->begin_ms + duration_ms;

    if (duration_ms != FAULTS_ALWAYS && end > now_ms && (*next < 0 || end < *next))
        *next = end;
}

int64_t faults_next_ms(const struct faults *faults, int64_t now_ms)
{
    int64_t next = -1;

    sooner(faults, faults->stall_ms, now_ms, &next);
    for (size_t i = 0; i < faults->hardware_count; i++)
        sooner(faults, faults->hardware[i].for_ms, now_ms, &next);
    return next;
}

struct fault_verdict faults_on_call(struct faults *faults, const char *method, const char *partition)
{
    struct fault_verdict verdict = {.takes_effect = true};

    for (size_t i = 0; i < faults->call_count; i++) {
        struct fault_call *rule = &faults->calls[i];

        if (!pattern_fits(rule->method, method) || !pattern_fits(rule->partition, partition) ||
            !rule_applies(faults, &rule->count))
            continue;
        verdict.latency_ms += roll_delay(faults, rule->latency);
        verdict.late_ms += roll_delay(faults, rule->late);
        if (verdict.status || verdict.drop || !(rule->status || rule->drop))
            continue;
        verdict.status = rule->status;
        verdict.message = rule->message ? rule->message : "injected fault";
        verdict.drop = rule->drop;
        verdict.takes_effect = rule->takes_effect;
    }
    return verdict;
}

char *faults_on_operation(struct faults *faults, const char *partition, enum fault_moment moment)
{
    static const char *const sentences[] = {
        [FAULT_NOW] = "the partition failed",
        [FAULT_CREATE] = "the partition could not be created",
        [FAULT_RESET] = "the partition could not be reset",
        [FAULT_REMOVE] = "the partition could not be removed; remove it with force",
    };

    for (size_t i = 0; i < faults->partition_count; i++) {
        struct fault_partition *rule = &faults->partitions[i];

        if (rule->on == moment && pattern_fits(rule->partition, partition) &&
            rule_applies(faults, &rule->count))
            return mem_strdup(rule->error ? rule->error : sentences[moment]);
    }
    return NULL;
}

bool faults_have_hardware(const struct faults *faults, int64_t now_ms)
{
    for (size_t i = 0; i < faults->hardware_count; i++)
        if (!is_over(faults, faults->hardware[i].for_ms, now_ms))
            return true;
    return false;
}

char *faults_of_ipu(const struct faults *faults, const char *agent, uint32_t board_ipu, int64_t now_ms)
{
    for (size_t i = 0; i < faults->hardware_count; i++) {
        const struct fault_hardware *rule = &faults->hardware[i];
        bool is_agent = rule->ipu == FAULTS_ALWAYS;

        if (is_over(faults, rule->for_ms, now_ms) || !pattern_fits(rule->agent, agent) ||
            (!is_agent && rule->ipu != board_ipu))
            continue;
        if (is_agent)
            return mem_printf("agent %s: %s", agent, rule->error ? rule->error : "not responding");
        return mem_printf("agent %s: IPU %u: %s", agent, board_ipu, rule->error ? rule->error : "failed");
    }
    return NULL;
}
