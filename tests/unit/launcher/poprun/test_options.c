#include "launcher/poprun/options/options.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void fill(const char *config, struct poprun_options *ret, struct strv *problems)
{
    AUTO(settings) struct settings settings = {0};

    settings_read_file(&settings, slice_of(config), "x.conf", problems);
    poprun_options_fill(&settings, ret, problems);
}

/* On record: --num-replicas is the number of all instances together, 1 unless given; --ipus-per-replica
 * is 1 unless given; --num-instances counts host processes; --vipu-server-port is 8090 unless given;
 * --vipu-server-timeout is in seconds for each request, 120 unless given. */
TEST(defaults_are_those_of_the_guide)
{
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0};

    fill("", &options, &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_INT_EQ(options.num_replicas, 1);
    CHECK_INT_EQ(options.ipus_per_replica, 1);
    CHECK_INT_EQ(options.num_instances, 1);
    CHECK_INT_EQ(options.num_ilds, 0);
    CHECK_INT_EQ(options.vipu_server_port, 8090);
    CHECK_INT_EQ(options.vipu_server_timeout_s, 120);
    CHECK_INT_EQ(options.vipu_partition_attempts, 1);
    CHECK(!options.update_partition);
    CHECK(options.remove_partition);
    CHECK(options.allow_run_as_root);
    CHECK(!options.offline_mode);
    CHECK_STR_EQ(options.executable_cache_path, NULL);
    CHECK_INT_EQ(poprun_placement(&options), PLACEMENT_SPREAD_NUMA);
}

static const struct {
    const char *text;
    bool on;
} answers[] = {{"yes", true}, {"1", true},  {"on", true},   {"true", true},   {"YES", true}, {"True", true},
               {"no", false}, {"0", false}, {"off", false}, {"false", false}, {"Off", false}};

/* On record: a yes/no value is also 1/0, on/off, true/false. */
TEST(a_bool_has_four_forms)
{
    CHECK_ROWS (row, answers) {
        AUTO(mem) char *offline = mem_printf("offline-mode=%s\n", row->text);
        AUTO(mem) char *root = mem_printf("allow-run-as-root=%s\n", row->text);
        AUTO(poprun_options) struct poprun_options first = {0}, second = {0};
        AUTO(strv) struct strv problems = {0};

        fill(offline, &first, &problems);
        fill(root, &second, &problems);
        CHECK_INT_EQ(problems.count, 0);
        CHECK_INT_EQ(first.offline_mode, row->on);
        CHECK_INT_EQ(second.allow_run_as_root, row->on);
        CHECK(poprun_is_given(&first, "offline-mode"));
        CHECK(!poprun_is_given(&first, "allow-run-as-root"));
    }
}

static const struct {
    const char *config, *problem;
} bad_values[] = {
    {"print-topology=python3",
     "--print-topology: expected yes or no, got \"python3\"; use --print-topology=yes"},
    {"offline-mode=", "--offline-mode: expected yes or no, got \"\""},
    {"num-replicas=0", "--num-replicas: expected a number from 1 to 65536, got \"0\""},
    {"num-replicas=-1", "--num-replicas: expected a number from 1 to 65536, got \"-1\""},
    {"num-replicas=4x", "--num-replicas: expected a number from 1 to 65536, got \"4x\""},
    /* --num-replicas=$REPLICAS, and the variable is not set */
    {"num-replicas=", "got \"\"; is a variable of your script empty?"},
    {"process-placement=", "got \"\"; is a variable of your script empty?"},
    {"num-instances=5000", "--num-instances: expected a number from 1 to 4096, got \"5000\""},
    {"vipu-server-port=65536", "--vipu-server-port: expected a number from 1 to 65535, got \"65536\""},
    {"process-placement=near",
     "expected one of spreadnuma, scattersocket, scatternuma, close, disabled, got \"near\""},
};

