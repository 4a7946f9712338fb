/* The Standard Workload Format (D. Feitelson's Parallel Workloads Archive): a line per job of 18 numbers, of
 * which -1 is unknown; lines with ';' are comments, of which "MaxProcs" tells the size of the machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/workload.h"

#define MAX_JOBS 5000000u
#define MAX_LINE 4096
#define MAX_DOMAINS 1024u
#define FIELDS 18

enum field { SUBMIT = 1, RUN = 3, PROCS = 4, REQUESTED_PROCS = 7, REQUESTED_S = 8, USER = 11, PROGRAM = 13 };

/* False if the line has fewer numbers, or numbers that no row has. */
static bool parse_fields(const char *line, double *ret_fields)
{
    for (size_t i = 0; i < FIELDS; i++) {
        char *end;

        ret_fields[i] = strtod(line, &end);
        if (end == line || !(ret_fields[i] >= -1 && ret_fields[i] < 1e12))
            return false;
        line = end;
    }
    return true;
}

/* LEFT_OUT: it is a job that ran. Else why not. */
static int job_parse(const char *line, struct job *ret)
{
    double f[FIELDS], procs;

    if (!parse_fields(line, f))
        return NO_ROW;
    procs = f[PROCS] > 0 ? f[PROCS] : f[REQUESTED_PROCS];
    if (f[SUBMIT] < 0)
        return NO_ARRIVAL;
    if (f[RUN] < 1)
        return NO_RUN;
    if (procs < 1)
        return NO_IPUS;
    if (procs > MAX_DOMAINS * DOMAIN_IPUS)
        return TOO_LARGE;
    *ret = (struct job){.submit_s = (int64_t)f[SUBMIT],
                        .run_s = (int64_t)f[RUN],
                        .bound_s = f[REQUESTED_S] >= 1 ? (int64_t)f[REQUESTED_S] : NO_BOUND,
                        .size = partition_size((uint64_t)procs),
                        .tenant = (uint32_t)((int64_t)f[USER] + 1)};
    if (ret->run_s > ret->bound_s)
        ret->run_s = ret->bound_s; /* a deadline ends what it bounds; recording systems left some grace */
    ret->kind = (ret->tenant * 65599u + (uint32_t)((int64_t)f[PROGRAM] + 1)) * 65599u + ret->size;
    return LEFT_OUT;
}

static int by_arrival(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->submit_s != y->submit_s)
        return x->submit_s < y->submit_s ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static bool read_lines(FILE *file, const char *path, struct workload *w, uint32_t *ret_procs, struct err *err)
{
    char line[MAX_LINE];
    size_t capacity = 0;

    for (unsigned long number = 1; fgets(line, sizeof(line), file); number++) {
        const char *first = line + strspn(line, " \t\r\n");
        struct job job;
        int why;

        if (!strchr(line, '\n') && !feof(file))
            return err_set(err, ERR_INVALID, "%s: line %lu is longer than %d bytes", path, number, MAX_LINE);
        if (*first == ';')
            (void)sscanf(first, "; MaxProcs: %" SCNu32, ret_procs);
        if (*first == ';' || !*first)
            continue;
        why = job_parse(first, &job);
        if (why != LEFT_OUT) {
            w->left_out[why]++;
            continue;
        }
        if (w->count == MAX_JOBS)
            return err_set(err, ERR_INVALID, "%s: there are more than %u jobs", path, MAX_JOBS);
        if (w->count == capacity)
            w->jobs = mem_grow(w->jobs, capacity = capacity ? 2 * capacity : 1024, sizeof(*w->jobs));
        job.number = (uint32_t)w->count;
        w->jobs[w->count++] = job;
    }
    return !ferror(file) || err_errno(err, errno, "cannot read %s", path);
}

/* Those that the machine could never hold would wait for ever. */
static void drop_too_large(struct workload *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->count; i++)
        if (w->jobs[i].size <= w->domains * DOMAIN_IPUS)
            w->jobs[kept++] = w->jobs[i];
    w->left_out[TOO_LARGE] += w->count - kept;
    w->count = kept;
}

static bool workload_fit(struct workload *w, const struct workload_settings *s, uint32_t procs,
                         const char *path, struct err *err)
{
    uint32_t largest = 0;

    for (size_t i = 0; i < w->count; i++)
        largest = w->jobs[i].size > largest ? w->jobs[i].size : largest;
    procs = procs ? procs : largest;
    w->domains = s->domains ? s->domains : (uint32_t)(((uint64_t)procs + DOMAIN_IPUS - 1) / DOMAIN_IPUS);
    if (w->domains > MAX_DOMAINS)
        w->domains = MAX_DOMAINS;
    drop_too_large(w);
    if (w->count < 2)
        return err_set(err, ERR_INVALID, "%s: there are no two jobs that ran", path);
    qsort(w->jobs, w->count, sizeof(*w->jobs), by_arrival);
    if (w->jobs[0].submit_s == w->jobs[w->count - 1].submit_s)
        return err_set(err, ERR_INVALID, "%s: all jobs arrive at the same time", path);
    for (size_t i = w->count; i-- > 0;)
        w->jobs[i].submit_s -= w->jobs[0].submit_s;
    if (s->load > 0)
        workload_set_load(w, s->load);
    return true;
}

bool workload_read_swf(const char *path, const struct workload_settings *s, struct workload *ret,
                       struct err *err)
{
    FILE *file = fopen(path, "r");
    struct workload w = {0};
    uint32_t procs = 0;
    bool ok;

    if (!file)
        return err_errno(err, errno, "cannot open %s", path);
    ok = read_lines(file, path, &w, &procs, err) && workload_fit(&w, s, procs, path, err);
    (void)fclose(file);
    if (!ok)
        workload_release(&w);
    else
        *ret = w;
    return ok;
}

void workload_print_swf(const struct workload *w)
{
    (void)printf("; MaxProcs: %u\n", w->domains * DOMAIN_IPUS);
    for (size_t i = 0; i < w->count; i++) {
        const struct job *j = &w->jobs[i];

        (void)printf("%zu %" PRId64 " -1 %" PRId64 " %u -1 -1 %u %" PRId64 " -1 1 %u -1 %u -1 -1 -1 -1\n",
                     i + 1, j->submit_s, j->run_s, j->size, j->size, j->bound_s == NO_BOUND ? -1 : j->bound_s,
                     j->tenant, j->kind);
    }
}
