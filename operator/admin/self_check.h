/* ipu-operator self-check: what the chart's test runs. It asks the operator for its health and for what it
 * knows of its V-IPU controllers, and has the API server validate an IPUJob that is never stored, so that the
 * admission webhooks have to answer. What does not answer is asked again until the time is over, and then
 * named. */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int self_check_main(int argc, char **argv, const char *(*env)(const char *));
