#include "base/doc/yaml.h"

#include "lib/check.h"

TEST(values_of_the_core_schema)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"[1, -2, +3, 0x1F, 0o17, 1.5, .5, 1., 1e3, -1.5E-2]", "[1,-2,3,31,15,1.5,0.5,1,1000,-0.015]"},
        {"['1', \"2\", !!str 3, ! 4]", "[\"1\",\"2\",\"3\",\"4\"]"},
        {"[true, True, TRUE, false, yes, no, on, off, y]",
         "[true,true,true,false,\"yes\",\"no\",\"on\",\"off\",\"y\"]"},
        {"[null, Null, ~, '', '~']", "[null,null,null,\"\",\"~\"]"},
        {"[.inf, -.INF, .nan, 1e999]", "[\".inf\",\"-.INF\",\".nan\",\"1e999\"]"},
        {"a: 1\nb:\n  - x: y\n  - z\nc:", "{\"a\":1,\"b\":[{\"x\":\"y\"},\"z\"],\"c\":null}"},
        {"a: |\n  one\n  two\nb: >-\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\",\"b\":\"one two\"}"},
        {"{1: a, true: b, 'x': c}", "{\"1\":\"a\",\"true\":\"b\",\"x\":\"c\"}"},
        {"---\na: b\n...\n", "{\"a\":\"b\"}"},
        {"{\"json\": [1, {\"is\": null}]}", "{\"json\":[1,{\"is\":null}]}"},
        {"just text", "\"just text\""},
        {"\xEF\xBB\xBF# of an editor\na: 1\n", "{\"a\":1}"}, /* a byte order mark */
    };

    CHECK_ROWS (row, rows) {
        struct yaml_doc doc;
        struct err err;

        CHECK_OK(yaml_parse(slice_of(row->yaml), "t", &doc, &err), err);
        AUTO(mem) char *json = json_print(doc.root);
        yaml_release(&doc);
        CHECK_STR_EQ(json, row->json);
    }
}

TEST(words_that_look_like_numbers_stay_words)
{
    static const char *const words[] = {"1.2.3", "1e",  "0x", "1_000",    "12:30", ".",
                                        "0b1",   "1e+", "+",  "10.0.0.1", "0o8"};

    CHECK_ROWS (word, words) {
        struct yaml_doc doc;
        struct err err;

        CHECK_OK(yaml_parse(slice_of(*word), "t", &doc, &err), err);
        CHECK_STR_EQ(json_str(doc.root, "", NULL), *word);
        yaml_release(&doc);
    }
}

TEST(an_empty_text_has_no_root)
{
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "---\n# nothing\n"};

    CHECK_ROWS (text, texts) {
        struct yaml_doc doc;
        struct err err;

        CHECK_OK(yaml_parse(slice_of(*text), "t", &doc, &err), err);
        CHECK(!doc.root || cJSON_IsNull(doc.root));
        CHECK_INT_EQ(yaml_line(&doc, NULL), 0);
        yaml_release(&doc);
    }
}

TEST(mistakes_name_file_and_line)
{
#define COLON "':' is not allowed here; put the value in quotes, or add a missing ':' in the line before"
    static const struct {
        const char *yaml, *msg;
    } rows[] = {
        {"a: 1\nb: [\n", "f.yaml: line 3: did not find expected node content"},
        {"a: 1\n\tb: 2", "f.yaml: line 2: a tab; indent with spaces"},
        {"a:\n  \tb: 2", "f.yaml: line 2: a tab; indent with spaces"},
        {"a: @b", "f.yaml: line 1: found character that cannot start any token"},
        {"a:\n  b 1\n  c: 2", "f.yaml: line 3: " COLON},
        {"a: b: c", "f.yaml: line 1: " COLON},
        {"a: 1\nb 2\n", "f.yaml: line 2: a ':' is missing after this key"},
        {"a: 1\nb: 2\na: 3", "f.yaml: line 3: duplicate key \"a\""},
        {"a: &x 1\nb: *x", "f.yaml: line 1: anchors are not supported"},
        {"a: 1\nb: *x", "f.yaml: line 2: aliases are not supported"},
        {"a: !!int 5", "f.yaml: line 1: tags are not supported"},
        {"a: !!map {}", "f.yaml: line 1: tags are not supported"},
        {"a: 1\n? [b]\n: c", "f.yaml: line 2: keys must be strings"},
        {"a: 1\n---\nb: 2", "f.yaml: line 2: expected a single document"},
        {"a: \"\\0\"", "f.yaml: line 1: NUL character in a string"},
        {"a: \xff", "f.yaml: line 1: invalid leading UTF-8 octet"},
        {"a: 1\nb: \xff", "f.yaml: line 2: invalid leading UTF-8 octet"},
    };

    CHECK_ROWS (row, rows) {
        struct yaml_doc doc;
        struct err err;

        CHECK_ERR(yaml_parse(slice_of(row->yaml), "f.yaml", &doc, &err), err, ERR_INVALID);
        CHECK_STR_EQ(err.msg, row->msg);
    }
}

