#include "operator/serve/webhooks/admission.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/doc/json_count.h"
#include "operator/api/job/additions.h"
#include "operator/api/admission/warnings.h"
#include "operator/api/admission/defaults.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/pod/pod_overlay.h"
#include "operator/api/job/template_limit.h"
#include "operator/api/job/validate.h"
#include "operator/kube/auth/base64.h"

#define API_VERSION "admission.k8s.io/v1"
#define WORKERS "spec/workers/template"
#define LAUNCHER "spec/launcher"
#define STRICT "strict decoding error: "
#define INTRO "cannot be handled as a PodTemplate: "

/* Of the API server's causes that many are read: a person has read enough, and others wait. */
enum { HTTP_INVALID = 422, SHOWN_MAX_BYTES = 32 * 1024, CAUSES_MAX = 1000 };

/* ---- the question ---- */

static const cJSON *object_at(const cJSON *request, const char *key)
{
    const cJSON *object = json_at(request, key);

    return cJSON_IsObject(object) ? object : NULL;
}

bool admission_read(struct slice body, struct admission *ret, struct err *err)
{
    size_t values = json_count_values(body);

    if (values > ADMISSION_MAX_VALUES)
        return err_set(err, ERR_INVALID,
                       "the job is too large: its AdmissionReview has %zu values, limit %zu", values,
                       ADMISSION_MAX_VALUES);
    AUTO(json) cJSON *review = json_parse(body, err);
    const cJSON *request = json_at(review, "request");
    const char *uid = json_str(request, "uid", NULL);

    if (!review)
        return false;
    if (!str_eq(json_str(review, "apiVersion", NULL), API_VERSION) ||
        !str_eq(json_str(review, "kind", NULL), "AdmissionReview") || !uid)
        return err_set(err, ERR_INVALID, "expected an AdmissionReview of " API_VERSION " with a request");
    *ret = (struct admission){.uid = uid,
                              .ns = json_str(request, "namespace", ""),
                              .object = object_at(request, "object"),
                              .old = object_at(request, "oldObject"),
                              .cost_bytes = body.len + values * sizeof(cJSON)};
    ret->review = TAKE(review);
    return true;
}

bool admission_fits(const struct admission *admission, size_t others, struct err *err)
{
    return others == 0 || others + admission->cost_bytes <= ADMISSION_MAX_COST_BYTES ||
           err_set(err, ERR_BUSY, "too many large jobs are being validated; retry later");
}

char *admission_reject_unread(const struct err *why, int *ret_http_status)
{
    AUTO(json) cJSON *status = json_object();
    bool is_busy = why->kind == ERR_BUSY;

    *ret_http_status = is_busy ? 429 : 400;

    json_put_str(status, "apiVersion", "v1");
    json_put_str(status, "kind", "Status");
    json_put_str(status, "status", "Failure");
    json_put_str(status, "reason", is_busy ? "TooManyRequests" : "BadRequest");
    json_put_i64(status, "code", *ret_http_status);
    json_put_str(status, "message", why->msg);
    return json_print(status);
}

void admission_release(struct admission *admission)
{
    cJSON_Delete(admission->review);
    *admission = (struct admission){0};
}

/* ---- answers ---- */

static cJSON *new_answer(const struct admission *admission, bool is_allowed, cJSON **ret_response)
{
    cJSON *answer = json_object();

    json_put_str(answer, "apiVersion", API_VERSION);
    json_put_str(answer, "kind", "AdmissionReview");
    *ret_response = json_put_object(answer, "response");
    json_put_str(*ret_response, "uid", admission->uid);
    json_put_bool(*ret_response, "allowed", is_allowed);
    return answer;
}

char *admission_mutate(const struct admission *admission)
{
    cJSON *response;
    AUTO(json) cJSON *answer = new_answer(admission, true, &response);
    AUTO(json)
    cJSON *patch = admission_needs_validation(admission) ? defaults_patch(admission->object) : NULL;
    AUTO(str) struct str encoded = {0};

    if (patch && patch->child) {
        AUTO(mem) char *text = json_print(patch);

        base64_encode(slice_of(text), &encoded);
        json_put_str(response, "patchType", "JSONPatch");
        json_put_str(response, "patch", str_text(&encoded));
    }
    return json_print(answer);
}

/* "spec.a: Required value: b" has a field and what is wrong with it. */
static struct slice field_of(const char *problem)
{
    const char *colon = strstr(problem, ": ");

    return (struct slice){problem, colon ? (size_t)(colon - problem) : 0};
}

static const char *text_of(const char *problem)
{
    size_t len = field_of(problem).len;

    return len ? problem + len + 2 : problem;
}

/* The words of Kubernetes' own field errors, and the reasons that go with them. */
static const char *reason_of(const char *text)
{
    static const struct {
        const char *word, *reason;
    } rows[] = {
        {"Required value", "FieldValueRequired"},
        {"Unsupported value", "FieldValueNotSupported"},
        {"Duplicate value", "FieldValueDuplicate"},
        {"Forbidden", "FieldValueForbidden"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_has_prefix(text, rows[i].word))
            return rows[i].reason;
    }
    return "FieldValueInvalid";
}

