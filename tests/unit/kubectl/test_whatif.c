#include "kubectl/core/answers/whatif.h"

#include "base/text/timefmt.h"
#include "lib/check.h"
#include "unit/kubectl/quoted_json.h"

#define CONTROLLER(name, starts) "{'metadata':{'name':'" name "'},'status':{'starts':[" starts "]}}"
#define LATER(ipus, more)                                                                                    \
    "{'ipus':" ipus ",'state':'Later','earliest':'2026-11-26T12:25:00Z','expected':'2026-11-26T12:40:00Z',"  \
    "'latest':'2026-11-26T13:50:00Z'" more "}"
#define BUSY                                                                                                 \
    CONTROLLER(                                                                                              \
        "pod16",                                                                                             \
        "{'ipus':4,'state':'Now'}," LATER("8", ",'startsNowWithin':2700") "," LATER(                         \
            "16", ",'startsNowWithin':2700") ",{'ipus':32,'state':'Open'},{'ipus':64,'state':'Never'}")
#define OTHER                                                                                                \
    CONTROLLER("other", "{'ipus':4,'state':'Open'},{'ipus':8,'state':'Open','startsNowWithin':7200},"        \
                        "{'ipus':16,'state':'Open'}")

struct row {
    const char *controllers, *job;
    uint32_t ipus;
    int64_t for_s;
    bool wide;
    const char *want;
};

static char *printed(const struct row *row)
{
    AUTO(json) cJSON *controllers = parsed(row->controllers);
    AUTO(json) cJSON *job = row->job ? parsed(row->job) : NULL;
    AUTO(json)
    cJSON *report = whatif_report(&(struct whatif_query){
        .controllers = controllers, .job = job, .ipus = row->ipus, .for_s = row->for_s});
    struct str out = {0};
    int64_t now_s;

    CHECK(timefmt_parse_rfc3339("2026-11-26T12:00:00Z", &now_s));
    whatif_print(report, &(struct look){0}, row->wide, now_s, &out);
    return str_take(&out);
}

TEST(each_size_has_its_start)
{
    static const struct row rows[] = {
        {.controllers = "[" BUSY "]",
         .want = "IPUS   STARTS                                   CONTROLLER\n"
                 "4      now                                      pod16\n"
                 "8      in 25m to 110m, likely in 40m            pod16\n"
                 "16     in 25m to 110m, likely in 40m            pod16\n"
                 "32     at a time that is not known              pod16\n"
                 "64     never: it cannot make such a partition   pod16\n"
                 "With a deadline of 45 minutes or less (activeDeadlineSeconds: 2700), a job of 8 to 16 IPUs "
                 "would "
                 "start now at pod16.\n"},
        {.controllers = "[" OTHER "," BUSY "]",
         .ipus = 8,
         .want = "IPUS   STARTS                          CONTROLLER\n"
                 "8      in 25m to 110m, likely in 40m   pod16\n"
                 "With a deadline of 2 hours or less (activeDeadlineSeconds: 7200), a job of 8 IPUs would "
                 "start now "
                 "at other.\n"},
        {.controllers = "[" OTHER "," BUSY "]",
         .ipus = 16,
         .wide = true,
         .want = "IPUS   STARTS                          CONTROLLER\n"
                 "16     in 25m to 110m, likely in 40m   pod16\n"
                 "16     at a time that is not known     other\n"
                 "With a deadline of 45 minutes or less (activeDeadlineSeconds: 2700), a job of 16 IPUs "
                 "would start "
                 "now at pod16.\n"},
        {.controllers = "[" OTHER "," BUSY "]",
         .ipus = 8,
         .for_s = 7200,
         .want = "IPUS   STARTS   CONTROLLER\n8      now      other\n"},
        {.controllers = "[" BUSY "]",
         .job =
             "{'metadata':{'name':'digits'},'spec':{'activeDeadlineSeconds':1800},'status':{'launcherStatus':"
             "'Pending','forecast':{'position':3,'basis':'History','earliest':'2026-11-26T14:00:00Z'}}}",
         .ipus = 16,
         .want = "digits: Pending\n  starts      in 120m or later, if nothing changes\n  place       3\n"
                 "  rests on    run times of earlier jobs\n\n"
                 "IPUS   STARTS   CONTROLLER\n16     now      pod16\n"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = printed(row);

        CHECK_STR_EQ(text, row->want);
    }
}

TEST(the_report_has_all_controllers)
{
    AUTO(json) cJSON *controllers = parsed("[" OTHER "," BUSY "]");
    AUTO(json)
    cJSON *report = whatif_report(&(struct whatif_query){.controllers = controllers, .ipus = 8});
    const cJSON *first = json_at(report, "items")->child;

    CHECK_STR_EQ(json_str(report, "kind", ""), "WhatIfReport");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(report, "items")), 2);
    CHECK_STR_EQ(json_str(first, "controller", ""), "pod16");
    CHECK_STR_EQ(json_str(first, "latest", ""), "2026-11-26T13:50:00Z");
    CHECK_INT_EQ(json_i64(first, "startsNowWithin", 0), 2700);
    CHECK(!json_at(report, "deadlineSeconds"));
}

TEST(sizes_are_named_once)
{
    static const struct {
        const char *controllers, *want;
    } rows[] = {
        {"[" OTHER "," BUSY "]", "4, 8, 16, 32, 64"},
        {"[" CONTROLLER("old", "") ",{},{'status':{'starts':7}}]", ""},
        {"[]", ""},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *controllers = parsed(row->controllers);
        AUTO(str) struct str sizes = {0};

        whatif_add_sizes(&sizes, controllers);
        CHECK_STR_EQ(str_text(&sizes), row->want);
    }
}
