#include "launcher/poprun/plan/rsh_agent.h"

#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/shell_words.h"
#include "lib/check.h"

static const char *nothing(const char *name)
{
    (void)name;
    return NULL;
}

static const char *version_4(const char *name)
{
    return strcmp(name, "OMPI_MCA_plm_rsh_agent") == 0 ? "/opt/agent -q" : NULL;
}

static const char *version_5(const char *name)
{
    return strcmp(name, "PRTE_MCA_plm_ssh_agent") == 0 ? "ssh : rsh" : NULL;
}

static const struct {
    const char *words;
    const char *(*env)(const char *name);
    const char *agent;
} choices[] = {
    {"--tag-output", nothing, "ssh"},
    {"", version_4, "/opt/agent '-q'"},
    {"", version_5, "ssh"},
    {"--mca plm_rsh_agent 'a b'", version_4, "a 'b'"},
    {"--mca plm_rsh_agent ''", nothing, "ssh"},
    {"--mca plm_rsh_agent", nothing, "ssh"},
};

TEST(the_agent_is_the_one_that_open_mpi_takes)
{
    CHECK_ROWS (row, choices) {
        AUTO(strv) struct strv words = {0}, agent = {0};
        AUTO(str) struct str text = {0};
        struct err err;

        CHECK_OK(shell_words_split(row->words, &words, &err), err);
        rsh_agent_choose(&words, row->env, &agent);
        shell_words_join_quoted(&agent, &text);
        CHECK_STR_EQ(str_text(&text), row->agent);
    }
}

/* The two of the guide, section 2.2.1, and any other. */
static const struct {
    const char *printed, *problem;
} complaints[] = {
    {"No ED25519 host key is known for h1 and you have requested strict checking.\r\n"
     "Host key verification failed.\r\n",
     "host h1 cannot be reached: Host key verification failed; log in once with: ssh h1, which adds its key "
     "to ~/.ssh/known_hosts"},
    {"me@h1: Permission denied (publickey).\r\n",
     "host h1 cannot be reached: Permission denied; add your public key to its ~/.ssh/authorized_keys: "
     "ssh-copy-id h1"},
    {"Warning: x\nssh: connect to host h1 port 22: Connection refused\n",
     "host h1 cannot be reached: ssh: connect to host h1 port 22: Connection refused; for details run: "
     "ssh h1 "
     "true"},
    {"", "host h1 cannot be reached: no reason reported; for details run: ssh h1 true"},
};

TEST(an_error_is_reported_with_its_remedy)
{
    CHECK_ROWS (row, complaints) {
        struct err err = {0};

        CHECK(!rsh_agent_explain_error("h1", "ssh", row->printed, &err));
        CHECK_STR_EQ(err.msg, row->problem);
    }
}
