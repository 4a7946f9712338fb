/* The objects in the files that are run: IPUJobs, and the ConfigMaps, Secrets and PriorityClasses that they
 * refer to. Each keeps its lines, so that every mistake is reported at its place. Pure but for reading the
 * files. */
#pragma once

#include "base/core/err.h"
#include "base/doc/yaml.h"

struct object_file {
    char *name; /* for messages */
    struct yaml_doc doc;
};

struct object {
    const struct object_file *file;
    const cJSON *original; /* as it was written, with lines; borrowed from the file */
    cJSON *doc;            /* with what options and defaults have changed */
    struct strv set;       /* the options that have changed it: "spec.jobInstances=2" */
};

struct objects {
    struct object_file **files;
    size_t file_count;
    struct object *items;
    size_t count;
    struct object *unused; /* of kinds that jobs do not refer to; without `doc` */
    size_t unused_count;
};

/* Reads a file, "-" for standard input. Its mistakes are added to `problems`. */
void objects_read(struct objects *objects, const char *path, bool may_have_jobs, struct strv *problems);
/* "spec.jobInstances=2" in every IPUJob: JSON, or text if it is not JSON. */
void objects_set(struct objects *objects, const char *assignment, struct strv *problems);
bool object_is_kind(const struct object *object, const char *kind);
const struct object *objects_find(const struct objects *objects, const char *kind, const char *ns,
                                  const char *name);
/* "FILE: line N: PROBLEM", where the problem begins with the path of a field. "FILE: --set ...: PROBLEM" for
 * a value that an option has set, which has no line. After FIELD_PROBLEMS_MAX no more are added. */
void object_add_problem(const struct object *object, const char *problem, struct strv *problems);
void objects_release(struct objects *objects);
DEFINE_AUTO(objects);
