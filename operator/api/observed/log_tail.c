#include "operator/api/observed/log_tail.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/core/utf8.h"

#define NUMBER "-worker-"
#define ATTEMPT_BEGINS "ipu-launch: The output of this attempt follows.\n"

const char *log_tail_of_attempt(const char *lines)
{
    for (const char *at = lines; (at = strstr(at, ATTEMPT_BEGINS)); at++) {
        if (at == lines || at[-1] == '\n')
            return at + strlen(ATTEMPT_BEGINS);
    }
    return lines;
}

/* A line with `begin`, later `name`, directly followed by a worker's name, directly followed by `verb`; the
 * rest is the cause. Without a verb, `cause` is used. */
static const struct words {
    const char *begin, *name, *verb;
    const char *why; /* if the line does not contain the cause */
} lost_words[] =
    {
        {"ipu-launch: worker ", "", " is lost: ", NULL},
        {"ipu-launch: worker ", "", " cannot be reached: ", NULL},
        {"Remote daemon: ", " on node ", "", "mpirun does not hear from its daemon there any more"},
},
  memory_words[] = {
      {"ipu-launch: worker ", "", " ran out of memory: ", NULL},
};

/* "[[25280,1],2]" or "[prterun-node-1009@1,2]": the number after the last comma. */
static bool read_rank_of_name(struct slice name, uint32_t *ret)
{
    const char *comma = name.len ? memrchr(name.ptr, ',', name.len) : NULL;

    return comma && sscanf(comma, ",%9u]", ret) == 1; /* NOLINT(cert-err34-c) */
}

/* The tag of mpirun: "[1,2]<stderr>:". */
struct tagged {
    uint32_t rank;
    bool is_error;
    struct slice text; /* what follows the tag */
};

static bool read_tag(struct slice line, struct tagged *ret)
{
    const char *end = line.len && line.ptr[0] == '[' ? memchr(line.ptr, '>', line.len) : NULL;
    const char *name_end = end ? memchr(line.ptr, ']', (size_t)(end - line.ptr)) : NULL;
    const char *stream = name_end ? memmem(name_end, (size_t)(end - name_end), "<std", strlen("<std")) : NULL;

    if (!stream || !read_rank_of_name((struct slice){line.ptr, (size_t)(name_end - line.ptr)}, &ret->rank))
        return false;
    ret->is_error = str_has_prefix(stream, "<stderr");
    end += strspn(end, ">:");
    ret->text = (struct slice){end, line.len - (size_t)(end - line.ptr)};
    return true;
}

/* "train-worker-12" is number 12; the job's own name may contain "worker", too. */
static bool read_number(struct slice name, uint32_t *ret)
{
    AUTO(mem) char *text = mem_strndup(name.ptr, name.len);
    const char *number = NULL;

    for (const char *at = text; (at = strstr(at, NUMBER)) != NULL; at++)
        number = at + strlen(NUMBER);
    return number && parse_u32(number, 0, UINT32_MAX, ret);
}

/* What follows the word in the line; ptr NULL: it is missing. */
static struct slice behind(struct slice line, const char *word)
{
    const char *at = line.ptr ? memmem(line.ptr, line.len, word, strlen(word)) : NULL;

    if (!at)
        return (struct slice){0};
    at += strlen(word);
    return (struct slice){at, line.len - (size_t)(at - line.ptr)};
}

static bool read_line(struct slice line, const struct words *says, struct lost_worker *ret)
{
    struct slice name = behind(behind(line, says->begin), says->name), why;

    if (!name.ptr)
        return false;
    why = *says->verb ? behind(name, says->verb) : slice_of(says->why);
    name.len = strcspn(name.ptr, " \n");
    if (!why.ptr || (*says->verb && why.ptr != name.ptr + name.len + strlen(says->verb)))
        return false;
    ret->why = why;
    return read_number(name, &ret->number);
}

/* The next line without a rank's tag; false: there is none. In a line of a rank a program speaks: it may show
 * the log of another run. */
static bool next_own_line(const char **at, struct slice *ret)
{
    struct tagged tagged;

    while (*at && **at) {
        *ret = (struct slice){*at, strcspn(*at, "\n")};
        *at += ret->len + ((*at)[ret->len] == '\n');
        if (!read_tag(*ret, &tagged))
            return true;
    }
    return false;
}

static bool find_worker(const char *lines, const struct words *words, size_t count, struct lost_worker *ret)
{
    struct slice line;

    for (const char *at = lines; next_own_line(&at, &line);) {
        for (size_t i = 0; i < count; i++) {
            if (read_line(line, &words[i], ret))
                return true;
        }
    }
    return false;
}

