/* The files of the live page: those of page/dist, and the login page. cmake/assets.cmake makes the table. */
#pragma once

#include "operator/serve/live/page_access.h"

extern const struct asset page_assets[]; /* ends with path NULL */
