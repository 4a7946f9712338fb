#include "operator/api/pod/pod_progress.h"

#include "operator/api/names.h"
#include "operator/api/pod/pod_common.h"

#define DIR "/var/run/secrets/graphcore.ai/progress"
#define TOKEN_SECONDS 3600

static bool is_available(const struct pod_spec_options *options)
{
    return options->progress && options->progress->url && options->progress->ca;
}

/* The CA is an item of the pod itself: no object more for each job, and none that others could change. */
static void add_volume(cJSON *spec)
{
    cJSON *volume = json_push_take(pod_common_array(spec, "volumes"), json_object()), *sources, *item;

    json_put_str(volume, "name", NAME_PROGRESS_VOLUME);
    sources = json_put_array(json_put_object(volume, "projected"), "sources");
    item = json_put_object(json_push_take(sources, json_object()), "serviceAccountToken");
    json_put_str(item, "audience", PROGRESS_AUDIENCE);
    json_put_i64(item, "expirationSeconds", TOKEN_SECONDS);
    json_put_str(item, "path", "token");
    item = json_push_take(
        json_put_array(json_put_object(json_push_take(sources, json_object()), "downwardAPI"), "items"),
        json_object());
    json_put_str(item, "path", "ca.crt");
    json_put_str(json_put_object(item, "fieldRef"), "fieldPath",
                 "metadata.annotations['" ANNOTATION_PROGRESS_CA "']");
}

void pod_progress_mount(cJSON *spec, struct pod_env *env, const struct pod_spec_options *options)
{
    if (!is_available(options) || pod_env_has(env, PROGRESS_URL) || pod_env_has(env, PROGRESS_CA) ||
        pod_env_has(env, PROGRESS_TOKEN))
        return;
    pod_env_add(env, PROGRESS_URL, options->progress->url);
    pod_env_add(env, PROGRESS_CA, DIR "/ca.crt");
    pod_env_add(env, PROGRESS_TOKEN, DIR "/token");
    add_volume(spec);
    pod_common_mount(json_at_mut(spec, "containers")->child, NAME_PROGRESS_VOLUME, DIR, true);
}

void pod_progress_annotate(cJSON *pod, const struct pod_spec_options *options)
{
    if (is_available(options))
        json_put_str(json_at_mut(pod, "metadata/annotations"), ANNOTATION_PROGRESS_CA, options->progress->ca);
}
