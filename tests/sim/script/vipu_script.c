#include "script/vipu_script.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/client/client.h"

#define DEADLINE_MS 60000

struct script {
    const struct vipu_script_options *options;
    uint64_t random;
    bool is_done;
};

static const char *const IDS[] = {"a", "b", "c", "d", "e", "f"};

static uint32_t roll(struct script *s, uint32_t sides)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % sides;
}

static void wait(struct script *s)
{
    s->options->wait(s->options->ctx, &s->is_done);
    s->is_done = false;
}

/* ---- what is answered ---- */

static void say_end(const struct vipu_result *result)
{
    if (result->err.kind == ERR_NONE)
        printf(" -> done");
    else
        printf(" -> %s: %s", err_kind_name(result->err.kind), result->reason);
    printf(vipu_result_is_unknown(result) ? " (unknown)" : "");
}

static void on_done(void *ctx, const struct vipu_result *result)
{
    say_end(result);
    printf("\n");
    ((struct script *)ctx)->is_done = true;
}

static void on_text(void *ctx, const struct vipu_result *result, const char *text)
{
    say_end(result);
    printf(" %s\n", text);
    ((struct script *)ctx)->is_done = true;
}

static void on_count(void *ctx, const struct vipu_result *result, uint32_t count)
{
    say_end(result);
    printf(" %u IPUs\n", count);
    ((struct script *)ctx)->is_done = true;
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    say_end(result);
    if (result->err.kind == ERR_NONE)
        printf(" %s %s resets=%u/%u", vipu_ready_state_name(status->ready_state),
               vipu_operation_state_name(status->operation_state), status->auto_reset_retry_count,
               status->max_auto_reset_retries);
    for (size_t i = 0; i < status->error_count; i++)
        printf(" [%s]", status->errors[i]);
    printf("\n");
    ((struct script *)ctx)->is_done = true;
}

static void say_partition(const struct vipu_partition *p)
{
    printf("    %s %s %s size=%u gcds=%u replicas=%u ilds=%u%s %s %s %s on", p->id, p->cluster_id,
           p->allocation_id, p->size, p->num_gcds, p->num_replicas, p->num_ilds,
           p->reconfigurable ? " reconfigurable" : "", vipu_ready_state_name(p->ready_state),
           vipu_routing_name(p->routing), vipu_sync_type_name(p->sync_type));
    for (uint32_t i = 0; i < p->size; i++)
        printf(" %u/%u", p->ipus[i].domain_topology_id, p->ipus[i].topology_id);
    printf("\n");
}

static void on_partitions(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    say_end(result);
    printf(" %zu partitions\n", list->count);
    for (size_t i = 0; i < list->count; i++)
        say_partition(&list->items[i]);
    ((struct script *)ctx)->is_done = true;
}

/* ---- what is asked ---- */

static const char *some_id(struct script *s)
{
    return IDS[roll(s, COUNT_OF(IDS))];
}

static void create(struct script *s)
{
    static const uint32_t sizes[] = {1, 2, 4, 4, 8, 16, 32, 64, 0, 3, 128};
    static const char *const allocations[] = {NULL, NULL, NULL, "", "cl1", "nonesuch"};
    struct vipu_requirements want = {
        .id = roll(s, 20) ? some_id(s) : "not an id",
        .size = sizes[roll(s, COUNT_OF(sizes))],
        .num_gcds = roll(s, 3) ? 0 : roll(s, 4),
        .num_replicas = roll(s, 3) ? 0 : roll(s, 9),
        .num_ilds = roll(s, 6) ? 0 : roll(s, 3),
        .reconfigurable = roll(s, 2),
        .relocatable = roll(s, 2),
        .disable_auto_reset = roll(s, 3) == 0,
        .allocation_id = allocations[roll(s, COUNT_OF(allocations))],
        .routing = (enum vipu_routing)(roll(s, 3) ? 0 : roll(s, 5)),
        .sync_type = (enum vipu_sync_type)(roll(s, 3) ? 0 : roll(s, 5)),
    };

    printf("create %s size=%u gcds=%u replicas=%u ilds=%u%s%s allocation=%s routing=%s sync=%s", want.id,
           want.size, want.num_gcds, want.num_replicas, want.num_ilds,
           want.reconfigurable ? " reconfigurable" : "", want.relocatable ? " relocatable" : "",
           want.allocation_id ? want.allocation_id : "-", vipu_routing_name(want.routing),
           vipu_sync_type_name(want.sync_type));
    vipu_create_partition(s->options->client, &want, DEADLINE_MS, on_text, s);
}

static void step(struct script *s)
{
    struct vipu_client *client = s->options->client;
    const char *id = some_id(s);
    bool flag = roll(s, 2);

    switch (roll(s, 9)) {
    case 0:
    case 1:
    case 2:
        create(s);
        break;
    case 3:
    case 4:
        printf("remove %s%s", id, flag ? " by force" : "");
        vipu_remove_partition(client, id, flag, DEADLINE_MS, on_done, s);
        break;
    case 5:
    case 6:
        printf("reset %s%s", id, flag ? " elsewhere" : "");
        vipu_reset_partition(client, id, flag, NULL, DEADLINE_MS, on_done, s);
        break;
    case 7:
        printf("status %s", id);
        vipu_get_partition_status(client, id, DEADLINE_MS, on_status, s);
        break;
    default:
        printf("agents");
        vipu_count_ipus(client, DEADLINE_MS, on_count, s);
        break;
    }
    wait(s);
    printf("list");
    vipu_list_partitions(client, NULL, DEADLINE_MS, on_partitions, s);
    wait(s);
}

void vipu_script_run(const struct vipu_script_options *options)
{
    struct script s = {.options = options, .random = options->seed};

    for (unsigned i = 0; i < options->steps; i++) {
        if (i == options->steps / 2)
            options->on_half(options->ctx);
        step(&s);
    }
}
