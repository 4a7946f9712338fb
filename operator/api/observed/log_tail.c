#include "operator/api/observed/log_tail.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"

#define NUMBER "-worker-"

/* A line with `begin`, later `name`, directly followed by a worker's name, directly followed by `verb`; the
 * rest is the cause. Without a verb, `cause` is used. */
static const struct words {
    const char *begin, *name, *verb;
    const char *why; /* if the line does not contain the cause */
} words[] = {
    {"ipu-launch: worker ", "", " is lost: ", NULL},
    {"ipu-launch: worker ", "", " cannot be reached: ", NULL},
    {"Remote daemon: ", " on node ", "", "mpirun does not hear from its daemon there any more"},
};

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

bool log_tail_lost_worker(const char *lines, struct lost_worker *ret)
{
    for (const char *at = lines; at && *at; at += *at == '\n') {
        struct slice line = {at, strcspn(at, "\n")};

        for (size_t i = 0; i < COUNT_OF(words); i++) {
            if (read_line(line, &words[i], ret))
                return true;
        }
        at += line.len;
    }
    return false;
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
    line.len = LOG_TAIL_LINE_MAX;
    while (line.len && ((unsigned char)line.ptr[line.len] & 0xC0) == 0x80)
        line.len--;
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

struct slice log_tail_last_line(const char *lines)
{
    const char *end = lines ? lines + strlen(lines) : lines;
    struct slice reported = {"", 0};
    size_t rules = 0;

    while (end) {
        struct slice line = line_before(lines, end);
        bool says = says_something(line);

        rules += is_rule(line);
        if (says && rules % 2 == 0)
            return shortened(line);
        if (says && rules == 1)
            reported = line; /* in the end its first */
        end = memrchr(lines, '\n', (size_t)(end - lines));
    }
    return shortened(reported);
}
