/* What a simulation found, as one line of JSON. */
#pragma once

#include "schedule/simulation.h"

void result_print(struct simulation *s);
