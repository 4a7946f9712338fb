#include "kubectl/core/redact.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(what_a_user_may_have_written_as_a_secret_is_left_out)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"x\":\"SECRET\"}],"
        "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"SECRET\","
        "\"graphcore.ai/adopt\":\"true\"}},"
        "\"items\":[{\"spec\":{\"containers\":[{\"image\":\"i\",\"command\":[\"sh\",\"SECRET\"],\"args\":["
        "\"SECRET\"],"
        "\"env\":[{\"name\":\"TOKEN\",\"value\":\"SECRET\"},"
        "{\"name\":\"B\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}}],"
        "\"livenessProbe\":{\"exec\":{\"command\":[\"SECRET\"]},"
        "\"httpGet\":{\"httpHeaders\":[{\"name\":\"A\",\"value\":\"SECRET\"}]}}}],"
        "\"volumes\":[{\"csi\":{\"driver\":\"d\",\"volumeAttributes\":{\"password\":\"SECRET\"}}}]}}]}";
    static const char *const kept[] = {"graphcore.ai/adopt\":\"true",
                                       "\"TOKEN\"",
                                       "secretKeyRef",
                                       "\"image\":\"i\"",
                                       "\"password\"",
                                       "\"driver\":\"d\""};
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    redact_object(object);
    AUTO(mem) char *printed = json_print(object);
    CHECK(strstr(printed, "SECRET") == NULL);
    CHECK(strstr(printed, "managedFields") == NULL);
    CHECK(strstr(printed, REDACTED) != NULL);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        CHECK(strstr(printed, kept[i]) != NULL);
}

TEST(other_shapes_do_no_harm)
{
    struct err err = {0};
    AUTO(json)
    cJSON *object = json_parse(
        slice_of(
            "{\"env\":\"x\",\"command\":{\"args\":1},\"annotations\":[7],\"options\":[{\"value\":null}]}"),
        &err);
    AUTO(mem) char *before = json_print(object);

    redact_object(object);
    redact_object(NULL);
    AUTO(mem) char *after = json_print(object);
    CHECK_STR_EQ(after, before);
}
