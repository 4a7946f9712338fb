#include "local/job/objects.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"

static const char TEXT[] =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: graphcore.ai/v1alpha1\nkind: "
    "IPUJob\nmetadata:\n  name: j\nspec:\n  list:\n  - a: 1\n  - b: 2\ndata:\n  a.b/c: d\n---\n";

static void read(struct objects *objects, const char *text, struct strv *problems)
{
    AUTO(mem) char *path = mem_printf("%s/file.yaml", check_tmpdir());
    struct err err;

    CHECK_OK(file_write(path, 0600, slice_of(text), &err), err);
    objects_read(objects, path, true, problems);
}

TEST(a_problem_is_told_with_the_line_of_its_field)
{
    static const struct {
        const char *problem, *line;
    } rows[] = {
        {"spec.list[1].b: wrong", "line 12: "},     {"spec.list[1].c: missing", "line 12: "},
        {"spec.list[0]: wrong", "line 11: "},       {"metadata.name: wrong", "line 8: "},
        {"spec.none.deeper: missing", "line 10: "}, {"no path at all", "line 5: "},
        {"data[a.b/c]: wrong", "line 14: "},
    };
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv problems = {0};

    read(&objects, TEXT, &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_INT_EQ(objects.count, 2);
    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv told = {0};

        object_add_problem(&objects.items[1], row->problem, &told);
        CHECK_HAS(told.items[0], row->line);
        CHECK_HAS(told.items[0], row->problem);
    }
}

TEST(jobs_are_read_only_from_files_that_are_run)
{
    AUTO(mem) char *path = mem_printf("%s/with.yaml", check_tmpdir());
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv problems = {0};
    struct err err;

    CHECK_OK(file_write(path, 0600, slice_of(TEXT), &err), err);
    objects_read(&objects, path, false, &problems);
    CHECK_INT_EQ(objects.count, 1);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "with.yaml: line 5: --with adds no jobs");
}

TEST(an_object_is_found_in_its_namespace)
{
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv problems = {0};

    read(&objects, TEXT, &problems);
    CHECK(objects_find(&objects, "ConfigMap", "default", "c") == &objects.items[0]);
    CHECK(objects_find(&objects, "ConfigMap", "other", "c") == NULL);
    CHECK(objects_find(&objects, "Secret", "default", "c") == NULL);
}

TEST(values_are_set_in_jobs_alone)
{
    static const struct {
        const char *assignment, *path, *want;
    } rows[] = {
        {"spec.jobInstances=2", "spec/jobInstances", "2"},
        {"spec.a.b.c=text", "spec/a/b/c", "\"text\""},
        {"spec.restartPolicy={\"type\":\"Never\"}", "spec/restartPolicy", "{\"type\":\"Never\"}"},
        {"spec.x=a=b", "spec/x", "\"a=b\""},
        {"spec.list[1].b=[3]", "spec/list", "[{\"a\":1},{\"b\":[3]}]"},
        {"spec.list[1].b[0]=4", "spec/list", "[{\"a\":1},{\"b\":[4]}]"},
        {"spec.list[0]={}", "spec/list", "[{},{\"b\":[4]}]"},
    };
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv problems = {0};

    read(&objects, TEXT, &problems);
    CHECK_ROWS (row, rows) {
        objects_set(&objects, row->assignment, &problems);
        AUTO(mem) char *got = json_print(json_at(objects.items[1].doc, row->path));

        CHECK_STR_EQ(got, row->want);
        CHECK(json_at(objects.items[0].doc, "spec") == NULL);
    }
    CHECK_INT_EQ(problems.count, 0);
}

TEST(a_problem_of_a_value_that_was_set_names_the_option)
{
    static const struct {
        const char *problem, *place;
    } rows[] = {
        {"spec.a: wrong", "file.yaml: --set spec.a={}: spec.a: wrong"},
        {"spec.a.b: wrong", "file.yaml: --set spec.a={}: spec.a.b: wrong"},
        {"spec.list[0].a: wrong", "file.yaml: --set spec.list[0].a=2: spec.list[0].a: wrong"},
        {"spec.list[0]: wrong", "file.yaml: line 11: "},
        {"spec.ab: wrong", "file.yaml: line 10: "},
    };
    AUTO(objects) struct objects objects = {0};
    AUTO(strv) struct strv problems = {0};

    read(&objects, TEXT, &problems);
    objects_set(&objects, "spec.a=1", &problems);
    objects_set(&objects, "spec.a={}", &problems);
    objects_set(&objects, "spec.list[0].a=2", &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv told = {0};

        object_add_problem(&objects.items[1], row->problem, &told);
        CHECK_HAS(told.items[0], row->place);
    }
}

TEST(a_list_is_not_set_like_an_object)
{
    static const struct {
        const char *assignment, *why;
    } rows[] = {
        {"spec.list.a=1", "--set spec.list.a=1: spec.list is a list of 2; use spec.list[0] or a later item"},
        {"spec.list[5].a=1", "spec.list is a list of 2; use spec.list[0]"},
        {"spec.none[0]=1", "--set spec.none[0]=1: there is no such field"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(objects) struct objects objects = {0};
        AUTO(strv) struct strv problems = {0};

        read(&objects, TEXT, &problems);
        objects_set(&objects, row->assignment, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->why);
    }
}

TEST(places_that_are_not_there_are_not_set)
{
    static const char *const rows[] = {
        "nothing",          "spec.list.a=1", "spec.list[2]=1", "spec.list[x]=1", "spec.list[0=1",
        "spec.list[0]a=1",  "spec.list[]=1", "spec.none[0]=1", "spec.a..b=1",    "spec.list[99999999999]=1",
        "spec.list[-1].a=1"};

    CHECK_ROWS (row, rows) {
        AUTO(objects) struct objects objects = {0};
        AUTO(strv) struct strv problems = {0};

        read(&objects, TEXT, &problems);
        objects_set(&objects, *row, &problems);
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], *row);
    }
}
