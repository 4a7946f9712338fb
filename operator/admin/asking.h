/* What a verb about partitions asks of the API server and of the operator's pages, one question after the
 * other: each function runs the loop until its answer is there. For verbs that do nothing beside, and never
 * for the operator. */
#pragma once

#include "base/doc/json.h"
#include "base/io/loop.h"
#include "operator/admin/tool.h"
#include "operator/api/record.h"
#include "operator/kube/client.h"

struct http;

struct asking {
    struct loop *loop;
    struct kube *kube;
    struct http *http;
    const char *pages; /* "http://host:port"; borrowed */
};

/* The first member of such a verb's settings. */
struct asking_settings {
    struct tool_access access;
    char *pages, *ns, *controller;
    bool dry_run;
};

/* Which partition, and whether in earnest; for verbs that name one. */
#define ASKING_PARTITION_ROWS                                                                                \
    {.flag = "dry-run",                                                                                      \
     .type = OPT_FLAG,                                                                                       \
     .offset = offsetof(struct asking_settings, dry_run),                                                    \
     .fallback = "false",                                                                                    \
     .help = "Say what would be done, and change nothing"},                                                  \
    {                                                                                                        \
        .flag = "controller", .type = OPT_STR, .offset = offsetof(struct asking_settings, controller),       \
        .arg = "HOST:PORT", .help = "The V-IPU controller that has it, if several have one of that id"       \
    }

/* Where records are made. */
#define ASKING_NAMESPACE_ROW                                                                                 \
    {                                                                                                        \
        .flag = "namespace", .type = OPT_STR, .offset = offsetof(struct asking_settings, ns), .arg = "NAME", \
        .help = "The operator's namespace; default: the pod's, or the context's"                             \
    }

/* Where the pages are: a row of every verb that reads them. */
#define ASKING_PAGES_ROW(at)                                                                                 \
    {                                                                                                        \
        .flag = "pages", .type = OPT_STR, .offset = (at), .fallback = "http://localhost:8081", .arg = "URL", \
        .help = "Where the operator's pages are"                                                             \
    }

/* Does the verb's work. False without an error: what is wrong has been said. */
typedef bool (*asking_fn)(struct asking *asking, const void *settings, struct err *err);

/* Runs it on the settings, and tells the error; the exit status. */
int asking_run(const struct asking_settings *settings, asking_fn work, struct loop *loop, struct kube *kube);
/* The operator's namespace, borrowed. */
const char *asking_ns(const struct asking_settings *settings);

/* The page as JSON, yours. Another status than 200 is an error that says what the page says. */
MUST_USE cJSON *ask_page(struct asking *asking, const char *path, struct err *err);
/* The answer's body, yours. A refusal is an error of its kind with the API server's words. */
MUST_USE cJSON *ask_kube(struct asking *asking, const struct kube_request *request, struct err *err);
/* Makes the record in the operator's namespace. */
MUST_USE bool ask_for_record(struct asking *asking, const char *ns, const struct record *record,
                             struct err *err);
void asking_pause(struct asking *asking, int64_t ms);
