#include "state_diagram.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"
#include "lib/golden.h"

/* Kept until the program ends. */
static const char *picture(void)
{
    static const char *text;

    if (!text) {
        const char *page = golden_read("../../docs/jobs.md");

        text = strstr(page, "\nstateDiagram-v2\n");
        if (!text)
            CHECK_FAIL("docs/jobs.md has no picture of states");
    }
    return text;
}

static bool has_arrow(const char *from, const char *to)
{
    AUTO(mem) char *arrow = mem_printf("\n    %s --> %s: ", from, to);

    return strstr(picture(), arrow) != NULL;
}

bool state_diagram_allows(const char *was, const char *now)
{
    const char *from = *was ? was : "[*]";

    return str_eq(was, now) || str_eq(now, "Terminating") || has_arrow(from, now) ||
           (has_arrow(from, "Starting") && has_arrow("Starting", now)) ||
           (has_arrow(from, "Pending") &&
            (has_arrow("Pending", now) || (has_arrow("Pending", "Starting") && has_arrow("Starting", now))));
}
