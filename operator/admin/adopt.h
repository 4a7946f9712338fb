/* ipu-operator adopt: makes a partition without a record that of a job which the vendor's operator has
 * started, so that it is given back when the job goes. Its pods and its status stay as they are. It refuses a
 * partition that is not what the job asks for. */
#pragma once

/* argv[0] is the verb. The exit status of the process. */
int adopt_main(int argc, char **argv, const char *(*env)(const char *));
