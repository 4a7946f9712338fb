/* What `ipu-launch progress` sends, and where. */
#include "launcher/progress/request.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static char percent[] = "42", eta[] = "--eta", seconds[] = "900", loss[] = "loss=0.23", step[] = "step=1=2";

TEST(words_make_a_report)
{
    struct err err = {0};
    AUTO(mem) char *whole = progress_request_body(WORDS(percent, eta, seconds, loss, step), &err);
    AUTO(mem) char *bare = progress_request_body(WORDS(percent), &err);

    CHECK_STR_EQ(whole,
                 "{\"trainerStatus\":{\"progressPercentage\":42,\"estimatedRemainingSeconds\":900,"
                 "\"metrics\":[{\"name\":\"loss\",\"value\":\"0.23\"},{\"name\":\"step\",\"value\":\"1=2\"}"
                 "]}}");
    CHECK_STR_EQ(bare, "{\"trainerStatus\":{\"progressPercentage\":42,\"metrics\":[]}}");
}

TEST(wrong_words_are_named)
{
    static char large[] = "101", word[] = "half", plain[] = "loss", nothing[] = "loss=", option[] = "--x=1";
    const struct {
        char **words;
        const char *message;
    } rows[] = {
        {(char *[]){NULL}, "PERCENT must be a number from 0 to 100, got \"\": " PROGRESS_USAGE},
        {WORDS(large), "PERCENT must be a number from 0 to 100, got \"101\": " PROGRESS_USAGE},
        {WORDS(word), "PERCENT must be a number from 0 to 100, got \"half\": " PROGRESS_USAGE},
        {WORDS(percent, eta), "--eta must be a number of seconds, got \"\": " PROGRESS_USAGE},
        {WORDS(percent, eta, word), "--eta must be a number of seconds, got \"half\": " PROGRESS_USAGE},
        {WORDS(percent, plain), "expected NAME=VALUE, got \"loss\": " PROGRESS_USAGE},
        {WORDS(percent, nothing), "expected NAME=VALUE, got \"loss=\": " PROGRESS_USAGE},
        {WORDS(percent, option), "expected NAME=VALUE, got \"--x=1\": " PROGRESS_USAGE},
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};

        CHECK_ERR(progress_request_body(row->words, &err) != NULL, err, ERR_INVALID);
        CHECK_STR_EQ(err.msg, row->message);
    }
}

TEST(the_address_is_taken_apart)
{
    AUTO(progress_url) struct progress_url url = {0};
    AUTO(progress_url) struct progress_url bare = {0};
    AUTO(str) struct str request = {0};
    struct err err = {0};

    CHECK_OK(progress_url_read("https://a.b.svc:8444/x/y", &url, &err), err);
    CHECK_OK(progress_url_read("https://a", &bare, &err), err);
    CHECK_STR_EQ(bare.port, "443");
    CHECK_STR_EQ(bare.path, "/");
    progress_request_print(&url, "t", "{}", &request);
    CHECK_STR_EQ(str_text(&request), "POST /x/y HTTP/1.1\r\nHost: a.b.svc:8444\r\nAuthorization: Bearer t\r\n"
                                     "Content-Type: application/json\r\nContent-Length: 2\r\n"
                                     "Connection: close\r\n\r\n{}");
}

TEST(other_addresses_are_rejected)
{
    static const char *const rows[] = {"",
                                       "http://a/",
                                       "https://",
                                       "https:///x",
                                       "https://:1/",
                                       "https://a b/",
                                       "https://a/\r\nX: y",
                                       "https://u@a/"};

    CHECK_ROWS (row, rows) {
        struct progress_url url = {0};
        struct err err = {0};

        CHECK_ERR(progress_url_read(*row, &url, &err), err, ERR_INVALID);
    }
}

TEST(the_status_of_a_response_is_read)
{
    CHECK_INT_EQ(progress_response_status("HTTP/1.1 200 OK\r\n"), 200);
    CHECK_INT_EQ(progress_response_status("HTTP/1.1 403"), 403);
    CHECK_INT_EQ(progress_response_status("HTTP/1.1 xyz"), 0);
    CHECK_INT_EQ(progress_response_status("HTTP/1.1"), 0);
    CHECK_INT_EQ(progress_response_status(""), 0);
}
