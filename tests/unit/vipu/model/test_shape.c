#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/model/shape.h"

TEST(defaults_are_those_of_the_user_api)
{
    struct vipu_requirements r =
        vipu_requirements_with_defaults(&(struct vipu_requirements){.id = "p", .size = 256});

    CHECK_INT_EQ(r.num_ilds, 1); /* vipuuser.proto: "If not specified single ipulink segment will be used" */
    CHECK_INT_EQ(vipu_fewest_ilds(256), 4);
    CHECK_INT_EQ(vipu_fewest_ilds(65), 2);
    CHECK_INT_EQ(vipu_fewest_ilds(64), 1);
    CHECK_INT_EQ(r.num_gcds, 1);
    CHECK_INT_EQ(r.num_replicas, 1);
    CHECK_INT_EQ(r.sync_type, VIPU_SYNC_GS2_DEFAULT);
    r = vipu_requirements_with_defaults(&(struct vipu_requirements){.size = 64, .num_gcds = 4});
    CHECK_INT_EQ(r.num_ilds, 1);
    CHECK_INT_EQ(r.num_replicas, 4);
}

static bool is_good(const struct vipu_requirements *given)
{
    struct vipu_requirements r = vipu_requirements_with_defaults(given);
    struct strv problems = {0};
    bool good = vipu_requirements_check(&r, &problems);

    CHECK_INT_EQ(good, problems.count == 0);
    strv_release(&problems);
    return good;
}

/* On record: a partition over several IPU-Link domains needs at least one GCD per domain; reconfigurable
 * works only with sync type c2-compatible, which is then the default; gateway routing is for several
 * segments only; sizes of 1, 2, 4, 8, 16, 32 and 64 IPUs in one domain. */
