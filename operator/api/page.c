#include "operator/api/page.h"

#include <stdarg.h>
#include <string.h>

#include "base/core/mem.h"

#define LIMIT "limit="
#define CONTINUE "continue="

void page_request_release(struct page_request *page)
{
    mem_free(page->after);
    *page = (struct page_request){0};
}

static bool read_limit(const char *text, uint32_t *ret, struct err *err)
{
    return parse_u32(text, 1, UINT32_MAX, ret) ||
           err_set(err, ERR_INVALID, "limit must be a number from 1 on");
}

bool page_request_read(const char *query, struct page_request *ret, struct err *err)
{
    AUTO(strv) struct strv words = {0};
    uint32_t limit = PAGE_ITEMS_MAX;
    const char *after = NULL;

    strv_split(query, '&', &words);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];

        if (str_has_prefix(word, LIMIT) && !read_limit(word + strlen(LIMIT), &limit, err))
            return false;
        if (str_has_prefix(word, CONTINUE))
            after = word + strlen(CONTINUE);
    }
    *ret = (struct page_request){.limit = limit < PAGE_ITEMS_MAX ? limit : PAGE_ITEMS_MAX,
                                 .after = after && *after ? mem_strdup(after) : NULL};
    return true;
}

bool page_token_invalid(struct err *err)
{
    return err_set(err, ERR_INVALID, "continue is not a token of this page; start again without it");
}

void page_put_token(cJSON *page, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *token = mem_vprintf(fmt, args);
    va_end(args);
    json_put_str(page, "continue", token);
}
