#include "vipu/tools/discovery/discover_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/tools/discovery/name_list.h"

#define SUFFIX ".conf"

/* "/etc/p1_ipuof.conf" is "p1_ipuof". */
static char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

    return mem_strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static bool read_view(const char *path, struct gcd_view *ret, struct err *err)
{
    AUTO(mem) char *stem = stem_of(path);
    AUTO(str) struct str text = {0};

    if (!file_read(path, GCD_VIEW_MAX_FILE, &text, err))
        return false;
    return gcd_view_from_file(str_slice(&text), stem, ret, err) || err_wrap(err, "%s", path);
}

bool discover_file(const char *path, struct discovery *ret, struct err *err)
{
    AUTO(gcd_view) struct gcd_view view = {0};

    if (!read_view(path, &view, err))
        return err_wrap(err, "IPUoF file in IPUOF_CONFIG_PATH");
    view.active = true;
    discovery_add_take(ret, &view);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Paths of the folder's .conf files, sorted; none when there is no such folder. */
static bool list_folder(const char *folder, struct strv *ret, struct err *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ||
               err_errno(err, errno, "cannot read the directory %s", folder);
    while ((entry = readdir(dir)) && ret->count <= DISCOVERY_MAX_FILES)
        if (str_has_suffix(entry->d_name, SUFFIX) && entry->d_name[0] != '.')
            strv_pushf(ret, "%s/%s", folder, entry->d_name);
    closedir(dir);
    if (ret->count > DISCOVERY_MAX_FILES)
        return err_set(err, ERR_INVALID,
                       "%s has more than %u IPUoF files; set IPUOF_CONFIG_PATH to one of them", folder,
                       DISCOVERY_MAX_FILES);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_names);
    return true;
}

static bool read_folder(const char *folder, struct discovery *ret, struct err *err)
{
    AUTO(strv) struct strv paths = {0};

    if (!list_folder(folder, &paths, err))
        return false;
    for (size_t i = 0; i < paths.count; i++) {
        AUTO(gcd_view) struct gcd_view view = {0};

        if (!read_view(paths.items[i], &view, err))
            return false;
        discovery_add_take(ret, &view);
    }
    return true;
}

static bool reject_several(const struct discovery *found, const char *folder, struct err *err)
{
    AUTO(strv) struct strv names = {0};
    AUTO(str) struct str list = {0};

    for (size_t i = 0; i < found->count; i++)
        strv_push(&names, found->views[i].partition);
    name_list_join(&names, &list);
    return err_set(err, ERR_INVALID,
                   "%s has files of several partitions (%s); set IPUOF_CONFIG_PATH to the file of one",
                   folder, str_text(&list));
}

/* The one partition's GCD is the active one. */
static bool choose(const struct partition_source *source, const char *folder, struct discovery *found,
                   struct err *err)
{
    for (size_t i = 1; i < found->count; i++)
        if (!str_eq(found->views[i].partition, found->views[0].partition))
            return reject_several(found, folder, err);
    for (size_t i = 0; i < found->count; i++)
        if (found->views[i].gcd == source->gcd) {
            found->views[i].active = true;
            return true;
        }
    return err_set(err, ERR_NOT_FOUND, "%s has no file of GCD %u of partition %s; set IPUOF_VIPU_API_GCD_ID",
                   folder, source->gcd, found->views[0].partition);
}

static void keep_active(struct discovery *found)
{
    struct discovery kept = {0};

    for (size_t i = 0; i < found->count; i++)
        if (found->views[i].active)
            discovery_add_take(&kept, &found->views[i]);
    discovery_release(found);
    *found = kept;
}

bool discover_folders(const struct partition_source *source, const struct discovery_options *options,
                      struct discovery *ret, struct err *err)
{
    for (size_t i = 0; options->folders[i]; i++) {
        AUTO(discovery) struct discovery found = {0};
        struct err several;

        if (!read_folder(options->folders[i], &found, err))
            return false;
        if (found.count == 0)
            continue;
        if (!choose(source, options->folders[i], &found, options->all ? &several : err) && !options->all)
            return false;
        if (!options->all)
            keep_active(&found);
        *ret = found;
        found = (struct discovery){0};
        return true;
    }
    return options->all ||
           err_set(err, ERR_NOT_FOUND,
                   "no partition selected: set IPUOF_VIPU_API_HOST and IPUOF_VIPU_API_PARTITION_ID, or "
                   "IPUOF_CONFIG_PATH, or create one with \"vipu create partition\"");
}
