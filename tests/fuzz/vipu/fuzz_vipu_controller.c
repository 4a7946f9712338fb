/* A byte string drives the controller and its faults; after each step no IPU is in two partitions, none
 * leaked, and time ends whatever is under way. Three bytes are one step: what, which partition, how. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "fuzz/vipu/controller_invariants.h"
#include "vipu/server/config/config.h"
#include "vipu/server/controller/controller.h"

static void create(struct controller *c, const char *id, uint8_t how, int64_t now)
{
    struct vipu_ipu ipus[4];
    struct vipu_requirements r = {.id = id, .size = how >> 5 ? 1u << (how >> 5) : how & 7};
    struct strv problems = {0};
    struct err err;

    if (how & 1) { /* explicit IPUs, some of them nonsense */
        for (uint32_t i = 0; i < 4; i++)
            ipus[i] = (struct vipu_ipu){how >> 7, 0, (how & 0x7eu) + i, i ^ (how >> 6)};
        r = (struct vipu_requirements){.id = id, .size = 4, .cluster_id = "a", .ipus = ipus, .ipu_count = 4};
    }
    r.num_gcds = how & 2 ? 2 : 0;
    if (!controller_create(c, &r, now, &problems, &err))
        assert(err.kind == ERR_INVALID || err.kind == ERR_EXISTS || err.kind == ERR_BUSY);
    strv_release(&problems);
}

/* One agent, or one IPU on every board, is out of order for a while; one kind of operation fails. */
static void fail(struct controller *c, struct faults *faults, const uint8_t *b, int64_t now)
{
    faults_release(faults);
    faults->hardware = mem_alloc(sizeof(*faults->hardware));
    faults->hardware[faults->hardware_count++] =
        (struct fault_hardware){.agent = b[1] & 1 ? mem_strdup("*") : mem_printf("ag%u", b[1] % 32u),
                                .ipu = b[1] & 1 ? b[1] >> 6 : FAULTS_ALWAYS,
                                .for_ms = b[2]};
    faults->partitions = mem_alloc(sizeof(*faults->partitions));
    faults->partitions[faults->partition_count++] =
        (struct fault_partition){.on = b[2] & 3, .count = {0, b[2] >> 4, 100}};
    faults->linger_ms = b[2] & 8 ? 25 : 0;
    faults_begin(faults, now);
    controller_set_faults(c, faults, now);
}

static void step(struct controller *c, const uint8_t *b, int64_t now)
{
    AUTO(mem) char *id = mem_printf("p%u", b[1] % 40u);
    struct err err = {0};
    bool ok = true;

    switch (b[0] % 5) {
    case 0:
    case 1:
        create(c, id, b[2], now);
        break;
    case 2:
        ok = controller_remove(c, id, b[2] & 1, now, &err);
        break;
    case 3:
        ok = controller_reset(c, id, b[2] & 1, now, &err);
        break;
    default:
        if (b[2] & 1)
            controller_undo(c);
        controller_step(c, now);
    }
    assert(ok || err.kind == ERR_NOT_FOUND || err.kind == ERR_CONFLICT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct server_config config;
    struct controller c;
    struct faults faults = {0};
    struct strv problems = {0};
    int64_t now = 0;

    if (!server_config_parse(SLICE_LIT(CONTROLLER_CONFIG), "", &config, &problems))
        return 0;
    controller_init(&c, &config.clusters,
                    (struct controller_times){.create_ms = 20, .remove_ms = 30, .reset_ms = 10}, 3);
    for (; len >= 3; bytes += 3, len -= 3) {
        now += bytes[2] & 15;
        if (bytes[0] >= 240)
            fail(&c, &faults, bytes, now);
        else
            step(&c, bytes, now);
        controller_check(&c);
    }
    for (int64_t next = now; next >= 0; now = next >= 0 ? next : now)
        next = controller_step(&c, now);
    CONTROLLER_EACH (entry, &c)
        assert(!controller_partition_is_timed(entry));
    controller_check(&c);
    controller_release(&c);
    faults_release(&faults);
    server_config_release(&config);
    return 0;
}
