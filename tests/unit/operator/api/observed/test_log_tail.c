#include "operator/api/observed/log_tail.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define FOLLOWS "ipu-launch: The output of this attempt follows.\n"

TEST(the_lines_of_an_attempt_follow_those_of_the_one_before)
{
    static const struct {
        const char *lines, *own;
    } rows[] = {
        {"epoch 1\n", "epoch 1\n"},
        {FOLLOWS "epoch 1\n", "epoch 1\n"},
        {"ipu-launch: epoch 9\n" FOLLOWS, ""},
        /* only the first one, which the program has not printed */
        {"cut\n" FOLLOWS "epoch 1\n" FOLLOWS "epoch 2\n", "epoch 1\n" FOLLOWS "epoch 2\n"},
        /* quoted: in the lines of the attempt before */
        {"ipu-launch: " FOLLOWS "ipu-launch: epoch 1\n" FOLLOWS "epoch 2\n", "epoch 2\n"},
        {"x" FOLLOWS, "x" FOLLOWS},
    };

    CHECK_ROWS (row, rows)
        CHECK_STR_EQ(log_tail_of_attempt(row->lines), row->own);
}

TEST(of_a_progress_bar_the_last_state_is_kept)
{
    static const struct {
        const char *lines, *kept;
    } rows[] = {
        {"\r 0%|\r95%|# |\nend", "95%|# |\nend"},
        {"one\n[1,3]<stderr>:\r 5%|\r10%|\r\n", "one\n[1,3]<stderr>:10%|\n"},
        {"  File a\r\nKeyError: 7\r\n", "  File a\r\nKeyError: 7\r\n"},
        {"", ""},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *kept = log_tail_without_bars(row->lines);

        CHECK_STR_EQ(kept, row->kept);
    }
}

TEST(the_worker_that_a_launcher_lost_is_found_among_its_last_lines)
{
    static const struct {
        const char *lines, *why;
        uint32_t number;
    } rows[] = {
        {"ipu-launch: worker train-worker-3 is lost: no data received for 15 s\n",
         "no data received for 15 s", 3},
        {"epoch 1\nipu-launch: worker a-worker-0-0123456789-worker-12 is lost: the agent has exited",
         "the agent has exited", 12},
        {"ipu-launch: worker x-worker-1 cannot be reached: its agent does not respond\n----\nORTE was unable",
         "its agent does not respond", 1},
        {"ipu-launch: worker x-worker-5 runs nothing: no shell\nipu-launch: worker x-worker-2 is lost: y\n"
         "ipu-launch: worker x-worker-3 is lost: z",
         "y", 2},
        {"ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[19311,0],0] on node node1\n"
         "  Remote daemon: [[19311,0],1] on node x-worker-7\n\nThis is usually due to",
         "mpirun does not hear from its daemon there any more", 7},
    };

    CHECK_ROWS (row, rows) {
        struct lost_worker lost;

        CHECK(log_tail_lost_worker(row->lines, &lost));
        CHECK(!lost.out_of_memory);
        CHECK_INT_EQ(lost.number, row->number);
        CHECK_INT_EQ(lost.why.len, strlen(row->why));
        CHECK(strncmp(lost.why.ptr, row->why, lost.why.len) == 0);
    }
}

TEST(a_worker_that_ran_out_of_memory_is_named_before_a_lost_one)
{
    static const struct {
        const char *lines, *why;
        uint32_t number;
    } rows[] = {
        {"ipu-launch: worker train-worker-3 ran out of memory: the kernel killed 1 process\n",
         "the kernel killed 1 process", 3},
        {"ipu-launch: worker x-worker-2 is lost: the agent has exited\n"
         "ipu-launch: worker x-worker-1 ran out of memory: the kernel killed 2 processes\n"
         "ipu-launch: worker x-worker-0 ran out of memory: the kernel killed 1 process\n",
         "the kernel killed 2 processes", 1},
    };

    CHECK_ROWS (row, rows) {
        struct lost_worker lost;

        CHECK(log_tail_lost_worker(row->lines, &lost));
        CHECK(lost.out_of_memory);
        CHECK_INT_EQ(lost.number, row->number);
        CHECK_INT_EQ(lost.why.len, strlen(row->why));
        CHECK(strncmp(lost.why.ptr, row->why, lost.why.len) == 0);
    }
}

