#include "kubectl/core/answers/eta.h"

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "lib/check.h"
#include "unit/kubectl/quoted_json.h"

#define FORECAST(fields) "{'status':{'launcherStatus':'Pending','forecast':{'position':3," fields "}}}"

static char *printed(const char *job_text, size_t width, bool wide)
{
    AUTO(json) cJSON *job = parsed(job_text);
    AUTO(json) cJSON *report = NULL;
    struct str out = {0};
    int64_t now_s;

    CHECK(timefmt_parse_rfc3339("2026-11-26T12:00:00Z", &now_s));
    json_put_str(json_put_object(job, "metadata"), "name", "digits");
    report = eta_report(job);
    eta_print(report, &(struct look){.width = width}, wide, now_s, &out);
    return str_take(&out);
}

TEST(a_start_or_an_end_is_told)
{
    static const struct {
        const char *job, *want;
    } rows[] = {
        {FORECAST("'basis':'History','earliest':'2026-11-26T12:25:00Z','expected':'2026-11-26T12:40:00Z',"
                  "'latest':'2026-11-26T15:50:00Z'"),
         "digits: Pending\n  starts      in 25m to 3h50m, likely in 40m, if nothing changes\n"
         "  place       3\n  rests on    run times of earlier jobs\n"},
        {FORECAST("'basis':'Bounds','earliest':'2026-11-26T11:59:00Z','expected':'2026-11-26T12:40:00Z',"
                  "'latest':'2026-11-26T12:40:00Z'"),
         "digits: Pending\n  starts      within 40m, likely in 40m, if nothing changes\n"
         "  place       3\n  rests on    its IPUs are reserved, and deadlines say when they are free\n"},
        {FORECAST("'basis':'Order','earliest':'2026-11-26T11:59:00Z'"),
         "digits: Pending\n  starts      now or later, if nothing changes\n"
         "  place       3\n  rests on    a coarse estimate, because many jobs are ahead\n"},
        {FORECAST("'basis':'Order','earliest':'2026-11-26T12:25:00Z'"),
         "digits: Pending\n  starts      in 25m or later, if nothing changes\n"
         "  place       3\n  rests on    a coarse estimate, because many jobs are ahead\n"},
        {FORECAST("'basis':'Open'"),
         "digits: Pending\n  starts      at a time that is not known\n"
         "  place       3\n  rests on    the run time of a job ahead is not known\n"},
        {"{'spec':{'activeDeadlineSeconds':7200},'status':{'launcherStatus':'Running','startTime':"
         "'2026-11-26T11:00:00Z','progress':{'percentage':42,'estimatedEndTime':'2026-11-26T12:20:00Z'}}}",
         "digits: Running\n  ends        in 20m, as its program reports (42 %)\n"
         "              in 60m at the latest, by its limit of time\n"},
        {"{'status':{'launcherStatus':'Running','endTime':'2026-11-26T12:20:00Z'}}",
         "digits: Running\n  ends        in 20m at the latest, by its limit of time\n"},
        {"{'spec':{'activeDeadlineSeconds':4200},'status':{'launcherStatus':'Running','startTime':"
         "'2026-11-26T11:00:00Z','endTime':'2026-11-26T12:20:00Z'}}",
         "digits: Running\n  ends        in 10m at the latest, by its limit of time\n"},
        {"{'status':{'launcherStatus':'Running'}}",
         "digits: Running\n  No end is known: it reports no progress and has no limit of time.\n"},
        {"{'status':{'launcherStatus':'Suspended'}}", "digits: Suspended\n  No time is known: it reports no "
                                                      "progress, has no limit of time, and no forecast "
                                                      "of its start.\n"},
        {"{'status':{'launcherStatus':'Failed','completionTime':'2026-11-26T11:20:00Z','endTime':"
         "'2026-11-26T12:20:00Z'}}",
         "digits: Failed, 40m ago\n"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = printed(row->job, 0, false);

        CHECK_STR_EQ(text, row->want);
    }
}

TEST(a_narrow_terminal_breaks_lines_at_blanks)
{
    AUTO(mem) char *start = printed(FORECAST("'basis':'Order','earliest':'2026-11-26T12:25:00Z'"), 20, false);
    AUTO(mem) char *end = printed("{'status':{'launcherStatus':'Running'}}", 20, false);
    AUTO(mem)
    char *wider =
        printed("{'status':{'launcherStatus':'Running','endTime':'2026-11-26T12:20:00Z'}}", 40, false);

    CHECK_STR_EQ(start,
                 "digits: Pending\n  starts      \n    in 25m or later,\n    if nothing\n    changes\n"
                 "  place       \n    3\n  rests on    \n    a coarse\n    estimate,\n    because many\n"
                 "    jobs are ahead\n");
    CHECK_STR_EQ(
        end,
        "digits: Running\n  No end is known:\n  it reports no\n  progress and has\n  no limit of time.\n");
    CHECK_STR_EQ(wider, "digits: Running\n  ends        in 20m at the latest, by\n"
                        "              its limit of time\n");
}

TEST(the_wide_format_says_how_old_the_forecast_is)
{
    AUTO(mem) char *text = printed(FORECAST("'asOf':'2026-11-26T11:30:00Z'"), 0, true);

    CHECK_HAS(text, "  known for   30m\n");
}

TEST(the_end_report_is_a_stable_object)
{
    AUTO(json)
    cJSON *job = parsed("{'metadata':{'namespace':'ml','name':'digits'},'spec':{'activeDeadlineSeconds':60},"
                        "'status':{'launcherStatus':'Running','startTime':'2026-11-26T11:00:00Z',"
                        "'forecast':{'position':1},'progress':{'percentage':42,'estimatedEndTime':"
                        "'2026-11-26T12:20:00Z'}}}");
    AUTO(json) cJSON *report = eta_report(job);
    AUTO(mem) char *text = json_print(report);

    CHECK_STR_EQ(text, "{\"apiVersion\":\"cli.graphcore.ai/v1alpha1\",\"kind\":\"EtaReport\",\"metadata\":{"
                       "\"namespace\":\"ml\",\"name\":\"digits\"},\"status\":\"Running\",\"forecast\":{"
                       "\"position\":1},\"expectedEnd\":\"2026-11-26T12:20:00Z\",\"percentage\":42,"
                       "\"latestEnd\":\"2026-11-26T11:01:00Z\"}");
}