TEST(rules_of_shapes)
{
    static const struct {
        struct vipu_requirements r;
        bool good;
    } rows[] = {
        {{.id = "p", .size = 1}, true},
        {{.id = "p", .size = 64, .reconfigurable = true}, true},
        {{.id = "p", .size = 2, .num_gcds = 2}, true},
        {{.id = "p", .size = 4, .num_gcds = 2, .num_replicas = 4}, true},
        {{.id = "p", .size = 128, .num_ilds = 2, .num_gcds = 2}, true},
        {{.id = "p", .size = 32, .num_ilds = 2, .num_gcds = 2}, true},
        {{.id = "p-job-name-space-0.A_b", .size = 1}, true},
        {{.id = "", .size = 1}, false},
        {{.id = "_", .size = 1}, true},
        {{.id = "..", .size = 1}, false}, /* its files would be hidden */
        {{.id = "-x", .size = 1}, false},
        {{.id = NULL, .size = 1}, false},
        {{.id = "a b", .size = 1}, false},
        {{.id = "p", .size = 0}, false},
        {{.id = "p", .size = 3}, false},
        {{.id = "p", .size = 128, .num_gcds = 2}, false}, /* more than a domain has */
        {{.id = "p", .size = 128, .num_ilds = 2}, false}, /* two domains need two GCDs */
        {{.id = "p", .size = 192, .num_ilds = 4, .num_gcds = 4}, false},
        {{.id = "p", .size = 128, .num_ilds = 1, .num_gcds = 2}, false},
        {{.id = "p", .size = 1, .num_gcds = 2}, false},
        {{.id = "p", .size = 4, .num_gcds = 4, .num_replicas = 2}, false},
        {{.id = "p", .size = 4, .num_replicas = 8}, false},
        {{.id = "p", .size = 4, .num_gcds = 2, .reconfigurable = true}, false},
        {{.id = "p", .size = 4, .num_ilds = 2, .num_gcds = 2, .reconfigurable = true}, false},
        {{.id = "p", .size = 4, .reconfigurable = true, .sync_type = VIPU_SYNC_POD_NATIVE_DEFAULT}, false},
        {{.id = "p", .size = 4, .sync_type = VIPU_SYNC_POD_NATIVE_DEFAULT}, true},
        {{.id = "p", .size = 4, .sync_type = VIPU_SYNC_GS2_INDEPENDENT_RAILS}, false},
        {{.id = "p", .size = 4, .gateway_routing = VIPU_GATEWAY_RING}, false},
        {{.id = "p", .size = 4, .num_ilds = 2, .num_gcds = 2, .gateway_routing = VIPU_GATEWAY_RING}, true},
        {{.id = "p",
          .size = 4,
          .num_ilds = 2,
          .num_gcds = 2,
          .gateway_routing = (enum vipu_gateway_routing)1},
         false},
        {{.id = "p", .size = 4, .routing = (enum vipu_routing)5}, false},
        {{.id = "p", .size = 4, .sync_type = (enum vipu_sync_type)5}, false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(is_good(&row->r), row->good);
    }
}

TEST(an_id_has_a_limit)
{
    char id[VIPU_ID_MAX + 2];

    for (size_t i = 0; i < sizeof(id); i++)
        id[i] = 'x';
    id[VIPU_ID_MAX] = '\0';
    CHECK(is_good(&(struct vipu_requirements){.id = id, .size = 1}));
    id[VIPU_ID_MAX] = 'x';
    id[VIPU_ID_MAX + 1] = '\0';
    CHECK(!is_good(&(struct vipu_requirements){.id = id, .size = 1}));
}

/* On record: a partition of 4 IPUs gets DNC, one of 16 gets DNC. */
TEST(routing_follows_size_and_topology)
{
    static const struct {
        uint32_t size;
        bool torus;
        enum vipu_routing want;
    } rows[] = {
        {1, true, VIPU_ROUTING_DNC},    {4, false, VIPU_ROUTING_DNC},   {16, true, VIPU_ROUTING_DNC},
        {32, true, VIPU_ROUTING_SWNC},  {32, false, VIPU_ROUTING_SWNC}, {64, true, VIPU_ROUTING_RINGSWNC},
        {64, false, VIPU_ROUTING_SWNC},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(vipu_routing_default(row->size, row->torus), row->want);
    }
}

/* On record: target options of 4 reconfigurable IPUs are 4, default, mesh, true, 4; target options of 64
 * IPUs are 64, slidingWindow, torus, true, 64. */
TEST(target_options_are_those_that_poprun_logs)
{
    AUTO(mem) char *large = vipu_target_options(64, 1, 1, VIPU_ROUTING_RINGSWNC);
    AUTO(mem) char *small = vipu_target_options(4, 1, 1, VIPU_ROUTING_DNC);
    AUTO(mem) char *split = vipu_target_options(128, 2, 4, VIPU_ROUTING_BTNC);

    CHECK_STR_EQ(large, "{\"ipuLinkDomainSize\":\"64\",\"ipuLinkConfiguration\":\"slidingWindow\","
                        "\"ipuLinkTopology\":\"torus\",\"gatewayMode\":\"true\",\"instanceSize\":\"64\"}");
    CHECK_STR_EQ(small, "{\"ipuLinkDomainSize\":\"4\",\"ipuLinkConfiguration\":\"default\","
                        "\"ipuLinkTopology\":\"mesh\",\"gatewayMode\":\"true\",\"instanceSize\":\"4\"}");
    CHECK_STR_EQ(split, "{\"ipuLinkDomainSize\":\"64\",\"ipuLinkConfiguration\":\"barleyTwist\","
                        "\"ipuLinkTopology\":\"mesh\",\"gatewayMode\":\"true\",\"instanceSize\":\"32\"}");
}

TEST(device_numbers_are_the_recorded_ones)
{
    static const struct {
        uint32_t gcd, size, group, want;
    } rows[] = {
        {16, 4, 0, 24},  {16, 4, 3, 27}, /* four instances of four IPUs on one partition of 16 */
        {4, 2, 0, 4},    {4, 2, 1, 5},     {4, 4, 0, 6}, /* a listing of four IPUs */
        {16, 1, 15, 15}, {16, 16, 0, 30}, /* the largest single and the largest multi device of 16 */
        {64, 1, 63, 63}, {64, 64, 0, 126}, {32, 8, 2, 58},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(vipu_device_id(row->gcd, row->size, row->group), row->want);
    }
}

/* On record: routing types are DNC, SWNC, BTNC and RINGSWNC; sync types are the global default,
 * independent rails, pod-native and pod-native replicated pipeline; a partition is PENDING, ACTIVE,
 * REMOVED or in ERROR; operations are IDLE, CREATING, REMOVING, RESETTING and FAILED. */
TEST(texts_and_numbers_of_enumerations)
{
    enum vipu_routing routing;
    enum vipu_sync_type sync;
    enum vipu_gateway_routing gateway;

    CHECK(vipu_routing_parse("ringswnc", &routing) && routing == VIPU_ROUTING_RINGSWNC);
    CHECK(!vipu_routing_parse("ring", &routing));
    CHECK(vipu_sync_type_parse("C2-Compatible", &sync) && sync == VIPU_SYNC_GS2_DEFAULT);
    CHECK(vipu_gateway_routing_parse("default", &gateway) && gateway == VIPU_GATEWAY_UNDEFINED);
    CHECK_STR_EQ(vipu_ready_state_name(VIPU_READY_ACTIVE), "ACTIVE");
    CHECK_STR_EQ(vipu_ready_state_name((enum vipu_ready_state)77), "UNDEFINED");
    CHECK_STR_EQ(vipu_operation_state_name(VIPU_OPERATION_RESETTING), "RESETTING");
    CHECK_STR_EQ(vipu_gateway_routing_name(VIPU_GATEWAY_UNDEFINED), "DEFAULT");
}
