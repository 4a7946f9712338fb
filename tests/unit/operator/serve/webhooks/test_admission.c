#include "operator/serve/webhooks/admission.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/kube/auth/base64.h"

#define POD "{\"spec\":{\"containers\":[{\"name\":\"train\",\"image\":\"i\"}]}}"
#define SPEC "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workers\":{\"template\":" POD "}}"
#define OTHER                                                                                                \
    "{\"jobInstances\":2,\"ipusPerJobInstance\":\"4\",\"workers\":{\"template\":{\"spec\":{\"containers\":[" \
    "{"                                                                                                      \
    "\"name\":\"b\"}]}}}}"
#define META "{\"name\":\"j\",\"namespace\":\"ns\"}"
#define GOING "{\"name\":\"j\",\"namespace\":\"ns\",\"deletionTimestamp\":\"2026-11-21T10:00:00Z\"}"
#define JOB(meta, spec) "{\"metadata\":" meta ",\"spec\":" spec "}"
#define REVIEW(request)                                                                                      \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\","     \
    "\"namespace\":\"ns\"," request "}}"
#define CREATE(spec) REVIEW("\"object\":" JOB(META, spec))
#define UPDATE(meta, spec, old) REVIEW("\"object\":" JOB(meta, spec) ",\"oldObject\":" JOB(META, old))

static void admission_init(struct admission *admission)
{
    *admission = (struct admission){0};
}

static void read(const char *text, struct admission *ret)
{
    struct err err = {0};

    CHECK_OK(admission_read(slice_of(text), ret, &err), err);
}

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc != NULL, err);
    return doc;
}

#define OF(version, kind, rest) "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\"" rest "}"

TEST(what_is_no_review_is_rejected)
{
    static const char *const rows[] = {
        "",
        "{",
        "[]",
        "{}",
        OF("admission.k8s.io/v1", "AdmissionReview", ""),
        OF("admission.k8s.io/v1", "AdmissionReview", ",\"request\":{\"uid\":7}"),
        OF("admission.k8s.io/v1beta1", "AdmissionReview", ",\"request\":{\"uid\":\"u\"}"),
        OF("admission.k8s.io/v1", "Pod", ",\"request\":{\"uid\":\"u\"}"),
    };

    CHECK_ROWS (row, rows) {
        struct admission admission = {0};
        struct err err = {0};

        CHECK(!admission_read(slice_of(*row), &admission, &err));
        CHECK_INT_EQ(err.kind, ERR_INVALID);
        int http_status;
        AUTO(mem) char *answer = admission_reject_unread(&err, &http_status);
        CHECK_INT_EQ(http_status, 400);
        AUTO(json) cJSON *status = parse(answer);
        CHECK_STR_EQ(json_str(status, "kind", NULL), "Status");
        CHECK_STR_EQ(json_str(status, "message", NULL), err.msg);
    }
}

TEST(a_review_of_too_many_values_is_rejected_unread)
{
    AUTO(str) struct str text = {0};
    struct admission admission = {0};
    struct err err = {0};

    str_adds(&text, "{\"args\":[1");
    for (size_t i = 2; i < ADMISSION_MAX_VALUES; i++)
        str_adds(&text, ",1");
    str_adds(&text, "]}");
    CHECK(!admission_read(str_slice(&text), &admission, &err));
    CHECK_STR_EQ(err.msg, "the job is too large: its AdmissionReview has 100001 values, limit 100000");
    str_clear(&text);
    str_adds(&text, "[1");
    for (size_t i = 2; i < ADMISSION_MAX_VALUES; i++)
        str_adds(&text, ",1");
    str_adds(&text, "]");
    CHECK(!admission_read(str_slice(&text), &admission, &err));
    CHECK_HAS(err.msg, "expected an AdmissionReview");
}

