#include "local/node/podman.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "local/node/sandbox.h"

static char *line_of(const struct strv *words)
{
    AUTO(str) struct str line = {0};

    for (size_t i = 0; i < words->count; i++)
        str_addf(&line, "%s%s", i ? " " : "", words->items[i]);
    return str_take(&line);
}

static cJSON *read(const char *text)
{
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return doc;
}

#define COMMON                                                                                               \
    "podman --log-level=error run --rm --replace --pull=never --network host --log-driver=none "             \
    "--security-opt label=disable --name n --hostname h "

TEST(a_container_is_one_command_line)
{
    static const struct {
        const char *pod, *container, *words;
    } rows[] = {
        {"{}", "{\"image\":\"i\"}", "i"},
        {"{}", "{\"image\":\"i\",\"workingDir\":\"/w\"}", "--workdir /w i"},
        {"{\"spec\":{\"securityContext\":{\"runAsUser\":7,\"runAsGroup\":8}}}", "{\"image\":\"i\"}",
         "--user 7:8 i"},
        {"{\"spec\":{\"securityContext\":{\"runAsUser\":7}}}",
         "{\"image\":\"i\",\"securityContext\":{\"runAsUser\":0}}", "--user 0 i"},
        {"{\"spec\":{\"securityContext\":{\"runAsGroup\":8}}}", "{\"image\":\"i\"}", "i"},
        {"{}", "{\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}}",
         "--cpus=1.500 --memory=1073741824b i"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(json) cJSON *pod = read(rows[i].pod);
        AUTO(json) cJSON *container = read(rows[i].container);
        AUTO(strv) struct strv env = {0}, words = {0};
        AUTO(mem) char *wanted = mem_printf(COMMON "%s", rows[i].words);
        struct err err;

        CHECK(podman_run(&(struct podman_container){.name = "n",
                                                    .pod = pod,
                                                    .doc = container,
                                                    .hostname = "h",
                                                    .env = &(struct strv){0},
                                                    .command = &(struct strv){0},
                                                    .args = &(struct strv){0},
                                                    .mounts = &(struct sandbox){0}},
                         &env, &words, &err));
        AUTO(mem) char *line = line_of(&words);
        CHECK_STR_EQ(line, wanted);
    }
}

TEST(values_are_in_the_environment_but_for_what_podman_would_read)
{
    AUTO(json) cJSON *doc = read("{\"image\":\"i\"}");
    AUTO(strv) struct strv own = {0}, command = {0}, args = {0}, env = {0}, words = {0};
    AUTO(sandbox) struct sandbox mounts = {0};
    struct podman_container container = {.name = "n",
                                         .pod = doc,
                                         .doc = doc,
                                         .hostname = "h",
                                         .env = &own,
                                         .command = &command,
                                         .args = &args,
                                         .mounts = &mounts};
    struct err err;

    strv_push(&env, "A=outside");
    strv_push(&own, "A=a=b");
    strv_push(&own, "PATH=/x");
    strv_push(&command, "sh");
    strv_push(&command, "-c");
    strv_push(&args, "echo \"x\"");
    sandbox_add(&mounts, "/a", "/b", true);
    sandbox_add(&mounts, "/c", "/d", false);
    CHECK(podman_run(&container, &env, &words, &err));
    AUTO(mem) char *line = line_of(&words);
    CHECK_STR_EQ(line,
                 COMMON "--env A --env PATH=/x --volume /a:/b:ro,rbind --volume /c:/d:rw,rbind --entrypoint "
                        "[\"sh\",\"-c\"] i echo \"x\"");
    CHECK_INT_EQ(env.count, 1);
    CHECK_STR_EQ(env.items[0], "A=a=b");

    sandbox_add(&mounts, "/e", "/f:g", false);
    CHECK(!podman_run(&container, &env, &words, &err));
    CHECK_STR_EQ(err.msg, "podman cannot mount /e at /f:g, because of the colon");
}

TEST(an_image_that_cannot_be_pulled_has_a_remedy_that_is_left)
{
    static const struct {
        const char *policy, *image, *remedy;
    } rows[] = {
        {"", "i:1", "build it (podman build --tag i:1 .), or correct its name"},
        {"", "ipu-operator/ipu-examples:0.1.0",
         "in the folder of this project, load it (podman load --input $(deploy/image build ipu-examples))"},
        {"", "i", "set imagePullPolicy: IfNotPresent"},
        {",\"imagePullPolicy\":\"Always\"", "i:1", "set imagePullPolicy: IfNotPresent"},
        {",\"imagePullPolicy\":\"IfNotPresent\"", "i", "build it (podman build --tag i .)"},
        {",\"imagePullPolicy\":\"Never\"", "i:1", "is not on this machine"},
    };

    CHECK_INT_EQ(setenv("PATH", check_tmpdir(), 1), 0); /* there is no podman */
    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{\"spec\":{\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"image\":"
                                "\"%s\"%s}]}}}}}",
                                row->image, row->policy);
        AUTO(json) cJSON *job = read(text);
        struct err err;

        CHECK(!podman_pull_images(job, &err));
        CHECK_HAS(err.msg, row->remedy);
    }
}

TEST(a_probe_and_the_end_name_the_container)
{
    AUTO(json) cJSON *command = read("[\"test\",\"-e\",\"/x\"]");
    AUTO(strv) struct strv probe = {0}, end = {0};

    podman_exec("n", command, &probe);
    podman_remove("n", &end);
    AUTO(mem) char *probe_line = line_of(&probe);
    AUTO(mem) char *end_line = line_of(&end);
    CHECK_STR_EQ(probe_line, "podman exec n test -e /x");
    CHECK_STR_EQ(end_line, "podman rm --force --time=0 --ignore n");
}
