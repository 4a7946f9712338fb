/* Any object as each thing that the operator watches: it is read without harm or rejected, what is remembered
 * of it has limits, and a record that is read, written and read again is the same. The same bytes as what a
 * rejection says, and as a credential plugin's answer. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/job/job.h"
#include "operator/api/observed/log_tail.h"
#include "operator/api/observed/node.h"
#include "operator/api/observed/owned.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"
#include "operator/kube/auth/exec_credential.h"
#include "operator/kube/leader_election/lease_step.h"
#include "operator/kube/client/status.h"

#define MESSAGE_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_pod(const cJSON *object)
{
    AUTO(pod) struct pod *pod = pod_parse(object);
    struct lost_worker lost;

    if (!pod)
        return;
    assert(*pod->ns || str_eq(json_str(object, "metadata/namespace", ""), ""));
    assert(pod->worker <= POD_SEATS_MAX);
    assert(!pod->message || strlen(pod->message) <= MESSAGE_MAX);
    assert(pod_has_stopped(pod, true, true));
    assert(!pod->job_uid || strchr(pod->job_key, '/'));
    if (log_tail_lost_worker(pod->message, &lost))
        assert(lost.why.ptr);
}

static void check_record(const cJSON *object)
{
    AUTO(record) struct record *record = record_parse(object);

    if (!record)
        return;
    assert(record_pod_count(record) <= POD_SEATS_MAX && record->size <= JOB_IPUS_MAX);
    AUTO(json) cJSON *patch = record_patch(record);
    AUTO(json) cJSON *built = record_build(record, "ipu-system");
    AUTO(record) struct record *again = record_parse(built);
    assert(json_at(patch, "data/run") && again);
    assert(again->workers == record->workers && again->attempt == record->attempt);
    assert(str_eq(again->job_key, record->job_key) && again->spent_s == record->spent_s);
}

static void check_others(const cJSON *object)
{
    AUTO(node) struct node *node = node_parse(object);
    AUTO(owned) struct owned *owned = owned_parse(object);
    struct lease_record lease;
    struct kube_status status;

    if (node)
        (void)node_has_label(node, "pool", "a");
    assert(!owned || strchr(owned->job_key, '/'));
    if (lease_record_read(object, &lease))
        assert(lease.duration_ms > 0 && lease.resource_version[0]);
    kube_status_read(kube_status_code(object), object, -1, &status);
    assert(status.err.kind != ERR_NONE && strlen(status.message) <= KUBE_MESSAGE_MAX_BYTES);
    kube_status_release(&status);
}

static void check_credential(struct slice text)
{
    static const char version[] = "client.authentication.k8s.io/v1";
    AUTO(exec_credential) struct exec_credential exec_credential = {0};
    struct err err = {0};

    if (exec_credential_parse(text, version, &exec_credential, &err))
        assert((exec_credential.token || exec_credential.cert_pem) &&
               !exec_credential.cert_pem == !exec_credential.key_pem);
    else
        assert(err.kind == ERR_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct slice text = {(const char *)bytes, len};
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(text, &err);

    check_credential(text);
    if (!object)
        return 0;
    check_pod(object);
    check_record(object);
    check_others(object);
    return 0;
}
