#include "vipu/server/config/config_users.h"

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "vipu/server/config/access_keys.h"

const struct setting config_user_settings[] = {
    SETTING("id", SETTING_OTHER, "name of the user"),
    SETTING("access-key", AS_TEXT(struct user_key, plain),
            "access key of the user, 8 to 512 printable characters without blanks"),
    SETTING("access-key-file", AS_TEXT(struct user_key, file), "file that contains only the access key"),
    SETTING("access-key-hash", AS_TEXT(struct user_key, hash),
            "hash of the access key, as printed by vipu-server --hash-key"),
    SETTING("certificate", AS_FLAG(struct user_key, is_certificate),
            "accept a client certificate with the user's id as common name, signed by tls.client-ca",
            .fallback = "false"),
    SETTING("allocations", SETTING_OTHER, "list of allocations that the user may use"),
    {0},
};

static void check_key(struct settings_reader *r, const cJSON *object, const struct user_key *key)
{
    int given = (key->plain != NULL) + (key->file != NULL) + (key->hash != NULL);

    if (given > 1 || (given == 0 && !key->is_certificate))
        settings_add_error(
            r, object,
            "exactly one of access-key, access-key-file and access-key-hash is required for a user without "
            "certificate");
    if (key->plain && !access_key_is_well_formed(key->plain))
        settings_add_error(r, json_at(object, "access-key"), "access key must be " ACCESS_KEY_RULE);
    if (key->hash && !access_key_is_hash(key->hash))
        settings_add_error(r, json_at(object, "access-key-hash"),
                           "access-key-hash must be the output of vipu-server --hash-key");
}

static void add_unknown_allocation(struct settings_reader *r, const cJSON *node,
                                   const struct vipu_clusters *clusters)
{
    const char *id = cJSON_IsString(node) ? node->valuestring : "";
    struct suggest suggest = suggest_init(id);
    const char *meant;

    for (size_t c = 0; c < clusters->count; c++)
        for (size_t a = 0; a < clusters->items[c].allocation_count; a++)
            suggest_candidate(&suggest, clusters->items[c].allocations[a].id);
    meant = suggest_best(&suggest);
    settings_add_error(r, node, "allocation \"%.63s\" not found%s%s%s", id, meant ? "; did you mean \"" : "",
                       meant ? meant : "", meant ? "\"?" : "");
}

static void read_allocations(struct settings_reader *r, const cJSON *object,
                             const struct vipu_clusters *clusters, struct user *user)
{
    const cJSON *list = settings_list(r, object, "allocations");
    const struct vipu_cluster *cluster;

    if (!json_at(object, "allocations") || (list && !list->child))
        settings_add_error(r, object, "allocations is required for a user");
    JSON_EACH (item, list) {
        if (!cJSON_IsString(item) || !vipu_clusters_allocation(clusters, item->valuestring, &cluster))
            add_unknown_allocation(r, item, clusters);
        else if (strv_has(&user->allocations, item->valuestring))
            settings_add_error(r, item, "duplicate allocation \"%s\" in this list", item->valuestring);
        else
            strv_push(&user->allocations, item->valuestring);
    }
}

static void read_user(struct settings_reader *r, const cJSON *object, const struct vipu_clusters *clusters,
                      struct users *users)
{
    struct user user = {.line = yaml_line(&r->doc, object)};
    const char *id;

    if (!settings_read(r, object, config_user_settings, &user.key))
        return;
    id = settings_id(r, object, "a user");
    if (id && users_find(users, id))
        settings_add_error(r, object, "duplicate user \"%s\"", id);
    user.id = mem_strdup(id ? id : "");
    check_key(r, object, &user.key);
    read_allocations(r, object, clusters, &user);
    users->items = mem_grow(users->items, users->count + 1, sizeof(*users->items));
    users->items[users->count++] = user;
}

void config_read_users(struct settings_reader *r, const struct vipu_clusters *clusters, struct users *ret)
{
    JSON_EACH (item, settings_list(r, r->doc.root, "users")) {
        read_user(r, item, clusters, ret);
    }
}
