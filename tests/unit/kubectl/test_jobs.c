#include "kubectl/core/jobs.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "lib/check.h"
#include "unit/kubectl/quoted_json.h"

/* Namespace ml has a share. */
static char *table(cJSON *(*report)(const cJSON *, const cJSON *), const struct column *columns,
                   const char *jobs_text, bool wide)
{
    AUTO(json) cJSON *jobs = parsed(jobs_text);
    AUTO(json)
    cJSON *controllers = parsed("[{'status':{}},{'status':{'shares':{'namespaces':[{'namespace':'a',"
                                "'usedPercent':59,'weight':1},{'namespace':'ml','usedPercent':41,'weight':"
                                "2}]}}}]");
    AUTO(json) cJSON *made = report(jobs, controllers);
    struct str out = {0};
    int64_t now_s = 0;

    CHECK(timefmt_parse_rfc3339("2026-11-26T12:00:00Z", &now_s));
    table_add(&out, columns, json_at(made, "items"), &(struct look){0},
              &(struct table_options){.wide = wide, .now_s = now_s});
    return str_take(&out);
}

#define WAITS(name, created, queue)                                                                          \
    "{'metadata':{'namespace':'ml','name':'" name "','creationTimestamp':'" created "'},'spec':{'workers':{" \
    "'template':{'spec':{'priorityClassName':'high'}}}},'status':{'launcherStatus':'Pending','reason':'"     \
    "Queued',"                                                                                               \
    "'queue':{'controller':'c:1','ipus':64" queue "}}}"

TEST(the_queue_is_in_its_order)
{
    AUTO(mem)
    char *text =
        table(queue_report, queue_columns,
              "[" WAITS("later", "2026-11-26T11:00:00Z", "") "," WAITS(
                  "early", "2026-11-26T10:00:00Z",
                  "") "," WAITS("second", "2026-11-26T11:46:00Z",
                                ",'position':2") "," WAITS("first", "2026-11-26T11:46:00Z",
                                                           ",'position':1},'forecast':{'expected':'2026-11-"
                                                           "26T12:25:00Z'") ",{'metadata':{'name':'runs'}}]",
              false);

    CHECK_STR_EQ(text, "PLACE   NAMESPACE   NAME     IPUS   PRIORITY   WAITS   STARTS IN   WHY\n"
                       "1       ml          first    64     high       14m     25m         Queued\n"
                       "2       ml          second   64     high       14m     -           Queued\n"
                       "-       ml          early    64     high       120m    -           Queued\n"
                       "-       ml          later    64     high       60m     -           Queued\n");
}

TEST(behind_the_places_the_queue_is_ordered_by_turn)
{
    AUTO(mem)
    char *text =
        table(queue_report, queue_columns,
              "[" WAITS("resumed", "2026-11-26T10:00:00Z", ",'since':'2026-11-26T11:30:00Z'") "," WAITS(
                  "created", "2026-11-26T11:00:00Z", "") "]",
              false);

    CHECK(strstr(text, "created") < strstr(text, "resumed"));
}

TEST(the_wide_queue_tells_the_share_of_each_namespace)
{
    AUTO(mem)
    char *text =
        table(queue_report, queue_columns,
              "[" WAITS("first", "2026-11-26T11:46:00Z",
                        ",'position':1") ",{'metadata':{'namespace':'new','name':'second'},'status':{"
                                         "'queue':{'controller':'c:1','position':2}}}]",
              true);

    CHECK_STR_EQ(
        text,
        "CONTROLLER   PLACE   NAMESPACE   NAME     IPUS   PRIORITY   WAITS   STARTS IN   FREE   TOTAL   "
        "FITTING   USED %   WEIGHT   WHY      BLOCKED BY\n"
        "c:1          1       ml          first    64     high       14m     -           -      -       -    "
        "  "
        "   41       2        Queued   -\n"
        "c:1          2       new         second   -      -          -       -           -      -       -    "
        "  "
        "   -        -        -        -\n");
}

TEST(an_empty_queue_names_a_job_that_is_pending_for_another_reason)
{
#define OTHER(name, status)                                                                                  \
    "{'metadata':{'namespace':'ml','name':'" name "'},'status':{'launcherStatus':'" status "'}}"
    static const struct {
        const char *jobs, *sentence, *ns;
    } rows[] = {
        {"[]", "No job waits for IPUs.", NULL},
        {"[]", "No job waits for IPUs in namespace ml.", "ml"},
        {"[" OTHER("a", "Running") "]", "No job waits for IPUs.", NULL},
        {"[" OTHER("a", "Running") "," OTHER("b", "Pending") "]",
         "No job waits for IPUs. 1 job is Pending for another reason; see kubectl ipu why b -n ml.", NULL},
        {"[" OTHER("a", "Pending") "," OTHER("b", "Pending") "]",
         "No job waits for IPUs. 2 jobs are Pending for another reason; see kubectl ipu why a -n ml.", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *jobs = parsed(row->jobs);
        AUTO(str) struct str out = {0};

        queue_say_nothing(jobs, row->ns, &out);
        CHECK_STR_EQ(str_text(&out), row->sentence);
    }
}

TEST(jobs_that_hold_ipus_are_listed_by_their_number)
{
    AUTO(mem)
    char *text = table(
        top_report, top_columns,
        "[{'metadata':{'namespace':'ml','name':'small'},'status':{'launcherStatus':'Running','partitions':[{"
        "'id':'p','ipus':4,'controller':'c:1'}],'currentReplicas':1,'desiredReplicas':1,'startTime':"
        "'2026-11-26T11:58:00Z','conditions':[{'type':'Running','status':'True','lastTransitionTime':"
        "'2026-11-26T11:59:00Z'}],'workersStatus':{'active':2},'partitionCounts':{'total':1}}},"
        "{'metadata':{'namespace':'ml','name':'many'},'status':{'launcherStatus':'Starting','startTime':"
        "'2026-11-26T11:58:00Z','conditions':[{'type':'Running','status':'False','lastTransitionTime':"
        "'2026-11-26T11:58:00Z'}],'partitions':[{"
        "'id':'a','ipus':2},{'id':'b','ipus':2}],'partitionCounts':{'total':20},'restartCount':3}},"
        "{'metadata':{'namespace':'ml','name':'none'},'status':{'launcherStatus':'Pending'}}]",
        false);

    CHECK_STR_EQ(text, "NAMESPACE   NAME    STATUS     IPUS   CURRENT   DESIRED   PODS   RESTARTS   RUNS\n"
                       "ml          many    Starting   40     0         0         0      3          -\n"
                       "ml          small   Running    4      1         1         2      0          60s\n");
}
