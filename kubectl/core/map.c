#include "kubectl/core/map.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/text/timefmt.h"
#include "kubectl/core/jobs.h"

enum { DOMAIN_MAX = 64, GROUP = 4, GROUPS = DOMAIN_MAX / GROUP, INDENT = 2 };

/* 'x' is a failed partition. */
static const char LETTERS[] = "abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* ---- the report ---- */

static uint64_t mask_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t mask = 0;

    for (; *hex; hex++) {
        const char *digit = strchr(digits, *hex);

        mask = mask << 4 | (digit ? (uint64_t)(digit - digits) : 0);
    }
    return mask;
}

static const cJSON *condition_of(const cJSON *controller, const char *type)
{
    JSON_EACH (condition, json_at(controller, "status/conditions")) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

bool controller_is_reachable(const cJSON *controller)
{
    return str_eq(json_str(condition_of(controller, "Reachable"), "status", ""), "True");
}

static const cJSON *find_job(const cJSON *jobs, const char *key)
{
    const char *slash = key ? strchr(key, '/') : NULL;

    JSON_EACH (job, jobs) {
        const char *ns = json_str(job, "metadata/namespace", "");

        if (slash && strlen(ns) == (size_t)(slash - key) && str_has_prefix(key, ns) &&
            str_eq(json_str(job, "metadata/name", ""), slash + 1))
            return job;
    }
    return NULL;
}

/* The partitions of a job are one holder; those whose job is not told, one for each namespace. */
static cJSON *find_holder(cJSON *holders, const cJSON *partition)
{
    for (cJSON *holder = holders->child; holder; holder = holder->next) {
        if (str_eq(json_str(holder, "job", NULL), json_str(partition, "job", NULL)) &&
            str_eq(json_str(holder, "namespace", NULL), json_str(partition, "namespace", NULL)) &&
            str_eq(json_str(holder, "letter", ""), "#") != json_bool(partition, "ours", false))
            return holder;
    }
    return NULL;
}

static cJSON *add_holder(cJSON *holders, const cJSON *partition, const cJSON *jobs)
{
    cJSON *holder = json_push_take(holders, json_object());
    const char *job = json_str(partition, "job", NULL);
    size_t used = 0;

    for (const cJSON *before = holders->child; before != holder; before = before->next)
        used += !str_eq(json_str(before, "letter", ""), "#");
    json_put_strf(holder, "letter", "%c",
                  !json_bool(partition, "ours", false) ? MAP_FOREIGN
                  : used < sizeof(LETTERS) - 1         ? LETTERS[used]
                                                       : MAP_MANY);
    json_put_str(holder, "job", job);
    json_put_str(holder, "namespace", json_str(partition, "namespace", NULL));
    json_put_str(holder, "status", json_str(find_job(jobs, job), "status/launcherStatus", NULL));
    return holder;
}

static bool has_failed(const cJSON *partition)
{
    return str_eq(json_str(partition, "state", ""), "ERROR");
}

static const cJSON *find_named(const cJSON *list, const char *key, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, key, ""), name))
            return item;
    }
    return NULL;
}

static void put_holders(cJSON *holders, const cJSON *controller, const cJSON *jobs, const char *domain)
{
    JSON_EACH (partition, json_at(controller, "status/partitions")) {
        if (domain && !find_named(json_at(partition, "places"), "domain", domain))
            continue;
        cJSON *holder = find_holder(holders, partition);
        int64_t size = json_i64(partition, "size", 0);

        holder = holder ? holder : add_holder(holders, partition, jobs);
        json_put_i64(holder, "ipus", json_i64(holder, "ipus", 0) + size);
        if (has_failed(partition))
            json_put_i64(holder, "failedIpus", json_i64(holder, "failedIpus", 0) + size);
    }
}

