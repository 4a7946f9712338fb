/* The controlling terminal, if stdin is one: which process group is in its foreground. The command has a
 * group of its own, so it must be moved there, or its first read would stop it. Nothing else of the terminal
 * is changed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool terminal_is_there(void);
bool terminal_is_foreground(void); /* this process's group is in the foreground */
void terminal_set_foreground(pid_t group);
void terminal_restore(pid_t group); /* if that group is still in the foreground */