static unsigned judged_at_a_time(const char *review)
{
    AUTO(admission) struct admission admission = {0};
    struct err err = {0};
    unsigned count = 0;
    int http_status;

    read(review, &admission);
    while (admission_fits(&admission, count * admission.cost_bytes, &err))
        count++;
    AUTO(mem) char *answer = admission_reject_unread(&err, &http_status);
    AUTO(json) cJSON *status = parse(answer);
    CHECK_INT_EQ(http_status, 429);
    CHECK_STR_EQ(json_str(status, "reason", NULL), "TooManyRequests");
    CHECK_STR_EQ(json_str(status, "message", NULL), "too many large jobs are being validated; retry later");
    return count;
}

TEST(many_usual_reviews_are_judged_at_a_time_and_one_large_one)
{
    AUTO(str) struct str values = {0};
    AUTO(mem) char *large = NULL;

    CHECK(judged_at_a_time(CREATE(SPEC)) > 1000);
    for (size_t i = 100; i < ADMISSION_MAX_VALUES; i++)
        str_adds(&values, "1,");
    large = mem_printf(REVIEW("\"object\":{\"spec\":[%s1]}"), str_text(&values));
    CHECK_INT_EQ(judged_at_a_time(large), 1);
}

TEST(only_a_changed_spec_of_a_living_object_is_judged)
{
    static const struct {
        const char *review;
        bool is_judged, asks_about_pods;
    } rows[] = {
        {CREATE(SPEC), true, true},
        {UPDATE(META, SPEC, SPEC), false, false},
        {UPDATE(META, OTHER, SPEC), true, true},
        {UPDATE(GOING, OTHER, SPEC), false, true},
        {UPDATE(META, "{\"jobInstances\":9,\"workers\":{\"template\":" POD "}}", SPEC), true, false},
        {CREATE("{\"workers\":{\"template\":\"text\"}}"), true, false},
        {CREATE("{}"), true, false},
        {REVIEW("\"object\":null"), false, false},
        {REVIEW("\"object\":7"), false, false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};

        read(row->review, &admission);
        AUTO(json) cJSON *pods = admission_pod_template(&admission, ADMISSION_WORKERS);
        CHECK_INT_EQ(admission_needs_validation(&admission), row->is_judged);
        CHECK_INT_EQ(pods != NULL, row->asks_about_pods);
    }
}

TEST_F(admission, admission, the_pod_template_goes_as_it_came)
{
    read(CREATE(SPEC), admission);
    AUTO(json) cJSON *pods = admission_pod_template(admission, ADMISSION_WORKERS);
    AUTO(mem) char *text = json_print(pods);
    CHECK_STR_EQ(text, "{\"apiVersion\":\"v1\",\"kind\":\"PodTemplate\",\"metadata\":{\"generateName\":"
                       "\"ipujob-\"},\"template\":" POD "}");
    CHECK_STR_EQ(admission->ns, "ns");
}

#define LAUNCHED(pod, template)                                                                              \
    "{\"jobInstances\":1,\"ipusPerJobInstance\":\"4\",\"workers\":{\"template\":" pod                        \
    "},\"launcher\":{\"command\":[\"mpirun\"]" template "}}"
#define OWN(text) ",\"template\":" text
#define MOUNTING                                                                                             \
    "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"head\","                 \
    "\"volumeMounts\":["                                                                                     \
    "{\"name\":\"data\",\"mountPath\":\"/d\"}]}]}}"
#define WITH_DATA                                                                                            \
    "{\"metadata\":{\"labels\":{\"c\":\"d\"}},\"spec\":{\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}}],"  \
    "\"affinity\":{},\"containers\":[{\"name\":\"train\",\"image\":\"i\",\"args\":[]}]}}"

