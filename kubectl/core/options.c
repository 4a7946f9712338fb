#include "kubectl/core/options.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/options/opts_man.h"
#include "base/text/suggest.h"

#define AT(field) offsetof(struct options, field)

static const char *const TABLE_FORMATS[] = {"table", "wide", "json", "name", NULL};
static const char *const REPORT_FORMATS[] = {"table", "wide", "json", NULL};
const char *const page_addresses[] = {"127.0.0.1", "::1", NULL};
static const char *const COLORS[] = {"auto", "always", "never", NULL};

#define ACCESS_ROWS                                                                                          \
    OPT_VALUE("namespace", OPT_STR, AT(ns), "NAME", "Namespace; default: namespace of the context",          \
              .letter = 'n'),                                                                                \
        OPT_VALUE("context", OPT_STR, AT(context), "NAME", "Context of the kubeconfig"),                     \
        OPT_VALUE(                                                                                           \
            "kubeconfig", OPT_STR, AT(kubeconfig), "FILE",                                                   \
            "Kubeconfig file; default: KUBECONFIG, then ~/.kube/config, then the pod's service account")
#define COLOR_ROW                                                                                            \
    OPT_VALUE("color", OPT_CHOICE, AT(color), "WHEN",                                                        \
              "Whether to use colors; auto: on a terminal, unless NO_COLOR is set", .fallback = "auto",      \
              .choices = COLORS)
#define FORMAT_ROW(formats, text)                                                                            \
    OPT_VALUE("output", OPT_CHOICE, AT(output), "FORMAT", text, .letter = 'o', .fallback = "table",          \
              .choices = (formats))
#define ALL_ROW                                                                                              \
    {                                                                                                        \
        .flag = "all-namespaces", .letter = 'A', .type = OPT_FLAG, .offset = AT(all_namespaces),             \
        .help = "Show the jobs of all namespaces"                                                            \
    }
#define WATCH_ROW                                                                                            \
    {                                                                                                        \
        .flag = "watch", .letter = 'w', .type = OPT_FLAG, .offset = AT(watch),                               \
        .help = "Go on and show what changes"                                                                \
    }
#define LIST_ROWS                                                                                            \
    ALL_ROW, FORMAT_ROW(TABLE_FORMATS, "Format of the output"),                                              \
        OPT_SWITCH("no-headers", AT(no_headers), "Leave out the titles of the columns"), WATCH_ROW

static const struct opt WHY_ROWS[] = {
    FORMAT_ROW(REPORT_FORMATS, "Format of the output; wide shows all pods"), COLOR_ROW, ACCESS_ROWS, {0}};
static const struct opt ETA_ROWS[] = {
    FORMAT_ROW(REPORT_FORMATS, "Format of the output; wide shows since when that is expected"),
    ACCESS_ROWS,
    {0}};
static const struct opt WHATIF_ROWS[] = {
    OPT_VALUE("ipus", OPT_U32, AT(ipus), "NUMBER", "Only this number of IPUs of an instance; 0: all sizes",
              .fallback = "0", .max = UINT32_MAX),
    OPT_VALUE("for", OPT_STR, AT(span), "DURATION",
              "Deadline of the new job, such as 90m or 2h; default: that of JOB, or none"),
    FORMAT_ROW(REPORT_FORMATS, "Format of the output; wide shows all V-IPU controllers"),
    COLOR_ROW,
    ACCESS_ROWS,
    {0}};
