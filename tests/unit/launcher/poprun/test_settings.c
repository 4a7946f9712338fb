#include "launcher/poprun/options/settings.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define WORDS 12

struct form {
    const char *argv[WORDS];
    const char *config; /* what it means, as a configuration file */
};

static const struct form forms[] = {
    {{"poprun", "echo", "Hello World"}, "program=echo\nprogram-arg=\"Hello World\"\n"},
    {{"poprun", "--num-replicas", "8", "--num-instances=4", "python3", "x.py", "--vv"},
     "num-replicas=8\nnum-instances=4\nprogram=python3\nprogram-arg=x.py\nprogram-arg=--vv\n"},
    {{"poprun", "--executable-cache-path=", "a"}, "executable-cache-path=\"\"\nprogram=a\n"},
    {{"poprun", "--executable-cache-path", "", "a"}, "executable-cache-path=\"\"\nprogram=a\n"},
    {{"poprun", "--num-instance", "2", "a"}, "num-instances=2\nprogram=a\n"},
    {{"poprun", "--host", "subnet", "a"}, "host=subnet\nprogram=a\n"},
    {{"poprun", "-vv", "a"}, "vv=yes\nprogram=a\n"},
    {{"poprun", "--vv", "--vv", "a"}, "vv=yes\nprogram=a\n"},
    {{"poprun", "-v", "a"}, "verbose=yes\nprogram=a\n"},
    {{"poprun", "-num-replicas=2", "a"}, "num-replicas=2\nprogram=a\n"},
    {{"poprun", "-host", "b", "a"}, "host=b\nprogram=a\n"},
    {{"poprun", "-H", "b,c", "a"}, "host=b,c\nprogram=a\n"},
    {{"poprun", "-Hb,c", "a"}, "host=b,c\nprogram=a\n"},
    {{"poprun", "-H=b", "a"}, "host=b\nprogram=a\n"},
    {{"poprun", "--host", "b", "a"}, "host=b\nprogram=a\n"}, /* --hostfile and --host-subnet begin so too */
    {{"poprun", "--", "-x", "--", "y"}, "program=-x\nprogram-arg=--\nprogram-arg=y\n"},
    {{"poprun", "--mpi-global-args", "--tag-output", "--mpi-global-args=--mca a b", "p"},
     "mpi-global-args=--tag-output\nmpi-global-args=\"--mca a b\"\nprogram=p\n"},
    {{"poprun", "--mpi-global-args=\n --mca a \"b\\c\"", "p"},
     "mpi-global-args=\"\\n --mca a \\\"b\\\\c\\\"\"\nprogram=p\n"},
    {{"poprun", "--offline-mode", "on", "--num-replicas", "4", "sh"},
     "offline-mode=on\nnum-replicas=4\nprogram=sh\n"},
};

static int count_of(const char *const *argv)
{
    int argc = 0;

    while (argc < WORDS && argv[argc])
        argc++;
    return argc;
}

static void read_words(const char *const *argv, struct settings *ret, struct strv *problems)
{
    AUTO(strv) struct strv copy = {0};

    for (int i = 0; i < count_of(argv); i++)
        strv_push(&copy, argv[i]);
    settings_read_words(ret, (int)copy.count, strv_argv(&copy), problems);
}

/* On record: the first word that is neither an option nor its value is the program, and all that follows
 * belongs to it; --opt value and --opt=value mean the same, and the value may be empty; a name may be cut
 * as long as it is unambiguous, as in --num-instance 1; -vv and --vv are one option; --mpi-global-args
 * may be repeated. */
TEST(words_become_settings_in_every_form)
{
    CHECK_ROWS (row, forms) {
        AUTO(settings) struct settings settings = {0};
        AUTO(strv) struct strv problems = {0};
        AUTO(str) struct str text = {0};

        read_words(row->argv, &settings, &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, NULL);
        settings_write(&settings, &text);
        CHECK_STR_EQ(str_text(&text), row->config);
    }
}

/* On record: the file may be copied to another host. */
TEST(what_is_written_is_read_again)
{
    CHECK_ROWS (row, forms) {
        AUTO(settings) struct settings settings = {0};
        AUTO(strv) struct strv problems = {0};
        AUTO(str) struct str text = {0};

        settings_read_file(&settings, slice_of(row->config), "x.conf", &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, NULL);
        settings_write(&settings, &text);
        CHECK_STR_EQ(str_text(&text), row->config);
    }
}