/* A worker whose memory ran out may be lost as a consequence, and its loss be reported first. */
bool log_tail_lost_worker(const char *lines, struct lost_worker *ret)
{
    ret->out_of_memory = find_worker(lines, memory_words, COUNT_OF(memory_words), ret);
    return ret->out_of_memory || find_worker(lines, lost_words, COUNT_OF(lost_words), ret);
}

bool log_tail_is_out_of_memory(const char *lines)
{
    struct slice line;

    for (const char *at = lines; next_own_line(&at, &line);) {
        if (behind(line, "ipu-launch: this container ran out of memory: ").ptr)
            return true;
    }
    return false;
}

/* ---- the rank that failed first ---- */

/* mpirun's reports, as in open-mpi/ompi, v4.1.x, orte/tools/orterun/help-orterun.txt and
 * ompi/mpi/help/help-mpi-api.txt, and in openpmix/prrte, src/docs/show-help-files/help-prterun.txt, which
 * breaks lines elsewhere: white space in a format is any. */
#define OF_SIGNAL "noticed that process rank"
#define OF_STATUS "first process to do so was:"
#define OF_ABORT "MPI_ABORT was invoked on rank"

/* Decimal numbers, at most nine digits, so that none overflows. */
static bool read_signalled(const char *at, struct failed_rank *ret)
{
    int host = 0, host_end = 0;

    /* NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(at, OF_SIGNAL " %9u with PID %*u on node %n%*s%n exited on signal %9d", &ret->rank, &host,
               &host_end, &ret->signal) != 2)
        return false;
    ret->host = (struct slice){at + host, (size_t)(host_end - host)};
    return true;
}

static bool read_exited(const char *at, struct failed_rank *ret)
{
    int name = 0, name_end = 0;

    /* NOLINTNEXTLINE(cert-err34-c) */
    return sscanf(at, OF_STATUS " Process name: %n%*s%n Exit code: %9d", &name, &name_end, &ret->exit_code) ==
               1 &&
           read_rank_of_name((struct slice){at + name, (size_t)(name_end - name)}, &ret->rank);
}

static bool read_aborted(const char *at, struct failed_rank *ret)
{
    int end = 0;

    /* NOLINTNEXTLINE(cert-err34-c) */
    return sscanf(at, OF_ABORT " %9u in communicator MPI_COMM_WORLD%n", &ret->rank, &end) == 1 && end;
}

/* A script may run mpirun several times: the last report counts. */
bool log_tail_failed_rank(const char *lines, struct failed_rank *ret)
{
    static const struct {
        const char *mark;
        bool (*read)(const char *at, struct failed_rank *ret);
    } reports[] = {{OF_SIGNAL, read_signalled}, {OF_STATUS, read_exited}, {OF_ABORT, read_aborted}};
    const char *last = NULL;

    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        for (const char *at = lines; at && (at = strstr(at, reports[i].mark)) != NULL; at++) {
            struct failed_rank rank = {0};

            if (at < last || !reports[i].read(at, &rank))
                continue;
            *ret = rank;
            last = at;
        }
    }
    return last != NULL;
}

/* ---- the last line ---- */

/* mpirun's report of a failure is enclosed by two rules of at least so many dashes. */
#define RULE_MIN 40

static bool is_rule(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != '-')
            return false;
    }
    return line.len >= RULE_MIN;
}

/* Letters of other languages than English have high bits. */
static bool says_something(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (isalnum((unsigned char)line.ptr[i]) || (unsigned char)line.ptr[i] >= 0x80)
            return true;
    }
    return false;
}

/* What Open MPI adds below a cause: show_help of open-mpi/ompi, orte/util/show_help.c (v4.1.x), and of
 * openpmix, src/util/pmix_show_help.c; and ompi/errhandler/errhandler_predefined.c. */
static bool is_boilerplate(struct slice line)
{
    static const char *const parts[] = {
        " sent help message ",        "base_help_aggregate\" to 0 to see all help",
        "*** MPI_ERRORS_ARE_FATAL (", "*** MPI_ERRORS_ABORT (",
        "***    and potentially ",    "***    and MPI will try to ",
    };

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (behind(line, parts[i]).ptr)
            return true;
    }
    return false;
}

static struct slice trimmed(struct slice line)
{
    while (line.len && isspace((unsigned char)line.ptr[0])) {
        line.ptr++;
        line.len--;
    }
    while (line.len && isspace((unsigned char)line.ptr[line.len - 1]))
        line.len--;
    return line;
}

static struct slice shortened(struct slice line)
{
    if (line.len <= LOG_TAIL_LINE_MAX)
        return line;
    line.len = utf8_cut(line.ptr, LOG_TAIL_LINE_MAX);
    return line;
}

