#include "operator/forecast/forecast.h"

/* Nine hits undo a miss (Gibbs and Candes, adaptive conformal inference, 2021). */
static void adapt(uint32_t *permille, bool is_missed)
{
    *permille = is_missed ? *permille + *permille / 11 : *permille - *permille / 100;
    *permille = *permille < FORECAST_PERMILLE_MIN   ? FORECAST_PERMILLE_MIN
                : *permille > FORECAST_PERMILLE_MAX ? FORECAST_PERMILLE_MAX
                                                    : *permille;
}

void forecast_calibrate(struct forecast_settings *settings, const struct forecast_verdict *told,
                        int64_t start_s)
{
    if (told->basis != FORECAST_BY_HISTORY || told->p90_s == FORECAST_UNKNOWN)
        return;
    adapt(&settings->early_permille, start_s < told->p10_s);
    adapt(&settings->late_permille, start_s > told->p90_s);
}
