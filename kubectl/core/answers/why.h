/* Why a job is as it is: the situation that the job, its pods and their events show, as a report. Pure. The
 * situations are the table in docs/kubectl-ipu.md; each has a test. */
#pragma once

#include "base/doc/json.h"
#include "kubectl/core/table.h"

struct situation {
    const char *name;    /* CamelCase, for programs */
    const char *summary; /* after the name of the job: "waits for IPUs" */
    enum paint paint;
    const char *advice; /* if the reason has none; or NULL */
};

extern const struct situation situations[];
extern const size_t situation_count;

/* What was read; borrowed. Lists are those of the API server, whose texts are visible (visible.h). */
struct why_input {
    const cJSON *job;
    const cJSON *pods;         /* items */
    const cJSON *events;       /* items, of the job and of pods whose events tell more */
    const cJSON *controllers;  /* items of the VIPUControllers, or NULL */
    const struct strv *unread; /* sentences: what could not be read */
    int64_t now_s;
};

/* The situation, which is never NULL. */
const struct situation *why_situation(const struct why_input *input);
/* Pods of the job whose events tell more, at most `max`; their names. */
void why_choose_pods(const cJSON *job, const cJSON *pods, size_t max, struct strv *ret_names);
/* Owned by the caller. */
cJSON *why_report(const struct why_input *input);
/* wide: all pods, and all events. */
void why_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out);
/* "0.3", or "0.launcher": instance and worker of a pod, owned by the caller. */
char *pod_rank(const cJSON *pod);
