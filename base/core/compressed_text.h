/* A text that is kept for long and seldom read, compressed in one block. What does not become smaller is kept
 * as it is. Pure. Free it with mem_free. */
#pragma once

#include "base/core/str.h"

struct compressed_text;

struct compressed_text *compressed_text_new(struct slice text);  /* yours */
char *compressed_text_get(const struct compressed_text *packed); /* yours; NULL gives NULL */