TEST(each_value_knows_its_line)
{
    struct yaml_doc doc;
    struct err err;

    CHECK_OK(yaml_parse(SLICE_LIT("# head\na: 1\nlist:\n  - x\n  - y:\n      z: 2\n"), "t", &doc, &err), err);
    CHECK_INT_EQ(yaml_line(&doc, json_at(doc.root, "a")), 2);
    CHECK_INT_EQ(yaml_line(&doc, json_at(doc.root, "list")->child), 4);
    CHECK_INT_EQ(yaml_line(&doc, json_at(json_at(doc.root, "list")->child->next, "y/z")), 6);
    CHECK_INT_EQ(yaml_line(&doc, NULL), 0);
    yaml_release(&doc);
}

TEST(limits)
{
    AUTO(str) struct str deep = {0};
    AUTO(str) struct str big = {0};
    AUTO(str) struct str wide = {0};
    struct yaml_doc doc;
    struct err err;

    for (int i = 0; i < 65; i++)
        CHECK(str_addc(&deep, '['));
    CHECK_ERR(yaml_parse(str_slice(&deep), "t", &doc, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "nested too deeply");

    while (big.len <= (size_t)4 * 1024 * 1024)
        CHECK(str_adds(&big, "# a comment that only takes room, line after line after line\n"));
    CHECK_ERR(yaml_parse(str_slice(&big), "t", &doc, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "larger than the limit");

    for (int i = 0; i <= 200 * 1000; i++)
        CHECK(str_adds(&wide, "- 1\n"));
    CHECK_ERR(yaml_parse(str_slice(&wide), "t", &doc, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "too many values");
}

TEST(a_stream_is_the_list_of_its_documents)
{
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err;

    CHECK_OK(yaml_parse_stream(SLICE_LIT("a: 1\n---\nb: 2\n---\n"), "t", &doc, &err), err);
    AUTO(mem) char *text = json_print(doc.root);
    CHECK_STR_EQ(text, "[{\"a\":1},{\"b\":2},null]");
    CHECK_INT_EQ(yaml_line(&doc, json_at(cJSON_GetArrayItem(doc.root, 1), "b")), 3);
}

TEST(a_stream_has_the_booleans_of_kubectl)
{
    AUTO(yaml) struct yaml_doc doc = {0};
    struct err err;

    CHECK_OK(
        yaml_parse_stream(SLICE_LIT("[y, Yes, on, N, no, OFF, yEs, 'yes', \"no\", yes no]"), "t", &doc, &err),
        err);
    AUTO(mem) char *text = json_print(doc.root);
    CHECK_STR_EQ(text, "[[true,true,true,false,false,false,\"yEs\",\"yes\",\"no\",\"yes no\"]]");
}

TEST(a_mistake_in_a_later_document_has_its_line)
{
    struct yaml_doc doc;
    struct err err;

    CHECK_ERR(yaml_parse_stream(SLICE_LIT("a: 1\n---\nb: [\n"), "t", &doc, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "t: line 4: ");
}
