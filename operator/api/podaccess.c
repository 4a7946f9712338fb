#include "operator/api/podaccess.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/podparts.h"
#include "operator/kube/base64.h"

static cJSON *object_of(const struct job *job, const char *api_version, const char *kind, const char *name)
{
    cJSON *object = json_object(), *metadata;

    json_put_str(object, "apiVersion", api_version);
    json_put_str(object, "kind", kind);
    metadata = json_put_object(object, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", job->ns);
    json_put_str(json_put_object(metadata, "labels"), LABEL_JOB_NAME, job->name);
    podparts_put_owner(metadata, job);
    return object;
}

cJSON *podaccess_keys(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys)
{
    AUTO(mem) char *name = name_keys_secret(job->name, job->uid, instance, start);
    cJSON *secret = object_of(job, "v1", "Secret", name), *data;

    json_put_str(secret, "type", "Opaque");
    json_put_bool(secret, "immutable", true);
    data = json_put_object(secret, "data");
    for (uint32_t w = 0; w < job->spec.workers_per_instance; w++) {
        AUTO(str) struct str text = {0};
        AUTO(mem) char *index = mem_printf("%u", w);

        base64_encode(
            (struct slice){(const char *)keys + (size_t)w * PODACCESS_KEY_BYTES, PODACCESS_KEY_BYTES}, &text);
        json_put_str(data, index, str_text(&text));
    }
    return secret;
}

cJSON *podaccess_network_policy(const struct job *job)
{
    AUTO(mem) char *name = name_network_policy(job->name);
    cJSON *policy = object_of(job, "networking.k8s.io/v1", "NetworkPolicy", name);
    cJSON *spec = json_put_object(policy, "spec"), *peer;

    json_put_str(json_put_object(json_put_object(spec, "podSelector"), "matchLabels"), LABEL_JOB_NAME,
                 job->name);
    json_push_str(json_put_array(spec, "policyTypes"), "Ingress");
    peer =
        json_push_take(json_put_array(json_push_take(json_put_array(spec, "ingress"), json_object()), "from"),
                       json_object());
    json_put_str(json_put_object(json_put_object(peer, "podSelector"), "matchLabels"), LABEL_JOB_NAME,
                 job->name);
    return policy;
}
