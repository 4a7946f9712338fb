/* Random input of the engine, by seed. Small, so that everything about a plan can be checked by trying. */
#pragma once

#include "operator/forecast/forecast.h"

#define RANDOM_CLAIMS 40
#define RANDOM_RUNNING 200

struct random_input {
    uint64_t state;
    uint64_t domains[3][8];
    struct forecast_controller controllers[3];
    struct forecast_running running[RANDOM_RUNNING];
    struct forecast_claim claims[RANDOM_CLAIMS + 1]; /* one more for a test to add */
    struct forecast_namespace namespaces[3];
    struct forecast_input input;
};

uint64_t random_number(struct random_input *r, uint64_t below);
/* Sound input. `controllers` up to 3, all with this policy. */
void random_input_init(struct random_input *r, uint64_t seed, size_t controllers,
                       enum forecast_policy policy);
/* Whatever fits into the types. */
void random_input_spoil(struct random_input *r);