static void add_cause(cJSON *causes, const char *problem)
{
    cJSON *cause = json_push_take(causes, json_object());
    AUTO(mem) char *field = mem_strndup(problem, field_of(problem).len);

    json_put_str(cause, "reason", reason_of(text_of(problem)));
    json_put_str(cause, "message", text_of(problem));
    json_put_str(cause, "field", field);
}

static const char *name_of(const struct admission *admission)
{
    const char *made_from = json_str(admission->object, "metadata/generateName", "");

    return json_str(admission->object, "metadata/name", made_from);
}

static void reject(cJSON *response, const char *name, const struct strv *problems)
{
    cJSON *status = json_put_object(response, "status");
    cJSON *details = json_put_object(status, "details");
    cJSON *causes = json_put_array(details, "causes");
    AUTO(str) struct str message = {0};
    size_t shown = 0;

    str_addf(&message, "IPUJob.graphcore.ai \"%s\" is invalid: %s", name, problems->count > 1 ? "[" : "");
    for (; shown < problems->count && message.len < SHOWN_MAX_BYTES; shown++) {
        str_addf(&message, "%s%s", shown ? ", " : "", problems->items[shown]);
        add_cause(causes, problems->items[shown]);
    }
    if (shown < problems->count)
        str_addf(&message, ", and %zu more", problems->count - shown);
    str_adds(&message, problems->count > 1 ? "]" : "");
    json_put_i64(status, "code", HTTP_INVALID);
    json_put_str(status, "reason", "Invalid");
    json_put_str(status, "message", str_text(&message));
    json_put_str(details, "group", "graphcore.ai");
    json_put_str(details, "kind", "IPUJob");
    json_put_str(details, "name", name);
}

static void advise(cJSON *response, const struct admission *admission, const struct warning_facts *facts)
{
    AUTO(strv) struct strv warnings = {0};
    cJSON *list;

    if (!admission_needs_validation(admission))
        return;
    warnings_for_job(admission->old, admission->object, facts, &warnings);
    if (warnings.count == 0)
        return;
    list = json_put_array(response, "warnings");
    for (size_t i = 0; i < warnings.count; i++)
        json_push_str(list, warnings.items[i]);
}

char *admission_verdict(const struct admission *admission, const struct strv *problems,
                        const struct warning_facts *facts)
{
    cJSON *response;
    AUTO(json) cJSON *answer = new_answer(admission, problems->count == 0, &response);

    if (problems->count)
        reject(response, name_of(admission), problems);
    else
        advise(response, admission, facts);
    json_make_visible(answer, VISIBLE_LINES);
    return json_print(answer);
}

char *admission_job(const struct admission *admission)
{
    const char *name = json_str(admission->object, "metadata/name", "");

    if (*name)
        return mem_printf("%s/%s", admission->ns, name);
    return mem_printf("%s/%s*", admission->ns, json_str(admission->object, "metadata/generateName", ""));
}

/* ---- judging ---- */

bool admission_needs_validation(const struct admission *admission)
{
    if (!admission->object || json_at(admission->object, "metadata/deletionTimestamp"))
        return false;
    return !admission->old ||
           !json_equal(json_at(admission->object, "spec"), json_at(admission->old, "spec"));
}

void admission_validate(const struct admission *admission, struct strv *problems)
{
    AUTO(jobspec) struct job_spec spec = {0};

    validate_job(admission->object, &spec, problems);
    additions_check(admission->old, admission->object, problems);
    if (admission->old)
        validate_change(admission->old, admission->object, problems);
}

void admission_check_limits(const struct admission *admission, struct strv *problems)
{
    if (admission->old)
        validate_limits(admission->old, admission->object, problems);
}

void admission_check_queue(const struct admission *admission, const struct queue_limits *limits,
                           const struct queue_counts *counts, struct strv *problems)
{
    template_limit_check(admission->old, admission->object, admission->ns,
                         (size_t)counts->template_kib * 1024, problems);
    queue_limits_check(admission->old, admission->object, admission->ns, limits, counts, problems);
}

static cJSON *workers_template(const cJSON *job)
{
    const cJSON *template = json_at(job, WORKERS);

    return cJSON_IsObject(template) ? json_dup(template) : NULL;
}

static cJSON *launcher_template(const cJSON *job)
{
    const cJSON *launcher = json_at(job, LAUNCHER), *own = json_at(launcher, "template");
    bool has_own = cJSON_IsObject(own) && own->child, has_env = cJSON_IsArray(json_at(launcher, "env"));

    if (!has_own && !has_env)
        return NULL;
    cJSON *template = has_own ? json_dup(own) : json_object();
    json_put_take(template, "spec", pod_overlay_spec(json_at(job, WORKERS "/spec"), launcher));
    return template;
}

