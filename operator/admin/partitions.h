/* ipu-operator partitions: which partitions of the V-IPU controllers have no record, so that the operator
 * never touches them, and which jobs they could be of. It changes nothing. */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int partitions_main(int argc, char **argv, const char *(*env)(const char *));
