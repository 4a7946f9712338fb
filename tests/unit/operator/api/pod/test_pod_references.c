#include "operator/api/pod/pod_references.h"

#include "base/core/mem.h"
#include "lib/check.h"

static void check_told(const char *volumes, const char *want)
{
    struct err err = {0};
    AUTO(mem) char *text = mem_printf("{\"spec\":{\"volumes\":%s}}", volumes);
    AUTO(json) cJSON *template = json_parse(slice_of(text), &err);

    CHECK_OK(template, err);
    AUTO(mem) char *told = pod_references_describe(template);
    CHECK_STR_EQ(told, want);
}

TEST(what_volumes_name_is_reported)
{
    check_told("[]", "");
    check_told("7", "");
    check_told("[{\"emptyDir\":{}},{\"hostPath\":{\"path\":\"/x\"}}]", "");
    check_told("[{\"secret\":{\"secretName\":\"a\"}},{\"configMap\":{\"name\":\"b\"}},"
               "{\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]",
               "Secret a, ConfigMap b, claim c");
    check_told("[{\"projected\":{\"sources\":[{\"secret\":{\"name\":\"a\"}},{\"downwardAPI\":{}},"
               "{\"configMap\":{\"name\":\"b\"}}]}}]",
               "Secret a, ConfigMap b");
    check_told("[{\"secret\":{\"secretName\":\"a\",\"optional\":true}},{\"configMap\":{\"name\":\"b\"}}]",
               "ConfigMap b");
}

TEST(of_many_the_first_are_reported)
{
    AUTO(str) struct str volumes = {0};

    for (int i = 0; i < 10; i++)
        str_addf(&volumes, "%s{\"secret\":{\"secretName\":\"s%d\"}}", i ? "," : "[", i);
    str_adds(&volumes, "]");
    check_told(str_text(&volumes),
               "Secret s0, Secret s1, Secret s2, Secret s3, Secret s4, Secret s5, Secret s6, "
               "Secret s7 and 2 more");
}