cJSON *admission_pod_template(const struct admission *admission, enum admission_pods pods)
{
    cJSON *(*make)(const cJSON *) = pods == ADMISSION_LAUNCHER ? launcher_template : workers_template;
    AUTO(json) cJSON *template = make(admission->object);
    AUTO(json) cJSON *before = make(admission->old);

    if (!template || json_equal(template, before))
        return NULL;
    cJSON *body = json_object();
    json_put_str(body, "apiVersion", "v1");
    json_put_str(body, "kind", "PodTemplate");
    json_put_str(json_put_object(body, "metadata"), "generateName", "ipujob-");
    json_put_take(body, "template", TAKE(template));
    return body;
}

/* ---- what the API server says of a template ---- */

/* An answer about a template that is being read. */
struct reading {
    enum admission_pods pods;
    const cJSON *made, *launcher; /* a launcher's pod spec as it was asked about, and spec.launcher */
    struct strv *problems;
    size_t causes_left;
};

/* Report each field once. */
static bool is_known(const struct strv *problems, const char *problem)
{
    struct slice field = field_of(problem);

    for (size_t i = 0; i < problems->count; i++) {
        struct slice known = field_of(problems->items[i]);

        if (known.len == field.len && memcmp(known.ptr, field.ptr, field.len) == 0)
            return true;
    }
    return false;
}

static bool is_said_of_workers(const struct reading *reading, const char *field, const char *text)
{
    AUTO(mem) char *problem = mem_printf("spec.workers.%s: %s", field, text);

    return strv_has(reading->problems, problem);
}

/* An error in the launcher's pod, with its path in the job; NULL: the workers have it as well. */
static char *problem_of_launcher(const struct reading *reading, const char *field, const char *text)
{
    static const char in_spec[] = "template.spec.";
    enum pod_overlay_source source = POD_OVERLAY_OWN;
    AUTO(mem) char *found = NULL;

    if (str_has_prefix(field, in_spec))
        source = pod_overlay_trace(reading->made, reading->launcher, field + strlen(in_spec), &found);
    else if (str_eq(field, "template"))
        source = POD_OVERLAY_MISSING;
    if (source == POD_OVERLAY_INHERITED)
        return mem_printf("spec.workers.%s: %s (inherited by the launcher pod)", field, text);
    if (source == POD_OVERLAY_MISSING && is_said_of_workers(reading, field, text))
        return NULL;
    return mem_printf("spec.launcher.%s: %s", found ? found : field, text);
}

/* The API server leaves a word out of the paths of labels and annotations. */
static char *whole_path(const char *field)
{
    static const char *const rows[] = {"template.labels", "template.annotations"};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_has_prefix(field, rows[i]))
            return mem_printf("template.metadata.%s", field + strlen("template."));
    }
    return mem_strdup(field);
}

static void add_problem(struct reading *reading, const char *from, const char *text)
{
    if (reading->causes_left == 0)
        return;
    reading->causes_left--;
    AUTO(mem) char *field = whole_path(from);
    AUTO(mem)
    char *problem = reading->pods == ADMISSION_LAUNCHER ? problem_of_launcher(reading, field, text)
                                                        : mem_printf("spec.workers.%s: %s", field, text);

    if (problem && !is_known(reading->problems, problem))
        strv_push_take(reading->problems, TAKE(problem));
}

static const char *strict_part(const cJSON *status)
{
    const char *at = strstr(json_str(status, "message", ""), STRICT);

    return at ? at + strlen(STRICT) : NULL;
}

bool admission_is_about_unknown_fields(const cJSON *status)
{
    return strict_part(status) != NULL;
}

/* A quoted text ends at a quote without a backslash before it. */
static const char *end_of_quoted(const char *at)
{
    while (*at && *at != '"')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at : NULL;
}

/* unknown field "template.spec.a", unknown field "template.spec.b" */
static void add_unknown_fields(struct reading *reading, const char *text)
{
    for (const char *at = strchr(text, '"'); at; at = strchr(at, '"')) {
        const char *end = end_of_quoted(++at);

        if (!end)
            return;
        AUTO(mem) char *field = mem_strndup(at, (size_t)(end - at));
        add_problem(reading, field, "Forbidden: unknown field");
        at = end + 1;
    }
}

/* The user has not written a PodTemplate. */
static const char *without_intro(const char *message)
{
    const char *intro = strstr(message, INTRO);

    return intro ? intro + strlen(INTRO) : message;
}

void admission_add_rejection(const struct admission *admission, enum admission_pods pods,
                             const cJSON *template, const cJSON *status, struct strv *problems)
{
    struct reading reading = {.pods = pods,
                              .made = json_at(template, "template/spec"),
                              .launcher = json_at(admission->object, LAUNCHER),
                              .problems = problems,
                              .causes_left = CAUSES_MAX};
    const cJSON *causes = json_at(status, "details/causes");
    const char *strict = strict_part(status);

    if (strict) {
        add_unknown_fields(&reading, strict);
        return;
    }
    JSON_EACH (cause, causes)
        add_problem(&reading, json_str(cause, "field", "template"), json_str(cause, "message", ""));
    if (!causes || !causes->child)
        add_problem(&reading, "template",
                    without_intro(json_str(status, "message", "rejected by the API server")));
}