static const struct opt LIST_OPTIONS[] = {LIST_ROWS, COLOR_ROW, ACCESS_ROWS, {0}};
static const struct opt LOGS_ROWS[] = {
    {.flag = "follow",
     .letter = 'f',
     .type = OPT_FLAG,
     .offset = AT(follow),
     .help = "Go on with new lines, also of new pods, until the job has finished"},
    {.flag = "previous",
     .letter = 'p',
     .type = OPT_FLAG,
     .offset = AT(previous),
     .help = "Show the last lines of the attempt before the last restart"},
    OPT_VALUE("instance", OPT_STR, AT(instance), "INDEX", "Only this instance"),
    OPT_VALUE("rank", OPT_STR, AT(rank), "INDEX",
              "Only this worker of each instance; \"launcher\": only launchers"),
    {.flag = "container",
     .letter = 'c',
     .type = OPT_STR,
     .offset = AT(container),
     .arg = "NAME",
     .help = "Container, also an init container or a sidecar; default: the pod's first"},
    OPT_VALUE("since", OPT_STR, AT(since), "DURATION", "Only lines of this last time, such as 90s or 1h30m"),
    OPT_VALUE("tail", OPT_U32, AT(tail), "LINES", "Only this many last lines of each rank; 0: all",
              .fallback = "0", .max = UINT32_MAX),
    OPT_SWITCH("timestamps", AT(timestamps), "Show the time of each line"),
    OPT_VALUE("max-streams", OPT_U32, AT(max_streams), "NUMBER",
              "Ranks that are read at the same time; with --follow the others are left out", .fallback = "64",
              .min = 1, .max = 1000),
    FORMAT_ROW(REPORT_FORMATS, "Format of the output; json prints an object for each line"),
    COLOR_ROW,
    ACCESS_ROWS,
    {0}};
static const struct opt MAP_ROWS[] = {
    OPT_VALUE("domain", OPT_STR, AT(domain), "NAME", "Only this IPU-Link domain"),
    WATCH_ROW,
    FORMAT_ROW(REPORT_FORMATS, "Format of the output; wide draws a domain in one line, and adds versions"),
    COLOR_ROW,
    ACCESS_ROWS,
    {0}};
static const struct opt UI_ROWS[] = {
    ALL_ROW,
    OPT_VALUE("port", OPT_U32, AT(port), "PORT", "Port of the page; 0: any free one", .fallback = "0",
              .max = UINT16_MAX),
    OPT_VALUE("address", OPT_CHOICE, AT(address), "ADDRESS", "Loopback address of the page",
              .fallback = "127.0.0.1", .choices = page_addresses),
    OPT_VALUE("max-streams", OPT_U32, AT(max_streams), "NUMBER",
              "Ranks of a job whose logs a page gets; the others are left out", .fallback = "64", .min = 1,
              .max = 1000),
    ACCESS_ROWS,
    {0}};
static const struct opt PATCH_ROWS[] = {ACCESS_ROWS, {0}};
static const struct opt RELEASE_ROWS[] = {
    {.flag = "yes", .letter = 'y', .type = OPT_FLAG, .offset = AT(yes), .help = "Do not ask"},
    ACCESS_ROWS,
    {0}};
static const struct opt COLLECT_ROWS[] = {
    {.flag = "file",
     .letter = 'f',
     .type = OPT_STR,
     .offset = AT(file),
     .arg = "FILE",
     .help = "The archive, which must not exist; \"-\": standard output; default: "
             "ipu-operator-support-TIME.tar.gz here"},
    ACCESS_ROWS,
    {0}};
static const struct opt NO_ROWS[] = {{0}};

#define VERB(name_, usage_, summary_, words_, rows_, about_)                                                 \
    {                                                                                                        \
        .name = (name_), .summary = (summary_), .words = (words_), .spec = {                                 \
            .program = "kubectl ipu " name_,                                                                 \
            .usage = "kubectl ipu " name_ usage_,                                                            \
            .about = (about_),                                                                               \
            .rows = (rows_),                                                                                 \
            .once = true,                                                                                    \
        }                                                                                                    \
    }