/* A letter for each IPU, by topology ID. */
static void put_cells(cJSON *item, const cJSON *controller, const cJSON *domain, cJSON *holders)
{
    const char *name = json_str(domain, "name", "");
    uint64_t free = mask_of(json_str(domain, "free", ""));
    int64_t size = json_i64(domain, "size", 0);
    char cells[DOMAIN_MAX + 1] = {0};

    for (unsigned i = 0; i < DOMAIN_MAX && i < size; i++)
        cells[i] = !(free >> i & 1)                     ? MAP_UNKNOWN
                   : json_bool(item, "cordoned", false) ? MAP_CORDONED
                                                        : MAP_FREE;
    JSON_EACH (partition, json_at(controller, "status/partitions")) {
        const char *letter = json_str(find_holder(holders, partition), "letter", "?");

        JSON_EACH (place, json_at(partition, "places")) {
            uint64_t mask =
                str_eq(json_str(place, "domain", ""), name) ? mask_of(json_str(place, "ipus", "")) : 0;

            for (unsigned i = 0; i < DOMAIN_MAX && i < size; i++) {
                if (mask >> i & 1)
                    cells[i] = has_failed(partition) ? MAP_FAILED : *letter;
            }
        }
    }
    json_put_str(item, "cells", cells);
}

static void put_domains(cJSON *item, const cJSON *controller, cJSON *holders, const char *only)
{
    const cJSON *cordon = json_at(controller, "status/cordon");
    cJSON *domains = json_put_array(item, "domains");

    JSON_EACH (domain, json_at(controller, "status/domains")) {
        cJSON *made;

        if (only && !str_eq(json_str(domain, "name", ""), only))
            continue;
        made = json_push_take(domains, json_object());
        json_put_str(made, "name", json_str(domain, "name", ""));
        json_put_i64(made, "size", json_i64(domain, "size", 0));
        json_put_bool(made, "cordoned",
                      json_bool(domain, "cordoned", false) || (cordon && !json_at(cordon, "domains")));
        put_cells(made, controller, domain, holders);
    }
}

static void put_number(cJSON *item, const char *key, const cJSON *controller, const char *path)
{
    if (json_at(controller, path))
        json_put_i64(item, key, json_i64(controller, path, 0));
}

static cJSON *controller_item(const cJSON *controller, cJSON *holders, const char *domain)
{
    const cJSON *reachable = condition_of(controller, "Reachable");
    cJSON *item = json_object();

    json_put_str(item, "name", json_str(controller, "metadata/name", ""));
    json_put_bool(item, "reachable", controller_is_reachable(controller));
    json_put_str(item, "message", json_str(reachable, "message", NULL));
    put_number(item, "totalIpus", controller, "status/ipus/total");
    put_number(item, "freeIpus", controller, "status/ipus/free");
    put_number(item, "largestFree", controller, "status/ipus/largestFree");
    put_number(item, "waiting", controller, "status/waiting");
    json_put_str(item, "version", json_str(controller, "status/version", NULL));
    json_put_str(item, "cordon", json_str(controller, "status/cordon/state", NULL));
    json_put_str(item, "cordonUntil", json_str(controller, "status/cordon/until", NULL));
    put_domains(item, controller, holders, domain);
    return item;
}

cJSON *map_report(const cJSON *controllers, const cJSON *jobs, const char *domain)
{
    cJSON *report = json_object(), *items, *holders;

    json_put_str(report, "apiVersion", REPORT_API_VERSION);
    json_put_str(report, "kind", "MapReport");
    items = json_put_array(report, "items");
    holders = json_put_array(report, "holders");
    JSON_EACH (controller, controllers)
        put_holders(holders, controller, jobs, domain);
    JSON_EACH (controller, controllers) {
        if (!domain || find_named(json_at(controller, "status/domains"), "name", domain))
            json_push_take(items, controller_item(controller, holders, domain));
    }
    return report;
}

/* ---- the drawing ---- */

static void add_line(struct str *out, const struct look *look, const char *text)
{
    AUTO(mem) char *line = visible_new(text, VISIBLE_LINE);

    text_wrap(out, line, INDENT, look->width > INDENT ? look->width - INDENT : SIZE_MAX);
    str_addc(out, '\n');
}

static enum paint paint_of_cell(char cell)
{
    static const struct {
        char cell;
        enum paint paint;
    } rows[] = {{MAP_FREE, PAINT_GOOD},
                {MAP_CORDONED, PAINT_WARNING},
                {MAP_FAILED, PAINT_BAD},
                {MAP_FOREIGN, PAINT_FAINT}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].cell == cell)
            return rows[i].paint;
    }
    return PAINT_NONE;
}

/* A power of two, so that blocks of IPUs begin at the same places of the lines. */
static size_t groups_in_line(const struct look *look, bool wide)
{
    size_t groups = GROUPS;

    while (!wide && look->width && groups > 1 && groups * (GROUP + 1) - 1 > look->width)
        groups /= 2;
    return groups;
}

