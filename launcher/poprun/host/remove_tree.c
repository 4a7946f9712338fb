#include "launcher/poprun/host/remove_tree.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

enum { OPEN_DIRECTORIES = 16 };

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    (void)remove(path); /* what cannot be removed keeps its folder, and is reported */
    return 0;
}

bool remove_tree(const char *path)
{
    struct stat about;

    (void)nftw(path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    return lstat(path, &about) != 0;
}