TEST(a_value_that_does_not_fit_is_named)
{
    CHECK_ROWS (row, bad_values) {
        AUTO(poprun_options) struct poprun_options options = {0};
        AUTO(strv) struct strv problems = {0};

        fill(row->config, &options, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(a_value_in_a_file_is_named_with_its_line_and_hides_no_contradiction)
{
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0};

    fill("host=a\nnum-replicas=three\nhostfile=b", &options, &problems);
    CHECK_INT_EQ(problems.count, 2);
    CHECK_STR_EQ(problems.items[0],
                 "x.conf: line 2: --num-replicas: expected a number from 1 to 65536, got \"three\"");
    CHECK_STR_EQ(problems.items[1], "--host and --hostfile cannot be used at the same time");
}

static const struct {
    const char *config, *problem;
} contradictions[] = {
    {"num-replicas=5\nnum-instances=2",
     "--num-replicas=5 cannot be divided evenly among --num-instances=2; use a multiple of 2"},
    {"host=a\nhostfile=b", "--host and --hostfile cannot be used at the same time"},
    {"process-placement=close\nnuma-aware=no",
     "--process-placement and --numa-aware cannot be used at the same time"},
    {"vipu-cluster=a\nvipu-allocation=b",
     "--vipu-cluster and --vipu-allocation cannot be used at the same time"},
    {"num-replicas=2\nnum-instances=2\nonly-output-from-instance=2",
     "--only-output-from-instance=2: expected an instance from 0 to 1"},
    {"synchronise-python-venv=yes",
     "--synchronise-python-venv is not supported; put the environment on a shared"},
    {"synchronise-poplar-sdk=yes", "--synchronise-poplar-sdk is not supported"},
    {"distribute-ssh-key=yes", "--distribute-ssh-key is not supported; run ssh-copy-id HOST"},
    {"mpi-global-args=\"-x 'A\"", "--mpi-global-args: unclosed quotes in: 'A"},
    /* graphcore/examples, applications/pytorch/vit/README_Benchmarks.md, where TCP_IF_INCLUDE is not set */
    {"mpi-global-args=\"--mca oob_tcp_if_include --mca btl_tcp_if_include 10.5.0.0/16\"",
     "options for mpirun: no value behind oob_tcp_if_include; is a variable of your script empty?"},
    {"mpi-global-args=\"--mca oob_tcp_if_include 10.5.0.0/16 --mca btl_tcp_if_include\"",
     "options for mpirun: no value behind btl_tcp_if_include; is a variable of your script empty?"},
    {"mpi-local-args=\"-x --tag-output\"", "options for mpirun: no value behind -x; is a variable"},
    {"mpi-local-args=\"POPLAR_LOG_LEVEL=WARN\"",
     "options for mpirun: \"POPLAR_LOG_LEVEL=WARN\" is not an option; put -x before it"},
    {"mpi-local-args=\"-x A=1 B=2\"", "options for mpirun: \"B=2\" is not an option; put -x before it"},
    {"mpi-local-args=\"-x PATH LD_LIBRARY_PATH\"",
     "options for mpirun: \"LD_LIBRARY_PATH\" is not an option; put -x before it"},
    {"mpi-global-args=\"--mca a b c --bind-to socket\"", "options for mpirun: \"c\" is not an option"},
    /* graphcore/examples, applications/pytorch/bert/README_Benchmarks.md */
    {"mpi-global-args=\"--allow-run-as-root \\\\git add --mca btl_tcp_if_include 10.5.0.0/16\"",
     "options for mpirun: \"\\git\" is not an option; remove the backslash, or the space behind it"},
    /* graphcore/examples, applications/tensorflow/cnns/training/README.md: a space behind the backslash */
    {"mpi-global-args=\"--mca oob_tcp_if_include 10.10.0.0/16 \\\\ \\n --tag-output\"",
     "options for mpirun: \" \" is not an option; remove the backslash, or the space behind it"},
    {"mpi-local-args=\"-x A : -np 1 b\"", "options for mpirun must not contain a lone colon"},
    {"instance-mpi-local-args=\"-x A=1\"", "expected an instance from 0 to 0 and a colon, got \"-x A=1\""},
    {"instance-mpi-local-args=\"1:-x A=1\"",
     "expected an instance from 0 to 0 and a colon, got \"1:-x A=1\""},
};

/* On record: hosts come from one of the two, not from both; replicas are divided evenly among the
 * instances, or the launch is refused; scripts pass --synchronise-python-venv, --synchronise-poplar-sdk
 * and --distribute-ssh-key. */
TEST(contradictions_are_rejected)
{
    AUTO(strv) struct strv program = {0};

    strv_push(&program, "a");
    CHECK_ROWS (row, contradictions) {
        AUTO(poprun_options) struct poprun_options options = {0};
        AUTO(strv) struct strv problems = {0};

        fill(row->config, &options, &problems);
        poprun_options_check(&options, &program, no_variable, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->problem);
    }
}

/* On record: --import-config and --export-config together are refused. */
TEST(a_file_cannot_be_imported_and_exported_at_once)
{
    AUTO(settings) struct settings settings = {0};
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0}, words = {0};

    strv_push(&words, "poprun");
    strv_push(&words, "--import-config=a");
    strv_push(&words, "--export-config=b");
    strv_push(&words, "p");
    settings_read_words(&settings, (int)words.count, strv_argv(&words), &problems);
    poprun_options_fill(&settings, &options, &problems);
    poprun_options_check(&options, &settings.program, no_variable, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_STR_EQ(problems.items[0], "--import-config and --export-config cannot be used at the same time");
}

/* On record: a backslash that a script forgot leaves poprun without a program. */
TEST(a_missing_program_is_explained)
{
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0}, program = {0};

    fill("", &options, &problems);
    poprun_options_check(&options, &program, no_variable, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "no program given");
}

/* A backslash with a space behind it, at the end of a line. */
TEST(a_blank_is_no_program)
{
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0}, program = {0};

    fill("mpi-global-args=\"--mca btl_base_verbose -1 --mca btl ^openib\"", &options, &problems);
    strv_push(&program, " ");
    poprun_options_check(&options, &program, no_variable, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "no program given");
    CHECK_HAS(problems.items[0], "or a space behind it");
}