TEST(a_container_that_ran_out_of_memory_says_so)
{
    CHECK(log_tail_is_out_of_memory(
        "epoch 1\nipu-launch: this container ran out of memory: the kernel killed 1 process\n"));
    CHECK(!log_tail_is_out_of_memory(
        "ipu-launch: worker x-worker-0 ran out of memory: the kernel killed 1 process\n"));
    CHECK(!log_tail_is_out_of_memory("[1,0]<stdout>:ipu-launch: this container ran out of memory: x\n"));
    CHECK(!log_tail_is_out_of_memory(NULL));
}

TEST(other_lines_name_no_cause)
{
    static const char *const rows[] = {
        NULL,
        "",
        "ipu-launch: worker ",
        "ipu-launch: worker train is lost: x",
        "ipu-launch: worker train-worker- is lost: x",
        "ipu-launch: worker train-worker-99999999999 is lost: x",
        "ipu-launch: worker train-worker-1 is lost",
        "ipu-launch: worker train-worker-1\n is lost: x",
        "my worker train-worker-1 is lost: x",
        "  HNP daemon   : [[19311,0],0] on node x-worker-1",
        "  Remote daemon: [[19311,0],1] on node node1",
        "ipu-launch: cannot run /opt/train",
        "[1,0]<stdout>:ipu-launch: worker train-worker-1 is lost: x",
        "[1,0]<stderr>: ipu-launch: worker train-worker-1 ran out of memory: x",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct lost_worker lost;

        CHECK(!log_tail_lost_worker(rows[i], &lost));
    }
}

#define RULE "--------------------------------------------------------------------------\n"
#define LONG "0123456789012345678901234567890123456789" /* 40 */

/* What mpirun 4.1 prints, from open-mpi/ompi, orte/tools/orterun/help-orterun.txt, and prterun, of Open MPI
 * 5, from openpmix/prrte, src/docs/show-help-files/help-prterun.txt. */
#define NORMAL                                                                                               \
    RULE "Primary job  terminated normally, but 1 process returned\n"                                        \
         "a non-zero exit code. Per user-direction, the job has been aborted.\n" RULE
#define SIGNALLED                                                                                            \
    NORMAL RULE "mpirun noticed that process rank 3 with PID 3606 on node job-worker-1 exited on signal 11 " \
                "(Segmentation fault).\n" RULE
#define EXITED                                                                                               \
    NORMAL RULE "mpirun detected that one or more processes exited with non-zero status, thus causing\n"     \
                "the job to be terminated. The first process to do so was:\n\n"                              \
                "  Process name: [[25280,1],2]\n  Exit code:    7\n" RULE
#define PRTE_SIGNALLED                                                                                       \
    RULE "prterun noticed that process rank 2 with PID 1617008 on node cpu155 exited on\n"                   \
         "signal 4 (Illegal instruction).\n" RULE
#define PRTE_EXITED                                                                                          \
    RULE "prterun detected that one or more processes exited with non-zero status,\n"                        \
         "thus causing the job to be terminated. The first process to do so was:\n\n"                        \
         "   Process name: [prterun-gpu013-1009179@1,0]\n   Exit code:    1\n" RULE
#define ABORTED                                                                                              \
    RULE "MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n\nNOTE: "       \
         "invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n" RULE
#define NOT_FOUND                                                                                            \
    RULE "mpirun was unable to find the specified executable file, and therefore\n"                          \
         "did not launch the job.\n" RULE

