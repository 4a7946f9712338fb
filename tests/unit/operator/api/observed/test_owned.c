#include "operator/api/observed/owned.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define OWNED(owner)                                                                                         \
    "{\"metadata\":{\"name\":\"train-workers\",\"namespace\":\"team\",\"uid\":\"9\",\"resourceVersion\":"    \
    "\"7\","                                                                                                 \
    "\"ownerReferences\":[" owner "]}}"

static struct owned *parse(const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK_OK(object, err);
    return owned_parse(object);
}

TEST(an_object_is_known_by_the_job_that_controls_it)
{
    AUTO(owned)
    struct owned *owned =
        parse(OWNED("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":\"1\"},"
                    "{\"apiVersion\":\"graphcore.ai/v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"train\","
                    "\"uid\":\"2\",\"controller\":true}"));

    CHECK_STR_EQ(owned->ns, "team");
    CHECK_STR_EQ(owned->name, "train-workers");
    CHECK_STR_EQ(owned->uid, "9");
    CHECK_STR_EQ(owned->resource_version, "7");
    CHECK_STR_EQ(owned->job_uid, "2");
    CHECK_STR_EQ(owned->job_key, "team/train");
}

TEST(an_object_that_no_job_controls_is_not_ours)
{
    static const char *const texts[] = {
        "{}",
        "{\"metadata\":{\"name\":\"a\"}}",
        OWNED(""),
        OWNED("{\"apiVersion\":\"graphcore.ai/"
              "v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"train\",\"uid\":\"2\"}"),
        OWNED("{\"apiVersion\":\"example.org/v1\",\"kind\":\"IPUJob\",\"name\":\"train\",\"uid\":\"2\","
              "\"controller\":true}"),
    };

    CHECK_ROWS (text, texts)
        CHECK(!parse(*text));
}
