#include "operator/api/lastwords.h"

#include <string.h>

#include "base/core/mem.h"

#define NUMBER "-worker-"

/* A line with `begin`, somewhere behind it `name`, a worker's name right behind that, and right behind that
 * `verb`, whose rest is the cause; without a verb the cause stands here. */
static const struct words {
    const char *begin, *name, *verb;
    const char *why; /* when nothing of the line tells */
} words[] = {
    {"ipu-launch: worker ", "", " is lost: ", NULL},
    {"ipu-launch: worker ", "", " cannot be reached: ", NULL},
    {"Remote daemon: ", " on node ", "", "mpirun does not hear from its daemon there any more"},
};

/* "train-worker-12" is number 12; a job's own name may have the word, too. */
static bool read_number(struct slice name, uint32_t *ret)
{
    AUTO(mem) char *text = mem_strndup(name.ptr, name.len);
    const char *number = NULL;

    for (const char *at = text; (at = strstr(at, NUMBER)) != NULL; at++)
        number = at + strlen(NUMBER);
    return number && parse_u32(number, 0, UINT32_MAX, ret);
}

/* What follows the word in the line; ptr NULL: it is not there. */
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

bool lastwords_lost_worker(const char *lines, struct lost_worker *ret)
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
