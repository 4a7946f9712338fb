/* ipu-operator release: releases an orphaned partition, one without a record. It does not call the V-IPU
 * controller itself: it creates a record that requests the release, and the leader handles it like its own.
 * It rejects a partition that has a record, and one that pods may be using. */
#pragma once

/* argv[0] is the command. Returns the exit status of the process. */
int release_main(int argc, char **argv, const char *(*env)(const char *));
