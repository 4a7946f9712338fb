/* A directory with all that is in it. */
#pragma once

#include <stdbool.h>

/* Links are removed, not followed. True when nothing is left, also when there was nothing. */
bool remove_tree(const char *path);
