/* ipu-operator adopt: makes a partition without a record that of a job which the vendor's operator has
 * started, so that it is released when the job is deleted. Its pods and its status stay as they are. It
 * rejects a partition that is not what the job asks for. */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int adopt_main(int argc, char **argv, const char *(*env)(const char *));