TEST(the_rank_that_mpirun_blames_is_found)
{
    static const struct {
        const char *lines, *host;
        uint32_t rank;
        int signal, exit_code;
    } rows[] = {
        {SIGNALLED, "job-worker-1", 3, 11, 0},
        {EXITED, "", 2, 0, 7},
        {PRTE_SIGNALLED, "cpu155", 2, 4, 0},
        {PRTE_EXITED, "", 0, 0, 1},
        {ABORTED, "", 5, 0, 0},
        {EXITED "again\n" SIGNALLED "ipu-launch: worker x-worker-1 ran out of memory: x\n", "job-worker-1", 3,
         11, 0},
        {SIGNALLED EXITED, "", 2, 0, 7},
    };

    CHECK_ROWS (row, rows) {
        struct failed_rank failed;

        CHECK(log_tail_failed_rank(row->lines, &failed));
        CHECK_INT_EQ(failed.rank, row->rank);
        CHECK_INT_EQ(failed.signal, row->signal);
        CHECK_INT_EQ(failed.exit_code, row->exit_code);
        AUTO(mem) char *host = mem_strndup(failed.host.ptr ? failed.host.ptr : "", failed.host.len);
        CHECK_STR_EQ(host, row->host);
    }
}

TEST(no_rank_is_blamed_where_mpirun_names_none)
{
    static const char *const rows[] = {
        NULL,
        "",
        NORMAL,
        NOT_FOUND,
        "mpirun noticed that process rank 3 with PID 3606 on node job-worker-1 exi",
        "noticed that process rank many with PID 1 on node a exited on signal 1",
        "The first process to do so was:\n\n  Process name: [[25280,1],]\n  Exit code:    7\n",
        "The first process to do so was:\n\n  Process name: nobody\n  Exit code:    7\n",
        "The first process to do so was:\n\n  Process name: [[25280,1],2]\n  Exit",
        "MPI_ABORT was invoked on rank 5 in communicator MPI COMMUNICATOR 3 SPLIT FROM 0",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct failed_rank failed;

        CHECK(!log_tail_failed_rank(rows[i], &failed));
    }
}

TEST(an_end_of_mpirun_itself_is_told_from_that_of_a_program)
{
    CHECK(log_tail_is_of_mpirun(NOT_FOUND));
    CHECK(log_tail_is_of_mpirun("epoch 1\n" RULE "prterun was unable to launch\n" RULE "\n"));
    CHECK(!log_tail_is_of_mpirun(RULE "epoch  loss\n" RULE "1  0.5\n"));
    CHECK(!log_tail_is_of_mpirun("mpirun was unable to\n"));
    CHECK(!log_tail_is_of_mpirun(NULL));
}

#define NOT_ACCESSIBLE                                                                                       \
    RULE "mpirun was unable to launch the specified application as it could not access\n"                    \
         "or execute an executable:\n\nExecutable: /opt/train\nNode: job-worker-1\n\n"                       \
         "while attempting to start process rank 1.\n" RULE "2 total processes failed to start\n"
#define PRTE_NOT_FOUND                                                                                       \
    RULE "prterun was unable to find the specified executable file, and therefore did\n"                     \
         "not launch the job.\n\n   Node:       job-worker-0\n   Executable: train\n" RULE

TEST(the_program_that_mpirun_could_not_start_is_found)
{
    static const struct {
        const char *lines, *name, *host;
    } rows[] = {
        {NOT_ACCESSIBLE, "/opt/train", "job-worker-1"},
        {PRTE_NOT_FOUND, "train", "job-worker-0"},
        {"epoch 1\n" NOT_ACCESSIBLE "again\n" PRTE_NOT_FOUND, "train", "job-worker-0"},
        {RULE "mpirun was unable to\nExecutable: /opt/a b\n" RULE, "/opt/a b", ""},
    };
    static const char *const none[] = {
        NULL,
        "",
        NOT_FOUND,
        SIGNALLED,
        RULE "epoch  loss\nExecutable: train\n" RULE,
        "Executable: train\n" NOT_FOUND,
        "[1,0]<stdout>:Executable: train\n" NOT_FOUND "Executable: train\n",
        RULE "mpirun was unable to\nThe Executable: train\nExecutable:\n" RULE,
        PRTE_NOT_FOUND NOT_FOUND,
    };
    struct missing_program found;

    CHECK_ROWS (row, rows) {
        CHECK(log_tail_missing_program(row->lines, &found));
        AUTO(mem) char *name = mem_strndup(found.name.ptr, found.name.len);
        AUTO(mem) char *host = mem_strndup(found.host.ptr, found.host.len);
        CHECK_STR_EQ(name, row->name);
        CHECK_STR_EQ(host, row->host);
        CHECK_INT_EQ(log_tail_last_line(row->lines).len, 0);
    }
    for (size_t i = 0; i < COUNT_OF(none); i++)
        CHECK(!log_tail_missing_program(none[i], &found));
}

