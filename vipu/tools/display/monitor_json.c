#include "vipu/tools/display/monitor.h"

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/doc/json.h"

static void put_ipu(cJSON *list, const struct gcd_view *view, uint32_t index)
{
    const struct ipu_view *ipu = &view->ipus[index];
    cJSON *object = json_push_take(list, json_object());

    json_put_i64(object, "id", index);
    json_put_str(object, "ipuMachine", ipu->device.ip);
    json_put_i64(object, "ipu", ipu->device.ipu_id);
    json_put_str(object, "chipId", ipu->device.chip_id);
    json_put_str(object, "serial", ipu_view_attribute(ipu, "board serial number"));
    json_put_str(object, "type", ipu_view_attribute(ipu, "board type"));
    json_put_str(object, "firmware", ipu_view_attribute(ipu, "firmware version"));
    json_put_str(object, "ipuMachineSoftware", ipu->device.ipum_sw_version);
    json_put_str(object, "clock", ipu_view_attribute(ipu, "clock"));
    json_put_str(object, "routing", gcd_view_routing(view));
}

static void put_process(cJSON *list, const struct lock_record *holder, uint64_t pid_space, int64_t now_unix_s)
{
    cJSON *object = json_push_take(list, json_object()), *ipus;

    ipus = json_put_array(object, "ipus");
    for (uint32_t i = 0; i < holder->count; i++)
        json_push_take(ipus, cJSON_CreateNumber(holder->first + i));
    if (holder->pid == 0)
        return;
    json_put_i64(object, "pid", holder->pid);
    json_put_str(object, "command", holder->command);
    json_put_str(object, "user", holder->user);
    json_put_str(object, "host", holder->host);
    json_put_time(object, "since", holder->since_unix_s);
    json_put_i64(object, "seconds",
                 now_unix_s > holder->since_unix_s ? now_unix_s - holder->since_unix_s : 0);
    json_put_bool(object, "otherNamespace", holder->pid_space != pid_space);
}

static void put_gcd(cJSON *list, const struct monitored_gcd *gcd, bool with_cards, uint64_t pid_space,
                    int64_t now_unix_s)
{
    const struct gcd_view *view = gcd->view;
    cJSON *object = json_push_take(list, json_object()), *items;

    json_put_str(object, "partition", view->partition);
    json_put_i64(object, "gcd", view->gcd);
    json_put_bool(object, "active", view->active);
    json_put_bool(object, "reconfigurable", view->reconfigurable);
    json_put_str(object, "serverVersion", view->server_version);
    json_put_str(object, "error", view->trouble);
    if (with_cards) {
        items = json_put_array(object, "ipus");
        for (uint32_t i = 0; i < view->ipu_count; i++)
            put_ipu(items, view, i);
    }
    items = json_put_array(object, "processes");
    for (size_t i = 0; i < gcd->holders.count; i++)
        put_process(items, &gcd->holders.items[i], pid_space, now_unix_s);
}

void monitor_print_json(const struct monitored_gcd *gcds, size_t count, bool with_cards, uint64_t pid_space,
                        int64_t now_unix_s, struct str *out)
{
    AUTO(json) cJSON *document = json_object();
    cJSON *list = json_put_array(document, "partitions");
    AUTO(mem) char *text = NULL;

    for (size_t i = 0; i < count; i++)
        put_gcd(list, &gcds[i], with_cards, pid_space, now_unix_s);
    json_make_visible(document, VISIBLE_LINES);
    text = json_print_pretty(document);
    str_addf(out, "%s\n", text);
}
