/* The leader's lists, each from a snapshot that all its readers share. */
#pragma once

#include "operator/api/page.h"

struct reconciler;

/* Caller frees. */
cJSON *listing_print(struct reconciler *reconciler, enum page_list list, const struct page_request *request);
