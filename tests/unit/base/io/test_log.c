#include "base/io/log.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/doc/json.h"
#include "base/io/file.h"
#include "lib/check.h"

static int real_stderr = -1;

/* From here on stderr goes to a file... */
static char *begin_capture(void)
{
    char *path = mem_printf("%s/stderr", check_tmpdir());
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    CHECK(real_stderr >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    (void)close(fd);
    return path;
}

/* ...until here; returns what was written. */
static char *end_capture(char *path)
{
    struct str text = {0};
    struct err err;

    CHECK(dup2(real_stderr, STDERR_FILENO) >= 0);
    (void)close(real_stderr);
    CHECK_OK(file_read(path, 1 << 20, &text, &err), err);
    mem_free(path);
    log_setup(LOG_INFO, false);
    return str_take(&text);
}

TEST(text_lines)
{
    char *path = begin_capture();

    log_info("plain");
    log_warn("watch ended", KV("kind", "pods"), KVF("after_s", "%d", 12), KV("none", NULL));
    log_error("odd", KV("a", "two words"), KV("b", "x=y"), KV("c", ""), KV("d", "say \"hi\""),
              KV("e", "back\\slash"));
    log_debug("not shown");
    log_setup(LOG_DEBUG, false);
    log_debug("shown");
    log_setup(LOG_ERROR, false);
    log_warn("not shown");
    AUTO(mem) char *text = end_capture(path);
    CHECK_STR_EQ(text, "info plain\n"
                       "warn watch ended kind=pods after_s=12\n"
                       "error odd a=\"two words\" b=\"x=y\" c=\"\" d=\"say \\\"hi\\\"\" e=\"back\\\\slash\"\n"
                       "debug shown\n");
}

TEST(bytes_from_outside_cannot_forge_a_line)
{
    char *path = begin_capture();

    log_info("a\nwarn b", KV("v", "x\ninfo forged\r\x1b[2J\x7f"));
    log_info("u", KV("utf8", "gr\xc3\xbc\xc3\x9f"), KV("bad", "\xff\xc3"),
             KV("c1", "\xc2\x9b"
                      "2J"),
             KV("long", "\xe2\x82\xac \xf0\x9f\x98\x80"), KV("over", "\xf4\x90\x80\x80"),
             KV("half", "\xe2\x82"));
    AUTO(mem) char *text = end_capture(path);
    CHECK_STR_EQ(text, "info a\\nwarn b v=\"x\\ninfo forged\\u000d\\u001b[2J\\u007f\"\n"
                       "info u utf8=\"gr\xc3\xbc\xc3\x9f\" bad=\"\\u00ff\\u00c3\" c1=\"\\u00c2\\u009b2J\" "
                       "long=\"\xe2\x82\xac \xf0\x9f\x98\x80\" over=\"\\u00f4\\u0090\\u0080\\u0080\" "
                       "half=\"\\u00e2\\u0082\"\n");
}

TEST(json_lines_are_json)
{
    char *path = begin_capture();
    struct err err;

    log_setup(LOG_INFO, true);
    log_warn("say \"hi\"", KV("key", "a\tb\xff"), KVF("n", "%d", 3));
    AUTO(mem) char *text = end_capture(path);
    AUTO(json) cJSON *doc = json_parse(slice_of(text), &err);
    CHECK_OK(doc != NULL, err);
    CHECK_STR_EQ(json_str(doc, "level", NULL), "warn");
    CHECK_STR_EQ(json_str(doc, "msg", NULL), "say \"hi\"");
    CHECK_STR_EQ(json_str(doc, "key", NULL), "a\tb\xc3\xbf");
    CHECK_STR_EQ(json_str(doc, "n", NULL), "3");
    CHECK_INT_EQ(strlen(json_str(doc, "time", "")), strlen("2026-11-21T10:00:00Z"));
}

TEST(one_long_value_is_cut)
{
    AUTO(mem) char *value = mem_alloc(100001);
    char *path = begin_capture();

    memset(value, 'x', 100000);
    log_info("m", KV("long", value), KV("after", "y"));
    AUTO(mem) char *text = end_capture(path);
    CHECK(strlen(text) < 9000);
    CHECK(str_has_suffix(text, "x... after=y\n") || str_has_suffix(text, "x...\" after=y\n"));
}

TEST(levels)
{
    enum log_level level = LOG_INFO;

    CHECK(log_parse_level("debug", &level) && level == LOG_DEBUG);
    CHECK(log_parse_level("error", &level) && level == LOG_ERROR);
    CHECK(!log_parse_level("WARN", &level) && level == LOG_ERROR);
    CHECK(!log_parse_level(NULL, &level));
    CHECK(log_enabled(LOG_INFO) && !log_enabled(LOG_DEBUG));
}

TEST(eight_formatted_values_fit_one_call)
{
    const char *values[8];

    for (int i = 0; i < 8; i++)
        values[i] = log_fmt("%d", i);
    for (int i = 0; i < 8; i++)
        CHECK_INT_EQ(values[i][0], '0' + i);
    CHECK(str_has_suffix(log_fmt("%2000d", 1), "..."));
}
