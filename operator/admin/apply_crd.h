/* ipu-operator apply-crd: what the chart runs before an install or upgrade, because Helm never changes a
 * definition that is there. It applies a file as the definition of IPUJobs, taking over the fields of the one
 * that is there; it never deletes one, and reads nothing.
 */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int apply_crd_main(int argc, char **argv, const char *(*env)(const char *));
