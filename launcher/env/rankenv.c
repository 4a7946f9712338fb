#include "launcher/env/rankenv.h"

#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "launcher/env/shape.h"

#define LOCAL_ADDRESS "127.0.0.1"
#define DEFAULT_PORT "29500" /* of torch.distributed, where the operator has chosen none */

static const char *const names[][2] = {
    {"RANK", "OMPI_COMM_WORLD_RANK"},
    {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
    {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
};

static void drop(struct envv *env, const char *name, const char *value)
{
    if (str_eq(envv_get(env, name), value))
        envv_unset(env, name);
}

static void drop_number(struct envv *env, const char *name, uint32_t number)
{
    AUTO(mem) char *value = mem_printf("%u", number);

    drop(env, name, value);
}

/* In a job without a launcher each pod is a rank. A run of mpirun within a pod has ranks of its own: what
 * ipu-launch has set for the pod is not the user's choice for them. */
static void drop_place_of_pod(struct envv *env, const struct shape *shape)
{
    drop_number(env, "RANK", shape->worker_index);
    drop_number(env, "WORLD_SIZE", shape->workers);
    drop_number(env, "LOCAL_RANK", 0);
}

static void add_master(struct envv *env, const char *master)
{
    const char *port = strrchr(master, ':');
    size_t len = (size_t)(port - master);
    bool in_brackets = len >= 2 && master[0] == '[' && master[len - 1] == ']';
    AUTO(mem) char *address = in_brackets ? mem_strndup(master + 1, len - 2) : mem_strndup(master, len);

    envv_default(env, "MASTER_ADDR", address);
    envv_default(env, "MASTER_PORT", port + 1);
}

const char *rankenv_port(const struct envv *env)
{
    const char *port = envv_get(env, SHAPE_ENV_MASTER_PORT);

    return port && *port ? port : DEFAULT_PORT;
}

static void add_local_master(struct envv *env, const struct shape *shape)
{
    if (shape->master_addr)
        drop(env, "MASTER_ADDR", shape->master_addr);
    envv_default(env, "MASTER_ADDR", LOCAL_ADDRESS);
    envv_default(env, "MASTER_PORT", rankenv_port(env));
}

bool rankenv_complete(struct envv *env, const char *master, struct err *err)
{
    struct shape shape;

    if (master && !strchr(master, ':'))
        return err_set(err, ERR_INVALID, "--master must be ADDRESS:PORT, got \"%.60s\"", master);
    if (!shape_read(env, &shape, err))
        return false;
    if (!envv_get(env, names[0][1]))
        return true;
    if (shape.workers > 1 && shape.master_addr)
        drop_place_of_pod(env, &shape);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (envv_get(env, names[i][1]))
            envv_default(env, names[i][0], envv_get(env, names[i][1]));
    if (master)
        add_master(env, master);
    else if (str_eq(envv_get(env, "OMPI_COMM_WORLD_LOCAL_SIZE"), envv_get(env, "OMPI_COMM_WORLD_SIZE")))
        add_local_master(env, &shape);
    return true;
}

bool rankenv_is_alone(const struct envv *env)
{
    const char *size = envv_get(env, "OMPI_COMM_WORLD_SIZE");

    return !size || str_eq(size, "1");
}

static const char *next_word(const char *word, const char *end)
{
    const char *after = memchr(word, '\0', (size_t)(end - word));

    return after && after + 1 < end ? after + 1 : NULL;
}

/* One of the directives of --output that tag lines, perhaps shortened (PRTE_CLI_TAG and others in
 * src/util/prte_cmd_line.h of openpmix/prrte v3.0.13). */
static bool is_tagging(const char *word, size_t len)
{
    static const char *const directives[] = {"tag", "tag-detailed", "tag-fullname", "rank", "xml"};

    for (size_t i = 0; i < COUNT_OF(directives); i++)
        if (len >= strlen("tag") && strncasecmp(word, directives[i], len) == 0)
            return true;
    return false;
}

static bool has_tagging(const char *directives)
{
    for (const char *at = directives;; at++) {
        size_t len = strcspn(at, ",:");

        if (is_tagging(at, len))
            return true;
        at += len;
        if (!*at)
            return false;
    }
}

/* Of Open MPI 5: --tag-output, --output tag, --output=rank:..., and others with one dash. The program's words
 * are among them, and programs have options of that name, too: what follows must be a directive. */
bool rankenv_asks_for_tags(const char *words, size_t len)
{
    const char *end = words + len;

    for (const char *word = len ? words : NULL; word; word = next_word(word, end)) {
        const char *name = word + strspn(word, "-"), *value = NULL;

        if (name > word && str_eq(name, "tag-output"))
            return true;
        if (name > word && str_eq(name, "output"))
            value = next_word(word, end);
        else if (name > word && str_has_prefix(name, "output="))
            value = name + strlen("output=");
        if (value && has_tagging(value))
            return true;
    }
    return false;
}

const char *rankenv_tag(const struct envv *env, const char *words, size_t len)
{
    const char *wanted = envv_get(env, "OMPI_MCA_orte_tag_output");

    if (!envv_get(env, "PRTE_LAUNCHED") || !str_eq(wanted, "1") || envv_get(env, RANKENV_ENV_TAGGED) ||
        rankenv_asks_for_tags(words, len))
        return NULL;
    return envv_get(env, "OMPI_COMM_WORLD_RANK");
}
