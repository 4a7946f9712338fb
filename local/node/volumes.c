#include "local/node/volumes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "local/node/pod_dir.h"
#include "operator/api/names.h"

/* ---- what volumes contain ---- */

static bool put_key(const cJSON *object, const char *key, const char *dir, const char *path, bool is_optional,
                    struct err *err)
{
    AUTO(str) struct str bytes = {0};

    if (pod_source_value(object, key, &bytes))
        return pod_dir_put_file(dir, path, str_slice(&bytes), err);
    return is_optional || err_set(err, ERR_NOT_FOUND, "%s \"%s\" has no key %s", json_str(object, "kind", ""),
                                  json_str(object, "metadata/name", ""), key);
}

static bool put_object(const cJSON *pod, const cJSON *from, const char *plural, const char *name,
                       const struct pod_source *source, const char *dir, struct err *err)
{
    static const char *const members[] = {"data", "binaryData", "stringData"};
    bool is_optional = json_bool(from, "optional", false);
    const cJSON *object = pod_source_find(source, plural, pod, from, name, err);
    const cJSON *items = json_at(from, "items");

    if (!object)
        return is_optional;
    JSON_EACH (item, items) {
        if (!put_key(object, json_str(item, "key", ""), dir, json_str(item, "path", ""), is_optional, err))
            return false;
    }
    for (size_t i = 0; !items && i < COUNT_OF(members); i++) {
        JSON_EACH (member, json_at(object, members[i])) {
            if (!put_key(object, json_key(member), dir, json_key(member), is_optional, err))
                return false;
        }
    }
    return true;
}

static bool put_fields(const cJSON *pod, const cJSON *from, const char *dir, struct err *err)
{
    JSON_EACH (item, json_at(from, "items")) {
        AUTO(mem) char *value = pod_field(pod, json_str(item, "fieldRef/fieldPath", ""));
        AUTO(str) struct str bytes = {0};

        str_adds(&bytes, value ? value : "");
        if (!pod_dir_put_file(dir, json_str(item, "path", ""), str_slice(&bytes), err))
            return false;
    }
    return true;
}

/* For the server that the operator gives its pods a token for; templates cannot have any. */
static bool put_token(const cJSON *pod, const cJSON *from, const struct pod_source *source, const char *dir,
                      struct err *err)
{
    AUTO(mem) char *token = source->token(source->ctx, pod);

    return pod_dir_put_file(dir, json_str(from, "path", ""), slice_of(token), err);
}

/* Also a source of a projected volume, in which a Secret has `name`. */
static bool fill(const cJSON *pod, const cJSON *volume, const struct pod_source *source, const char *dir,
                 struct err *err)
{
    const cJSON *config = json_at(volume, "configMap"), *secret = json_at(volume, "secret");

    if (config)
        return put_object(pod, config, "configmaps", json_str(config, "name", ""), source, dir, err);
    if (secret)
        return put_object(pod, secret, "secrets",
                          json_str(secret, "secretName", json_str(secret, "name", "")), source, dir, err);
    if (json_at(volume, "downwardAPI"))
        return put_fields(pod, json_at(volume, "downwardAPI"), dir, err);
    if (json_at(volume, "serviceAccountToken"))
        return put_token(pod, json_at(volume, "serviceAccountToken"), source, dir, err);
    JSON_EACH (part, json_at(volume, "projected/sources")) {
        if (!fill(pod, part, source, dir, err))
            return false;
    }
    return true;
}

static bool make_host_path(const cJSON *volume, struct err *err)
{
    const char *path = json_str(volume, "hostPath/path", ""), *type = json_str(volume, "hostPath/type", "");

    if (str_eq(type, "DirectoryOrCreate"))
        return pod_dir_create(path, err);
    if (str_eq(type, "FileOrCreate") && access(path, F_OK) != 0)
        return pod_dir_put_file("/", path + strspn(path, "/"), (struct slice){"", 0}, err);
    return access(path, F_OK) == 0 || err_errno(err, errno, "cannot mount the hostPath %s", path);
}

bool volumes_make(const cJSON *pod, const struct pod_source *source, const char *dir, struct err *err)
{
    JSON_EACH (volume, json_at(pod, "spec/volumes")) {
        AUTO(mem) char *place = mem_printf("%s/%s", dir, json_str(volume, "name", ""));
        bool ok = json_at(volume, "hostPath")
                      ? make_host_path(volume, err)
                      : pod_dir_create(place, err) && fill(pod, volume, source, place, err) &&
                            (!json_at(volume, "emptyDir") || pod_dir_share(place, err));

        if (!ok)
            return err_wrap(err, "volume %s", json_str(volume, "name", ""));
    }
    return true;
}

/* ---- mounts ---- */

static const cJSON *find_volume(const cJSON *pod, const char *name)
{
    JSON_EACH (volume, json_at(pod, "spec/volumes")) {
        if (str_eq(json_str(volume, "name", ""), name))
            return volume;
    }
    return NULL;
}

/* A kubelet creates a sub-path that is not there, as a directory. */
static bool add_sub_path(const cJSON *mount, const struct strv *env, char **source, struct err *err)
{
    const char *expr = json_str(mount, "subPathExpr", NULL);
    AUTO(mem) char *sub = expr ? pod_env_expand(env, expr) : mem_strdup(json_str(mount, "subPath", ""));
    AUTO(mem) char *below = mem_printf("%s/", sub);

    if (!*sub)
        return true;
    if (!file_path_is_inside(sub))
        return err_set(err, ERR_INVALID, "invalid subPath \"%.80s\"", sub);
    AUTO(mem) char *whole = mem_printf("%s/%s", *source, sub);
    if (access(whole, F_OK) != 0 && !pod_dir_create_parents(*source, below, err))
        return false;
    mem_set_str(source, whole);
    return true;
}

bool volumes_mount(const cJSON *pod, const cJSON *container, const struct strv *env, const char *dir,
                   const char *launcher, struct sandbox *sandbox, struct err *err)
{
    JSON_EACH (mount, json_at(container, "volumeMounts")) {
        const char *name = json_str(mount, "name", ""), *target = json_str(mount, "mountPath", "");
        const char *host_path = json_str(find_volume(pod, name), "hostPath/path", NULL);
        AUTO(mem)
        char *source = host_path                          ? mem_strdup(host_path)
                       : str_eq(name, NAME_LAUNCHER_PART) ? mem_strdup(launcher)
                                                          : mem_printf("%s/%s", dir, name);

        if (!add_sub_path(mount, env, &source, err))
            return err_wrap(err, "volume %s", name);
        sandbox_add(sandbox, source, target, json_bool(mount, "readOnly", false));
    }
    return true;
}
