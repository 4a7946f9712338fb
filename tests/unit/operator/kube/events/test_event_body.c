#include "operator/kube/events/event_body.h"

#include <string.h>

#include "lib/check.h"

static const struct events_options REPORTER = {"graphcore.ai/ipu-operator", "pod-1"};

static struct event sample(void)
{
    return (struct event){
        .regarding = {"graphcore.ai/v1alpha1", "IPUJob", "n", "job", "uid-1"},
        .type = "Normal",
        .reason = "PartitionCreated",
        .action = "CreatePartition",
        .note = "made p-job-n-0",
    };
}

TEST(the_name_is_the_same_for_the_same_event_only)
{
    struct event event = sample();
    AUTO(mem) char *first = event_name(&event, &REPORTER);
    AUTO(mem) char *again = event_name(&event, &REPORTER);

    CHECK_STR_EQ(first, again);
    CHECK(str_has_prefix(first, "job."));
    CHECK_INT_EQ(strlen(first), strlen("job.") + 16);
    event.regarding.uid = "uid-2";
    AUTO(mem) char *other_object = event_name(&event, &REPORTER);
    CHECK(!str_eq(first, other_object));
    event = sample();
    event.note = "made p-job-n-1";
    AUTO(mem) char *other_note = event_name(&event, &REPORTER);
    CHECK(!str_eq(first, other_note));
}

TEST(a_long_name_is_cut)
{
    struct event event = sample();
    char name[254];

    memset(name, 'a', 253);
    name[253] = '\0';
    event.regarding.name = name;
    AUTO(mem) char *got = event_name(&event, &REPORTER);
    CHECK_INT_EQ(strlen(got), 253);
}

TEST(the_body_has_what_the_api_asks_for)
{
    struct event event = sample();
    AUTO(json) cJSON *body = event_body(&event, &REPORTER, "job.1", 1700000000123456);

    CHECK_STR_EQ(json_str(body, "metadata/namespace", ""), "n");
    CHECK_STR_EQ(json_str(body, "eventTime", ""), "2023-11-14T22:13:20.123456Z");
    CHECK_STR_EQ(json_str(body, "reportingController", ""), "graphcore.ai/ipu-operator");
    CHECK_STR_EQ(json_str(body, "reportingInstance", ""), "pod-1");
    CHECK_STR_EQ(json_str(body, "regarding/uid", ""), "uid-1");
    CHECK_STR_EQ(json_str(body, "note", ""), "made p-job-n-0");
    CHECK(json_at(body, "related") == NULL);
}

TEST(a_note_is_cut_at_a_character_and_says_so)
{
    struct event event = sample();
    char note[2001];
    const char *got;

    for (size_t i = 0; i < 2000; i += 2)
        memcpy(note + i, "\xc3\xa4", 2);
    note[2000] = '\0';
    event.note = note;
    AUTO(json) cJSON *even = event_body(&event, &REPORTER, "x", 0);
    got = json_str(even, "note", "");
    CHECK_INT_EQ(strlen(got), 1023);
    CHECK_STR_EQ(got + 1018, "\xc3\xa4...");
    note[0] = 'x'; /* shifts the borders to odd places */
    note[1] = 'y';
    note[2] = 'z';
    memmove(note + 3, note + 4, 1997);
    AUTO(json) cJSON *odd = event_body(&event, &REPORTER, "x", 0);
    got = json_str(odd, "note", "");
    CHECK_INT_EQ(strlen(got), 1024);
    CHECK_STR_EQ(got + 1019, "\xc3\xa4...");
}

TEST(a_note_shows_control_characters_as_text)
{
    struct event event = sample();

    event.note = "the last line: \x1b[2Jok\x7f";
    AUTO(json) cJSON *body = event_body(&event, &REPORTER, "x", 0);
    CHECK_STR_EQ(json_str(body, "note", ""), "the last line: \\x1b[2Jok\\x7f");
}

TEST(a_series_counts_from_two)
{
    AUTO(json) cJSON *one = event_series_patch(1, 0);
    AUTO(json) cJSON *many = event_series_patch(17, 0);

    CHECK_INT_EQ(json_i64(one, "series/count", 0), 2);
    CHECK_INT_EQ(json_i64(many, "series/count", 0), 17);
}