/* The line that ends at `end`. */
static struct slice line_before(const char *lines, const char *end)
{
    const char *begin = end;

    while (begin > lines && begin[-1] != '\n')
        begin--;
    return trimmed((struct slice){begin, (size_t)(end - begin)});
}

#define TOO_FEW_SLOTS "There are not enough slots available in the system"

/* What Open MPI says without what to do in a job: open-mpi/ompi (v4.1.x), topic alloc-error of
 * orte/mca/rmaps/base/help-orte-rmaps-base.txt, the same in Open MPI 5, and topic not-found of
 * orte/util/hostfile/help-hostfile.txt, which Open MPI 5 says of PRTE. */
static struct slice translated(struct slice report)
{
    static const struct {
        const char *begin, *meaning;
    } rows[] = {
        {TOO_FEW_SLOTS,
         "mpirun was asked for more processes than it has slots; set spec.launcher.slotsPerWorker to the "
         "number of processes of a worker"},
        {"Open RTE was unable to open the hostfile:",
         "mpirun cannot open the file of --hostfile; remove the option, mpirun finds the workers without it"},
        {"PRTE was unable to open the hostfile:",
         "mpirun cannot open the file of --hostfile; remove the option, mpirun finds the workers without it"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_has_prefix(report.ptr, rows[i].begin))
            return slice_of(rows[i].meaning);
    return report;
}

/* The lines from the last to the first: *end is where the last one ends, in the end NULL. */
static struct slice next_line_up(const char *lines, const char **end)
{
    struct slice line = line_before(lines, *end);

    *end = memrchr(lines, '\n', (size_t)(*end - lines));
    return line;
}

/* What a program said last, its lines read from the last to the first. The container runtime and mpirun read
 * its two streams apart, and a buffer is flushed at its exit: what it printed before an exception is often
 * below it. */
struct last_words {
    struct slice line, exception;
    bool has_traceback; /* the exception is known */
};

/* "KeyError: 7", "KeyboardInterrupt", "torch.cuda.OutOfMemoryError: no". */
static bool looks_like_an_exception(struct slice line)
{
    size_t name = 0;

    while (name < line.len && (isalnum((unsigned char)line.ptr[name]) || strchr("_.", line.ptr[name])))
        name++;
    return name && !isdigit((unsigned char)line.ptr[0]) && (name == line.len || line.ptr[name] == ':');
}

/* A progress bar goes back by "\r", and what follows it is in the same line. */
static struct slice last_state(struct slice line)
{
    const char *back = line.len ? memrchr(line.ptr, '\r', line.len) : NULL;

    return back ? trimmed((struct slice){back, line.len - (size_t)(back - line.ptr)}) : line;
}

/* Code is indented by more than the one blank that may follow a tag. */
static void last_words_read(struct last_words *words, struct slice line, bool is_indented)
{
    static const char traceback[] = "Traceback (most recent call last):";
    size_t len = strlen(traceback);

    if (words->has_traceback)
        return;
    line = last_state(line);
    words->has_traceback =
        words->exception.len && line.len >= len && memcmp(line.ptr + line.len - len, traceback, len) == 0;
    if (!words->has_traceback && !is_indented && looks_like_an_exception(line))
        words->exception = line;
    if (!words->line.len && says_something(line) && !is_boilerplate(line))
        words->line = line;
}

static struct slice last_words_line(const struct last_words *words)
{
    return words->has_traceback ? words->exception : words->line.len ? words->line : (struct slice){"", 0};
}

/* The last line with this rank's tag, on standard error if there is one. False: no line has a tag. */
static bool last_line_of_rank(const char *lines, uint32_t rank, struct slice *ret)
{
    const char *end = lines + strlen(lines);
    struct last_words out = {0}, errors = {0};
    bool has_tags = false;

    while (end) {
        struct slice line = next_line_up(lines, &end);
        struct tagged by;

        if (!read_tag(line, &by))
            continue;
        has_tags = true;
        if (by.rank == rank)
            last_words_read(by.is_error ? &errors : &out, trimmed(by.text),
                            str_has_prefix(by.text.ptr, "  "));
    }
    *ret = last_words_line(errors.line.len && !(out.has_traceback && !errors.has_traceback) ? &errors : &out);
    return has_tags;
}

/* is_told: mpirun's report of the rank is in the sentence already. */
static struct slice last_line_of_none(const char *lines, bool is_told)
{
    const char *end = lines + strlen(lines);
    struct last_words words = {0};
    struct slice reported = {"", 0};
    struct tagged by;
    size_t rules = 0, consequences = 0; /* reports of an error that the one above it has caused */