static const struct {
    const char *argv[WORDS];
    const char *problem;
} mistakes[] = {
    {{"poprun", "--num-replica", "2", "--h", "x"},
     "--h is ambiguous: --help, --host, --hostfile, --host-subnet"},
    {{"poprun", "--nmu-replicas=2", "x"}, "unknown option --nmu-replicas; did you mean --num-replicas?"},
    {{"poprun", "--qqqqqqqqqqqqqqqqq", "x"}, "unknown option --qqqqqqqqqqqqqqqqq; see poprun --help"},
    {{"poprun", "-z", "x"}, "unknown option --z"},
    {{"poprun", "-"}, "unknown option --"},
    {{"poprun", "--vv=yes", "x"}, "--vv takes no value"},
    {{"poprun", "--host"}, "--host requires a value: --host LIST"},
    {{"poprun", "--host", "--num-replicas=2", "x"}, "--host requires a value: --host LIST"},
    {{"poprun", "--num-replicas=2", "--num-replicas=4", "x"}, "--num-replicas is given more than once"},
    /* graphcore-research/making-efficientnet-more-efficient, README.md */
    {{"poprun", "--numa-aware=yes", "--ipus-per", "replica=4", "--num-instances=4", "python"},
     "unknown option --ipus-per replica=4; did you mean --ipus-per-replica=4?"},
    {{"poprun", "--vipu", "partition=p", "python"}, "did you mean --vipu-partition=p?"},
    {{"poprun", "--num", "instances", "2", "python"}, "did you mean --num-instances?"},
    /* graphcore/examples, applications/pytorch/dino/training_scripts/vit_base_pod256.sh: the second one is
     * the partition. */
    {{"poprun", "--vipu-server-host=10.1.3.101", "--vipu-server-host=pod256", "--vipu-partition=pod256", "a"},
     "--vipu-server-host is given more than once, as \"10.1.3.101\" and \"pod256\"; keep one of them"},
    /* graphcore/popart, docs/popxl/distributed.rst */
    {{"poprun", "--num_replicas=2", "a"}, "unknown option --num_replicas; did you mean --num-replicas?"},
    /* graphcore/examples, a README of BERT that explains poprun's options */
    {{"poprun", "--ipus-per-replicas=4", "a"},
     "unknown option --ipus-per-replicas; did you mean --ipus-per-replica?"},
    /* graphcore/examples, BERT for TensorFlow (run_pretraining.py) names the option so */
    {{"poprun", "--mpi_local_args=-x A", "a"},
     "unknown option --mpi_local_args; did you mean --mpi-local-args?"},
    /* graphcore/examples, a script of the CNNs for TensorFlow 2: $TF_POPLAR_FLAGS among poprun's options */
    {{"poprun", "--executable_cache_path=/c", "a"},
     "unknown option --executable_cache_path; did you mean --executable-cache-path?"},
    {{"poprun", "--instances=2", "a"}, "unknown option --instances; did you mean --num-instances?"},
    {{"poprun", "--mca", "btl_tcp_if_include", "eno1", "a"},
     "--mca is an option of mpirun; with poprun use --mpi-global-args=\"--mca NAME VALUE\""},
    {{"poprun", "-x", "PATH", "a"},
     "-x is an option of mpirun; with poprun use --mpi-local-args=\"-x NAME=value\""},
    {{"poprun", "-np", "4", "a"}, "--np is an option of mpirun; with poprun use --num-instances"},
    {{"poprun", "-n", "4", "a"}, "-n is an option of mpirun; with poprun use --num-instances"},
};

TEST(mistakes_in_words_are_named)
{
    CHECK_ROWS (row, mistakes) {
        AUTO(settings) struct settings settings = {0};
        AUTO(strv) struct strv problems = {0};

        read_words(row->argv, &settings, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->problem);
    }
}

TEST(all_mistakes_are_reported_at_once)
{
    static const char *const argv[WORDS] = {"poprun", "--nope", "--vv=1", "--host"};
    AUTO(settings) struct settings settings = {0};
    AUTO(strv) struct strv problems = {0};

    read_words(argv, &settings, &problems);
    CHECK_INT_EQ(problems.count, 3);
}

