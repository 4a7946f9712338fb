#include "launcher/poprun/plan/topology.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

#define TITLE "poprun topology"

enum { LABEL_WIDTH = 11 };

/* The block of a replica, and the text in it; the caller frees it. */
typedef uint32_t (*block_fn)(const struct topology *t, uint32_t replica);
typedef char *(*label_fn)(const struct topology *t, uint32_t block, size_t room);

uint32_t topology_local_replicas(const struct topology *t)
{
    return t->num_replicas / t->num_instances;
}

static uint32_t count_hosts(const struct topology *t)
{
    return t->hosts->count ? (uint32_t)t->hosts->count : 1;
}

uint32_t topology_instances_per_host(const struct topology *t)
{
    return t->num_instances / count_hosts(t);
}

static const char *host_name(const struct topology *t, uint32_t host)
{
    if (t->hosts->count)
        return t->hosts->items[host];
    return t->local_name ? t->local_name : "localhost";
}

const char *topology_host(const struct topology *t, uint32_t instance)
{
    return host_name(t, instance / topology_instances_per_host(t));
}

static uint32_t instance_of(const struct topology *t, uint32_t replica)
{
    return replica / topology_local_replicas(t);
}

static uint32_t host_of(const struct topology *t, uint32_t replica)
{
    return instance_of(t, replica) / topology_instances_per_host(t);
}

static uint32_t ild_of(const struct topology *t, uint32_t replica)
{
    return t->ipus_per_ild ? (uint32_t)((uint64_t)replica * t->ipus_per_replica / t->ipus_per_ild) : 0;
}

static uint32_t replica_of(const struct topology *t, uint32_t replica)
{
    (void)t;
    return replica;
}

static char *label_number(const struct topology *t, uint32_t block, size_t room)
{
    (void)t;
    (void)room;
    return mem_printf("%u", block);
}

static char *label_host(const struct topology *t, uint32_t block, size_t room)
{
    AUTO(mem) char *name = visible_new(host_name(t, block), VISIBLE_LINE);

    return strlen(name) <= room ? TAKE(name) : mem_printf("[%u]", block);
}

static size_t cell_width(const struct topology *t)
{
    size_t digits = 1;

    for (uint32_t last = t->num_replicas - 1; last >= 10; last /= 10)
        digits++;
    return digits + 2;
}

static void repeat(char c, size_t count, struct str *out)
{
    while (count--)
        (void)str_addc(out, c);
}

/* The text centred in `width` columns, with a space on each side; truncated if it is too long. */
static void add_cell(const char *text, size_t width, struct str *out)
{
    size_t room = width - 2, len = strlen(text);

    if (len > room && room > 3) {
        (void)str_addf(out, " %.*s... ", (int)(room - 3), text);
    } else if (len > room) {
        repeat(' ', 1, out);
        repeat('.', room, out);
        repeat(' ', 1, out);
    } else {
        repeat(' ', 1 + (room - len) / 2, out);
        (void)str_adds(out, text);
        repeat(' ', 1 + (room - len + 1) / 2, out);
    }
}

/* The columns of `replicas` cells with the bars between them. */
static size_t span_width(const struct topology *t, uint32_t replicas)
{
    return replicas * cell_width(t) + replicas - 1;
}

static void add_row(const struct topology *t, const char *name, block_fn block, label_fn label,
                    struct str *out)
{
    uint32_t end;

    (void)str_addf(out, "| %-*s|", LABEL_WIDTH - 1, name);
    for (uint32_t first = 0; first < t->num_replicas; first = end) {
        for (end = first; end < t->num_replicas && block(t, end) == block(t, first);)
            end++;
        size_t width = span_width(t, end - first);
        AUTO(mem) char *text = label(t, block(t, first), width - 2);

        add_cell(text, width, out);
        (void)str_addc(out, '|');
    }
    (void)str_addc(out, '\n');
}

static void add_rule(const struct topology *t, struct str *out)
{
    (void)str_addc(out, '|');
    repeat('-', LABEL_WIDTH, out);
    (void)str_addc(out, '|');
    repeat('-', span_width(t, t->num_replicas), out);
    (void)str_adds(out, "|\n");
}

static void add_line(char left, char fill, size_t width, const char *right, struct str *out)
{
    (void)str_addc(out, left);
    repeat(fill, width, out);
    (void)str_adds(out, right);
}

static void add_legend(const struct topology *t, struct str *out)
{
    size_t room = span_width(t, t->num_replicas / count_hosts(t)) - 2;

    for (uint32_t host = 0; host < count_hosts(t); host++) {
        AUTO(mem) char *name = visible_new(host_name(t, host), VISIBLE_LINE);

        if (strlen(name) > room)
            (void)str_addf(out, "[%u]: %s\n", host, name);
    }
}

void topology_print(const struct topology *t, struct str *out)
{
    size_t inner = LABEL_WIDTH + 1 + span_width(t, t->num_replicas);

    add_line(' ', '=', inner, "\n", out);
    (void)str_addc(out, '|');
    add_cell(TITLE, inner, out);
    (void)str_adds(out, "|\n");
    add_line('|', '=', inner, "|\n", out);
    add_row(t, "hosts", host_of, label_host, out);
    add_rule(t, out);
    add_row(t, "ILDs", ild_of, label_number, out);
    add_rule(t, out);
    add_row(t, "instances", instance_of, label_number, out);
    add_rule(t, out);
    add_row(t, "replicas", replica_of, label_number, out);
    add_line(' ', '-', inner, "\n", out);
    add_legend(t, out);
}
