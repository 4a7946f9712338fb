/* What the reconciler knows of one V-IPU controller, for its VIPUController. */
#pragma once

#include "operator/vipucontroller/controller_status.h"

struct reconciler;

/* Holds what the facts borrow, until the loop's next turn. */
struct controller_report {
    struct controller_facts facts;
    struct vipu_pool_view pool;
};

void controller_report_read(const struct reconciler *r, size_t index, struct controller_report *ret);
void controller_report_release(struct controller_report *report);
DEFINE_AUTO(controller_report);
