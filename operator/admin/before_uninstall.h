/* ipu-operator before-uninstall: what the chart runs before its objects go. It rejects while jobs use IPUs or
 * wait for them, or has the operator suspend them (--drain), waits until all partitions are released, and
 * takes the operator's finalizer off jobs that hold nothing, so that they can be deleted without it. It
 * deletes no job.
 */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int before_uninstall_main(int argc, char **argv, const char *(*env)(const char *));
