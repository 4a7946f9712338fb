/* A text that is kept for long and seldom read, compressed in one block. What does not become smaller is kept
 * as it is. Pure. Free it with mem_free. */
#pragma once

#include "base/core/str.h"

struct pack;

struct pack *pack_new(struct slice text);   /* yours */
char *pack_text(const struct pack *packed); /* yours; NULL gives NULL */
