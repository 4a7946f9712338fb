/* UTF-8 (RFC 3629; table 3-7 of the Unicode standard): neither overlong forms, nor halves of surrogate pairs,
 * nor anything beyond U+10FFFF. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inside a character, not at its beginning. */
bool utf8_is_continuation(char c);
/* Bytes of the character that `left` bytes begin with, also of a control character or NUL; 0: none. */
size_t utf8_len(const char *at, size_t left);
/* The code point of the character whose bytes utf8_len counted. */
uint32_t utf8_code(const char *at, size_t len);
/* The length of the longest beginning of a text that has at most `max` bytes and ends with a whole
 * character. The text has more than that. */
size_t utf8_cut(const char *text, size_t max);
