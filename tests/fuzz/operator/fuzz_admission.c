/* Any bytes as a request to the webhooks, with what the API server may say of its templates beside it: they
 * are rejected with a sentence, or answered with something that can be read. */
#include <assert.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "operator/serve/webhooks/admission.h"
#include "operator/serve/webhooks/type_errors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_readable(const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *answer = json_parse(slice_of(text), &err);

    assert(answer);
}

static void answer(const struct admission *admission, struct strv *problems)
{
    AUTO(mem) char *filled = admission_mutate(admission);

    if (admission_needs_validation(admission)) {
        admission_validate(admission, problems);
        admission_check_limits(admission, problems);
    }
    AUTO(mem)
    char *verdict = admission_verdict(admission, problems, &(struct warning_facts){.largest_partition = 64});
    for (size_t i = 0; i < ADMISSION_PODS; i++) {
        AUTO(json) cJSON *template = admission_pod_template(admission, (enum admission_pods)i);

        assert(!template || json_at(template, "template"));
        admission_add_rejection(admission, (enum admission_pods)i, template,
                                json_at(admission->review, "status"), problems);
        cJSON_Delete(type_errors_remove(template, json_at(admission->review, "status")));
    }
    check_readable(filled);
    check_readable(verdict);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct slice text = {(const char *)bytes, len};
    AUTO(strv) struct strv problems = {0};
    AUTO(admission) struct admission admission = {0};
    struct err err = {0};
    AUTO(json) cJSON *status = json_parse(text, &err);

    if (status)
        admission_add_rejection(&admission, ADMISSION_WORKERS, NULL, status, &problems);
    if (admission_read(text, &admission, &err))
        answer(&admission, &problems);
    else
        assert(err.kind == ERR_INVALID && err.msg[0]);
    return 0;
}
