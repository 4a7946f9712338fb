#include "kubectl/core/map.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "unit/kubectl/quoted_json.h"

#define REACHABLE "'conditions':[{'type':'Reachable','status':'True','message':'answers'}]"
#define PLACED(domain, ipus) "'places':[{'domain':'" domain "','ipus':'" ipus "'}]"
/* Sixteen IPUs: 0-3 digits, 4-5 a failed one of digits, 6 foreign, 7 nobody's, 8-15 free. */
#define ONE_DOMAIN                                                                                           \
    "{'metadata':{'name':'pod16'},'status':{" REACHABLE ",'ipus':{'total':16,'free':8,'largestFree':8},"     \
    "'domains':[{'name':'ild0','size':16,'free':'000000000000ff00'}],'partitions':["                         \
    "{'size':4,'state':'ACTIVE','ours':true,'job':'ml/digits','namespace':'ml'," PLACED(                     \
        "ild0", "f") "},"                                                                                    \
                     "{'size':2,'state':'ERROR','ours':true,'job':'ml/digits','namespace':'ml'," PLACED(     \
                         "ild0", "30") "},"                                                                  \
                                       "{'size':1,'state':'ACTIVE'," PLACED("ild0", "40") "}]}}"

static char *drawn(const char *controllers_text, const char *jobs_text, const struct look *look, bool wide)
{
    AUTO(json) cJSON *controllers = parsed(controllers_text);
    AUTO(json) cJSON *jobs = parsed(jobs_text);
    AUTO(json) cJSON *report = map_report(controllers, jobs, NULL);
    struct str out = {0};

    map_print(report, look, wide, 0, &out);
    return str_take(&out);
}

#define JOBS                                                                                                 \
    "[{'metadata':{'namespace':'ml','name':'digits'},'status':{'launcherStatus':'Running'}},"                \
    "{'metadata':{'namespace':'m','name':'l/digits'},'status':{'launcherStatus':'Failed'}}]"
#define LEGEND ". free  - cordoned  x failed  # no job's\n"

TEST(each_ipu_has_the_letter_of_its_holder)
{
    AUTO(mem) char *text = drawn("[" ONE_DOMAIN "]", JOBS, &(struct look){0}, false);

    CHECK_STR_EQ(text, "pod16: up, 8 of 16 IPUs free, largest block 8\n"
                       "ild0: 8 free\n"
                       "aaaa xx#? .... ....\n"
                       "a ml/digits, 6 IPUs, 2 of them in failed partitions (x), Running\n"
                       "# partitions that are no job's, 1 IPU\n" LEGEND);
}

TEST(a_narrow_terminal_gets_every_ipu)
{
    AUTO(mem) char *text = drawn("[" ONE_DOMAIN "]", "[]", &(struct look){.width = 20}, false);
    AUTO(mem) char *wide = drawn("[" ONE_DOMAIN "]", "[]", &(struct look){.width = 10}, true);
    AUTO(strv) struct strv lines = {0};

    CHECK_HAS(text, "\naaaa xx#? .... ....\n");
    strv_split(text, '\n', &lines);
    for (size_t i = 0; i < lines.count; i++)
        CHECK(text_width(lines.items[i]) <= 20);
    CHECK_HAS(wide, "\naaaa xx#? .... ....\n");
    mem_free(TAKE(text));
    text = drawn("[" ONE_DOMAIN "]", "[]", &(struct look){.width = 18}, false);
    CHECK_HAS(text, "\naaaa xx#?\n.... ....\n");
}

TEST(hidden_names_and_cordons_are_shown_as_what_they_are)
{
    static const char controller[] =
        "[{'metadata':{'name':'c'},'status':{'conditions':[{'type':'Reachable','status':'False','message':'"
        "it is "
        "off'}],'cordon':{'state':'Draining'},'domains':[{'name':'d','size':4,'free':'0000000000000008'}],"
        "'partitions':[{'size':1,'ours':true,'namespace':'cv'," PLACED(
            "d", "1") "},"
                      "{'size':1,'ours':true," PLACED(
                          "d", "2") "},{'size':1,'ours':true,'namespace':'cv'," PLACED("d", "4") "}]}}]";
    AUTO(mem) char *text = drawn(controller, "[]", &(struct look){0}, false);

    CHECK_STR_EQ(text, "c: it is off, cordoned: Draining\n"
                       "d: cordoned\n"
                       "aba-\n"
                       "a jobs of namespace cv, 2 IPUs\n"
                       "b jobs whose names are hidden, 1 IPU\n" LEGEND);
}

TEST(one_domain_has_its_own_holders)
{
    static const char two[] =
        "[{'metadata':{'name':'c'},'status':{" REACHABLE
        ",'domains':[{'name':'d','size':2,'free':'2'},{'name':'e','size':2,'free':'0'}],"
        "'partitions':[{'size':2,'ours':true,'job':'ml/a'," PLACED(
            "e", "3") "},"
                      "{'size':1,'ours':true,'job':'ml/b'," PLACED(
                          "d", "1") "}]}},"
                                    "{'metadata':{'name':'without'},'status':{}}]";
    AUTO(json) cJSON *controllers = parsed(two);
    AUTO(json) cJSON *report = map_report(controllers, NULL, "d");
    AUTO(json) cJSON *none = map_report(controllers, NULL, "nowhere");
    AUTO(str) struct str out = {0};

    map_print(report, &(struct look){0}, false, 0, &out);
    CHECK_STR_EQ(str_text(&out), "c: up\nd: 1 free\na.\na ml/b, 1 IPU\n" LEGEND);
    CHECK(!json_at(none, "items")->child);
}

TEST(what_waits_and_how_long_a_drain_takes_is_told)
{
    static const char controller[] =
        "[{'metadata':{'name':'c'},'status':{" REACHABLE ",'waiting':1,'version':'1.18',"
        "'cordon':{'state':'Draining','until':'1970-01-01T01:00:00Z'}}}]";
    AUTO(mem) char *text = drawn(controller, "[]", &(struct look){0}, false);
    AUTO(mem) char *wide = drawn(controller, "[]", &(struct look){0}, true);

    CHECK_STR_EQ(text, "c: up, 1 instance waits, cordoned: Draining, free in 60m at the latest\n" LEGEND);
    CHECK_HAS(wide, " at the latest, version 1.18\n");
}

TEST(a_color_is_never_alone)
{
    AUTO(mem) char *text = drawn("[" ONE_DOMAIN "]", "[]", &(struct look){.colors = true}, false);

    CHECK_HAS(text, "\naaaa \x1b[31mx\x1b[0m\x1b[31mx\x1b[0m\x1b[2m#\x1b[0m? \x1b[32m.\x1b[0m");
}

TEST(more_holders_than_letters_are_a_plus)
{
    AUTO(json) cJSON *controllers = parsed("[{'metadata':{'name':'c'},'status':{'partitions':[]}}]");
    cJSON *partitions = json_at_mut(controllers->child, "status/partitions");
    AUTO(json) cJSON *report = NULL;
    const cJSON *last = NULL;

    for (unsigned i = 0; i < 60; i++) {
        cJSON *partition = json_push_take(partitions, json_object());

        json_put_strf(partition, "job", "ml/job-%u", i);
        json_put_bool(partition, "ours", true);
    }
    report = map_report(controllers, NULL, NULL);
    JSON_EACH (holder, json_at(report, "holders"))
        last = holder;
    CHECK_STR_EQ(json_str(last, "letter", ""), "+");
    CHECK_STR_EQ(json_str(json_at(report, "holders")->child, "letter", ""), "a");
}
