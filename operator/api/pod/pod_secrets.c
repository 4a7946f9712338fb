#include "operator/api/pod/pod_secrets.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_env.h"
#include "operator/api/pod/pod_common.h"
#include "operator/kube/auth/base64.h"

/* Besides the workers' keys, which are numbered. */
#define VIPU_USER_KEY "vipu-user-id"
#define VIPU_ACCESS_KEY "vipu-access-key"
#define VIPU_CA_KEY "vipu-ca.crt"
#define VIPU_DIR "/var/run/ipu-launch/vipu"

static cJSON *object_of(const struct job *job, const char *api_version, const char *kind, const char *name)
{
    cJSON *object = json_object(), *metadata;

    json_put_str(object, "apiVersion", api_version);
    json_put_str(object, "kind", kind);
    metadata = json_put_object(object, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", job->ns);
    json_put_str(json_put_object(metadata, "labels"), LABEL_JOB_NAME, job->name);
    pod_common_put_owner(metadata, job);
    return object;
}

static char *secret_name(const struct job *job, uint32_t instance, uint32_t start)
{
    return name_keys_secret(job->name, job->uid, job->spec.has_launcher, instance, start);
}

static void put_bytes(cJSON *data, const char *key, struct slice bytes)
{
    AUTO(str) struct str text = {0};

    if (!bytes.ptr)
        return;
    base64_encode(bytes, &text);
    json_put_str(data, key, str_text(&text));
}

cJSON *pod_secrets_build(const struct job *job, uint32_t instance, uint32_t start, const unsigned char *keys,
                         const struct pod_vipu_credentials *vipu)
{
    AUTO(mem) char *name = secret_name(job, instance, start);
    cJSON *secret = object_of(job, "v1", "Secret", name), *data;

    json_put_str(secret, "type", "Opaque");
    json_put_bool(secret, "immutable", true);
    data = json_put_object(secret, "data");
    for (uint32_t w = 0; keys && w < job->spec.workers_per_instance; w++) {
        AUTO(mem) char *index = mem_printf("%u", w);

        put_bytes(
            data, index,
            (struct slice){(const char *)keys + (size_t)w * POD_SECRETS_KEY_BYTES, POD_SECRETS_KEY_BYTES});
    }
    put_bytes(data, VIPU_USER_KEY, slice_of(vipu->user_id));
    put_bytes(data, VIPU_ACCESS_KEY, slice_of(vipu->key));
    put_bytes(data, VIPU_CA_KEY, slice_of(vipu->ca_pem));
    return secret;
}

/* ---- what a pod sees of it ---- */

static void mount_ca(cJSON *spec, const char *secret)
{
    cJSON *volume = json_push_take(pod_common_array(spec, "volumes"), json_object()), *source, *item;

    json_put_str(volume, "name", NAME_VIPU_VOLUME);
    source = json_put_object(volume, "secret");
    json_put_str(source, "secretName", secret);
    json_put_i64(source, "defaultMode", 0444); /* a certificate is not secret */
    item = json_push_take(json_put_array(source, "items"), json_object());
    json_put_str(item, "key", VIPU_CA_KEY);
    json_put_str(item, "path", "ca.crt");
    pod_common_mount(json_at_mut(spec, "containers")->child, NAME_VIPU_VOLUME, VIPU_DIR, true);
}

void pod_secrets_mount(cJSON *spec, struct pod_env *env, const struct job *job, uint32_t instance,
                       const struct partition_placement *place)
{
    AUTO(mem) char *secret = secret_name(job, instance, place->start);

    if (place->has_vipu_ca) {
        mount_ca(spec, secret);
        pod_env_add(env, "VIPU_CLI_API_CA_CERT", VIPU_DIR "/ca.crt");
    } else if (place->vipu_tls) {
        pod_env_add(env, "VIPU_CLI_API_TLS", "true");
    }
    /* One user's name must not be combined with another user's key. */
    if (!place->has_vipu_user || pod_env_has(env, "VIPU_CLI_API_USER_ID") ||
        pod_env_has(env, "VIPU_CLI_API_ACCESS_KEY"))
        return;
    pod_env_add_secret(env, "VIPU_CLI_API_USER_ID", secret, VIPU_USER_KEY);
    pod_env_add_secret(env, "VIPU_CLI_API_ACCESS_KEY", secret, VIPU_ACCESS_KEY);
}

cJSON *network_policy_of_job(const struct job *job)
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