static const char *cache_variable(const char *name)
{
    return strcmp(name, "PYTORCH_EXE_DIR") == 0 ? "/tmp/c" : NULL;
}

TEST(a_word_that_cannot_be_a_program_gets_a_hint)
{
    static const struct {
        char *word;
        const char *problem;
    } rows[] = {
        /* graphcore/examples, applications/tensorflow/cnns/training/README.md: "\\ --vipu-partition=..." */
        {" --vipu-partition=p",
         "\" --vipu-partition=p\" is not a program: remove the backslash, or the quote, before the space"},
        {"time=1", "\"time=1\" is not a program: put the variable before poprun (in a script, check for a "
                   "backslash too many at the end of the line before)"},
        {"/opt/a=b", NULL},
        {"1=2", NULL},
        /* mlcommons/training_results_v2.0, Graphcore/benchmarks/resnet/implementations/tensorflow/README.md:
         * "--ipus-per-replica 4 \\ python3 train.py" */
        {" python3", "\" python3\" is not a program: remove the backslash, or the quote, before the space"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(poprun_options) struct poprun_options options = {0};
        AUTO(strv) struct strv problems = {0}, program = {0};

        fill("", &options, &problems);
        strv_push(&program, row->word);
        poprun_options_check(&options, &program, no_variable, &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, row->problem);
    }
}

/* graphcore/examples, applications/pytorch/vit/README_Benchmarks.md: --executable-cache-path PYTORCH_EXE_DIR
 */
TEST(a_value_that_is_the_name_of_a_variable_gets_a_hint)
{
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0}, hints = {0};

    fill("executable-cache-path=PYTORCH_EXE_DIR\nhost=A\nautoreport-dir=/PYTORCH_EXE_DIR", &options,
         &problems);
    poprun_options_hint(&options, no_variable, &hints);
    CHECK_INT_EQ(hints.count, 0);
    poprun_options_hint(&options, cache_variable, &hints);
    CHECK_INT_EQ(hints.count, 1);
    CHECK_STR_EQ(hints.items[0],
                 "--executable-cache-path=PYTORCH_EXE_DIR is the name of a variable; did you mean "
                 "$PYTORCH_EXE_DIR?");
}

