#include "vipu/tools/display/monitor.h"

#include <inttypes.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "vipu/tools/display/attributes.h"
#include "vipu/tools/display/box_table.h"

#define LINE_WIDTH 98

static const struct box_table_column cards[] = {
    {"IPU-M", 13, true},   {"Serial", 20, false}, {"IPU-M SW", 8, false}, {"Server version", 14, false},
    {"ICU FW", 10, false}, {"Type", 6, false},    {"ID", 4, false},       {"IPU#", 6, false},
    {"Routing", 7, false},
};

static const struct box_table_column processes[] = {
    {"PID", 8, false},    {"Command", 41, true}, {"Time", 8, false}, {"User", 12, false}, {"ID", 4, false},
    {"Clock", 10, false}, {"Temp", 8, false},    {"Temp", 8, false}, {"Power", 8, false},
};

static const struct box_table_column others[] = {
    {"ID", 4, false},    {"Application host", 30, true}, {"Clock", 14, false}, {"Temp", 11, false},
    {"Temp", 11, false}, {"Power", 11, false},
};

static const char *text_or_blank(const char *text)
{
    return text ? text : "";
}

static const char *attribute(const struct ipu_view *ipu, const char *key)
{
    return text_or_blank(ipu_view_attribute(ipu, key));
}

void monitor_print_cards(const struct gcd_view *view, struct str *out)
{
    AUTO(mem)
    char *title = mem_printf("Partition: %s (gcd:%" PRIu32 ")%s has %" PRIu32 "%s IPU%s", view->partition,
                             view->gcd, view->active ? " [active]" : "", view->ipu_count,
                             view->reconfigurable ? " reconfigurable" : "", view->ipu_count == 1 ? "" : "s");
    const struct box_table_span head[] = {{"gc-monitor", 0, 15}, {title, 0, 0}};
    AUTO(box_table) struct box_table box = {0};

    box_table_init(&box, cards, COUNT_OF(cards));
    for (uint32_t i = 0; i < view->ipu_count; i++) {
        const struct ipu_view *ipu = &view->ipus[i];

        if (i && !str_eq(ipu->device.ip, view->ipus[i - 1].device.ip))
            box_table_add_rule(&box);
        box_table_add(&box, ipu->device.ip);
        box_table_add(&box, attribute(ipu, "board serial number"));
        box_table_add(&box, ipu->device.ipum_sw_version);
        box_table_add(&box, text_or_blank(view->server_version));
        box_table_add(&box, attribute(ipu, "firmware version"));
        box_table_add(&box, attribute(ipu, "board type"));
        box_table_addf(&box, "%" PRIu32, i);
        box_table_addf(&box, "%" PRIu32, ipu->device.ipu_id);
        box_table_add(&box, gcd_view_routing(view));
    }
    box_table_print(&box, head, COUNT_OF(head), out);
}

/* A board has two IPUs; its sensors are shown with the first of them. */
static bool starts_board(const struct gcd_view *view, const struct lock_record *holder, uint32_t ipu)
{
    const struct ipu_view *here = &view->ipus[ipu], *before;

    if (ipu == holder->first)
        return true;
    before = &view->ipus[ipu - 1];
    return !str_eq(here->device.ip, before->device.ip) ||
           here->device.ipu_id / 2 != before->device.ipu_id / 2;
}

/* The sensors are read by the attached program, and only if it was asked to. */
static const char *sensor(const struct lock_record *holder, const struct ipu_view *ipu, const char *key)
{
    return holder->monitored ? attributes_or_na(ipu, key) : "N/A";
}

static void add_process_row(struct box_table *box, const struct gcd_view *view,
                            const struct lock_record *holder, uint32_t ipu, int64_t now_unix_s)
{
    const struct ipu_view *seen = &view->ipus[ipu];
    bool starts = starts_board(view, holder, ipu);
    char age[TIMEFMT_RFC3339_SIZE];

    if (starts)
        box_table_add_rule(box);
    box_table_addf(box, "%" PRId64, holder->pid);
    box_table_add(box, holder->command);
    box_table_add(box, holder->pid ? timefmt_age(now_unix_s - holder->since_unix_s, age) : "");
    box_table_add(box, holder->user);
    box_table_addf(box, "%" PRIu32, ipu);
    box_table_add(box, attributes_or_na(seen, "clock"));
    box_table_add(box, sensor(holder, seen, "average die temp"));
    box_table_add(box, starts ? sensor(holder, seen, "average board temp") : "");
    box_table_add(box, starts ? sensor(holder, seen, "total board power") : "");
}

