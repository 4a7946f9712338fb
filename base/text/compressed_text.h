/* A text that is kept for long and rarely read, compressed in one block. If compression does not make it
 * smaller, it is stored as it is. Pure. Free it with mem_free. */
#pragma once

#include "base/core/str.h"

struct compressed_text;

struct compressed_text *compressed_text_new(struct slice text);     /* owned by the caller */
size_t compressed_text_bytes(const struct compressed_text *packed); /* of memory; NULL has none */
char *compressed_text_get(const struct compressed_text *packed);    /* owned by the caller; NULL gives NULL */