TEST(a_file_may_have_comments_blanks_and_line_ends_of_windows)
{
    static const char file[] = "# training\n"
                               "\r\n"
                               "  num-replicas = 8  # two for each\r\n"
                               "vipu-partition=p#1\n"
                               "autoreport-dir = \"/a b\" # c\n"
                               "program=a";
    AUTO(settings) struct settings settings = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    settings_read_file(&settings, slice_of(file), "x.conf", &problems);
    CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, NULL);
    settings_write(&settings, &text);
    CHECK_STR_EQ(str_text(&text), "num-replicas=8\n"
                                  "vipu-partition=\"p#1\"\n"
                                  "autoreport-dir=\"/a b\"\n"
                                  "program=a\n");
}

static const struct {
    const char *file, *problem;
} bad_files[] = {
    {"\nnum-replicas", "x.conf: line 2: expected name=value, got \"num-replicas\""},
    {"nmu-replicas=2", "x.conf: line 1: unknown setting \"nmu-replicas\"; did you mean num-replicas?"},
    /* files hold whole names */
    {"num-replica=2", "x.conf: line 1: unknown setting \"num-replica\"; did you mean num-replicas?"},
    {"qqqqqqqqq=2", "x.conf: line 1: unknown setting \"qqqqqqqqq\""},
    {"export-config=y", "x.conf: line 1: unknown setting \"export-config\""},
    {"host=\"a", "x.conf: line 1: host: unclosed quotes"},
    {"host=\"a\\", "x.conf: line 1: host: unclosed quotes"},
    {"host=\"a\"b", "x.conf: line 1: host: unclosed quotes"},
    {"program-arg=a", "x.conf: line 1: program= must come before its arguments"},
    {"program=a\nprogram=b", "x.conf: line 2: program is given more than once"},
    {"host=a\nhost=b",
     "x.conf: line 2: --host is given more than once, as \"a\" and \"b\"; keep one of them"},
};

TEST(mistakes_in_a_file_are_named_with_their_line)
{
    CHECK_ROWS (row, bad_files) {
        AUTO(settings) struct settings settings = {0};
        AUTO(strv) struct strv problems = {0};

        settings_read_file(&settings, slice_of(row->file), "x.conf", &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_STR_EQ(problems.items[0], row->problem);
    }
}

TEST(a_file_is_text_and_has_a_limit)
{
    AUTO(settings) struct settings settings = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(mem) char *large = mem_alloc(SETTINGS_FILE_MAX + 1);

    settings_read_file(&settings, SLICE_LIT("host=a\0b"), "x.conf", &problems);
    CHECK_INT_EQ(problems.count, 1);
    for (size_t i = 0; i <= SETTINGS_FILE_MAX; i++)
        large[i] = '\n';
    settings_read_file(&settings, (struct slice){large, SETTINGS_FILE_MAX + 1}, "x.conf", &problems);
    CHECK_INT_EQ(problems.count, 2);
    settings_read_file(&settings, (struct slice){large, SETTINGS_FILE_MAX}, "x.conf", &problems);
    CHECK_INT_EQ(problems.count, 2);
}

/* PopRun user guide 2.9: the command line is stronger, and a program brings its own arguments. On record:
 * the command line beats the file option by option; a program on the command line comes with its own
 * arguments. */
TEST(the_command_line_is_laid_over_the_file)
{
    static const char *const argv[WORDS] = {"poprun",  "--num-instances=4", "--mpi-local-args=-x C",
                                            "python3", "train.py",          "--hyper-param=1"};
    AUTO(settings) struct settings lower = {0}, upper = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};

    settings_read_file(&lower,
                       slice_of("num-instances=2\nnum-replicas=32\nmpi-local-args=\"-x A\"\n"
                                "mpi-local-args=\"-x B\"\nprogram=python3\nprogram-arg=train.py\n"),
                       "training.conf", &problems);
    read_words(argv, &upper, &problems);
    settings_overlay(&lower, &upper);
    settings_write(&lower, &text);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_STR_EQ(str_text(&text), "num-replicas=32\nnum-instances=4\nmpi-local-args=\"-x C\"\n"
                                  "program=python3\nprogram-arg=train.py\nprogram-arg=--hyper-param=1\n");
}

TEST(a_file_alone_brings_its_program)
{
    static const char *const argv[WORDS] = {"poprun", "--import-config", "training.conf"};
    AUTO(settings) struct settings lower = {0}, upper = {0};
    AUTO(strv) struct strv problems = {0};

    settings_read_file(&lower, slice_of("program=a\nprogram-arg=b\n"), "training.conf", &problems);
    read_words(argv, &upper, &problems);
    settings_overlay(&lower, &upper);
    CHECK_INT_EQ(lower.program.count, 2);
    CHECK(settings_has(&lower, option_find("import-config")));
}
