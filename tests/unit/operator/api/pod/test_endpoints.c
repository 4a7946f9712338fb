#include "operator/api/pod/endpoints.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"
#include "pod_spec_cases.h"

static struct job *a_job(void)
{
    return pod_spec_case_job(&pod_spec_cases[pod_spec_case_count - 1]); /* two workers */
}

TEST(a_slice_is_as_reviewed)
{
    AUTO(job) struct job *job = a_job();
    const struct endpoint workers[] = {{"two-workers-worker-2", "10.1.2.3"},
                                       {"two-workers-worker-3", "10.1.2.4"}};
    AUTO(json) cJSON *slice = endpoints_slice(job, 1, 0, workers);
    AUTO(mem) char *text = json_print_pretty(slice);
    AUTO(mem) char *line = mem_printf("%s\n", text);

    golden_check("pods/endpoints.json", line);
}

TEST(slices_are_named_after_service_instance_family_and_part)
{
    AUTO(job) struct job *job = a_job();
    static const struct {
        uint32_t instance, slice;
        const char *name;
    } rows[] = {
        {0, 0, "two-workers-workers-0-ipv4"},
        {12, 1, "two-workers-workers-12-ipv6"},
        {0, 2, "two-workers-workers-0-ipv4-1"},
        {0, 9, "two-workers-workers-0-ipv6-4"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *name = endpoints_slice_name(job, row->instance, row->slice);

        CHECK_STR_EQ(name, row->name);
    }
}

TEST(no_slice_has_more_than_the_api_server_takes)
{
    AUTO(job) struct job *job = a_job();
    uint32_t count = 2 * ENDPOINTS_PER_SLICE + 1;
    AUTO(mem) struct endpoint *workers = mem_alloc(count * sizeof(*workers));
    int sizes[6];

    for (uint32_t w = 0; w < count; w++)
        workers[w] = (struct endpoint){"host", w == 3 ? "fd00::3" : "10.0.0.1"};
    job->spec.workers_per_instance = count;
    CHECK_INT_EQ(endpoints_slices(count), 6);
    for (uint32_t i = 0; i < 6; i++) {
        AUTO(json) cJSON *slice = endpoints_slice(job, 0, i, workers);

        sizes[i] = cJSON_GetArraySize(json_at(slice, "endpoints"));
        CHECK_INT_EQ(endpoints_content(workers, count, i), endpoints_content_seen(slice));
    }
    CHECK_INT_EQ(sizes[0], ENDPOINTS_PER_SLICE - 1);
    CHECK_INT_EQ(sizes[1], 1);
    CHECK_INT_EQ(sizes[2], ENDPOINTS_PER_SLICE);
    CHECK_INT_EQ(sizes[4], 1);
    CHECK_INT_EQ(sizes[3] + sizes[5], 0);
    CHECK_INT_EQ(endpoints_slices(1), 2);
    CHECK_INT_EQ(endpoints_slices(ENDPOINTS_PER_SLICE), 2);
}

TEST(its_content_names_its_members_in_order)
{
    const struct endpoint some[] = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}};
    const struct endpoint others[][2] = {
        {{"a", "10.0.0.1"}, {"b", NULL}},         {{"a", "10.0.0.1"}, {"b", "10.0.0.3"}},
        {{"b", "10.0.0.2"}, {"a", "10.0.0.1"}},   {{"a", "10.0.0.2"}, {"b", "10.0.0.1"}},
        {{"a", "10.0.0.1"}, {"b", "fd00::10.2"}},
    };
    const struct endpoint nobody[2] = {{NULL, NULL}};
    uint64_t content = endpoints_content(some, 2, 0);

    CHECK(content);
    CHECK_ROWS (other, others)
        CHECK(endpoints_content(*other, 2, 0) != content);
    CHECK_INT_EQ(endpoints_content(nobody, 2, 0), 0);
    CHECK_INT_EQ(endpoints_content(some, 2, 1), 0);
}

TEST(content_of_foreign_slices_is_read)
{
    static const char *const texts[] = {"{\"endpoints\":[{}]}", "{\"endpoints\":[{\"addresses\":[7]}]}",
                                        "{\"endpoints\":[{\"addresses\":[],\"hostname\":null}]}"};
    struct err err = {0};

    CHECK_ROWS (text, texts) {
        AUTO(json) cJSON *slice = json_parse(slice_of(*text), &err);

        CHECK_OK(slice, err);
        CHECK(endpoints_content_seen(slice));
    }
    CHECK_INT_EQ(endpoints_content_seen(NULL), 0);
}
