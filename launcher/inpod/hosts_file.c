#include "launcher/inpod/hosts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/output/diag.h"
#include "launcher/process/scratch.h"

#define SOURCE "/etc/hosts"
#define COPY SCRATCH_DIR "/hosts"
#define MAX_BYTES (1024u * 1024u)

bool hosts_file_copy(const char *path, struct err *err)
{
    AUTO(str) struct str text = {.max = MAX_BYTES};

    if (!file_read(SOURCE, MAX_BYTES, &text, err) || !file_write(path, 0666, str_slice(&text), err))
        return false;
    /* Whatever the umask. */
    return chmod(path, 0666) == 0 || err_errno(err, errno, "cannot change the mode of %s", path);
}

/* In place: the file is mounted. Others may read it meanwhile, so that it never gets shorter before it has
 * its new bytes. */
static bool overwrite(const struct str *text, struct err *err)
{
    AUTO(fd) int to = open(COPY, O_WRONLY | O_CLOEXEC);
    size_t done = 0;

    while (to >= 0 && done < text->len) {
        ssize_t put = write(to, text->ptr + done, text->len - done);

        if (put < 0 && errno != EINTR)
            break;
        done += put > 0 ? (size_t)put : 0;
    }
    if (to < 0 || done < text->len || ftruncate(to, (off_t)text->len) < 0)
        return err_errno(err, errno, "cannot write to " COPY);
    return true;
}

void hosts_file_add(const struct workers *workers)
{
    AUTO(str) struct str before = {.max = MAX_BYTES};
    AUTO(str) struct str text = {.max = MAX_BYTES};
    struct err err;

    if (access(COPY, F_OK) != 0)
        return;
    if (!file_read(COPY, MAX_BYTES, &before, &err)) {
        diag("%s; the names of the other workers are unknown here", err.msg);
        return;
    }
    workers_print_hosts(workers, str_text(&before), &text);
    if (text.full || str_eq(str_text(&text), str_text(&before)))
        return;
    if (!overwrite(&text, &err))
        diag("%s; the names of the other workers are unknown here", err.msg);
}