TEST_F(admission, admission, the_launchers_template_goes_as_the_pod_that_it_makes)
{
    read(CREATE(LAUNCHED(WITH_DATA, OWN(MOUNTING))), admission);
    AUTO(json) cJSON *pods = admission_pod_template(admission, ADMISSION_LAUNCHER);
    AUTO(mem) char *text = json_print(pods);
    CHECK_STR_EQ(text, "{\"apiVersion\":\"v1\",\"kind\":\"PodTemplate\",\"metadata\":{\"generateName\":"
                       "\"ipujob-\"},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
                       "\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}}],\"containers\":[{\"image\":\"i\","
                       "\"name\":\"head\",\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/d\"}]}]}}}");
}

TEST(the_api_server_is_asked_about_launchers_that_are_not_as_they_were)
{
    static const struct {
        const char *review;
        bool is_asked;
    } rows[] = {
        {CREATE(SPEC), false},
        {CREATE(LAUNCHED(POD, "")), false},
        {CREATE(LAUNCHED(POD, OWN("{}"))), false},
        {CREATE(LAUNCHED(POD, OWN("\"text\""))), false},
        {CREATE(LAUNCHED(POD, ",\"env\":\"text\"")), false},
        {CREATE(LAUNCHED(POD, ",\"env\":[{\"name\":\"A\"}]")), true},
        {UPDATE(META, LAUNCHED(POD, ",\"env\":[{\"name\":\"A\"}]"),
                LAUNCHED(POD, ",\"env\":[{\"name\":\"A\"}],\"command\":[]")),
         false},
        {CREATE(LAUNCHED(POD, OWN("{\"spec\":{\"dnsPolicy\":\"None\"}}"))), true},
        {CREATE(LAUNCHED("7", OWN("{\"spec\":7}"))), true},
        {UPDATE(META, LAUNCHED(WITH_DATA, OWN(MOUNTING)), LAUNCHED(WITH_DATA, "")), true},
        {UPDATE(META, LAUNCHED(WITH_DATA, OWN(MOUNTING)), LAUNCHED(POD, OWN(MOUNTING))), true},
        {UPDATE(META, LAUNCHED(WITH_DATA, ""), LAUNCHED(WITH_DATA, OWN(MOUNTING))), false},
        {UPDATE(META, LAUNCHED(WITH_DATA, OWN(MOUNTING)), LAUNCHED(WITH_DATA, OWN(MOUNTING))), false},
        {REVIEW("\"object\":null"), false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};

        read(row->review, &admission);
        AUTO(json) cJSON *pods = admission_pod_template(&admission, ADMISSION_LAUNCHER);
        CHECK_INT_EQ(pods != NULL, row->is_asked);
    }
}

TEST_F(admission, admission, defaults_go_out_as_a_patch)
{
    AUTO(str) struct str patch = {0};

    read(CREATE(SPEC), admission);
    AUTO(mem) char *text = admission_mutate(admission);
    AUTO(json) cJSON *answer = parse(text);
    CHECK_STR_EQ(json_str(answer, "apiVersion", ""), "admission.k8s.io/v1");
    CHECK_STR_EQ(json_str(answer, "kind", ""), "AdmissionReview");
    CHECK_STR_EQ(json_str(answer, "response/uid", ""), "u-1");
    CHECK(json_bool(answer, "response/allowed", false));
    CHECK_STR_EQ(json_str(answer, "response/patchType", ""), "JSONPatch");
    CHECK(base64_decode(slice_of(json_str(answer, "response/patch", "")), &patch));
    CHECK_STR_EQ(str_text(&patch), "[{\"op\":\"add\",\"path\":\"/spec/restartPolicy\",\"value\":{\"type\":"
                                   "\"Never\",\"backOffLimit\":3}},{\"op\":\"add\",\"path\":\"/spec/"
                                   "cleanPodPolicy\",\"value\":\"None\"}]");
}