    while (end) {
        struct slice line = next_line_up(lines, &end);

        rules += is_rule(line);
        if (is_rule(line) && str_has_prefix(reported.ptr, "An internal error has occurred in ORTE"))
            consequences = rules / 2;
        if (read_tag(line, &by))
            continue;
        if (rules % 2 == 0)
            last_words_read(&words, line, line.ptr != (end ? end + 1 : lines));
        else if (rules == 2 * consequences + 1 && !is_told && says_something(line))
            reported = line; /* in the end its first */
    }
    return words.line.len ? last_words_line(&words) : translated(reported);
}

/* Whether a line directly below a rule begins with one of the words; ret_rules: how many rules there are. */
static bool has_report(const char *lines, const char *const *begins, size_t *ret_rules)
{
    const char *end = lines ? lines + strlen(lines) : NULL;
    struct slice below = {"", 0};
    bool found = false;

    *ret_rules = 0;
    while (end) {
        struct slice line = next_line_up(lines, &end);

        *ret_rules += is_rule(line);
        for (size_t i = 0; is_rule(line) && begins[i]; i++)
            found =
                found || (below.len >= strlen(begins[i]) && !memcmp(below.ptr, begins[i], strlen(begins[i])));
        below = line;
    }
    return found;
}

bool log_tail_is_of_mpirun(const char *lines)
{
    static const char *const programs[] = {"mpirun ", "mpiexec ", "prterun ", NULL};
    size_t rules;

    return has_report(lines, programs, &rules);
}

char *log_tail_without_reports(const char *lines)
{
    static const char *const begins[] = {"mpirun ",       "mpiexec ",    "prterun ", "Primary job",
                                         "MPI_ABORT was", TOO_FEW_SLOTS, NULL};
    struct str out = {0};
    size_t rules;

    if (!has_report(lines, begins, &rules))
        return mem_strdup(lines);
    while (*lines) {
        struct slice line = {lines, strcspn(lines, "\n")};
        bool has_end = line.ptr[line.len] == '\n';

        if (is_rule(trimmed(line)))
            rules--;
        else if (rules % 2 == 0 && !is_boilerplate(line))
            str_add(&out, line.ptr, line.len + has_end);
        lines += line.len + has_end;
    }
    return str_take(&out);
}

/* ---- the program that mpirun could not start ---- */

static bool read_field(struct slice line, const char *name, struct slice *ret)
{
    struct slice text = behind(line, name);

    if (text.ptr == line.ptr + strlen(name) && text.len)
        *ret = trimmed(text);
    return ret->len > 0;
}

/* "Executable: /opt/train" and "Node: job-worker-1", in either order: topics orterun:exe-not-found and
 * orterun:exe-not-accessible of open-mpi/ompi, orte/tools/orterun/help-orterun.txt (v4.1.x), and those of
 * openpmix/prrte, src/docs/show-help-files/help-prun.txt. The last report of mpirun counts. */
bool log_tail_missing_program(const char *lines, struct missing_program *ret)
{
    const char *end = log_tail_is_of_mpirun(lines) ? lines + strlen(lines) : NULL;
    size_t rules = 0;

    *ret = (struct missing_program){{"", 0}, {"", 0}};
    while (end && rules < 2) {
        struct slice line = next_line_up(lines, &end);

        rules += is_rule(line);
        if (rules == 1 && !ret->name.len)
            (void)read_field(line, "Executable:", &ret->name);
        if (rules == 1 && !ret->host.len)
            (void)read_field(line, "Node:", &ret->host);
    }
    return ret->name.len > 0;
}

char *log_tail_without_bars(const char *lines)
{
    AUTO(str) struct str out = {0};

    for (const char *at = lines; *at;) {
        struct slice line = {at, strcspn(at, "\n")}, text = line;
        struct tagged by;

        if (read_tag(line, &by))
            text = by.text;
        (void)str_add(&out, line.ptr, (size_t)(text.ptr - line.ptr));
        if (memchr(trimmed(text).ptr, '\r', trimmed(text).len))
            text = last_state(trimmed(text));
        (void)str_add(&out, text.ptr, text.len);
        at += line.len;
        if (*at == '\n')
            (void)str_addc(&out, *at++);
    }
    return mem_strdup(str_text(&out));
}

struct slice log_tail_last_line(const char *lines)
{
    struct failed_rank failed;
    struct missing_program missing;
    struct slice line;

    if (!lines)
        return (struct slice){"", 0};
    if (!log_tail_failed_rank(lines, &failed))
        line = log_tail_missing_program(lines, &missing) ? (struct slice){"", 0}
                                                         : last_line_of_none(lines, false);
    else if (!last_line_of_rank(lines, failed.rank, &line))
        line = last_line_of_none(lines, true);
    return shortened(line);
}
