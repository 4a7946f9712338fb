#include "launcher/poprun/leftovers.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "vipu/client/session.h"

enum { OPEN_DIRECTORIES = 16 };

struct leftovers *leftovers_new(void)
{
    void *place =
        mmap(NULL, sizeof(struct leftovers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return place == MAP_FAILED ? NULL : place;
}

void leftovers_note(char *place, size_t size, const char *text)
{
    (void)snprintf(place, size, "%s", text);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    (void)remove(path); /* what stays keeps its folder, and that is told */
    return 0;
}

static void remove_directory(char *path, const struct journal *journal)
{
    struct stat about;

    (void)nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    if (lstat(path, &about) == 0)
        journal_add(journal, JOURNAL_WARNING, "The executable cache %s could not be removed", path);
    path[0] = '\0';
}

static void remove_partition(char *id, const struct vipu_endpoint *endpoint, uint32_t timeout_s,
                             const struct journal *journal)
{
    struct session *session = session_new(endpoint, "poprun/" IPU_OPERATOR_VERSION, timeout_s);
    struct err err = {0};

    journal_add(journal, JOURNAL_DEBUG, "Removing partition %s", id);
    if (session_remove(session, id, false, &err) ? !session_wait_gone(session, id, &err)
                                                 : err.kind != ERR_NOT_FOUND)
        journal_add(journal, JOURNAL_ERROR, "Partition %s could not be removed: %s; vipu remove partition %s",
                    id, err.msg, id);
    session_free(session);
    id[0] = '\0';
}

void leftovers_remove(struct leftovers *left, const struct vipu_endpoint *endpoint, uint32_t timeout_s,
                      const struct journal *journal)
{
    if (left->cache_dir[0])
        remove_directory(left->cache_dir, journal);
    if (left->partition[0])
        remove_partition(left->partition, endpoint, timeout_s, journal);
}