TEST(nothing_open_means_no_patch)
{
    static const char *const rows[] = {
        CREATE("{\"restartPolicy\":{\"type\":\"Never\"},\"cleanPodPolicy\":\"None\"}"),
        UPDATE(GOING, OTHER, SPEC),
        UPDATE(META, SPEC, SPEC),
        REVIEW("\"object\":null"),
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};

        read(*row, &admission);
        AUTO(mem) char *text = admission_mutate(&admission);
        CHECK_STR_EQ(text,
                     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{"
                     "\"uid\":\"u-1\",\"allowed\":true}}");
    }
}

TEST_F(admission, admission, a_good_job_is_allowed)
{
    AUTO(strv) struct strv problems = {0};

    read(CREATE(SPEC), admission);
    admission_validate(admission, &problems);
    CHECK_INT_EQ(problems.count, 0);
    AUTO(mem) char *text = admission_verdict(admission, &problems, &(struct warning_facts){0});
    CHECK_STR_EQ(text,
                 "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":"
                 "\"u-1\",\"allowed\":true}}");
}

TEST_F(admission, admission, every_mistake_is_named_at_once)
{
    AUTO(strv) struct strv problems = {0};

    read(REVIEW("\"object\":{\"metadata\":{\"generateName\":\"j-\"},\"spec\":{\"jobInstances\":-1,"
                "\"ipusPerJobInstance\":\"3\",\"workers\":{\"template\":{\"spec\":{\"containers\":[]}}}}}"),
         admission);
    admission_validate(admission, &problems);
    AUTO(mem) char *text = admission_verdict(admission, &problems, &(struct warning_facts){0});
    AUTO(json) cJSON *answer = parse(text);
    const char *message = json_str(answer, "response/status/message", "");

    CHECK(!json_bool(answer, "response/allowed", true));
    CHECK_INT_EQ(json_i64(answer, "response/status/code", 0), 422);
    CHECK_STR_EQ(json_str(answer, "response/status/reason", ""), "Invalid");
    CHECK_STR_EQ(json_str(answer, "response/status/details/name", ""), "j-");
    CHECK_HAS(message, "IPUJob.graphcore.ai \"j-\" is invalid: [spec.");
    CHECK_HAS(message, "spec.jobInstances: ");
    CHECK_HAS(message, "spec.ipusPerJobInstance: ");
    CHECK_HAS(message, "spec.workers.template.spec.containers: ");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(answer, "response/status/details/causes")), 3);
}

TEST(causes_have_the_reasons_of_the_api_server)
{
    static const struct {
        const char *problem, *field, *reason, *message;
    } rows[] = {
        {"spec.a: Required value: b", "spec.a", "FieldValueRequired", "Required value: b"},
        {"spec.a: Duplicate value: \"x\"", "spec.a", "FieldValueDuplicate", "Duplicate value: \"x\""},
        {"spec.a: Forbidden: may not change", "spec.a", "FieldValueForbidden", "Forbidden: may not change"},
        {"spec.a: Unsupported value: 1", "spec.a", "FieldValueNotSupported", "Unsupported value: 1"},
        {"spec.a: must be one", "spec.a", "FieldValueInvalid", "must be one"},
        {"all wrong", "", "FieldValueInvalid", "all wrong"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};
        AUTO(strv) struct strv problems = {0};

        read(CREATE(SPEC), &admission);
        strv_push(&problems, row->problem);
        AUTO(mem) char *text = admission_verdict(&admission, &problems, &(struct warning_facts){0});
        AUTO(json) cJSON *answer = parse(text);
        const cJSON *cause = json_at(answer, "response/status/details/causes")->child;
        AUTO(mem) char *whole = mem_printf("IPUJob.graphcore.ai \"j\" is invalid: %s", row->problem);

        CHECK_STR_EQ(json_str(answer, "response/status/message", ""), whole);
        CHECK_STR_EQ(json_str(cause, "field", NULL), row->field);
        CHECK_STR_EQ(json_str(cause, "reason", NULL), row->reason);
        CHECK_STR_EQ(json_str(cause, "message", NULL), row->message);
    }
}

