/* Base64 as kubeconfig's *-data fields and Secrets have it: the standard alphabet, padded, line breaks
 * allowed. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

/* Appends the bytes; false when the text is not base64 or ret is full. */
bool base64_decode(struct slice text, struct str *ret);
void base64_encode(struct slice bytes, struct str *ret); /* appends the text, without line breaks */
