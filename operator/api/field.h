/* Mistakes in an object, one line each, in the API server's own format: path, kind of mistake, value, what
 * would be valid. Pure.
 *
 * A path is written with '/' as json_at reads it and printed with '.'; indices ("containers[0]") are already
 * part of it. Long values are truncated, never inside a character; after FIELD_PROBLEMS_MAX mistakes no more
 * are added. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/json.h"

#define FIELD_PROBLEMS_MAX 100

void field_required(struct strv *problems, const char *path);
void field_invalid(struct strv *problems, const char *path, const cJSON *value, const char *what);
/* Of a value that is no string. */
void field_invalid_text(struct strv *problems, const char *path, const cJSON *value);
void field_duplicate(struct strv *problems, const char *path, const cJSON *value);
void field_forbidden(struct strv *problems, const char *path, const char *why);

/* ---- reading ---- */

/* The API server treats absent and null alike. */
const cJSON *field_at(const cJSON *job, const char *path);
/* Digits, as a string without leading zeros or as a number. */
bool field_count_read(const cJSON *value, uint32_t *ret);
/* An optional number in [min, max]; an invalid one is a problem and leaves the fallback. */
uint32_t field_count(const cJSON *job, const char *path, uint32_t min, uint32_t max, uint32_t fallback,
                     struct strv *problems);
/* The same for a field in seconds. */
uint32_t field_seconds(const cJSON *job, const char *path, uint32_t min, uint32_t fallback,
                       struct strv *problems);
/* The same for a field that may also be a string of digits. */
uint32_t field_count_or_text(const cJSON *job, const char *path, uint32_t min, uint32_t max,
                             uint32_t fallback, struct strv *problems);
/* An optional string; another type is a problem. Borrowed, or NULL. */
const char *field_text(const cJSON *job, const char *path, struct strv *problems);
/* An optional boolean: 0, 1, or the fallback. */
int field_bool(const cJSON *job, const char *path, int fallback, struct strv *problems);
/* The index of an optional string in `names`; any other value is a problem and leaves the fallback. */
size_t field_choice(const cJSON *job, const char *path, const char *const *names, size_t count,
                    size_t fallback, struct strv *problems);