TEST_F(admission, admission, a_thousand_mistakes_are_counted_not_shown)
{
    AUTO(strv) struct strv problems = {0};

    read(CREATE(SPEC), admission);
    for (int i = 0; i < 10000; i++)
        strv_pushf(&problems, "spec.field%d: must not be", i);
    AUTO(mem) char *text = admission_verdict(admission, &problems, &(struct warning_facts){0});
    AUTO(json) cJSON *answer = parse(text);
    CHECK(strlen(text) < (size_t)256 * 1024);
    CHECK_HAS(json_str(answer, "response/status/message", ""), " more]");
}

TEST(what_the_api_server_says_is_put_under_the_jobs_template)
{
    static const struct {
        const char *status;
        bool is_about_unknown_fields;
        const char *problems[3];
    } rows[] = {
        {"{\"reason\":\"Invalid\",\"details\":{\"causes\":[{\"field\":\"template.spec.containers[0].image\","
         "\"message\":\"Required "
         "value\"},{\"field\":\"template.spec.volumes[0].name\",\"message\":\"Required "
         "value\"}]}}",
         false,
         {"spec.workers.template.spec.containers[0].image: Required value",
          "spec.workers.template.spec.volumes[0].name: Required value"}},
        {"{\"message\":\"PodTemplate in version \\\"v1\\\" cannot be handled as a PodTemplate: strict "
         "decoding "
         "error: unknown field \\\"template.spec.imaeg\\\", unknown field \\\"template.spec.x\\\"\"}",
         true,
         {"spec.workers.template.spec.imaeg: Forbidden: unknown field",
          "spec.workers.template.spec.x: Forbidden: unknown field"}},
        {"{\"message\":\"PodTemplate in version \\\"v1\\\" cannot be handled as a PodTemplate: quantities "
         "must "
         "match\"}",
         false,
         {"spec.workers.template: quantities must match"}},
        {"{\"message\":\"strict decoding error: unknown field \\\"open\"}", true, {NULL}},
        {"{\"message\":\"strict decoding error: unknown field \\\"template.a\\\\\\\"b\\\", unknown field "
         "\\\"template.c\\\"\"}",
         true,
         {"spec.workers.template.a\\\"b: Forbidden: unknown field",
          "spec.workers.template.c: Forbidden: unknown field"}},
        {"{\"details\":{\"causes\":[{\"field\":\"template.annotations\",\"message\":\"Too long\"}]}}",
         false,
         {"spec.workers.template.metadata.annotations: Too long"}},
        {"{}", false, {"spec.workers.template: rejected by the API server"}},
        {"7", false, {"spec.workers.template: rejected by the API server"}},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};
        AUTO(json) cJSON *status = parse(row->status);
        AUTO(strv) struct strv problems = {0};

        read(CREATE(SPEC), &admission);
        AUTO(json) cJSON *pods = admission_pod_template(&admission, ADMISSION_WORKERS);
        CHECK_INT_EQ(admission_is_about_unknown_fields(status), row->is_about_unknown_fields);
        admission_add_rejection(&admission, ADMISSION_WORKERS, pods, status, &problems);
        for (size_t i = 0; row->problems[i]; i++)
            CHECK_STR_EQ(i < problems.count ? problems.items[i] : NULL, row->problems[i]);
        size_t count = problems.count;
        admission_add_rejection(&admission, ADMISSION_WORKERS, pods, status,
                                &problems); /* told once is enough */
        CHECK_INT_EQ(problems.count, count);
    }
}

#define CAUSE(field, message) "{\"field\":\"" field "\",\"message\":\"" message "\"}"
#define REJECTION(causes) "{\"details\":{\"causes\":[" causes "]}}"

