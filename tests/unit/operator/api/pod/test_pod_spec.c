#include "operator/api/pod/pod_spec.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "operator/api/names.h"
#include "pod_spec_cases.h"

static char *with_newline(char *text_take)
{
    char *longer = mem_printf("%s\n", text_take);

    mem_free(text_take);
    return longer;
}

TEST(pods_are_as_reviewed)
{
    for (size_t i = 0; i < pod_spec_case_count; i++) {
        const struct pod_spec_case *c = &pod_spec_cases[i];
        AUTO(job) struct job *job = pod_spec_case_job(c);
        AUTO(json) cJSON *pod = pod_spec_case_pod(c, job);
        AUTO(mem) char *text = with_newline(json_print_pretty(pod));
        AUTO(mem) char *file = mem_printf("pods/%s.json", c->name);

        golden_check(file, text);
    }
}

TEST(the_service_is_as_reviewed)
{
    AUTO(job) struct job *job = pod_spec_case_job(&pod_spec_cases[pod_spec_case_count - 1]);
    AUTO(json) cJSON *service = pod_spec_service(job);
    AUTO(mem) char *text = with_newline(json_print_pretty(service));

    golden_check("pods/service.json", text);
}

static cJSON *pod_called(const char *case_name, const char *job_name)
{
    const struct pod_spec_case *c = pod_spec_cases;

    while (!str_eq(c->name, case_name))
        c++;
    AUTO(job) struct job *job = pod_spec_case_job(c);
    mem_free(job->name);
    job->name = mem_strdup(job_name);
    return pod_spec_case_pod(c, job);
}

/* Kubernetes would cut off the end of the name, which tells the pods of a job apart. */
TEST(pods_with_long_names_get_host_names_that_differ)
{
    static const char longest[] = "n23456789012345678901234567890123456789012345678901234567890123";
    AUTO(json) cJSON *alone = pod_called("mpi", longest), *met = pod_called("two-workers", longest);
    AUTO(json) cJSON *plain = pod_called("mpi", "mpi");
    const char *host = json_str(alone, "spec/hostname", "");

    CHECK_HAS(json_str(alone, "metadata/name", ""), "0123-worker-3");
    CHECK(strlen(host) <= LABEL_MAX && str_has_suffix(host, "-worker-3"));
    CHECK(!json_at(alone, "spec/subdomain"));
    CHECK_STR_EQ(json_str(met, "spec/hostname", ""), host);
    CHECK(str_has_suffix(json_str(met, "spec/subdomain", ""), "-workers"));
    CHECK(!json_at(plain, "spec/hostname"));
}

/* ---- what holds for every pod ---- */

/* All that `want` has is in `got`, the same; `got` may have more. */
static void check_contains(const cJSON *got, const cJSON *want, const char *where)
{
    JSON_EACH (member, want) {
        AUTO(mem) char *path = mem_printf("%s/%s", where, json_key(member));
        const cJSON *mine = cJSON_GetObjectItemCaseSensitive(got, json_key(member));

        if (!mine)
            CHECK_FAIL("%s is gone", path);
        if (cJSON_IsObject(member))
            check_contains(mine, member, path);
        else if (!json_equal(mine, member))
            CHECK_FAIL("%s has changed", path);
    }
}

static const cJSON *named(const cJSON *list, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, "name", ""), name))
            return item;
    }
    CHECK_FAIL("%s is gone", name);
}

/* Lists that are added to keep their own entries, in their order. */
static void check_list_kept(const cJSON *got, const cJSON *want)
{
    const cJSON *mine = got ? got->child : NULL;

    JSON_EACH (item, want) {
        while (mine && !json_equal(mine, item))
            mine = mine->next;
        if (!mine)
            CHECK_FAIL("%s is gone, has changed, or moved", json_str(item, "name", "an entry"));
    }
}

