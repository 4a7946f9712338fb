#include "launcher/env/workers.h"

#include <arpa/inet.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(names_addresses_and_order_are_kept)
{
    AUTO(workers) struct workers workers = {0};
    AUTO(str) struct str lines = {0};
    const struct sockaddr_in *v4;
    const struct sockaddr_in6 *v6;
    char text[INET6_ADDRSTRLEN];
    struct err err;

    CHECK_OK(workers_read("w-9=10.0.0.9:2222,w-10=[fd00::1]:40000,w-11=127.0.0.1:1", &workers, &err), err);
    CHECK_INT_EQ(workers.count, 3);
    v4 = (const struct sockaddr_in *)(const void *)&workers_find(&workers, "w-9")->address;
    CHECK_INT_EQ(v4->sin_family, AF_INET);
    CHECK_INT_EQ(ntohs(v4->sin_port), 2222);
    CHECK_STR_EQ(inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)), "10.0.0.9");
    v6 = (const struct sockaddr_in6 *)(const void *)&workers_find(&workers, "w-10")->address;
    CHECK_INT_EQ(v6->sin6_family, AF_INET6);
    CHECK_INT_EQ(ntohs(v6->sin6_port), 40000);
    CHECK_STR_EQ(inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)), "fd00::1");
    CHECK_INT_EQ(workers_find(&workers, "w-11")->index, 2);
    CHECK(!workers_find(&workers, "w-1"));
    workers_print_hostfile(&workers, 4, &lines);
    CHECK_STR_EQ(str_text(&lines), "w-9 slots=4\nw-10 slots=4\nw-11 slots=4\n");
}

TEST(a_hosts_file_names_the_workers_after_its_own_lines)
{
    static const char *const befores[] = {
        "127.0.0.1 localhost",
        "127.0.0.1 localhost\n",
        "127.0.0.1 localhost\n# The workers of this job.\n10.0.0.1 w-0\n10.0.0.2 w-1\n",
    };
    AUTO(workers) struct workers workers = {0};
    struct err err;

    CHECK_OK(workers_read("w-0=10.0.0.9:2222,w-1=[fd00::1]:40000", &workers, &err), err);
    CHECK_ROWS (before, befores) {
        AUTO(str) struct str text = {0};

        workers_print_hosts(&workers, *before, &text);
        CHECK_STR_EQ(str_text(&text),
                     "127.0.0.1 localhost\n# The workers of this job.\n10.0.0.9 w-0\nfd00::1 w-1\n");
    }
}

TEST(a_wrong_entry_is_named)
{
    static const char *const texts[] = {
        "",
        ",",
        "a=10.0.0.1:1,",
        "a",
        "=10.0.0.1:1",
        "a=",
        "a=10.0.0.1",
        "a=10.0.0.1:",
        "a=10.0.0.1:0",
        "a=10.0.0.1:65536",
        "a=host:1",
        "a=fd00::1:1",
        "a=[fd00::1]",
        "a=[fd00::1:1",
        "a=[:1",
        "a=[]:1",
        "a=[10.0.0.1]:1",
        "-a=10.0.0.1:1",
        "a b=10.0.0.1:1",
        "a=10.0.0.1:1,b=10.0.0.1:x",
    };

    CHECK_ROWS (row, texts) {
        AUTO(workers) struct workers workers = {0};
        struct err err;

        CHECK_ERR(workers_read(*row, &workers, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, "expected name=address:port, got ");
    }
}
