/* Attaching to devices on this host: different programs cannot share IPUs. The lock is a file for each graph
 * compilation domain of a partition, in a folder that all programs of the host share; each IPU has a byte
 * range of its own in it, and a program locks the ranges of its device. Devices that overlap exclude each
 * other, all others do not. The kernel releases the lock when the program ends, however it ends; a forked
 * child that does not exec holds it too. Lock files remain, empty. Partitions with the same id on two
 * controllers are treated as one.
 *
 * It never blocks: ERR_BUSY names the program that is attached. It knows this host only; inside a container
 * the lock is the container's own, unless the folder is mounted from the host. Needs nothing but base/core,
 * so that any program can link it. */
#pragma once

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "vipu/tools/devices/device.h"
#include "vipu/tools/devices/lock_record.h"

#define ATTACH_FOLDER_ENV "IPUOF_RUN_DIR"

struct attachment;

struct lock_records {
    struct lock_record *items; /* by their first IPU; pid 0: the record cannot be read (yet) */
    size_t count;
};

/* The folder of the locks: IPUOF_RUN_DIR, else /run/ipuof if it exists, else /tmp/ipuof. Not
 * XDG_RUNTIME_DIR, which is per user: programs of two users would not see each other. Borrowed from the
 * environment or constant. */
const char *attach_folder(const char *(*env)(const char *));

struct attach_request {
    const char *folder;
    const char *partition;
    uint32_t gcd;
    struct device device;
    bool monitored; /* the program reads the sensors, as GCDA_MONITOR=1 requests */
};

/* Creates the folder if it is missing. ERR_BUSY if an IPU of the device is taken; ERR_DENIED, ERR_IO if the
 * folder cannot be used. */
MUST_USE struct attachment *attach(const struct attach_request *request, struct err *err);
void attachment_free(struct attachment *attachment); /* detaches; accepts NULL */

/* The programs that are attached to the domain's IPUs. None if nothing was ever attached to on this host. */
MUST_USE bool attach_holders(const char *folder, const char *partition, uint32_t gcd, uint32_t ipu_count,
                             struct lock_records *ret, struct err *err);
void lock_records_release(struct lock_records *holders);
DEFINE_AUTO(lock_records);

uint64_t attach_pid_space(void); /* this process's own, to compare with a holder's; 0: unknown */