/* An entry of a container that we add to: everything else is the user's. */
static void check_container_kept(const cJSON *got, const cJSON *want, bool is_first)
{
    AUTO(json) cJSON *rest = json_dup(want);

    if (is_first) {
        check_list_kept(json_at(got, "env"), json_at(want, "env"));
        check_list_kept(json_at(got, "volumeMounts"), json_at(want, "volumeMounts"));
        check_list_kept(json_at(got, "ports"), json_at(want, "ports"));
        json_drop(rest, "env");
        json_drop(rest, "volumeMounts");
        json_drop(rest, "ports");
        json_drop(rest, "command");
    }
    check_contains(got, rest, json_str(want, "name", ""));
}

static void check_containers_kept(const cJSON *got, const cJSON *want, bool has_main)
{
    JSON_EACH (container, want)
        check_container_kept(named(got, json_str(container, "name", "")), container,
                             has_main && container == want->child);
}

TEST(what_the_template_says_stays)
{
    for (size_t i = 0; i < pod_spec_case_count; i++) {
        const struct pod_spec_case *c = &pod_spec_cases[i];
        AUTO(job) struct job *job = pod_spec_case_job(c);
        AUTO(json) cJSON *pod = pod_spec_case_pod(c, job);
        struct err err = {0};
        AUTO(json) cJSON *from = job_template(job, &err);
        cJSON *spec = json_at_mut(from, "spec");

        check_containers_kept(json_at(pod, "spec/containers"), json_at(spec, "containers"), true);
        check_containers_kept(json_at(pod, "spec/initContainers"), json_at(spec, "initContainers"), false);
        check_list_kept(json_at(pod, "spec/volumes"), json_at(spec, "volumes"));
        check_list_kept(json_at(pod, "spec/imagePullSecrets"), json_at(spec, "imagePullSecrets"));
        json_drop(spec, "containers");
        json_drop(spec, "initContainers");
        json_drop(spec, "volumes");
        json_drop(spec, "imagePullSecrets");
        json_drop(spec, "restartPolicy"); /* the one thing that is overruled */
        check_contains(json_at(pod, "spec"), spec, "spec");
        CHECK_STR_EQ(json_str(pod, "spec/restartPolicy", ""), "Never");
    }
}

TEST(env_names_are_given_once)
{
    for (size_t i = 0; i < pod_spec_case_count; i++) {
        const struct pod_spec_case *c = &pod_spec_cases[i];
        AUTO(job) struct job *job = pod_spec_case_job(c);
        AUTO(json) cJSON *pod = pod_spec_case_pod(c, job);
        const cJSON *env = json_at(json_at(pod, "spec/containers")->child, "env");

        JSON_EACH (item, env) {
            unsigned count = 0;

            JSON_EACH (other, env)
                count += str_eq(json_str(other, "name", ""), json_str(item, "name", ""));
            CHECK_INT_EQ(count, 1);
        }
    }
}

TEST(a_pod_is_found_again_by_what_it_carries)
{
    const struct pod_spec_case *c = &pod_spec_cases[pod_spec_case_count - 1];
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(json) cJSON *pod = pod_spec_case_pod(c, job);

    CHECK_STR_EQ(json_str(pod, "metadata/name", ""), "two-workers-worker-3");
    CHECK_STR_EQ(json_str(pod, "metadata/labels/graphcore.ai~1instance", ""), "1");
    CHECK_STR_EQ(json_str(pod, "metadata/labels/graphcore.ai~1worker", ""), "1");
    CHECK_STR_EQ(json_str(pod, "metadata/annotations/graphcore.ai~1partition", ""), "p-two-workers-team-1");
    CHECK_STR_EQ(json_str(pod, "metadata/annotations/graphcore.ai~1run", ""), "0");
    CHECK_STR_EQ(json_str(json_at(pod, "metadata/ownerReferences")->child, "uid", ""), job->uid);
}

/* ---- templates that no pod can be made of ---- */

TEST(a_template_without_containers_is_rejected)
{
    static const char *const templates[] = {"{}", "{\"spec\":{}}", "{\"spec\":{\"containers\":[]}}",
                                            "{\"spec\":{\"containers\":\"a\"}}",
                                            "{\"spec\":{\"containers\":[\"a\"]}}"};

    CHECK_ROWS (text, templates) {
        AUTO(job) struct job *job = pod_spec_case_job(&pod_spec_cases[0]);
        struct err err = {0};

        pod_spec_case_set_template(job, *text);
        CHECK_ERR(pod_spec_worker(job, 0, 0, &pod_spec_cases[0].place, &pod_spec_cases[0].options, &err), err,
                  ERR_INVALID);
    }
}

