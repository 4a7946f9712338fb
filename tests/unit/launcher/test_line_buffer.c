#include "launcher/env/line_buffer.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

static void add(struct line_buffer *buffer, const char *bytes, size_t len)
{
    size_t room;
    char *space = line_buffer_space(buffer, &room);

    CHECK(len <= room);
    memcpy(space, bytes, len);
    line_buffer_add(buffer, len);
}

/* All chunks that can be taken, each in brackets. */
static char *taken(struct line_buffer *buffer, enum line_buffer_rest rest)
{
    char chunk[LINE_BUFFER_CHUNK_MAX];
    struct str text = {0};
    size_t len;

    while ((len = line_buffer_take(buffer, rest, chunk)) > 0)
        str_addf(&text, "[%.*s]", (int)len, chunk);
    return str_take(&text);
}

static const struct {
    const char *written, *kept, *cut, *end;
    bool is_exact;
} rows[] = {
    {"", "", "", "", false},
    {"a\nb\n", "[a\nb\n]", "", "", false},
    {"a\nb", "[a\n]", "[b\\\n]", "", false},
    {"a\nb", "[a\n]", "", "[b\n]", false},
    {"\n\n", "[\n\n]", "", "", false},
    {"a\rb", "", "", "[a\rb\n]", false},
    /* A rank that is alone: nothing is added. */
    {"a\nb", "[a\n]", "[b]", "", true},
    {"a\nb", "[a\n]", "", "[b]", true},
};

TEST(lines_are_whole_and_the_rest_waits_for_its_end)
{
    CHECK_ROWS (row, rows) {
        AUTO(mem) struct line_buffer *buffer = mem_alloc(sizeof *buffer);

        buffer->is_exact = row->is_exact;
        add(buffer, row->written, strlen(row->written));
        AUTO(mem) char *kept = taken(buffer, LINE_BUFFER_KEEP);
        AUTO(mem) char *rest = taken(buffer, *row->cut ? LINE_BUFFER_CUT : LINE_BUFFER_END);
        CHECK_STR_EQ(kept, row->kept);
        CHECK_STR_EQ(rest, *row->cut ? row->cut : row->end);
        CHECK(line_buffer_is_empty(buffer));
    }
}

/* Whatever the lengths of the lines are, a chunk with a tag for each of its lines fits into one write. */
TEST(a_chunk_with_its_tags_is_at_most_one_write)
{
    for (size_t len = 1; len < 5000; len = len * 3 / 2 + 1) {
        AUTO(mem) struct line_buffer *buffer = mem_alloc(sizeof *buffer);
        char line[5000], chunk[LINE_BUFFER_CHUNK_MAX];
        size_t got, total = 0, marks = 0, count = 20000 / len + 1;

        memset(line, 'x', len - 1);
        line[len - 1] = '\n';
        for (size_t i = 0; i < count; i++)
            add(buffer, line, len);
        while ((got = line_buffer_take(buffer, LINE_BUFFER_KEEP, chunk)) > 0) {
            size_t lines = 0;

            for (size_t i = 0; i < got; i++)
                lines += chunk[i] == '\n';
            CHECK(got + lines * LINE_BUFFER_TAG_MAX <= LINE_BUFFER_CHUNK_MAX);
            CHECK_INT_EQ(chunk[got - 1], '\n');
            marks += got >= 2 && chunk[got - 2] == '\\';
            total += got;
        }
        CHECK_INT_EQ(total, count * len + 2 * marks);
        CHECK_INT_EQ(marks > 0, len > LINE_BUFFER_CHUNK_MAX - LINE_BUFFER_TAG_MAX);
    }
}

TEST(each_line_and_piece_has_its_tag)
{
    AUTO(mem) struct line_buffer *buffer = mem_alloc(sizeof *buffer);

    (void)strcpy(buffer->tag, "[1,0]: ");
    add(buffer, "a\n\nb", 4);
    AUTO(mem) char *kept = taken(buffer, LINE_BUFFER_KEEP);
    AUTO(mem) char *rest = taken(buffer, LINE_BUFFER_END);
    CHECK_STR_EQ(kept, "[[1,0]: a\n[1,0]: \n]");
    CHECK_STR_EQ(rest, "[[1,0]: b\n]");
}

TEST(a_line_without_an_end_comes_in_pieces_that_are_marked)
{
    AUTO(mem) struct line_buffer *buffer = mem_alloc(sizeof *buffer);
    char bytes[LINE_BUFFER_PIECE_MAX + 1], chunk[LINE_BUFFER_CHUNK_MAX];

    memset(bytes, 'x', sizeof bytes);
    add(buffer, bytes, sizeof bytes);
    CHECK_INT_EQ(line_buffer_take(buffer, LINE_BUFFER_KEEP, chunk), LINE_BUFFER_PIECE_MAX + 2);
    CHECK_INT_EQ(chunk[LINE_BUFFER_PIECE_MAX - 1], 'x');
    CHECK_INT_EQ(chunk[LINE_BUFFER_PIECE_MAX], '\\');
    CHECK_INT_EQ(chunk[LINE_BUFFER_PIECE_MAX + 1], '\n');
    CHECK_INT_EQ(line_buffer_take(buffer, LINE_BUFFER_KEEP, chunk), 0);
    AUTO(mem) char *rest = taken(buffer, LINE_BUFFER_END);
    CHECK_STR_EQ(rest, "[x\n]");
}