TEST(mistakes_are_reported_where_they_stand_and_once)
{
    static const struct {
        const char *of_workers, *of_launcher;
        const char *problems[3];
    } rows[] = {
        {"{}",
         REJECTION(CAUSE("template.spec.containers[0].volumeMounts[1].name", "Not found")),
         {"spec.workers.template: rejected by the API server",
          "spec.launcher.template.spec.containers[0].volumeMounts[0].name: Not found"}},
        /* The workers' own, which the launcher has taken over. */
        {REJECTION(CAUSE("template.spec.dnsPolicy", "Unsupported value")),
         REJECTION(CAUSE("template.spec.dnsPolicy", "Unsupported value") "," CAUSE("template.labels",
                                                                                   "Invalid value")),
         {"spec.workers.template.spec.dnsPolicy: Unsupported value",
          "spec.launcher.template.metadata.labels: Invalid value"}},
        /* Taken over, and wrong beside what the launcher says. */
        {REJECTION(CAUSE("template.spec.volumes[0].name", "Required value")),
         REJECTION(CAUSE("template.spec.dnsPolicy", "Unsupported value")),
         {"spec.workers.template.spec.volumes[0].name: Required value",
          "spec.workers.template.spec.dnsPolicy: Unsupported value (inherited by the launcher pod)"}},
        /* Missing in both, and missing in the launcher alone. */
        {REJECTION(CAUSE("template.spec.containers[0].image", "Required value")),
         REJECTION(CAUSE("template.spec.containers[0].image",
                         "Required value") "," CAUSE("template.spec.dnsConfig", "Required value")),
         {"spec.workers.template.spec.containers[0].image: Required value",
          "spec.launcher.template.spec.dnsConfig: Required value"}},
        {"{\"message\":\"cannot be read\"}",
         "{\"message\":\"cannot be read\"}",
         {"spec.workers.template: cannot be read"}},
        {"{\"message\":\"cannot be read\"}",
         "{\"message\":\"nor can this\"}",
         {"spec.workers.template: cannot be read", "spec.launcher.template: nor can this"}},
        {"{\"message\":\"strict decoding error: unknown field \\\"template.spec.volums\\\"\"}",
         "{\"message\":\"strict decoding error: unknown field \\\"template.spec.nodeName\\\"\"}",
         {"spec.workers.template.spec.volums: Forbidden: unknown field",
          "spec.launcher.template.spec.nodeName: Forbidden: unknown field"}},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};
        AUTO(json) cJSON *of_workers = parse(row->of_workers), *of_launcher = parse(row->of_launcher);
        AUTO(strv) struct strv problems = {0};

        read(CREATE(LAUNCHED(
                 "{\"spec\":{\"dnsPolicy\":\"Sometimes\",\"volums\":[],\"containers\":[{\"name\":\"train\","
                 "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/w\"}]}]}}",
                 OWN("{\"metadata\":{\"labels\":7},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"
                     "\"head\","
                     "\"volumeMounts\":[{\"name\":\"none\",\"mountPath\":\"/l\"}]}]}}"))),
             &admission);
        AUTO(json) cJSON *made = admission_pod_template(&admission, ADMISSION_LAUNCHER);
        admission_add_rejection(&admission, ADMISSION_WORKERS, NULL, of_workers, &problems);
        admission_add_rejection(&admission, ADMISSION_LAUNCHER, made, of_launcher, &problems);
        for (size_t i = 0; i < COUNT_OF(row->problems); i++)
            CHECK_STR_EQ(i < problems.count ? problems.items[i] : NULL, row->problems[i]);
    }
}

TEST(a_job_is_named_in_the_log_before_it_has_its_whole_name)
{
    static const struct {
        const char *request, *job;
    } rows[] = {
        {CREATE(SPEC), "ns/j"},
        {REVIEW("\"object\":" JOB("{\"generateName\":\"sweep-\"}", SPEC)), "ns/sweep-*"},
        {REVIEW("\"object\":{}"), "ns/*"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(admission) struct admission admission = {0};

        read(row->request, &admission);
        AUTO(mem) char *job = admission_job(&admission);
        CHECK_STR_EQ(job, row->job);
    }
}
