/* The controlling terminal, if stdin is one: which process group is in its foreground. The command has a
 * group of its own, so it must be put there, or its first read would stop it. Nothing else of the terminal is
 * touched. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool terminal_is_there(void);
bool terminal_is_foreground(void); /* this process's group is in the foreground */
void terminal_set_foreground(pid_t group);
void terminal_restore(pid_t group); /* if that group still has it */