static const char *engine_directory(const char *name)
{
    return strcmp(name, "POPLAR_ENGINE_OPTIONS") == 0 ? "{\"autoReport.directory\":\"/a\"}" : NULL;
}

static const char *engine_memory(const char *name)
{
    return strcmp(name, "POPLAR_ENGINE_OPTIONS") == 0 ? "{\"allowOutOfMemory\":\"true\"}" : NULL;
}

/* The shell takes the inner quotes of the guide's example away. */
#define LOCAL_DIRECTORY "-x POPLAR_ENGINE_OPTIONS={autoReport.directory:/a}"

static const struct {
    const char *config;
    const char *(*env)(const char *);
    bool rejected;
} reports[] = {
    {"autoreport-dir=/b", no_variable, false},
    {"autoreport-dir=/b", engine_memory, false},
    {"autoreport-dir=/b", engine_directory, true},
    {"", engine_directory, false},
    {"autoreport-dir=/b\nmpi-local-args=\"" LOCAL_DIRECTORY "\"", no_variable, true},
    {"autoreport-dir=/b\ninstance-mpi-local-args=\"0:" LOCAL_DIRECTORY "\"", no_variable, true},
    {"autoreport-dir=/b\nmpi-local-args=\"-x POPLAR_ENGINE_OPTIONS={}\"", no_variable, false},
};

/* On record: they are found in the environment, in --mpi-local-args and in --instance-mpi-local-args. */
TEST(two_directories_for_reports_are_rejected_with_the_recorded_text)
{
    AUTO(strv) struct strv program = {0};

    strv_push(&program, "a");
    CHECK_ROWS (row, reports) {
        AUTO(poprun_options) struct poprun_options options = {0};
        AUTO(strv) struct strv problems = {0};

        fill(row->config, &options, &problems);
        poprun_options_check(&options, &program, row->env, &problems);
        CHECK_INT_EQ(problems.count, row->rejected ? 1 : 0);
        if (row->rejected)
            CHECK_STR_EQ(problems.items[0], "autoreport-dir command line argument cannot be specified when "
                                            "POPLAR_ENGINE_OPTIONS contains autoReport.directory setting.");
    }
}

static const char *poptorch_cache(const char *name)
{
    return strcmp(name, "POPTORCH_CACHE_DIR") == 0 ? "/c" : NULL;
}

/* On record: a framework's own cache variable and --executable-cache-path must not be given together. */
TEST(two_caches_are_rejected)
{
    AUTO(strv) struct strv program = {0}, problems = {0};
    AUTO(poprun_options) struct poprun_options options = {0}, plain = {0};

    strv_push(&program, "a");
    fill("executable-cache-path=/d", &options, &problems);
    fill("", &plain, &problems);
    poprun_options_check(&plain, &program, poptorch_cache, &problems);
    CHECK_INT_EQ(problems.count, 0);
    poprun_options_check(&options, &program, poptorch_cache, &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "POPTORCH_CACHE_DIR");
}

/* On record: --numa-aware is the older form of it. */
TEST(the_older_form_of_placement_counts)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(poprun_options) struct poprun_options off = {0}, on = {0}, close = {0};

    fill("numa-aware=no", &off, &problems);
    fill("numa-aware=yes", &on, &problems);
    fill("process-placement=close", &close, &problems);
    CHECK_INT_EQ(poprun_placement(&off), PLACEMENT_DISABLED);
    CHECK_INT_EQ(poprun_placement(&on), PLACEMENT_SPREAD_NUMA);
    CHECK_INT_EQ(poprun_placement(&close), PLACEMENT_CLOSE);
}
