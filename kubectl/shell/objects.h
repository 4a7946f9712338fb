/* Watches whose views are the objects themselves, with visible texts and the limits of a list. */
#pragma once

#include "kubectl/shell/session.h"
#include "operator/kube/watch/watch.h"

/* What the options say of views and limits is filled in here. */
struct watch *objects_watch(struct session *session, const struct watch_options *options);
cJSON *objects_of(const struct watch *watch); /* an array of copies, owned by the caller */
