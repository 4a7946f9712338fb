/* One graph compilation domain (GCD) of a partition as programs on this host see it: its IPUs in the order
 * of their single device numbers, and what is known about each. It comes from an IPUoF file or from a
 * controller.
 *
 * The reader of files is tolerant, because their format is not documented: unknown keys are ignored, numbers
 * may be strings, attributes may be missing, and a bare array of devices (the format of 2020) is accepted
 * too. Pure; owned contents, freed by gcd_view_release. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/agents.h"
#include "vipu/model/ipuof.h"
#include "vipu/model/partition.h"
#include "vipu/tools/devices/ipu_index.h"

#define GCD_VIEW_MAX_FILE ((size_t)4 * 1024 * 1024)
#define GCD_VIEW_MAX_IPUS 65536u

struct ipu_view {
    struct vipu_ipuof_device device;
    const struct vipu_agent_ipu *attributes; /* borrowed from the controller's agents; NULL: unknown */
};

struct gcd_view {
    char *partition;
    uint32_t gcd;
    bool active; /* the one that this process would attach to */
    bool reconfigurable;
    enum vipu_routing routing;
    char *sync_type;       /* NULL: unknown */
    char *server_version;  /* of IPUoF; NULL: unknown */
    uint32_t num_replicas; /* 0: unknown */
    struct ipu_view *ipus;
    uint32_t ipu_count;
    char *trouble; /* why no IPU is listed: a sentence; NULL: no problem */
};

/* `name` is the partition's name if the file does not contain it: the file's name without folder and
 * extension. ERR_INVALID says why this is not an IPUoF configuration. */
MUST_USE bool gcd_view_from_file(struct slice text, const char *name, struct gcd_view *ret, struct err *err);
/* Moves the devices of the configuration's GCD at `index` out of it. */
struct gcd_view gcd_view_from_config(const char *partition, struct vipu_ipuof_config *config, size_t index);
/* What only the list of partitions contains. */
void gcd_view_add_partition(struct gcd_view *view, const struct vipu_partition *partition);
/* Adds the controller's attributes of each IPU; the agents must outlive it. */
void gcd_view_add_attributes(struct gcd_view *view, const struct ipu_index *index);

/* "DNC", or the partition's other routing. */
const char *gcd_view_routing(const struct gcd_view *view);
/* An attribute of an IPU from the controller; NULL: missing. */
const char *ipu_view_attribute(const struct ipu_view *ipu, const char *key);

void gcd_view_release(struct gcd_view *view);
DEFINE_AUTO(gcd_view);
