#include "launcher/poprun/run/parent_device.h"

#include "vipu/model/shape.h"
#include "vipu/tools/devices/attach.h"

static bool try_device(const struct attach_request *request, const struct run_log *log, struct err *err)
{
    struct attachment *attachment = attach(request, err);
    bool good = attachment != NULL;

    attachment_free(attachment);
    if (good || err->kind == ERR_BUSY)
        return good;
    /* Programs that attach will meet the same problem, or none: they may use another folder. */
    run_log_write(log, RUN_LOG_WARNING, "Cannot list the attachments on this host: %s", err->msg);
    return true;
}

bool parent_device_acquire(const struct vipu_partition *partition, const char *(*env)(const char *name),
                           const struct run_log *log, struct parent *parent, struct err *err)
{
    struct attach_request request = {.folder = attach_folder(env), .partition = partition->id};

    for (uint32_t group = 0; group < parent->count; group++) {
        request.device = (struct device){.id = vipu_device_id(partition->size, parent->size, group),
                                         .first = group * parent->size,
                                         .count = parent->size};
        if (!try_device(&request, log, err))
            continue;
        parent->first_id = request.device.id;
        return true;
    }
    return err_wrap(err,
                    "all devices with %u IPUs of partition %s are in use; run gc-monitor to list the "
                    "processes that use them",
                    parent->size, partition->id);
}