const struct verb verbs[] = {
    VERB("why", " JOB [options]", "Explain why a job is in its state, and what to do", WORDS_JOB, WHY_ROWS,
         "Explains from the job, its pods and their events why the job waits, does not start, fails or is "
         "slow, "
         "and what to do. Shows only what is out of the ordinary."),
    VERB("eta", " JOB [options]", "Tell when a job will start or end", WORDS_JOB, ETA_ROWS,
         "Tells when a job that waits for IPUs is expected to start, and what that rests on; of a job that "
         "runs, when it ends, as its program reports and by its limit of time."),
    VERB("whatif", " [JOB] [options]", "Tell when a new job would start, by its size", WORDS_MAYBE_JOB,
         WHATIF_ROWS,
         "Tells for each number of IPUs when a new job of one instance and ordinary priority would start, at "
         "which V-IPU controller, and with which deadline it would start now. With JOB, also when that job "
         "starts: compare it with a smaller one."),
    VERB("queue", " [options]", "List the jobs that wait for IPUs, in their order", WORDS_NONE, LIST_OPTIONS,
         "Lists the jobs that wait for IPUs, by V-IPU controller and position. Without -n and -A, shows all "
         "namespaces if you may list their jobs, else the namespace of the context."),
    VERB("logs", " JOB [options]", "Print the logs of all ranks of a job", WORDS_JOB, LOGS_ROWS,
         "Prints the logs of all pods of a job in whole lines. Each begins with its rank: [0.3] is worker 3 "
         "of "
         "instance 0."),
    VERB("top", " [options]", "List the jobs that hold IPUs", WORDS_NONE, LIST_OPTIONS,
         "Lists the jobs that hold IPUs, those with the most IPUs first."),
    VERB(
        "map", " [options]", "Show which job holds which IPUs", WORDS_NONE, MAP_ROWS,
        "Draws the IPUs of each V-IPU controller by IPU-Link domain: a letter for each job, \".\" for a free "
        "IPU. Which names are shown is the admin's choice."),
    VERB(
        "ui", " [options]", "Serve a live page on this machine for your browser", WORDS_NONE, UI_ROWS,
        "Serves a page with the map of all IPUs, the queue, and each job with its logs, on a loopback "
        "address. "
        "Prints a URL that works once, for one browser, and runs until it is interrupted. Without -n and -A, "
        "shows all namespaces if you may list their jobs, else the namespace of the context."),
    VERB("suspend", " JOB... [options]", "Suspend jobs: release their IPUs, keep the jobs", WORDS_JOBS,
         PATCH_ROWS, "Sets spec.suspend: the pods of the jobs end, and their IPUs are released."),
    VERB("resume", " JOB... [options]", "Resume suspended jobs", WORDS_JOBS, PATCH_ROWS,
         "Sets spec.suspend to false: the jobs queue for IPUs again and start again."),
    VERB(
        "release", " JOB [PARTITION...] [options]", "Release held partitions of a job at once",
        WORDS_JOB_PARTITIONS, RELEASE_ROWS,
        "Confirms that no process of the job uses its held partitions any more, so that their IPUs are "
        "released "
        "at once. A partition is held when a pod disappeared without a sign that its processes have ended. "
        "If "
        "one still runs, it loses its IPUs in the middle of its work. Without PARTITION: all that are held."),
    VERB("collect", " [options]", "Collect what support needs into one archive, without secrets", WORDS_NONE,
         COLLECT_ROWS,
         "Writes a tar.gz archive with the jobs, their pods and events, the VIPUControllers, the nodes, and "
         "the "
         "operator's partitions, lease and logs, as far as you may read them. Secrets, values of variables, "
         "words "
         "of commands and logs of jobs are left out. Without -n: of all namespaces if you may list their "
         "jobs, "
         "else of the namespace of the context."),
    VERB("version", "", "Print the version", WORDS_NONE, NO_ROWS, "Prints the version."),
    {0},
};

const struct verb *verb_find(const char *name)
{
    for (const struct verb *verb = verbs; verb->name; verb++) {
        if (str_eq(verb->name, name))
            return verb;
    }
    return NULL;
}

