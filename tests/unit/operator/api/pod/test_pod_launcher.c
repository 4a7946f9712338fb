#include "operator/api/pod/pod_launcher.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "operator/api/job/job.h"
#include "operator/api/names.h"
#include "operator/api/observed/pod.h"
#include "operator/api/pod/pod_secrets.h"
#include "pod_spec_cases.h"

static const struct pod_launcher_host hosts[] = {{"10.0.0.1", 2222}, {"fd00::2", 2222}};

static const struct pod_spec_case *find_case(const char *name)
{
    for (size_t i = 0; i < pod_spec_case_count; i++) {
        if (str_eq(pod_spec_cases[i].name, name))
            return &pod_spec_cases[i];
    }
    CHECK_FAIL("there is no case %s", name);
}

static cJSON *launcher_of(const struct pod_spec_case *c, const struct job *job)
{
    struct err err = {0};
    cJSON *pod = pod_launcher_pod(job, c->instance, hosts, &c->place, &c->options, &err);

    CHECK_OK(pod, err);
    return pod;
}

static void check_golden(const char *file, const cJSON *object)
{
    AUTO(mem) char *text = json_print_pretty(object);
    AUTO(mem) char *line = mem_printf("%s\n", text);

    golden_check(file, line);
}

static const cJSON *named(const cJSON *list, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, "name", ""), name))
            return item;
    }
    return NULL;
}

TEST(launchers_are_as_reviewed)
{
    static const char *const names[] = {"mpi", "mpi-changed", "secure-mpi"};

    CHECK_ROWS (name, names) {
        const struct pod_spec_case *c = find_case(*name);
        AUTO(job) struct job *job = pod_spec_case_job(c);
        AUTO(json) cJSON *pod = launcher_of(c, job);
        AUTO(mem) char *file = mem_printf("pods/%s-launcher.json", *name);

        check_golden(file, pod);
    }
}

TEST(the_network_policy_is_as_reviewed)
{
    AUTO(job) struct job *job = pod_spec_case_job(find_case("mpi"));
    AUTO(json) cJSON *policy = network_policy_of_job(job);

    check_golden("pods/mpi-policy.json", policy);
}

TEST(a_launcher_is_found_again_in_the_seat_behind_the_workers)
{
    const struct pod_spec_case *c = find_case("mpi");
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(json) cJSON *object = launcher_of(c, job);

    json_put_str(json_at_mut(object, "metadata"), "uid", "u");
    AUTO(pod) struct pod *pod = pod_parse(object);
    CHECK_STR_EQ(pod->name, "mpi-launcher-1");
    CHECK_INT_EQ(pod->instance, 1);
    CHECK_INT_EQ(pod->worker, 2);
    CHECK_INT_EQ(pod->run, 2);
    CHECK_STR_EQ(pod->partition, "p-mpi-team-1");
}

TEST(a_worker_says_where_its_agent_listens)
{
    const struct pod_spec_case *c = find_case("mpi-changed");
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(json) cJSON *object = pod_spec_case_pod(c, job);

    json_put_str(json_at_mut(object, "metadata"), "uid", "u");
    AUTO(pod) struct pod *pod = pod_parse(object);
    CHECK_INT_EQ(pod->agent_port, 12345);
}

TEST(host_networking_is_the_templates_or_else_the_charts)
{
    static const struct {
        const char *spec;
        bool by_option, want;
    } rows[] = {{"{}", false, false},
                {"{}", true, true},
                {"{\"hostNetwork\":true}", false, true},
                {"{\"hostNetwork\":false}", true, false}};

    CHECK_ROWS (row, rows) {
        AUTO(job) struct job *job = pod_spec_case_job(find_case("mpi"));

        AUTO(mem) char *text = mem_printf("{\"spec\":%s}", row->spec);

        pod_spec_case_set_template(job, text);
        CHECK_INT_EQ(
            pod_launcher_uses_host_network(job, &(struct pod_spec_options){.host_network = row->by_option}),
            row->want);
    }
}

/* mpirun takes a host for its own when its name has one of its own addresses. */
TEST(worker_names_stay_unknown_in_the_nodes_network)
{
    const struct pod_spec_case *c = find_case("mpi-changed");
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(json) cJSON *pod = launcher_of(c, job);

    CHECK(json_bool(pod, "spec/hostNetwork", false));
    CHECK(!json_at(pod, "spec/hostAliases"));
}

TEST(hosts_with_one_address_share_an_alias)
{
    const struct pod_spec_case *c = find_case("mpi");
    const struct pod_launcher_host same[] = {{"10.0.0.1", 2222}, {"10.0.0.1", 2223}};
    AUTO(job) struct job *job = pod_spec_case_job(c);
    struct err err = {0};
    AUTO(json) cJSON *pod = pod_launcher_pod(job, 0, same, &c->place, &c->options, &err);
    AUTO(mem) char *aliases = json_print(json_at(pod, "spec/hostAliases"));

    CHECK_OK(pod, err);
    CHECK_STR_EQ(aliases, "[{\"ip\":\"10.0.0.1\",\"hostnames\":[\"mpi-worker-0\",\"mpi-worker-1\"]}]");
    CHECK_STR_EQ(
        json_str(named(json_at(json_at(pod, "spec/containers")->child, "env"), "IPU_JOB_HOSTS"), "value", ""),
        "mpi-worker-0=10.0.0.1:2222,mpi-worker-1=10.0.0.1:2223");
}

