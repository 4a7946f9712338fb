/* ipu-operator release: has a partition given back that has no record, and so is nobody's. It does not ask
 * the V-IPU controller itself: it makes a record that says so, and the operator that leads does the rest with
 * the care it gives its own. It refuses a partition that has a record, and one that pods may use. */
#pragma once

/* argv[0] is the verb. The exit status of the process. */
int release_main(int argc, char **argv, const char *(*env)(const char *));
