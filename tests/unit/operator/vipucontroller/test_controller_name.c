#include "operator/vipucontroller/controller_name.h"

#include "base/core/mem.h"
#include "lib/check.h"

static void config_of(const char *text, struct pool_config *config)
{
    AUTO(strv) struct strv problems = {0};

    pool_config_add_text(config, text, &problems);
    CHECK_INT_EQ(problems.count, 0);
}

TEST(names_are_dns_labels)
{
    static const struct {
        const char *text, *name;
        bool is_hidden;
    } rows[] = {
        {"vipu0.example.com:8090", "vipu0-example-com-8090", false},
        {"VIPU:1", "vipu-1", false},
        {"[fd00::1]:8090", "fd00--1--8090", false},
        {"a.b:1,a-b:1", "a-b-1-13588e09", false},
        {"a-b:1", "a-b-1", false},
        {"a.b:1", "vipu-13588e09", true},
        {"a-host-with-a-name-that-alone-is-longer.than-a-dns-label.example.com:8090",
         "a-host-with-a-name-that-alone-is-longer-than-a-dns-lab-002ca725", false},
    };

    CHECK_ROWS (row, rows) {
        struct pool_config config = {0};
        AUTO(mem) char *name = NULL;

        config_of(row->text, &config);
        name = controller_name(&config, 0, row->is_hidden);
        CHECK_STR_EQ(name, row->name);
        pool_config_release(&config);
    }
}
