#include "base/io/capture.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define LONG_MS 60000

static bool run(const char *script, int64_t limit_ms, struct str *out, int *status, struct err *err)
{
    AUTO(strv) struct strv argv = {0};
    AUTO(strv) struct strv env = {0};

    strv_push(&argv, "sh");
    strv_push(&argv, "-c");
    strv_push(&argv, script);
    strv_push(&env, "PATH=/usr/bin:/bin");
    strv_push(&env, "WHO=me");
    return capture_run(&(struct capture){.program = "sh",
                                         .argv = strv_argv(&argv),
                                         .envp = strv_argv(&env),
                                         .limit_ms = limit_ms,
                                         .max_bytes = 10000},
                       out, status, err);
}

TEST(what_a_program_prints_is_taken)
{
    static const struct {
        const char *script, *printed;
        int status;
    } rows[] = {
        {"echo $WHO", "me\n", 0},    {"cat; echo end", "end\n", 0}, /* there is nothing to read */
        {"exit 7", "", 7},           {"printf x; kill -TERM $$", "x", 143},
        {"exec >&-; exit 2", "", 2}, {"sleep 3 & echo there", "there\n", 0}, /* and keeps the pipe */
        {"kill -PIPE $$", "", 141},
    };

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};
        struct err err = {0};
        int status = -1;

        CHECK_OK(run(row->script, LONG_MS, &out, &status, &err), err);
        CHECK_STR_EQ(str_text(&out), row->printed);
        CHECK_INT_EQ(status, row->status);
    }
}

TEST(what_prints_too_much_or_does_not_end_is_killed)
{
    AUTO(str) struct str out = {0};
    struct err err = {0};
    int status = -1;

    CHECK_ERR(run("while :; do echo much; done", LONG_MS, &out, &status, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "output of sh exceeds 10000 bytes");
    CHECK_ERR(run("echo begun; exec sleep 1000", 1, &out, &status, &err), err, ERR_TIMEOUT);
    CHECK_ERR(run("exec >&-; exec sleep 1000", 1, &out, &status, &err), err, ERR_TIMEOUT);
    CHECK_INT_EQ(out.len, 0);
    CHECK_INT_EQ(status, -1);
}

TEST(a_program_that_is_not_there_is_named)
{
    char *argv[] = {NULL, NULL}, *env[] = {NULL};
    AUTO(str) struct str out = {0};
    struct err err = {0};
    int status;

    argv[0] = mem_strdup("no-such-program");
    CHECK_ERR(capture_run(&(struct capture){.program = "no-such-program",
                                            .argv = argv,
                                            .envp = env,
                                            .limit_ms = LONG_MS,
                                            .max_bytes = 10},
                          &out, &status, &err),
              err, ERR_NOT_FOUND);
    CHECK_HAS(err.msg, "cannot run no-such-program: ");
    mem_free(argv[0]);
}
