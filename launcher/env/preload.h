/* The library that is loaded into mpirun and its daemons before all others (launcher/nopty/openpty.c), as the
 * first word of LD_PRELOAD. Pure. */
#pragma once

#include "launcher/env/envv.h"

#define PRELOAD_FILE "ipu-nopty.so"

void preload_add(struct envv *env, const char *dir); /* the folder of the library */
void preload_remove(struct envv *env);               /* for the ranks, which may open pseudoterminals */
