#include "launcher/poprun/plan/rsh_agent.h"

#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/shell_words.h"

/* Open MPI 4 and 5; the second one of 4 is the older name. */
static const char *const parameters[] = {"plm_rsh_agent", "orte_rsh_agent", "plm_ssh_agent"};
static const char *const variables[] = {"OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_rsh_agent",
                                        "PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_ssh_agent"};

const char *rsh_agent_variable(const char *(*env)(const char *name))
{
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (env(variables[i]) && *env(variables[i]))
            return env(variables[i]);
    return NULL;
}

static const char *chosen(const struct strv *words, const char *(*env)(const char *name))
{
    const char *variable;

    for (size_t i = 0; i < COUNT_OF(parameters); i++)
        for (size_t at = 0; at + 1 < words->count; at++)
            if (strcmp(words->items[at], parameters[i]) == 0)
                return words->items[at + 1];
    variable = rsh_agent_variable(env);
    return variable ? variable : "ssh";
}

/* A list of several is separated by colons; the first one is tried. */
void rsh_agent_choose(const struct strv *global_words, const char *(*env)(const char *name),
                      struct strv *agent)
{
    const char *all = chosen(global_words, env);
    AUTO(mem) char *first = mem_strndup(all, strcspn(all, ":"));
    struct err err;

    if (!shell_words_split(first, agent, &err) || agent->count == 0)
        strv_push(agent, "ssh");
}

/* The last line with text is the reason; the lines before are warnings. */
static char *last_line(const char *printed)
{
    size_t end = strlen(printed), start;

    while (end && strchr(" \t\r\n", printed[end - 1]))
        end--;
    for (start = end; start && printed[start - 1] != '\n';)
        start--;
    return mem_strndup(printed + start, end - start);
}

bool rsh_agent_explain_error(const char *host, const char *agent, const char *printed, struct err *err)
{
    AUTO(mem) char *reason = last_line(printed);

    if (strstr(printed, "Host key verification failed"))
        return err_set(err, ERR_DENIED,
                       "host %s cannot be reached: Host key verification failed; log in once with: ssh %s, "
                       "which adds its key to ~/.ssh/known_hosts",
                       host, host);
    if (strstr(printed, "Permission denied"))
        return err_set(err, ERR_DENIED,
                       "host %s cannot be reached: Permission denied; add your public key to its "
                       "~/.ssh/authorized_keys: ssh-copy-id %s",
                       host, host);
    return err_set(err, ERR_IO, "host %s cannot be reached: %.100s; for details run: %.60s %s true", host,
                   *reason ? reason : "no reason reported", agent, host);
}
