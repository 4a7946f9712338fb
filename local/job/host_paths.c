#include "local/job/host_paths.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "operator/api/names.h"

/* k8s.io/api/core/v1, HostPathType; a mode of 0: it is created, or may be anything. */
static const struct {
    const char *type;
    mode_t mode;
    const char *noun;
} types[] = {
    {"", 0, NULL},
    {"Directory", S_IFDIR, "a directory"},
    {"File", S_IFREG, "a file"},
    {"Socket", S_IFSOCK, "a socket"},
    {"CharDevice", S_IFCHR, "a character device"},
    {"BlockDevice", S_IFBLK, "a block device"},
};

/* NULL: all is well. Owned by the caller. */
static char *problem_of(const char *path, const char *type)
{
    struct stat st;

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (!str_eq(types[i].type, type))
            continue;
        if (stat(path, &st) != 0)
            return mem_printf("\"%.80s\": %s on this machine; create it, or set type: DirectoryOrCreate",
                              path, strerror(errno));
        if (types[i].mode && (st.st_mode & S_IFMT) != types[i].mode)
            return mem_printf("\"%.80s\": is not %s on this machine", path, types[i].noun);
    }
    return NULL;
}

static void check_volumes(const struct object *job, const char *spec, const char *where,
                          struct strv *problems)
{
    const cJSON *volumes = json_at(json_at(job->doc, spec), "volumes");
    int index = 0;

    JSON_EACH (volume, volumes) {
        const char *path = json_str(volume, "hostPath/path", NULL);
        AUTO(mem)
        char *found = path ? problem_of(path, json_str(volume, "hostPath/type", "")) : NULL;
        AUTO(mem)
        char *problem =
            found ? mem_printf("%s.volumes[%d].hostPath.path: Invalid value: %s", where, index, found) : NULL;

        index++;
        if (problem)
            object_add_problem(job, problem, problems);
    }
}

void host_paths_check(const struct objects *objects, struct strv *problems)
{
    for (size_t i = 0; i < objects->count; i++) {
        if (!object_is_kind(&objects->items[i], API_KIND))
            continue;
        check_volumes(&objects->items[i], "spec/workers/template/spec", "spec.workers.template.spec",
                      problems);
        check_volumes(&objects->items[i], "spec/launcher/template/spec", "spec.launcher.template.spec",
                      problems);
    }
}
