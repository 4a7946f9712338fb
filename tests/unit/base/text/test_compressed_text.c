#include "base/text/compressed_text.h"

#include <malloc.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(a_text_comes_back_as_it_was)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "ab",
                                        "{}",
                                        "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}",
                                        "\x01\xff\x7f\x80 \xf0\x9f\x98\x80"};

    CHECK_ROWS (text, texts) {
        AUTO(mem) struct compressed_text *pack = compressed_text_new(slice_of(*text));
        AUTO(mem) char *back = compressed_text_get(pack);

        CHECK_STR_EQ(back, *text);
    }
}

TEST(nothing_gives_nothing)
{
    CHECK(compressed_text_get(NULL) == NULL);
}

TEST(what_is_longer_than_the_window_comes_back_too)
{
    AUTO(str) struct str text = {0};

    for (unsigned i = 0; i < 200000; i++)
        str_addf(&text, "%x,", i * 2654435761u);

    AUTO(mem) struct compressed_text *pack = compressed_text_new(str_slice(&text));
    AUTO(mem) char *back = compressed_text_get(pack);

    CHECK_INT_EQ(strlen(back), text.len);
    CHECK(memcmp(back, str_text(&text), text.len) == 0);
}

TEST(a_template_becomes_smaller)
{
    AUTO(str) struct str text = {0};

    for (unsigned i = 0; i < 50; i++)
        str_addf(&text, "{\"name\":\"SETTING_%u\",\"value\":\"/datasets/number-%u/train\"},", i,
                 i * 2654435761u);

    AUTO(mem) struct compressed_text *pack = compressed_text_new(str_slice(&text));

    CHECK(malloc_usable_size(pack) < text.len / 2);
}
