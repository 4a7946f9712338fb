/* Removes a directory tree. */
#pragma once

#include <stdbool.h>

/* Links are removed, not followed. True if nothing is left, also if it did not exist. */
bool remove_tree(const char *path);
