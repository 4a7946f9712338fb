/* A restarted pod has the name of the one before it, whose log is gone: the new log begins with what the
 * operator reports of it. */
#pragma once

/* Prints the report, if there is one, on standard error, and removes it from this process's environment. */
void previous_attempt_print(void);