/* What the API server will reject must not be worse here than there. */
TEST(a_template_of_odd_types_makes_a_pod_all_the_same)
{
    AUTO(job) struct job *job = pod_spec_case_job(&pod_spec_cases[0]);

    pod_spec_case_set_template(
        job,
        "{\"metadata\":{\"labels\":\"a\",\"annotations\":null},\"spec\":{\"containers\":[{\"name\":\"a\","
        "\"env\":7,"
        "\"volumeMounts\":{},\"command\":\"x\",\"envFrom\":3},5],\"initContainers\":\"b\",\"volumes\":1,"
        "\"nodeSelector\":[]}}");
    AUTO(json) cJSON *pod = pod_spec_case_pod(&pod_spec_cases[0], job);
    AUTO(mem) char *text = json_print(pod);

    CHECK_HAS(text, "\"restartPolicy\":\"Never\"");
    CHECK_STR_EQ(json_str(pod, "metadata/labels/graphcore.ai~1role", ""), "worker");
}

static const struct {
    const char *from_api_server, *to_user;
} rejections[] = {
    {"Pod \"a-worker-0\" is invalid: spec.containers[0].image: Required value",
     "spec.workers.template.spec.containers[0].image: Required value"},
    {"Pod \"a-worker-0\" is invalid: [spec.initContainers[1].image: Required value, spec.volumes[2].name: "
     "Required value]",
     "[spec.workers.template.spec.initContainers[0].image: Required value, "
     "spec.workers.template.spec.volumes[2].name: "
     "Required value]"},
    {"Pod \"a-worker-0\" is invalid: metadata.labels: Invalid value: \"not ok!\"",
     "spec.workers.template.metadata.labels: Invalid value: \"not ok!\""},
    {"pods \"a-worker-0\" is forbidden: exceeded quota: q, requested: pods=1",
     "pods \"a-worker-0\" is forbidden: exceeded quota: q, requested: pods=1"},
    {"spec.initContainers[", "spec.workers.template.spec.initContainers["},
    {"subspec.x stays", "subspec.x stays"},
    {"", ""},
};

TEST(rejections_name_the_fields_of_the_job)
{
    for (size_t i = 0; i < COUNT_OF(rejections); i++) {
        AUTO(mem) char *text = pod_spec_translate_message(rejections[i].from_api_server, false);

        CHECK_STR_EQ(text, rejections[i].to_user);
    }
}

/* ---- progress ---- */

static cJSON *pod_that_reports(const struct pod_progress *progress, const char *template)
{
    struct pod_spec_case c = pod_spec_cases[0];
    AUTO(job) struct job *job = pod_spec_case_job(&c);

    if (template)
        pod_spec_case_set_template(job, template);
    c.options.progress = progress;
    return pod_spec_case_pod(&c, job);
}

static const cJSON *find_named(const cJSON *list, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, "name", ""), name))
            return item;
    }
    return NULL;
}

static const char *env_value(const cJSON *pod, const char *name)
{
    return json_str(find_named(json_at(json_at(pod, "spec/containers")->child, "env"), name), "value", NULL);
}

