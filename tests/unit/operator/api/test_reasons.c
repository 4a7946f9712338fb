/* The table of reasons, and the page that shows it. */
#include "operator/api/reasons.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "lib/golden.h"

TEST(reasons_are_words_that_kubernetes_takes_and_occur_once)
{
    for (size_t i = 0; i < reason_count; i++) {
        const char *name = reasons[i].name;

        CHECK(isupper((unsigned char)name[0]));
        for (const char *p = name; *p; p++)
            CHECK(isalnum((unsigned char)*p));
        CHECK(strlen(name) <= 128);
        CHECK(reason_find(name) == &reasons[i]);
    }
    CHECK(!reason_find("NoSuchReason"));
}

TEST(trouble_and_failures_are_warnings)
{
    CHECK(reason_is_warning("ImagePullFailed"));
    CHECK(reason_is_warning("OOMKilled"));
    CHECK(!reason_is_warning("Queued"));
    CHECK(!reason_is_warning("Running"));
    CHECK(!reason_is_warning("NoSuchReason"));
    for (size_t i = 0; i < reason_count; i++) {
        if (reason_is_warning(reasons[i].name))
            CHECK(reasons[i].advice);
    }
}

/* What stands between the two comments of the page. */
static char *section(const char *page, const char *name)
{
    AUTO(mem) char *begin = mem_printf("<!-- %s -->\n", name);
    AUTO(mem) char *end = mem_printf("<!-- end of %s -->", name);
    const char *from = strstr(page, begin);
    const char *to = from ? strstr(from, end) : NULL;

    if (!to)
        CHECK_FAIL("docs/jobs.md has no section %s", name);
    from += strlen(begin);
    return mem_strndup(from, (size_t)(to - from));
}

TEST(the_page_about_jobs_shows_every_reason)
{
    AUTO(mem) char *page = golden_read("../../docs/jobs.md");
    AUTO(mem) char *shown = section(page, "reasons");
    AUTO(str) struct str wanted = {0};

    str_adds(&wanted, "\n| reason | kind | what it means | what to do |\n|---|---|---|---|\n");
    for (size_t i = 0; i < reason_count; i++)
        str_addf(&wanted, "| `%s` | %s | %s. | %s%s |\n", reasons[i].name, reason_kind_name(reasons[i].kind),
                 reasons[i].meaning, reasons[i].advice ? reasons[i].advice : "No action needed",
                 reasons[i].advice ? "." : "");
    str_addc(&wanted, '\n');
    CHECK_STR_EQ(shown, str_text(&wanted));
}

TEST(the_page_about_jobs_shows_every_condition)
{
    AUTO(mem) char *page = golden_read("../../docs/jobs.md");
    AUTO(mem) char *shown = section(page, "conditions");
    AUTO(str) struct str wanted = {0};

    str_adds(&wanted, "\n| condition | it holds when |\n|---|---|\n");
    for (size_t i = 0; i < condition_row_count; i++)
        str_addf(&wanted, "| `%s` | %s. |\n", condition_rows[i].type, condition_rows[i].meaning);
    str_addc(&wanted, '\n');
    CHECK_STR_EQ(shown, str_text(&wanted));
}
