#include "operator/reconcile/decide/model/previous_attempt.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define FAILED                                                                                               \
    "\"instance\":1,\"attempt\":0,\"pod\":\"job-worker-3\",\"container\":\"main\",\"exitCode\":1,"           \
    "\"reason\":\"ContainerFailed\",\"time\":\"2026-01-01T10:05:00Z\",\"message\":\"epoch 1\\n"              \
    "KeyError: $(HOME)\\u001b[2J\\n\""
#define OTHERS ",\"otherPods\":[{\"pod\":\"job-worker-2\",\"exitCode\":143,\"message\":\"epoch 1\\n\"}]"
#define STATUS                                                                                               \
    "{\"failures\":[{\"instance\":0,\"attempt\":0,\"pod\":\"job-worker-0\",\"reason\":\"Evicted\"},{" FAILED \
        OTHERS "}]}"
#define BEGIN                                                                                                \
    "This is restart 1 of instance 1.\nThe attempt before it failed at 2026-01-01T10:05:00Z: Container "     \
    "main of pod job-worker-3 exited with code 1: KeyError: $(HOME)\\x1b[2J (ContainerFailed)\n"

static char *report_of(const char *text, uint32_t instance, uint32_t restarts, const char *pod)
{
    struct err err;
    AUTO(json) cJSON *status = json_parse(slice_of(text), &err);

    CHECK(status);
    return previous_attempt_report(status, instance, restarts, pod);
}

TEST(a_restarted_pod_hears_how_the_attempt_before_it_ended)
{
    static const struct {
        const char *status, *pod, *report;
        uint32_t instance, restarts;
    } rows[] = {
        {STATUS, "job-worker-3",
         BEGIN "The last lines of job-worker-3 then:\nepoch 1\nKeyError: $(HOME)\\x1b[2J\n", 1, 1},
        {STATUS, "job-worker-2", BEGIN "The last lines of job-worker-2 then:\nepoch 1\n", 1, 1},
        {STATUS, "job-launcher-1", BEGIN "The job's status has no lines of job-launcher-1.", 1, 1},
        {STATUS, "job-worker-0",
         "This is restart 1 of instance 0.\nThe attempt before it failed: Pod job-worker-0 was evicted "
         "from its node (Evicted)\nThe job's status has no lines of job-worker-0.",
         0, 1},
        {STATUS, "job-worker-3", NULL, 1, 0}, /* its first attempt */
        {STATUS, "job-worker-3", NULL, 1, 2}, /* the one before it is not in the status */
        {STATUS, "job-worker-4", NULL, 2, 1},
        {"{}", "job-worker-0", NULL, 0, 1},
        {"{\"failures\":{\"a\":1}}", "job-worker-0", NULL, 0, 1},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *report = report_of(row->status, row->instance, row->restarts, row->pod);

        CHECK_STR_EQ(report, row->report);
    }
}

/* Whatever somebody writes into the status. */
TEST(a_report_is_bounded)
{
    static char text[20000], lines[9000], name[5000];

    memset(lines, 'l', sizeof(lines) - 1);
    memcpy(lines + sizeof(lines) - 9, "\\nlast\\n", 8);
    memset(name, 'n', sizeof(name) - 1);
    (void)snprintf(
        text, sizeof(text),
        "{\"failures\":[{\"instance\":0,\"attempt\":0,\"reason\":\"%s\",\"pod\":\"p\",\"message\":\"%s\"}]}",
        name, lines);
    AUTO(mem) char *report = report_of(text, 0, 1, "p");
    CHECK(strlen(report) <= PREVIOUS_ATTEMPT_MAX);
    CHECK(str_has_suffix(report, "The last lines of p then:\nlast\n"));
}