TEST(a_program_finds_where_to_report_its_progress)
{
    static char url[] = "https://progress.ns.svc:8444/p", ca[] = "PEM";
    AUTO(json) cJSON *pod = pod_that_reports(&(struct pod_progress){.url = url, .ca = ca}, NULL);
    const cJSON *volume = named(json_at(pod, "spec/volumes"), NAME_PROGRESS_VOLUME);
    const cJSON *mount =
        find_named(json_at(json_at(pod, "spec/containers")->child, "volumeMounts"), NAME_PROGRESS_VOLUME);
    const cJSON *token = json_at(volume, "projected/sources")->child;
    const char *dir = json_str(mount, "mountPath", "");
    AUTO(mem) char *token_file = mem_printf("%s/token", dir);
    AUTO(mem) char *ca_file = mem_printf("%s/ca.crt", dir);

    CHECK_STR_EQ(env_value(pod, PROGRESS_URL), url);
    CHECK_STR_EQ(env_value(pod, PROGRESS_TOKEN), token_file);
    CHECK_STR_EQ(env_value(pod, PROGRESS_CA), ca_file);
    CHECK_STR_EQ(json_str(token, "serviceAccountToken/audience", NULL), PROGRESS_AUDIENCE);
    CHECK_STR_EQ(json_str(json_at(token->next, "downwardAPI/items")->child, "fieldRef/fieldPath", NULL),
                 "metadata.annotations['" ANNOTATION_PROGRESS_CA "']");
    CHECK_STR_EQ(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json_at(pod, "metadata/annotations"),
                                                                       ANNOTATION_PROGRESS_CA)),
                 ca);
}

/* The token must not reach a server that is not the operator's. */
TEST(a_users_own_server_gets_no_token)
{
    static char url[] = "https://progress.ns.svc:8444/p", ca[] = "PEM";
    static const char *const names[] = {PROGRESS_URL, PROGRESS_CA, PROGRESS_TOKEN};

    CHECK_ROWS (name, names) {
        AUTO(mem)
        char *template =
            mem_printf("{\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"c\"],\"env\":[{"
                       "\"name\":\"%s\",\"value\":\"mine\"}]}]}}",
                       *name);
        AUTO(json) cJSON *pod = pod_that_reports(&(struct pod_progress){.url = url, .ca = ca}, template);

        CHECK_STR_EQ(env_value(pod, *name), "mine");
        CHECK(!find_named(json_at(pod, "spec/volumes"), NAME_PROGRESS_VOLUME));
        for (size_t i = 0; i < COUNT_OF(names); i++)
            CHECK(str_eq(names[i], *name) || !env_value(pod, names[i]));
    }
}

TEST(without_a_certificate_no_pod_reports)
{
    static char url[] = "https://progress.ns.svc:8444/p";
    AUTO(json) cJSON *pod = pod_that_reports(&(struct pod_progress){.url = url}, NULL);

    CHECK(!env_value(pod, PROGRESS_URL));
    CHECK(!find_named(json_at(pod, "spec/volumes"), NAME_PROGRESS_VOLUME));
}

/* ---- the attempt before ---- */

static const char *field_of(const cJSON *containers, const char *name)
{
    return json_str(find_named(json_at(containers->child, "env"), name), "valueFrom/fieldRef/fieldPath",
                    NULL);
}

TEST(a_restarted_pod_has_a_report_of_the_attempt_before)
{
    static const char *const templates[] = {
        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"command\":[\"c\"]}]}}",
        /* the image's entry point: the init container prints it */
        "{\"spec\":{\"initContainers\":[{\"name\":\"mine\"}],\"containers\":[{\"name\":\"a\"}]}}",
    };

    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        AUTO(json) cJSON *pod = pod_that_reports(NULL, templates[i]);

        pod_spec_add_report(pod, "It failed: $(HOME)");
        CHECK_STR_EQ(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
                         json_at(pod, "metadata/annotations"), ANNOTATION_PREVIOUS_ATTEMPT)),
                     "It failed: $(HOME)");
        CHECK_STR_EQ(json_str(json_at(pod, "spec/initContainers")->child, "name", ""), NAME_LAUNCHER_PART);
        CHECK_STR_EQ(field_of(json_at(pod, "spec/containers"), "IPU_JOB_PREVIOUS_ATTEMPT"),
                     i ? NULL : "metadata.annotations['" ANNOTATION_PREVIOUS_ATTEMPT "']");
        CHECK_STR_EQ(field_of(json_at(pod, "spec/initContainers"), "IPU_JOB_PREVIOUS_ATTEMPT"),
                     i ? "metadata.annotations['" ANNOTATION_PREVIOUS_ATTEMPT "']" : NULL);
    }
}