static void add_other_row(struct box_table *box, const struct gcd_view *view,
                          const struct lock_record *holder, uint32_t ipu)
{
    const struct ipu_view *seen = &view->ipus[ipu];
    bool starts = starts_board(view, holder, ipu);

    box_table_addf(box, "%" PRIu32, ipu);
    box_table_add(box, holder->host);
    box_table_add(box, attributes_or_na(seen, "clock"));
    box_table_add(box, sensor(holder, seen, "average die temp"));
    box_table_add(box, starts ? sensor(holder, seen, "average board temp") : "");
    box_table_add(box, starts ? sensor(holder, seen, "total board power") : "");
}

/* A record that cannot be read may be of any namespace. */
static bool is_elsewhere(const struct lock_record *holder, uint64_t pid_space)
{
    return holder->pid != 0 && holder->pid_space != pid_space;
}

static size_t count_elsewhere(const struct lock_records *holders, uint64_t pid_space)
{
    size_t count = 0;

    for (size_t i = 0; i < holders->count; i++)
        count += is_elsewhere(&holders->items[i], pid_space);
    return count;
}

/* "p1", and with its number each further GCD of it. The caller frees it. */
static char *name_of(const struct gcd_view *view)
{
    return view->gcd ? mem_printf("%s (gcd:%" PRIu32 ")", view->partition, view->gcd)
                     : mem_strdup(view->partition);
}

static void print_local(const struct monitored_gcd *gcd, uint64_t pid_space, int64_t now_unix_s,
                        struct str *out)
{
    AUTO(mem) char *name = name_of(gcd->view);
    AUTO(mem) char *title = mem_printf("Attached processes in partition %s", name);
    const struct box_table_span spans[] = {{title, 4, 0}, {"IPU", 3, 0}, {"Board", 2, 0}};
    AUTO(box_table) struct box_table box = {0};

    box_table_init(&box, processes, COUNT_OF(processes));
    for (size_t i = 0; i < gcd->holders.count; i++) {
        const struct lock_record *holder = &gcd->holders.items[i];

        for (uint32_t n = 0; !is_elsewhere(holder, pid_space) && n < holder->count; n++)
            add_process_row(&box, gcd->view, holder, holder->first + n, now_unix_s);
    }
    box_table_print(&box, spans, COUNT_OF(spans), out);
}

static void print_elsewhere(const struct monitored_gcd *gcd, uint64_t pid_space, struct str *out)
{
    AUTO(mem) char *name = name_of(gcd->view);
    AUTO(mem) char *title = mem_printf("IPUs in %s attached from other namespaces", name);
    const struct box_table_span spans[] = {{title, 4, 0}, {"Board", 2, 0}};
    AUTO(box_table) struct box_table box = {0};

    box_table_init(&box, others, COUNT_OF(others));
    for (size_t i = 0; i < gcd->holders.count; i++) {
        const struct lock_record *holder = &gcd->holders.items[i];

        for (uint32_t n = 0; is_elsewhere(holder, pid_space) && n < holder->count; n++)
            add_other_row(&box, gcd->view, holder, holder->first + n);
    }
    box_table_print(&box, spans, COUNT_OF(spans), out);
}

void monitor_print_processes(const struct monitored_gcd *gcd, uint64_t pid_space, int64_t now_unix_s,
                             struct str *out)
{
    size_t elsewhere = count_elsewhere(&gcd->holders, pid_space);

    if (gcd->holders.count == 0) {
        AUTO(mem) char *name = name_of(gcd->view);
        AUTO(mem) char *text = mem_printf("No attached processes in partition %s", name);

        box_table_print_line(text, LINE_WIDTH, out);
    }
    if (gcd->holders.count > elsewhere)
        print_local(gcd, pid_space, now_unix_s, out);
    if (elsewhere)
        print_elsewhere(gcd, pid_space, out);
}

void monitor_print_nothing(struct str *out)
{
    box_table_print_line("No active partition", LINE_WIDTH, out);
}