#define TRACEBACK_OF(exception)                                                                              \
    "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    x: int = "                \
    "d[7]\n" exception "\n"
#define TRACEBACK TRACEBACK_OF("KeyError: 7")

#define FATAL                                                                                                \
    "[n:7] *** MPI_ERR_RANK: invalid rank\n"                                                                 \
    "[n:7] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"                       \
    "[n:7] ***    and potentially your MPI job)\n"
#define AGGREGATED                                                                                           \
    "[n:7] 3 more processes have sent help message help-mpi-errors.txt / mpi_errors_are_fatal\n"             \
    "[n:7] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages\n"

TEST(reports_of_mpirun_are_told_from_the_lines_of_a_program)
{
    static const struct {
        const char *lines, *own;
    } rows[] = {
        {"", ""},
        {"[1,3]<stdout>:epoch 7\n" SIGNALLED "over\n", "[1,3]<stdout>:epoch 7\nover\n"},
        {"cut\noff\n" RULE "[1,3]<stderr>:no\n" SIGNALLED, "[1,3]<stderr>:no\n"},
        {"no\n" ABORTED AGGREGATED, "no\n"},
        {NOT_FOUND, ""},
        {NOT_FOUND "over", "over"},
        /* a table of a program */
        {RULE "epoch  loss\n" RULE "1  0.5\n", RULE "epoch  loss\n" RULE "1  0.5\n"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *own = log_tail_without_reports(row->lines);

        CHECK_STR_EQ(own, row->own);
    }
}

TEST(the_last_line_is_the_last_one_with_text)
{
    static const struct {
        const char *lines, *last;
    } rows[] = {
        {NULL, ""},
        {"", ""},
        {"\n \n--\n", ""},
        {"one", "one"},
        {"one\n", "one"},
        {"Traceback:\n  File \"a\"\nValueError: no\n\n", "ValueError: no"},
        {"ORTE has ended\n------\n", "ORTE has ended"},
        /* an exception of Python, whatever its other stream has added below */
        {TRACEBACK "epoch 49\n", "KeyError: 7"},
        {"epoch 1\n" TRACEBACK "During handling of it, another occurred:\n" TRACEBACK_OF("a.b.Lost"),
         "a.b.Lost"},
        {TRACEBACK_OF("RuntimeError: load:\n\tMissing: fc\nNote: see the log"), "RuntimeError: load:"},
        {"  File \"a.py\", line 1\nKeyError: 7\nepoch 49\n", "epoch 49"}, /* its beginning is cut off */
        {"Traceback (most recent call last):\n  File \"a.py\"\n7 epochs\n", "7 epochs"},
        /* the failed rank's, never its neighbour's, and on standard error before standard output */
        {"[1,3]<stderr>:no data\n[1,3]<stdout>:epoch 7\n" SIGNALLED, "no data"},
        {"[1,3]<stderr>:warned\n[1,3]<stdout>:Traceback (most recent call last):\n[1,3]<stdout>:    raise "
         "Lost\n"
         "[1,3]<stdout>:Lost\n[1,3]<stdout>:over\n" SIGNALLED,
         "Lost"},
        {"[1,2]<stderr>:Traceback (most recent call last):\n[1,3]<stderr>:Other: 1\n[1,2]<stderr>:    pass\n"
         "[1,2]<stderr>:KeyError: 7\n[1,2]<stderr>:Exiting\n" EXITED,
         "KeyError: 7"},
        {"[1,3]<stderr>:no\n[1,3]<stdout>:\n[1,2]<stdout>:epoch 7\n" SIGNALLED, "no"},
        {"[1,3]<stdout>: epoch 6\n[1,2]<stderr>: ValueError: no\n" NORMAL "[1,0]<stdout>: epoch 7\n" EXITED,
         "ValueError: no"},
        {"[job@1,2][node1:77]<stderr>: no\n[job@1,1][node1:78]<stdout>: epoch 7\n" PRTE_SIGNALLED, "no"},
        {"[1,2]<stdout>:epoch 7\nover\n" SIGNALLED, ""},
        {SIGNALLED, ""}, /* a rank that printed nothing */
        /* an error of MPI, and what Open MPI adds to it */
        {"[1,2]<stderr>:[n:7] *** MPI_ERR_RANK: invalid rank\n[1,2]<stderr>:[n:7] *** MPI_ERRORS_ARE_FATAL "
         "(processes "
         "in this communicator will now abort,\n[1,2]<stderr>:[n:7] ***    and potentially your MPI "
         "job)\n" EXITED,
         "[n:7] *** MPI_ERR_RANK: invalid rank"},
        {FATAL AGGREGATED EXITED, "[n:7] *** MPI_ERR_RANK: invalid rank"},
        {"epoch 7\n" ABORTED AGGREGATED, "epoch 7"},
        /* ranks without tags, and what no rank printed */
        {"ValueError: no\n" PRTE_EXITED, "ValueError: no"},
        {"no partition\n[1,0]<stdout>:epoch 1\n" RULE "Primary job\n" RULE, "no partition"},
        {"[1,0]<stdout>:epoch 1\n" NOT_FOUND,
         "mpirun was unable to find the specified executable file, and therefore"},
        {"[2026-09-21T14:13:20] <stdin> is empty\n", "[2026-09-21T14:13:20] <stdin> is empty"},
        {RULE "mpirun was unable to\nlaunch\n" RULE, "mpirun was unable to"},
        {RULE
         "There are not enough slots available in the system to satisfy the 8\nslots that were requested by "
         "the application:\n\n  train\n\nEither request fewer slots for your application\n" RULE,
         "mpirun was asked for more processes than it has slots; set spec.launcher.slotsPerWorker to the "
         "number of "
         "processes of a worker"},
        {RULE "Open RTE was unable to open the hostfile:\n    /etc/mpi/hostfile\nCheck\n" RULE RULE
              "An internal error has occurred in ORTE:\n\n[[1,0],0] FORCE-TERMINATE\n" RULE,
         "mpirun cannot open the file of --hostfile; remove the option, mpirun finds the workers without it"},
        {RULE "PRTE was unable to open the hostfile:\n    h\n" RULE,
         "mpirun cannot open the file of --hostfile; remove the option, mpirun finds the workers without it"},
        {"cut\noff\n" RULE, "cut"},
        {RULE "one\n", "one"},
        {"epoch 1\r\n\tover \r\n", "over"},
        {"\repoch 1:   0%|     |\repoch 1:  95%|#### |\r", "epoch 1:  95%|#### |"},
        {"\repoch 1:   0%|\repoch 1:  95%|Traceback (most recent call last):\n  File a\nKeyError: 7\nend\n",
         "KeyError: 7"},
        {"[1,3]<stderr>:\r 5%|\r10%|\n" SIGNALLED, "10%|"},
        {"one\nżółw", "żółw"},
        {LONG LONG LONG LONG LONG "6", LONG LONG LONG LONG LONG},
        {LONG LONG LONG LONG "012345678901234567890123456789012345678ż", /* cut before, not inside */
         LONG LONG LONG LONG "012345678901234567890123456789012345678"},
    };

    CHECK_ROWS (row, rows) {
        struct slice line = log_tail_last_line(row->lines);
        AUTO(mem) char *text = mem_strndup(line.ptr, line.len);

        CHECK_STR_EQ(text, row->last);
    }
}
