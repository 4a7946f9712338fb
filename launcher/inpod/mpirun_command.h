/* Whether a command starts mpirun: itself, in the words of a shell, or in a script that it runs. */
#pragma once

#include <stdbool.h>

bool command_starts_mpirun(char *const *argv);
