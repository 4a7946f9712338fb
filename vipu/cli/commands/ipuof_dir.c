#include "vipu/cli/commands/ipuof_dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "vipu/cli/output/show.h"

#define FOLDER_MODE 0755
#define FILE_MODE 0644
#define SUFFIX "_ipuof.conf"

static char *folder_of(const char *home)
{
    return mem_printf("%s/.ipuof.conf.d", home);
}

static char *file_of(const char *folder, const char *partition, size_t gcd, size_t gcds)
{
    return gcds == 1 ? mem_printf("%s/%s" SUFFIX, folder, partition)
                     : mem_printf("%s/%s_gcd%zu" SUFFIX, folder, partition, gcd);
}

bool ipuof_dir_write(const char *home, const char *partition, const struct vipu_ipuof_config *config,
                     struct err *err)
{
    AUTO(mem) char *folder = folder_of(home);

    if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot create %s", folder);
    for (size_t i = 0; i < config->gcd_count; i++) {
        AUTO(mem) char *path = file_of(folder, partition, i, config->gcd_count);
        AUTO(str) struct str text = {0};

        show_ipuof_gcd(&config->gcds[i], &text);
        if (!file_write(path, FILE_MODE, str_slice(&text), err))
            return false;
    }
    return true;
}

/* "p1_ipuof.conf" or "p1_gcd7_ipuof.conf" for p1, but not the file of a partition "p1_gcd7x" or "p1_x". */
static bool belongs_to(const char *name, const char *partition)
{
    size_t len = strlen(partition);

    if (strncmp(name, partition, len) != 0)
        return false;
    name += len;
    if (str_has_prefix(name, "_gcd")) {
        name += 4;
        if (*name < '0' || *name > '9')
            return false;
        name += strspn(name, "0123456789");
    }
    return str_eq(name, SUFFIX);
}

bool ipuof_dir_remove(const char *home, const char *partition, struct err *err)
{
    AUTO(mem) char *folder = folder_of(home);
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool ok = true;

    if (!dir)
        return errno == ENOENT || err_errno(err, errno, "cannot read %s", folder);
    while (ok && (entry = readdir(dir))) {
        AUTO(mem) char *path = mem_printf("%s/%s", folder, entry->d_name);

        if (belongs_to(entry->d_name, partition) && unlink(path) != 0)
            ok = err_errno(err, errno, "cannot remove %s", path);
    }
    closedir(dir);
    return ok;
}
