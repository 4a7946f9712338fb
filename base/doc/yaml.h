/* YAML into the same trees as JSON, by libyaml. Plain scalars are numbers, true/false and null as in YAML
 * 1.2's core schema (no yes/no/on/off); quoted ones are strings. Depth and size are limited, aliases are
 * rejected, keys must be unique. Each node remembers its line, for messages about
 * configuration files. */
#pragma once

#include "base/doc/json.h"

struct yaml_lines;

struct yaml_doc {
    cJSON *root;              /* NULL for an empty document */
    struct yaml_lines *lines; /* node -> line; private */
};

/* ERR_INVALID with "NAME: line N: what is wrong". */
MUST_USE bool yaml_parse(struct slice text, const char *name, struct yaml_doc *ret, struct err *err);
/* The same for any number of Kubernetes objects: the root is an array of them. Plain yes, no, on, off, y and
 * n are booleans, as for kubectl, which reads YAML 1.1. */
MUST_USE bool yaml_parse_stream(struct slice text, const char *name, struct yaml_doc *ret, struct err *err);
unsigned yaml_line(const struct yaml_doc *doc, const cJSON *node); /* 1-based; 0 if unknown */
void yaml_release(struct yaml_doc *doc);

static inline void yaml_auto(struct yaml_doc *doc)
{
    yaml_release(doc);
}
