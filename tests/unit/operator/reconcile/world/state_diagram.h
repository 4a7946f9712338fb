/* The picture of a job's states in docs/jobs.md, as a rule for what a job may say next: an arrow of the
 * picture, or several over states that took no time, Pending and Starting; and Terminating after everything.
 */
#pragma once

#include <stdbool.h>

/* Reads the page, once. */
bool state_diagram_allows(const char *was, const char *now);
