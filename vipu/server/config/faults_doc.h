/* Faults as they are written: one YAML shape for the configuration file (`faults:`) and for the admin
 * endpoint. Reading reports every mistake with its line; what is written out can be read again, and means
 * what is still to come: rules that are used up are left out, and times say what is left. Pure. */
#pragma once

#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/config/settings.h"
#include "vipu/server/controller/faults.h"

#define FAULTS_MAX_BYTES ((size_t)256 * 1024)

/* The object `node` of a document, NULL for none; agents are those of the clusters. What was read in spite of
 * mistakes is in *ret too: release it. */
void faults_read_node(struct settings_reader *r, const cJSON *node, const struct vipu_clusters *clusters,
                      struct faults *ret);
/* A text of its own, empty for no faults; `name` stands in the messages. False: `problems` has one sentence
 * per mistake, and nothing is returned. */
bool faults_read(struct slice text, const char *name, const struct vipu_clusters *clusters,
                 struct faults *ret, struct strv *problems);
void faults_print(const struct faults *faults, int64_t now_ms, struct str *out);
/* Is there a method that this pattern matches? */
bool faults_know_method(const char *pattern);
