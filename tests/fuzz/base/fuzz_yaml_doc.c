/* Any bytes give a tree, whose nodes know their lines and which prints as JSON, or one line that says why
 * not. */
#include "base/doc/yaml.h"

#include <stdlib.h>
#include <string.h>

static void look(const struct yaml_doc *doc, const cJSON *node)
{
    if (yaml_line(doc, node) == 0)
        abort();
    JSON_EACH (item, node)
        look(doc, item);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct yaml_doc doc;
    struct err err = {0};

    if (!yaml_parse((struct slice){(const char *)bytes, len}, "fuzz", &doc, &err)) {
        if (err.kind != ERR_INVALID || !str_has_prefix(err.msg, "fuzz: ") || strchr(err.msg, '\n'))
            abort();
        return 0;
    }
    if (doc.root) {
        look(&doc, doc.root);
        mem_free(json_print(doc.root));
    }
    yaml_release(&doc);
    return 0;
}
