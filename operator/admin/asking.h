/* What a verb asks of the API server and of the operator's pages, one question after the other: each function
 * runs the loop until its answer is there. For verbs that do nothing beside, and never for the operator. */
#pragma once

#include "base/core/opts.h"
#include "base/doc/json.h"
#include "base/io/loop.h"
#include "operator/api/record.h"
#include "operator/kube/client.h"

struct http;

struct asking {
    struct loop *loop;
    struct kube *kube;
    struct http *http;
    const char *pages; /* "http://host:port"; borrowed */
};

/* Where the pages are: a row of every verb that reads them. */
#define ASKING_PAGES_ROW(at)                                                                                 \
    {                                                                                                        \
        .flag = "pages", .type = OPT_STR, .offset = (at), .fallback = "http://localhost:8081", .arg = "URL", \
        .help = "Where the operator's pages are"                                                             \
    }

MUST_USE bool asking_init(struct asking *asking, struct loop *loop, struct kube *kube, const char *pages,
                          struct err *err);
void asking_release(struct asking *asking);

static inline void asking_auto(struct asking *asking)
{
    asking_release(asking);
}

/* The page as JSON, yours. Another status than 200 is an error that says what the page says. */
MUST_USE cJSON *ask_page(struct asking *asking, const char *path, struct err *err);
/* The answer's body, yours. A refusal is an error of its kind with the API server's words. */
MUST_USE cJSON *ask_kube(struct asking *asking, const struct kube_request *request, struct err *err);
/* Makes the record in the operator's namespace. */
MUST_USE bool ask_for_record(struct asking *asking, const char *ns, const struct record *record,
                             struct err *err);
void asking_pause(struct asking *asking, int64_t ms);
