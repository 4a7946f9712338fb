#include "operator/api/observed/pod_exit.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define RULE "--------------------------------------------------------------------------\n"

TEST(an_exit_status_that_is_a_signals_is_named_by_the_signal)
{
    static const struct {
        int code, reported;
        const char *message;
        int signal;
        const char *words;
    } rows[] = {
        {1, 0, NULL, 0, "exited with code 1"},
        {128, 0, NULL, 0, "exited with code 128"},
        {134, 0, NULL, 6, "was killed by SIGABRT (exit code 134)"},
        {137, 0, NULL, 9, "was killed by SIGKILL (exit code 137)"},
        {139, 0, "epoch 7", 11, "was killed by SIGSEGV (exit code 139)"},
        {143, 0, NULL, 15, "was killed by SIGTERM (exit code 143)"},
        {192, 0, NULL, 64, "was killed by signal 64 (exit code 192)"},
        {193, 0, NULL, 0, "exited with code 193"},
        {255, 0, NULL, 0, "exited with code 255"},
        {255, 15, NULL, 15, "was killed by SIGTERM (exit code 255)"},
        /* the code of mpirun's own failures is none of a program */
        {134, 0, RULE "mpirun was unable to find the specified executable file\n" RULE, 0,
         "exited with code 134"},
        {139, 0, "mpirun noticed that process rank 3 with PID 3 on node a exited on signal 11 (Segmentation)",
         11, "was killed by SIGSEGV (exit code 139)"},
        /* a rank that is a shell whose program was killed */
        {139, 0,
         RULE
         "mpirun detected\nThe first process to do so was:\n\n  Process name: [[1,1],2]\n  Exit code: 139\n",
         11, "was killed by SIGSEGV (exit code 139)"},
    };

    CHECK_ROWS (row, rows) {
        struct pod pod = {
            .exit_code = row->code, .exit_signal = row->reported, .message = (char *)(uintptr_t)row->message};
        AUTO(mem) char *words = pod_exit_describe(&pod);

        CHECK_INT_EQ(pod_exit_signal(&pod), row->signal);
        CHECK_STR_EQ(words, row->words);
    }
}
