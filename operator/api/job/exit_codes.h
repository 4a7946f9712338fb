/* The list of exit codes after which a job restarts: numbers and ranges such as "1-5,137". Pure. */
#pragma once

#include <stdbool.h>

bool exit_codes_are_valid(const char *text);
bool exit_codes_match(const char *text, int code); /* NULL and an invalid list match nothing */