static void draw_cells(struct str *out, const struct look *look, size_t groups, const char *cells)
{
    for (size_t i = 0; cells[i]; i++) {
        const char cell[] = {cells[i], '\0'};

        if (i > 0 && i % GROUP == 0)
            str_addc(out, i % (groups * GROUP) == 0 ? '\n' : ' ');
        paint_add(out, look, paint_of_cell(*cell), cell);
    }
    str_addc(out, '\n');
}

static size_t count_cells(const char *cells, char cell)
{
    size_t count = 0;

    for (; *cells; cells++)
        count += *cells == cell;
    return count;
}

static void draw_domains(struct str *out, const struct look *look, size_t groups, const cJSON *item)
{
    JSON_EACH (domain, json_at(item, "domains")) {
        const char *cells = json_str(domain, "cells", "");
        size_t free = count_cells(cells, MAP_FREE);
        AUTO(mem)
        char *line = json_bool(domain, "cordoned", false)
                         ? mem_printf("%s: cordoned", json_str(domain, "name", ""))
                         : mem_printf("%s: %zu free", json_str(domain, "name", ""), free);

        add_line(out, look, line);
        draw_cells(out, look, groups, cells);
    }
}

static void draw_controller(struct str *out, const struct look *look, bool wide, int64_t now_s,
                            const cJSON *item)
{
    AUTO(str) struct str line = {0};
    char left[TIMEFMT_RFC3339_SIZE];
    int64_t until_s;

    str_addf(&line, "%s: %s", json_str(item, "name", ""),
             json_bool(item, "reachable", false) ? "up" : json_str(item, "message", "not up"));
    if (json_at(item, "totalIpus"))
        str_addf(&line, ", %lld of %lld IPUs free, largest block %lld",
                 (long long)json_i64(item, "freeIpus", 0), (long long)json_i64(item, "totalIpus", 0),
                 (long long)json_i64(item, "largestFree", 0));
    if (json_i64(item, "waiting", 0) > 0) {
        str_adds(&line, ", ");
        str_add_count(&line, (uint64_t)json_i64(item, "waiting", 0), "instance waits", "instances wait");
    }
    if (json_at(item, "cordon"))
        str_addf(&line, ", cordoned: %s", json_str(item, "cordon", ""));
    if (timefmt_parse_rfc3339(json_str(item, "cordonUntil", NULL), &until_s))
        str_addf(&line, ", free in %s at the latest", timefmt_age(until_s - now_s, left));
    if (wide && json_at(item, "version"))
        str_addf(&line, ", version %s", json_str(item, "version", ""));
    add_line(out, look, str_text(&line));
    draw_domains(out, look, groups_in_line(look, wide), item);
}

static void add_holder_name(struct str *line, const cJSON *holder)
{
    const char *job = json_str(holder, "job", NULL), *ns = json_str(holder, "namespace", NULL);

    if (job)
        str_adds(line, job);
    else if (str_eq(json_str(holder, "letter", ""), "#"))
        str_adds(line, "partitions that are no job's");
    else if (ns)
        str_addf(line, "jobs of namespace %s", ns);
    else
        str_adds(line, "jobs whose names are hidden");
}

static void draw_legend(struct str *out, const struct look *look, const cJSON *report)
{
    JSON_EACH (holder, json_at(report, "holders")) {
        AUTO(str) struct str line = {0};

        str_addf(&line, "%s ", json_str(holder, "letter", ""));
        add_holder_name(&line, holder);
        str_adds(&line, ", ");
        str_add_count(&line, (uint64_t)json_i64(holder, "ipus", 0), "IPU", NULL);
        if (json_at(holder, "failedIpus"))
            str_addf(&line, ", %lld of them in failed partitions (x)",
                     (long long)json_i64(holder, "failedIpus", 0));
        if (json_at(holder, "status"))
            str_addf(&line, ", %s", json_str(holder, "status", ""));
        add_line(out, look, str_text(&line));
    }
    add_line(out, look, ". free  - cordoned  x failed  # no job's");
}

void map_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out)
{
    JSON_EACH (item, json_at(report, "items"))
        draw_controller(out, look, wide, now_s, item);
    draw_legend(out, look, report);
}