TEST(every_worker_has_a_key_of_its_own)
{
    unsigned char keys[2 * POD_SECRETS_KEY_BYTES];
    AUTO(job) struct job *job = pod_spec_case_job(find_case("mpi"));

    memset(keys, 0xff, POD_SECRETS_KEY_BYTES);
    memset(keys + POD_SECRETS_KEY_BYTES, 0, POD_SECRETS_KEY_BYTES);
    AUTO(json) cJSON *secret = pod_secrets_build(job, 1, 5, keys, &(struct pod_vipu_credentials){0});
    CHECK_STR_EQ(json_str(secret, "metadata/name", ""), "mpi-mpi-5e1f0000-1-5");
    CHECK_STR_EQ(json_str(secret, "data/0", ""), "//////////////////////////////////////////8=");
    CHECK_STR_EQ(json_str(secret, "data/1", ""), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(secret, "data")), 2);
    CHECK(json_bool(secret, "immutable", false));
    CHECK_STR_EQ(json_str(json_at(secret, "metadata/ownerReferences")->child, "uid", ""), job->uid);
}

/* Each part that there is, and no more; the operator's own key is not even asked for. */
TEST(the_secret_holds_what_the_controller_takes_pods_for)
{
    static const struct {
        struct pod_vipu_credentials vipu;
        const char *want;
    } rows[] = {
        {{.user_id = "jobs", .key = "k3y", .ca_pem = "PEM\n"},
         "{\"vipu-user-id\":\"am9icw==\",\"vipu-access-key\":\"azN5\",\"vipu-ca.crt\":\"UEVNCg==\"}"},
        {{.ca_pem = "PEM\n"}, "{\"vipu-ca.crt\":\"UEVNCg==\"}"},
    };
    AUTO(job) struct job *job = pod_spec_case_job(find_case("secure"));

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *secret = pod_secrets_build(job, 0, 3, NULL, &row->vipu);
        AUTO(mem) char *data = json_print(json_at(secret, "data"));

        CHECK_STR_EQ(json_str(secret, "metadata/name", ""), "secure-vipu-5e1f0000-3");
        CHECK_STR_EQ(json_str(json_at(secret, "metadata/ownerReferences")->child, "uid", ""), job->uid);
        CHECK_STR_EQ(data, row->want);
    }
}

/* The names and addresses of all workers are one environment variable. */
TEST(the_most_workers_with_the_longest_names_fit_an_environment_variable)
{
    static struct pod_launcher_host many[1024];
    const struct pod_spec_case *c = find_case("mpi");
    AUTO(job) struct job *job = pod_spec_case_job(c);
    struct err err = {0};

    job->spec.workers_per_instance = 1024;
    mem_free(job->name);
    job->name = mem_printf("%063d", 0);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = (struct pod_launcher_host){"fd00:1111:2222:3333:4444:5555:6666:7777", 19999};
    AUTO(json) cJSON *pod = pod_launcher_pod(job, 0, many, &c->place, &c->options, &err);
    CHECK_OK(pod, err);
    CHECK(strlen(json_str(named(json_at(json_at(pod, "spec/containers")->child, "env"), "IPU_JOB_HOSTS"),
                          "value", "")) < 131072 - 64);
}

/* A quarter of a megabyte in one value. */
TEST(a_large_template_in_any_letters_reaches_worker_and_launcher)
{
    static const char letters[] = "\xC3\xA4 \xF0\x9F\x8E\xB2 \\\" ";
    const struct pod_spec_case *c = find_case("mpi");
    AUTO(job) struct job *job = pod_spec_case_job(c);
    AUTO(str) struct str large = {0};
    AUTO(json) cJSON *from = NULL;
    struct err err = {0};

    while (large.len < 256 * 1024)
        str_adds(&large, letters);
    from = job_template(job, &err);
    CHECK_OK(from, err);
    cJSON *container = json_at_mut(from, "spec/containers")->child;
    json_put_str(json_push_take(json_at_mut(container, "env"), json_object()), "name", "LARGE");
    json_put_str(json_at_mut(container, "env")->child->next, "value", str_text(&large));

    AUTO(mem) char *text = json_print(from);

    pod_spec_case_set_template(job, text);

    AUTO(json) cJSON *worker = pod_spec_case_pod(c, job);
    AUTO(json) cJSON *launcher = launcher_of(c, job);
    const cJSON *pods[] = {worker, launcher};
    CHECK_ROWS (pod, pods)
        CHECK_STR_EQ(
            json_str(named(json_at(json_at(*pod, "spec/containers")->child, "env"), "LARGE"), "value", ""),
            str_text(&large));
}

static int64_t grace_of(const cJSON *pod)
{
    return json_i64(pod, "spec/terminationGracePeriodSeconds", POD_GRACE_S);
}

/* Else a change of the template would keep the IPUs longer than others were told. */
TEST(pods_take_no_longer_to_stop_than_when_their_ipus_were_granted)
{
    struct pod_spec_case c = *find_case("mpi");
    AUTO(job) struct job *job = pod_spec_case_job(&c);

    pod_spec_case_set_template(job, "{\"spec\":{\"terminationGracePeriodSeconds\":3000,\"containers\":["
                                    "{\"name\":\"main\",\"image\":\"train:1\"}]}}");
    for (uint32_t grace_s = 0; grace_s <= 4000; grace_s += 1000) {
        c.place.keeps_grace = true;
        c.place.grace_s = grace_s;
        AUTO(json) cJSON *worker = pod_spec_case_pod(&c, job);
        AUTO(json) cJSON *launcher = launcher_of(&c, job);

        CHECK_INT_EQ(grace_of(worker), grace_s < 3000 ? grace_s : 3000);
        CHECK_INT_EQ(grace_of(launcher), grace_s < 3000 ? grace_s : 3000);
    }
    c.place.keeps_grace = false;
    AUTO(json) cJSON *free = pod_spec_case_pod(&c, job);
    CHECK_INT_EQ(grace_of(free), 3000);
}
