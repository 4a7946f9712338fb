/* POST /whatif: plans in slices of the loop's time, and replies when a plan is complete. A few are made at a
 * time, one for each client. */
#pragma once

#include "base/http/http_server.h"
#include "operator/reconcile/what_if.h"

struct loop;
struct what_if_page;

enum { WHAT_IF_MAX = 4 }; /* at a time */

/* How many requests had which end. */
struct what_if_counts {
    uint64_t answered, invalid, rejected;
};

struct what_if_page *what_if_page_new(struct loop *loop);
void what_if_page_free(struct what_if_page *page); /* after the server is freed; accepts NULL */
/* Whether this client may ask now, and what is wrong with what it asks; else the request is answered. */
bool what_if_page_read(struct what_if_page *page, struct http_server_request *request,
                       const struct http_server_request_info *view, struct what_if_request *ret);
/* Replies later. */
void what_if_page_answer(struct what_if_page *page, struct http_server_request *request, const char *peer,
                         struct what_if *what_if_take);
void what_if_page_cancel(struct what_if_page *page, struct http_server_request *request); /* it left */
const struct what_if_counts *what_if_page_counts(const struct what_if_page *page);
