/* Attaches to a run of IPUs as a program on this host does: attacher FOLDER PARTITION GCD FIRST COUNT. Says
 * "attached" and holds them until its input ends, or says why it cannot and ends with 1. GCDA_MONITOR=1 in
 * the environment counts as in any program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "vipu/tools/devices/attach.h"

static int attach_and_wait(const struct attach_request *request)
{
    struct err err;
    struct attachment *attachment = attach(request, &err);

    if (!attachment) {
        (void)fprintf(stderr, "%s: %s\n", err_kind_name(err.kind), err.msg);
        return EXIT_FAILURE;
    }
    (void)puts("attached");
    (void)fflush(stdout);
    while (getchar() != EOF)
        continue;
    attachment_free(attachment);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *monitor = getenv("GCDA_MONITOR");
    struct attach_request request = {.monitored = monitor && strcmp(monitor, "1") == 0};

    if (argc != 6 || !parse_u32(argv[3], 0, 65535, &request.gcd) ||
        !parse_u32(argv[4], 0, 65535, &request.device.first) ||
        !parse_u32(argv[5], 1, 65535, &request.device.count)) {
        (void)fputs("usage: attacher FOLDER PARTITION GCD FIRST COUNT\n", stderr);
        return 2;
    }
    request.folder = argv[1];
    request.partition = argv[2];
    request.device.id = request.device.first;
    return attach_and_wait(&request);
}
