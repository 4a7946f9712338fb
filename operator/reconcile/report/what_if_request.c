#include "operator/reconcile/report/what_if_request.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/field.h"
#include "operator/api/job/job.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/job/validate.h"
#include "operator/forecast/forecast.h"
#include "operator/reconcile/decide/lifetime.h"

#define TEMPLATE "spec/workers/template/spec"

enum { NAMESPACE_MAX = 63 };

static int32_t read_priority(const cJSON *body, const char *path, struct strv *problems)
{
    const cJSON *value = field_at(body, path);
    int64_t priority = value ? json_i64(value, "", INT64_MAX) : 0;

    if (priority < INT32_MIN || priority > INT32_MAX) {
        field_invalid(problems, path, value, "must be a number from -2147483648 to 2147483647");
        return 0;
    }
    return (int32_t)priority;
}

static char *read_namespace(const cJSON *body, const char *path, struct strv *problems)
{
    const char *ns = field_text(body, path, problems);

    if (ns && (!*ns || strlen(ns) > NAMESPACE_MAX || strchr(ns, '/'))) {
        field_invalid(problems, path, field_at(body, path), "must be the name of a namespace");
        ns = NULL;
    }
    return mem_strdup(ns ? ns : "default");
}

static int64_t bound_of(uint32_t limit_s, uint32_t grace_s)
{
    int64_t bound_s = lifetime_bound_s(limit_s, grace_s);

    return bound_s ? bound_s : FORECAST_UNKNOWN;
}

/* ---- an IPUJob ---- */

static void read_job(const cJSON *body, struct what_if_request *ret, struct strv *problems)
{
    AUTO(jobspec) struct job_spec spec = {0};
    const cJSON *selector = json_at(body, TEMPLATE "/nodeSelector");

    validate_job(body, &spec, problems);
    if (spec.instances == 0 && problems->count == 0)
        field_invalid(problems, "spec/jobInstances", field_at(body, "spec/jobInstances"),
                      "must be at least 1: a job without instances does not wait");
    ret->ns = read_namespace(body, "metadata/namespace", problems);
    ret->name = mem_strdup(json_str(body, "metadata/name", json_str(body, "metadata/generateName", "")));
    ret->image = job_image(json_at(body, "spec/workers/template"));
    ret->ipus = spec.ipus_per_instance;
    ret->instances = spec.instances;
    ret->priority = read_priority(body, TEMPLATE "/priority", problems);
    ret->bound_s = bound_of(job_limit_s(&spec), job_grace_s(json_at(body, "spec/workers/template"),
                                                            json_at(body, "spec/launcher")));
    ret->node_selector = selector ? json_dup(selector) : NULL;
}

/* ---- its size alone ---- */

static uint32_t seconds_of_unit(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86400 : 0;
}

/* "2h", "90m" */
static bool read_with_unit(const char *text, uint32_t *ret)
{
    size_t len = text ? strlen(text) : 0;
    uint32_t unit = len ? seconds_of_unit(text[len - 1]) : 0, number;
    AUTO(mem) char *digits = unit ? mem_strndup(text, len - 1) : NULL;

    if (!digits || !parse_u32(digits, 1, INT32_MAX / unit, &number))
        return false;
    *ret = number * unit;
    return true;
}

/* 0: no bound. */
static uint32_t read_span(const cJSON *body, struct strv *problems)
{
    const cJSON *value = field_at(body, "for");
    uint32_t seconds = 0;

    if (value && !read_with_unit(cJSON_GetStringValue(value), &seconds) &&
        (!field_count_read(value, &seconds) || seconds < 1 || seconds > INT32_MAX)) {
        field_invalid(problems, "for", value,
                      "must be seconds from 1 to 2147483647, or a text such as \"90m\", \"2h\" or \"1d\"");
        return 0;
    }
    return seconds;
}

static uint32_t read_ipus(const cJSON *body, struct strv *problems)
{
    const cJSON *value = field_at(body, "ipus");
    uint32_t ipus = 0;

    if (!value)
        field_required(problems, "ipus");
    else if (!field_count_read(value, &ipus) || ipus == 0 || ipus > JOB_IPUS_MAX ||
             (ipus <= JOB_IPUS_PER_DOMAIN ? (ipus & (ipus - 1)) != 0 : ipus % JOB_IPUS_PER_DOMAIN != 0))
        field_invalid(problems, "ipus", value, "must be a power of two up to 64, or a multiple of 64");
    return ipus;
}

static void read_size(const cJSON *body, struct what_if_request *ret, struct strv *problems)
{
    static const char *const known[] = {"ipus", "instances", "for", "priority", "namespace"};

    JSON_EACH (member, body) {
        bool is_known = false;

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || str_eq(json_key(member), known[i]);
        if (!is_known)
            field_forbidden(problems, json_key(member),
                            "expected ipus, instances, for, priority, namespace, or an IPUJob with spec");
    }
    ret->ipus = read_ipus(body, problems);
    ret->instances = field_count(body, "instances", 1, JOB_INSTANCES_MAX, 1, problems);
    ret->bound_s = bound_of(read_span(body, problems), POD_GRACE_S);
    ret->priority = read_priority(body, "priority", problems);
    ret->ns = read_namespace(body, "namespace", problems);
    ret->name = mem_strdup("");
}

bool what_if_request_read(struct slice body, struct what_if_request *ret, struct strv *problems)
{
    struct err err = {0};
    AUTO(json) cJSON *doc = json_parse(body, &err);

    *ret = (struct what_if_request){0};
    if (!doc)
        strv_pushf(problems, "expected an IPUJob, or {\"ipus\": N}: %s", err.msg);
    else if (!cJSON_IsObject(doc))
        strv_push(problems, "expected an IPUJob, or {\"ipus\": N}: it is no object");
    else if (field_at(doc, "spec") || field_at(doc, "kind"))
        read_job(doc, ret, problems);
    else
        read_size(doc, ret, problems);
    return problems->count == 0;
}

void what_if_request_release(struct what_if_request *request)
{
    mem_free(request->ns);
    mem_free(request->name);
    cJSON_Delete(request->node_selector);
    *request = (struct what_if_request){0};
}
