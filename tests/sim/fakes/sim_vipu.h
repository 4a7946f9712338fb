/* One V-IPU controller of the simulated world: vipu-server's own state machine, without the server around it.
 * It can be away (connections are refused), stalled (calls are neither carried out nor answered), and lose
 * all it knows. */
#pragma once

#include "vipu/server/config/config.h"
#include "vipu/server/config/faults_doc.h"
#include "vipu/server/controller/controller.h"

enum vipu_write { VIPU_CREATE, VIPU_RESET, VIPU_REMOVE };

struct vipu_order {
    enum vipu_write write;
    const char *id;
    const char *record; /* uid of the record under which it was sent; NULL: there was none */
    bool is_abandoned;  /* nobody waits for its answer: who has sent it gave up, or died */
};

struct sim_vipu {
    char *name; /* "host:port" */
    struct server_config config;
    struct controller core;
    unsigned machines;
    bool chooses; /* the IPUs of partitions by itself, whatever a request lists */
    int64_t down_until_ms, stalled_until_ms;
    struct faults faults; /* of its hardware */
};

/* config: what vipu-server would be given as its configuration file; it must be sound. */
void sim_vipu_init(struct sim_vipu *side, const char *name, const char *config);
void sim_vipu_release(struct sim_vipu *side);
/* A partition of the operator's is removed by hand; the controller loses all of them; an IPU-Machine fails
 * for a while, with the partitions on it. Foreign partitions are not affected. */
void sim_vipu_remove_partition(struct sim_vipu *side);
void sim_vipu_forget(struct sim_vipu *side);
void sim_vipu_fail(struct sim_vipu *side, uint32_t for_ms);
/* As the admin endpoint of vipu-server takes them; they must be sound. Those before are over. */
void sim_vipu_set_faults(struct sim_vipu *side, const char *text);
void sim_vipu_step(struct sim_vipu *side); /* what is due by now has happened */
