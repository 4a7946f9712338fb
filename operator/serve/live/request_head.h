/* The head of an HTTP/1.1 request, as far as the live page needs it. Pure. What is malformed, repeated where
 * it must not be, or sent in chunks is rejected. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

#define REQUEST_HEAD_MAX ((size_t)8 * 1024)

/* Borrowed from the text; fields that are absent are empty. */
struct request_head {
    struct slice method, path, query;
    struct slice host, origin, cookie, upgrade, connection, content_length;
    struct slice websocket_key, websocket_version;
    size_t body_len;
    size_t len; /* of the head, with the empty line */
};

enum request_head_result { REQUEST_HEAD_UNFINISHED, REQUEST_HEAD_WHOLE, REQUEST_HEAD_BAD };

enum request_head_result request_head_parse(struct slice text, struct request_head *ret);
/* The list has this word, whatever its case: "keep-alive, Upgrade". */
bool request_head_has_word(struct slice list, const char *word);
/* The value of the next cookie of this name in the rest of the list, which begins as head->cookie; empty:
 * there is none. A server on another port of the host can add cookies of the same name. */
struct slice request_head_cookie(struct slice *rest, const char *name);
