/* A list of names for a sentence: "p1, p2, p3 and 97 more". Pure. */
#pragma once

#include "base/core/str.h"

#define NAMES_SHOWN 5u

/* Names that follow an equal one are left out. */
void name_list_join(const struct strv *names, struct str *out);
