/* A file for ipu-run. Every mistake is reported, and nothing of the file is trusted before. */
#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "local/job/job_check.h"
#include "local/job/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv notes = {0};
    AUTO(strv) struct strv warnings = {0};
    AUTO(strv) struct strv problems = {0};
    int fd = memfd_create("job", MFD_CLOEXEC);
    AUTO(mem) char *path = mem_printf("/proc/self/fd/%d", fd);

    assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    objects_read(&objects, path, true, &problems);
    if (problems.count == 0)
        job_check_all(&objects, len & 2 ? ENGINE_PODMAN : ENGINE_PROCESS, len & 1, 16, &notes, &warnings,
                      &problems);
    for (size_t i = 0; i < problems.count; i++)
        assert(problems.items[i][0]);
    (void)close(fd);
    return 0;
}
