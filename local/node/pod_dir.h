/* The directory of one pod on this machine: `root`, where its file system is put together, `hosts`, and a
 * directory for each volume. */
#pragma once

#include "base/doc/json.h"

const char *pod_dir_hostname(const cJSON *pod);
/* hosts: lines that all pods have, before those of the pod itself. */
MUST_USE bool pod_dir_make(const char *dir, const cJSON *pod, const char *address, const char *hosts,
                           struct err *err);
/* The operator's init container would copy /etc/hosts into the volume that it shares with a worker's agent.
 */
MUST_USE bool pod_dir_share_hosts(const char *dir, const cJSON *pod, struct err *err);
MUST_USE bool pod_dir_share(const char *path, struct err *err); /* users of images may write to it */
/* Not synchronised with the disk: a pod's files do not outlive their run. */
MUST_USE bool pod_dir_put_file(const char *dir, const char *path, struct slice bytes, struct err *err);
MUST_USE bool pod_dir_create(const char *path, struct err *err); /* unless it exists */
/* Of all but the last part of a path below dir. */
MUST_USE bool pod_dir_create_parents(const char *dir, const char *path, struct err *err);
void pod_dir_remove(const char *dir); /* with all that is in it */
