/* Times as text. RFC 3339 in UTC with whole seconds, as metav1.Time has it. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TIMEFMT_RFC3339_SIZE 32

/* "2026-11-21T10:00:00Z" */
const char *timefmt_rfc3339(int64_t unix_seconds, char out[TIMEFMT_RFC3339_SIZE]);
/* "2026-11-21T10:00:00.123456Z", metav1.MicroTime */
const char *timefmt_rfc3339_micro(int64_t unix_micros, char out[TIMEFMT_RFC3339_SIZE]);
bool timefmt_parse_rfc3339(const char *text, int64_t *ret_unix_seconds);
/* "45s", "3m20s", "125m", "3h5m", "2d4h", as kubectl writes ages; below zero is "0s" */
const char *timefmt_age(int64_t seconds, char out[TIMEFMT_RFC3339_SIZE]);
