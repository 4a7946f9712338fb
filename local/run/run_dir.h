/* The directory of a run: logs and the jobs' last state, which are kept, and what the pods need while they
 * run. */
#pragma once

#include "base/core/err.h"

#define RUNS_KEPT 50

struct run_dir {
    char *path, *logs, *pods, *launcher, *credentials;
    int lock;
};

/* Creates it, or takes one that no other run uses without what that kept, and installs ipu-launch there from
 * the directory of this program. */
MUST_USE bool run_dir_open(struct run_dir *dir, const char *path, struct err *err);
/* Of the directories beside this one whose names say when they were made, all but the newest. */
void run_dir_remove_old(const char *path);
void run_dir_close(struct run_dir *dir); /* removes what is not kept */
