/* The process that started this one. */
#pragma once

#include "base/core/str.h"

void parent_words(struct str *ret); /* its command line, each word followed by a NUL; empty if unknown */