static bool is_kind(const char *word, size_t len)
{
    static const char *const kinds[] = {"ij", "ipujob", "ipujobs", "ipujob.graphcore.ai",
                                        "ipujobs.graphcore.ai"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strlen(kinds[i]) == len && strncmp(word, kinds[i], len) == 0)
            return true;
    }
    return false;
}

/* "ij NAME", as kubectl takes it. A job may have such a name: then it is the only word. */
static void drop_kind(struct strv *words)
{
    if (words->count < 2 || !is_kind(words->items[0], strlen(words->items[0])))
        return;
    mem_free(words->items[0]);
    memmove(words->items, words->items + 1, --words->count * sizeof(*words->items));
}

/* As kubectl takes and prints it: without its kind. Only characters of a name are left, so that it cannot
 * address a subresource or be more than one value of a selector. NULL: it is none. */
static char *job_name_new(const char *word)
{
    const char *slash = strchr(word, '/');

    if (slash && is_kind(word, (size_t)(slash - word)))
        word = slash + 1;
    if (!*word || *word == '.' || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-.")])
        return NULL;
    return mem_strdup(word);
}

static void read_job_names(const struct verb *verb, struct strv *words, struct strv *problems)
{
    size_t count = verb->words == WORDS_NONE ? 0 : verb->words == WORDS_JOBS ? words->count : 1;

    for (size_t i = 0; i < count && i < words->count; i++) {
        char *name = job_name_new(words->items[i]);

        if (!name) {
            strv_pushf(problems, "JOB must be the name of an IPUJob, got \"%s\"; see kubectl get ipujobs",
                       words->items[i]);
            continue;
        }
        mem_free(words->items[i]);
        words->items[i] = name;
    }
}

void verb_read_words(const struct verb *verb, struct strv *words, struct strv *problems)
{
    size_t max = verb->words == WORDS_NONE                                    ? 0
                 : verb->words == WORDS_JOB || verb->words == WORDS_MAYBE_JOB ? 1
                                                                              : SIZE_MAX;

    if (max > 0)
        drop_kind(words);
    if (max > 0 && verb->words != WORDS_MAYBE_JOB && words->count == 0)
        strv_pushf(problems, "missing name of the job; see kubectl ipu %s --help", verb->name);
    for (size_t i = max; i < words->count; i++)
        strv_pushf(problems, "unexpected argument \"%s\"; see kubectl ipu %s --help", words->items[i],
                   verb->name);
    read_job_names(verb, words, problems);
}

void verbs_help(struct str *out)
{
    str_adds(out, "Usage: kubectl ipu VERB [options]\n\n"
                  "Shows and steers IPUJobs with your own rights.\n\nVerbs:\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        opts_help_row(verb->name, verb->summary, out);
    str_adds(out, "\nOptions of a verb: kubectl ipu VERB --help\n");
}

static void man_verb(const struct verb *verb, struct str *out)
{
    roff_section(verb->spec.usage, out);
    roff_text(verb->spec.about, out);
    str_addc(out, '\n');
    for (const struct opt *row = verb->spec.rows; row->flag; row++) {
        AUTO(str) struct str head = {0};
        AUTO(str) struct str text = {0};

        if (row->letter)
            str_addf(&head, "-%c, ", row->letter);
        str_addf(&head, "--%s%s%s", row->flag, row->arg ? " " : "", row->arg ? row->arg : "");
        opts_describe(row, &text);
        roff_entry(str_text(&head), str_text(&text), out);
    }
}

void verbs_man(struct str *out)
{
    static const struct opts_spec spec = {
        .program = "kubectl-ipu",
        .usage = "kubectl ipu VERB [options]",
        .about = "Shows and steers IPUJobs with your own rights at the Kubernetes API. kubectl starts it for "
                 "kubectl ipu when it is in PATH. Options follow the verb.",
        .rows = NO_ROWS,
    };
    AUTO(str) struct str closing = {0};

    for (const struct verb *verb = verbs; verb->name; verb++)
        man_verb(verb, &closing);
    roff_section("EXIT STATUS", &closing);
    roff_entry("0", "Done.", &closing);
    roff_entry("1", "It did not work: no such job, no permission, or the API server cannot be reached.",
               &closing);
    roff_entry("2", "Wrong usage.", &closing);
    opts_man(&spec,
             &(struct opts_man){.summary = "show and steer IPUJobs",
                                .version = "kubectl-ipu " IPU_OPERATOR_VERSION,
                                .closing = str_text(&closing)},
             out);
}

static int64_t unit_seconds(char unit)
{
    switch (unit) {
    case 'd':
        return 86400;
    case 'h':
        return 3600;
    case 'm':
        return 60;
    case 's':
        return 1;
    default:
        return 0;
    }
}

bool duration_parse(const char *text, int64_t *ret_seconds)
{
    int64_t total = 0;

    for (const char *at = text; at == text || *at;) {
        size_t len = strspn(at, "0123456789");
        AUTO(mem) char *digits = mem_strndup(at, len);
        int64_t number, unit = unit_seconds(at[len]);

        if (unit == 0 || !parse_i64(digits, 0, 1000000000, &number))
            return false;
        total += number * unit;
        at += len + 1;
    }
    *ret_seconds = total;
    return total > 0;
}

/* ---- completion ---- */

static const struct opt *option_of(const struct verb *verb, const char *word)
{
    for (const struct opt *row = verb->spec.rows; row->flag; row++) {
        if (str_has_prefix(word, "--") && str_eq(word + 2, row->flag))
            return row;
        if (row->letter && word[0] == '-' && word[1] == row->letter && !word[2])
            return row;
    }
    return NULL;
}

/* Of the words after the verb: the option whose value is typed, or NULL; and how many are no options. */
static const struct opt *look_back(const struct verb *verb, const struct strv *words, size_t *ret_count)
{
    const struct opt *value = NULL;

    *ret_count = 0;
    for (size_t i = 1; i + 1 < words->count; i++) {
        const struct opt *row = value ? NULL : option_of(verb, words->items[i]);

        *ret_count += !value && words->items[i][0] != '-';
        value = row && row->type != OPT_FLAG ? row : NULL;
    }
    return value;
}

static void offer(struct str *out, const char *typed, const char *word, const char *about)
{
    if (str_has_prefix(word, typed))
        str_addf(out, "%s\t%s\n", word, about);
}

void verbs_complete(const struct strv *words, struct str *out)
{
    const char *typed = words->count ? words->items[words->count - 1] : "";
    const struct verb *verb = words->count > 1 ? verb_find(words->items[0]) : NULL;
    const struct opt *value;
    size_t count;

    if (words->count <= 1) {
        for (const struct verb *each = verbs; each->name; each++)
            offer(out, typed, each->name, each->summary);
    }
    if (!verb)
        return;
    value = look_back(verb, words, &count);
    for (size_t i = 0; value && value->choices && value->choices[i]; i++)
        offer(out, typed, value->choices[i], "");
    for (const struct opt *row = verb->spec.rows; !value && typed[0] == '-' && row->flag; row++) {
        AUTO(mem) char *flag = mem_printf("--%s", row->flag);

        offer(out, typed, flag, row->help);
    }
}

enum completed_names verbs_completed_names(const struct strv *words, const char **ret_typed)
{
    const struct verb *verb = words->count > 1 ? verb_find(words->items[0]) : NULL;
    const struct opt *value;
    size_t count;

    if (!verb)
        return NAMES_NONE;
    *ret_typed = words->items[words->count - 1];
    value = look_back(verb, words, &count);
    if (value)
        return str_eq(value->flag, "namespace") ? NAMES_NAMESPACES : NAMES_NONE;
    if ((*ret_typed)[0] == '-' || verb->words == WORDS_NONE || (verb->words != WORDS_JOBS && count > 0))
        return NAMES_NONE;
    return NAMES_JOBS;
}
