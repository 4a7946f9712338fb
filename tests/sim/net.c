#include "net.h"

struct net *net;

#define QUICK_MS 3
/* Beyond what the Kubernetes client waits for; and what the pool says a lost V-IPU write may take. */
#define API_LATE_MS 40000
#define VIPU_LATE_MS 33000

struct fate net_fate(bool is_vipu)
{
    const struct weather *weather = &net->weather;
    struct fate fate = {.arrives = true,
                        .answers = true,
                        .out_ms = dice_between(0, QUICK_MS),
                        .back_ms = dice_between(0, QUICK_MS),
                        .breaks_ms = -1};

    if (dice_permille(weather->lost))
        fate.arrives = fate.answers = false;
    else if (dice_permille(weather->mute))
        fate.answers = false;
    if (dice_permille(weather->late))
        fate.out_ms = dice_between(10, is_vipu ? VIPU_LATE_MS : API_LATE_MS);
    else if (dice_permille(weather->late))
        fate.back_ms = dice_between(10, is_vipu ? VIPU_LATE_MS : API_LATE_MS);
    fate.twice = dice_permille(weather->twice);
    fate.twice_ms = dice_between(0, is_vipu ? 50 : 2000);
    if (!fate.answers && dice_permille(500))
        fate.breaks_ms = dice_between(1, 5000);
    return fate;
}
