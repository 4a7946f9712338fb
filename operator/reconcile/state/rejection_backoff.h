/* When a request that the API server rejected is sent again. */
#pragma once

#include <stdint.h>

/* The delay after that many rejections in a row; `who` spreads jobs that compete. */
int64_t rejection_backoff_ms(const char *who, unsigned rejections);
