/* The YAML format of faults, the same for the configuration file (`faults:`) and the admin endpoint. Reading
 * reports every mistake with its line. What is written can be read again and describes what is still to
 * come: exhausted rules are left out, and times are remaining times. Pure. */
#pragma once

#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/config/settings.h"
#include "vipu/server/controller/faults.h"

#define FAULTS_MAX_BYTES ((size_t)256 * 1024)

/* The object `node` of a document, NULL for none; agents are those of the clusters. After mistakes *ret may
 * be partly filled: release it. */
void faults_read_node(struct settings_reader *r, const cJSON *node, const struct vipu_clusters *clusters,
                      struct faults *ret);
/* A document of its own, empty for no faults; `name` is used in messages. False: `problems` has one sentence
 * per mistake, and nothing is returned. */
bool faults_read(struct slice text, const char *name, const struct vipu_clusters *clusters,
                 struct faults *ret, struct strv *problems);
void faults_print(const struct faults *faults, int64_t now_ms, struct str *out);
/* Whether a method matches this pattern. */
bool faults_know_method(const char *pattern);
