#include "random_input.h"

#define NOW 1000000

uint64_t random_number(struct random_input *r, uint64_t below)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (r->state >> 20) % below;
}

static bool is_one_in(struct random_input *r, uint64_t n)
{
    return random_number(r, n) == 0;
}

static void add_running(struct random_input *r, uint32_t c, uint32_t d, uint32_t at, uint32_t size)
{
    uint64_t ones = size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;
    uint32_t middle = (uint32_t)(60 + random_number(r, 5000));
    struct forecast_running *it = &r->running[r->input.running_count];

    if (r->input.running_count == RANDOM_RUNNING)
        return;
    *it = (struct forecast_running){.uid = random_number(r, UINT32_MAX),
                                    .instance = (uint32_t)random_number(r, 3),
                                    .ns = (uint32_t)random_number(r, 4),
                                    .controller = c,
                                    .block = {d, 1, ones << at},
                                    .size = size,
                                    .start_s = NOW - (int64_t)random_number(r, 10000),
                                    .end_s = is_one_in(r, 4) ? FORECAST_UNKNOWN
                                                             : NOW + 1 + (int64_t)random_number(r, 100) * 60};
    if (is_one_in(r, 2))
        it->left = (struct forecast_quantiles){middle / 3, middle, middle * 3};
    it->checkpoint_s = it->start_s;
    it->is_restartable = is_one_in(r, 2);
    it->restart_s = (uint32_t)random_number(r, 300);
    r->input.running_count++;
}

static void fill_domain(struct random_input *r, uint32_t c, uint32_t d)
{
    for (uint32_t at = 0, size; at < 64; at += size) {
        for (size = 1u << random_number(r, 7); at % size || at + size > 64;)
            size /= 2;
        if (!is_one_in(r, 3) && (r->domains[c][d] >> at & 1))
            add_running(r, c, d, at, size);
    }
}

static void add_claim(struct random_input *r, uint64_t uid)
{
    static const uint32_t LARGE[] = {128, 192, 256, 64, 48};
    uint32_t middle = (uint32_t)(60 + random_number(r, 3000));

    r->claims[r->input.claim_count++] = (struct forecast_claim){
        .uid = uid * 0x9e3779b97f4a7c15u,
        .count = is_one_in(r, 4) ? (uint32_t)random_number(r, 6) : 1,
        .eligible = is_one_in(r, 3) ? random_number(r, 8) : 7,
        .ns = (uint32_t)random_number(r, 4),
        .size = is_one_in(r, 8) ? LARGE[random_number(r, 5)] : 1u << random_number(r, 7),
        .priority = is_one_in(r, 4) ? (int32_t)random_number(r, 3) : 0,
        .turn_s = NOW - (int64_t)random_number(r, 30000),
        .arrival = random_number(r, 5),
        .bound_s = is_one_in(r, 3) ? FORECAST_UNKNOWN : 60 * (1 + (int64_t)random_number(r, 100)),
        .run = is_one_in(r, 3) ? (struct forecast_quantiles){0}
                               : (struct forecast_quantiles){middle / 4, middle, middle * 2},
        .is_ready = !is_one_in(r, 20),
    };
}

