/* Attaching to devices, as far as this host is concerned: IPUs cannot be shared by different programs. The
 * lock is a file for each graph compilation domain of a partition, in a folder that all programs of the host
 * share; in it each IPU has a place of its own, and a program locks the places of its device. Devices that
 * overlap exclude each other, all others do not. The kernel gives the lock back when the program ends,
 * however it ends; a child that it forks without exec holds it too. Lock files stay, empty. Partitions of
 * one id on two controllers are taken for one.
 *
 * It refuses to wait: ERR_BUSY names who is attached. It knows this host only; inside a container it is the
 * container's own lock, unless the folder is mounted from the host. Needs nothing but base/core, so that any
 * program can link it. */
#pragma once

#include <stddef.h>

#include "base/core/err.h"
#include "vipu/tools/devices/device.h"
#include "vipu/tools/devices/lock_record.h"

#define ATTACH_FOLDER_ENV "IPUOF_RUN_DIR"

struct attachment;

struct lock_records {
    struct lock_record *items; /* by their first IPU; pid 0: its record cannot be read (yet) */
    size_t count;
};

/* Where the locks are: what IPUOF_RUN_DIR says, else /run/ipuof if it is there, else /tmp/ipuof. It is not
 * XDG_RUNTIME_DIR, which each user has for himself: two users' programs would not see each other. Borrowed
 * from the environment or constant. */
const char *attach_folder(const char *(*env)(const char *));

struct attach_request {
    const char *folder;
    const char *partition;
    uint32_t gcd;
    struct device device;
    bool monitored; /* the program reads the sensors, as GCDA_MONITOR=1 asks of it */
};

/* Makes the folder when it is missing. ERR_BUSY when an IPU of the device is taken; ERR_DENIED, ERR_IO when
 * the folder cannot be used. */
MUST_USE struct attachment *attach(const struct attach_request *request, struct err *err);
void attachment_free(struct attachment *attachment); /* detaches; NULL is fine */

/* Who is attached to the domain's IPUs. Nobody, when nothing was ever attached to on this host. */
MUST_USE bool attach_holders(const char *folder, const char *partition, uint32_t gcd, uint32_t ipu_count,
                             struct lock_records *ret, struct err *err);
void lock_records_release(struct lock_records *holders);

static inline void lock_records_auto(struct lock_records *holders)
{
    lock_records_release(holders);
}

uint64_t attach_pid_space(void); /* this process's own, to compare with a holder's; 0: not known */
