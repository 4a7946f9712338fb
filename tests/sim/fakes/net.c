#include "fakes/net.h"

struct net *net;

#define QUICK_MS 3
/* Beyond what the Kubernetes client waits for; and what the pool says a lost V-IPU write may take. */
#define API_LATE_MS 40000
#define VIPU_LATE_MS 33000

struct delivery net_delivery(bool is_vipu)
{
    const struct fault_rates *fault_rates = &net->fault_rates;
    struct delivery delivery = {.arrives = true,
                                .answers = true,
                                .out_ms = dice_between(0, QUICK_MS),
                                .back_ms = dice_between(0, QUICK_MS),
                                .breaks_ms = -1};

    if (dice_permille(fault_rates->lost))
        delivery.arrives = delivery.answers = false;
    else if (dice_permille(fault_rates->mute))
        delivery.answers = false;
    if (dice_permille(fault_rates->late))
        delivery.out_ms = dice_between(10, is_vipu ? VIPU_LATE_MS : API_LATE_MS);
    else if (dice_permille(fault_rates->late))
        delivery.back_ms = dice_between(10, is_vipu ? VIPU_LATE_MS : API_LATE_MS);
    delivery.twice = dice_permille(fault_rates->twice);
    delivery.twice_ms = dice_between(0, is_vipu ? 50 : 2000);
    if (!delivery.answers && dice_permille(500))
        delivery.breaks_ms = dice_between(1, 5000);
    return delivery;
}