void random_input_init(struct random_input *r, uint64_t seed, size_t controllers, enum forecast_policy policy)
{
    *r = (struct random_input){.state = seed * 0x9e3779b97f4a7c15u};
    r->input = (struct forecast_input){.now_s = NOW,
                                       .controllers = r->controllers,
                                       .controller_count = controllers,
                                       .running = r->running,
                                       .claims = r->claims,
                                       .namespaces = r->namespaces,
                                       .namespace_count = 3,
                                       .settings = FORECAST_SETTINGS_DEFAULT};
    for (uint32_t c = 0; c < controllers; c++) {
        r->controllers[c] = (struct forecast_controller){.is_usable = !is_one_in(r, 10),
                                                         .is_placed = true,
                                                         .policy = policy,
                                                         .ipus_per_domain = 64,
                                                         .domains = r->domains[c],
                                                         .domain_count = (uint32_t)random_number(r, 7)};
        for (uint32_t d = 0; d < r->controllers[c].domain_count; d++) {
            r->domains[c][d] = is_one_in(r, 8) ? ~(uint64_t)0xff00 : is_one_in(r, 16) ? 0 : ~(uint64_t)0;
            if (!is_one_in(r, 5))
                fill_domain(r, c, d);
        }
    }
    if (is_one_in(r, 4))
        r->namespaces[0].max_ipus = (uint32_t)random_number(r, 100) + 1;
    if (is_one_in(r, 4))
        r->namespaces[1].max_queued = (uint32_t)random_number(r, 4) + 1;
    r->namespaces[2].used_ipu_s = random_number(r, 100000000);
    r->input.settings.has_shares = is_one_in(r, 3);
    if (is_one_in(r, 3))
        r->input.settings.guard_after_s = 20000;
    for (uint64_t i = 0, n = random_number(r, RANDOM_CLAIMS + 1); i < n; i++)
        add_claim(r, i + 1);
}

static int64_t any_time(struct random_input *r)
{
    static const int64_t TIMES[] = {
        INT64_MIN,     -1,       0, 1, NOW - 1, NOW, NOW + 1, INT32_MAX, (int64_t)1 << 31, (int64_t)1 << 62,
        INT64_MAX - 1, INT64_MAX};

    return TIMES[random_number(r, sizeof(TIMES) / sizeof(TIMES[0]))];
}

static uint32_t any_size(struct random_input *r)
{
    static const uint32_t SIZES[] = {0, 1, 3, 64, 65, 96, 128, 1u << 20, 1u << 31, UINT32_MAX};

    return SIZES[random_number(r, sizeof(SIZES) / sizeof(SIZES[0]))];
}

static void spoil_running(struct random_input *r, struct forecast_running *it)
{
    it->controller = (uint32_t)random_number(r, 5);
    it->block = (struct forecast_block){any_size(r), any_size(r), random_number(r, UINT64_MAX)};
    if (is_one_in(r, 2))
        it->block = (struct forecast_block){(uint32_t)random_number(r, 6), (uint32_t)random_number(r, 3),
                                            ~(uint64_t)0};
    it->size = any_size(r);
    it->start_s = any_time(r);
    it->end_s = any_time(r);
    it->left = (struct forecast_quantiles){any_size(r), any_size(r), any_size(r)};
}

static void spoil_claim(struct random_input *r, struct forecast_claim *it)
{
    it->count = is_one_in(r, 4) ? UINT32_MAX : any_size(r);
    it->eligible = is_one_in(r, 4) ? ~(uint64_t)0 : it->eligible;
    it->ns = any_size(r);
    it->size = any_size(r);
    it->priority = is_one_in(r, 2) ? INT32_MIN : INT32_MAX;
    it->turn_s = any_time(r);
    it->bound_s = any_time(r);
    it->run = (struct forecast_quantiles){any_size(r), any_size(r), any_size(r)};
}

void random_input_spoil(struct random_input *r)
{
    for (size_t i = 0; i < r->input.running_count; i++)
        if (is_one_in(r, 3))
            spoil_running(r, &r->running[i]);
    for (size_t i = 0; i < r->input.claim_count; i++)
        if (is_one_in(r, 3))
            spoil_claim(r, &r->claims[i]);
    for (size_t c = 0; c < r->input.controller_count; c++) {
        static const uint32_t PER_DOMAIN[] = {0, 1, 4, 16, 63, 64, 65, UINT32_MAX};

        r->controllers[c].ipus_per_domain = PER_DOMAIN[random_number(r, 8)];
        r->controllers[c].is_placed = !is_one_in(r, 4);
        r->controllers[c].total_ipus = any_size(r);
        r->controllers[c].policy = (enum forecast_policy)random_number(r, 3);
    }
    r->input.now_s = is_one_in(r, 2) ? any_time(r) : r->input.now_s;
    r->input.settings.depth = (uint32_t)random_number(r, 12);
    r->input.settings.max_slide_s = any_time(r);
    r->input.settings.close_after_s = any_time(r);
    r->input.settings.guard_after_s = any_time(r);
}
