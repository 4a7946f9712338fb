#include "local/node/pod_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "operator/api/names.h"

#define HOSTS_MAX_BYTES ((size_t)1024 * 1024)
#define OPEN_DIRS_MAX 16

const char *pod_dir_hostname(const cJSON *pod)
{
    return json_str(pod, "spec/hostname", json_str(pod, "metadata/name", ""));
}

bool pod_dir_create(const char *path, struct err *err)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST || err_errno(err, errno, "cannot create %s", path);
}

bool pod_dir_share(const char *path, struct err *err)
{
    return chmod(path, 0777) == 0 || err_errno(err, errno, "cannot change the mode of %s", path);
}

bool pod_dir_create_parents(const char *dir, const char *path, struct err *err)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        AUTO(mem) char *parent = mem_printf("%s/%.*s", dir, (int)(slash - path), path);

        if (!pod_dir_create(parent, err))
            return false;
    }
    return true;
}

bool pod_dir_put_file(const char *dir, const char *path, struct slice bytes, struct err *err)
{
    AUTO(mem) char *whole = mem_printf("%s/%s", dir, path);
    AUTO(fd) int fd = -1;

    if (!file_path_is_inside(path))
        return err_set(err, ERR_INVALID, "a volume's file cannot have the path \"%.80s\"", path);
    if (!pod_dir_create_parents(dir, path, err))
        return false;
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes.ptr, bytes.len) != (ssize_t)bytes.len)
        return err_errno(err, errno, "cannot write %s", whole);
    return true;
}

/* kubernetes/kubernetes, pkg/kubelet/kubelet_pods.go, managedHostsFileContent. */
static void add_own_names(const cJSON *pod, const char *address, struct str *hosts)
{
    const char *name = pod_dir_hostname(pod), *domain = json_str(pod, "spec/subdomain", NULL);

    if (domain)
        str_addf(hosts, "%s\t%s.%s.%s.svc\t%s\n", address, name, domain,
                 json_str(pod, "metadata/namespace", ""), name);
    else
        str_addf(hosts, "%s\t%s\n", address, name);
    JSON_EACH (alias, json_at(pod, "spec/hostAliases")) {
        str_adds(hosts, json_str(alias, "ip", ""));
        JSON_EACH (host, json_at(alias, "hostnames"))
            str_addf(hosts, "\t%s", cJSON_GetStringValue(host));
        str_addc(hosts, '\n');
    }
}

bool pod_dir_make(const char *dir, const cJSON *pod, const char *address, const char *hosts, struct err *err)
{
    AUTO(mem) char *root = mem_printf("%s/root", dir);
    AUTO(str) struct str text = {0};

    str_adds(&text, hosts);
    add_own_names(pod, address, &text);
    if (mkdir(dir, 0755) != 0 || mkdir(root, 0755) != 0)
        return err_errno(err, errno, "cannot create %s", dir);
    return pod_dir_put_file(dir, "hosts", str_slice(&text), err);
}

static bool has_volume(const cJSON *pod, const char *name)
{
    JSON_EACH (volume, json_at(pod, "spec/volumes")) {
        if (str_eq(json_str(volume, "name", ""), name))
            return true;
    }
    return false;
}

bool pod_dir_share_hosts(const char *dir, const cJSON *pod, struct err *err)
{
    AUTO(mem) char *from = mem_printf("%s/hosts", dir);
    AUTO(str) struct str text = {0};

    if (!has_volume(pod, NAME_SCRATCH_VOLUME))
        return true;
    return file_read(from, HOSTS_MAX_BYTES, &text, err) &&
           pod_dir_put_file(dir, NAME_SCRATCH_VOLUME "/hosts", str_slice(&text), err);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)walk;
    if (type == FTW_DNR)
        (void)chmod(path, 0700);
    (void)remove(path);
    return 0;
}

void pod_dir_remove(const char *dir)
{
    (void)nftw(dir, remove_one, OPEN_DIRS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
