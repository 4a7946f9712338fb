#include "operator/kube/watch/store.h"

#include "lib/check.h"

/* A view is the text of spec.v; items with spec.v "ignore" are of no interest. The log is what was reported.
 */
struct world {
    struct store *store;
    struct str log;
    size_t views; /* alive */
};

struct view {
    struct world *world;
    char *text;
    char *owner;
};

static bool make_view(void *ctx, const cJSON *item, void **ret)
{
    struct world *world = ctx;
    const char *text = json_str(item, "spec/v", "");
    struct view *view;

    if (str_eq(text, "ignore"))
        return false;
    view = NEW(struct view);
    *view = (struct view){world, mem_strdup(text), mem_strdup(json_str(item, "spec/owner", NULL))};
    world->views++;
    *ret = view;
    return true;
}

static void free_view(void *ptr)
{
    struct view *view = ptr;

    view->world->views--;
    mem_free(view->text);
    mem_free(view->owner);
    mem_free(view);
}

static const char *owner_of(const void *view)
{
    return ((const struct view *)view)->owner;
}

static const char *text_of(const void *view)
{
    return view != NULL ? ((const struct view *)view)->text : "-";
}

static void on_change(void *ctx, const struct store_change *change)
{
    struct world *world = ctx;

    str_addf(&world->log, "%s(%s) ", change->key, change->uid);
    if (change->before != change->old)
        str_addf(&world->log, "%s>", text_of(change->before));
    str_addf(&world->log, "%s>%s%s;", text_of(change->old), text_of(change->new),
             change->final_state_unknown ? " unseen" : "");
}

static void world_init(struct world *world)
{
    *world = (struct world){0};
    world->store = store_new(&(struct store_options){make_view, free_view, owner_of, on_change, world});
}

static void world_release(struct world *world)
{
    store_free(world->store);
    CHECK_INT_EQ(world->views, 0);
    str_release(&world->log);
}

static cJSON *item(const char *name, const char *uid, const char *version, const char *text,
                   const char *owner)
{
    cJSON *root = json_object();
    cJSON *metadata = json_put_object(root, "metadata");
    cJSON *spec = json_put_object(root, "spec");

    json_put_str(metadata, "namespace", "n");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "uid", uid);
    json_put_str(metadata, "resourceVersion", version);
    json_put_str(spec, "v", text);
    json_put_str(spec, "owner", owner);
    return root;
}

static bool put(struct world *world, const char *name, const char *uid, const char *version, const char *text)
{
    AUTO(json) cJSON *root = item(name, uid, version, text, NULL);

    return store_put(world->store, root, 10);
}

static void gone(struct world *world, const char *name, const char *uid, const char *text)
{
    AUTO(json) cJSON *root = item(name, uid, "9", text, NULL);

    CHECK(store_delete(world->store, root));
}

static void check_log(struct world *world, const char *want)
{
    CHECK_STR_EQ(str_text(&world->log), want);
    str_clear(&world->log);
}

TEST_F(world, world, changes_are_reported_with_both_sides)
{
    CHECK(put(world, "a", "1", "1", "x"));
    check_log(world, "n/a(1) ->x;");
    CHECK(put(world, "a", "1", "2", "y"));
    check_log(world, "n/a(1) x>y;");
    CHECK(put(world, "a", "1", "2", "y")); /* a replay */
    check_log(world, "");
    CHECK_STR_EQ(text_of(store_view(world->store, "n", "a")), "y");
    CHECK_INT_EQ(store_count(world->store), 1);
    gone(world, "a", "1", "last");
    check_log(world, "n/a(1) y>last>-;");
    CHECK(store_view(world->store, "n", "a") == NULL);
    gone(world, "a", "1", "last"); /* a replay */
    check_log(world, "");
}

TEST_F(world, world, another_uid_is_another_object)
{
    put(world, "a", "1", "1", "x");
    put(world, "a", "2", "2", "y");
    check_log(world, "n/a(1) ->x;n/a(1) x>- unseen;n/a(2) ->y;");
    gone(world, "a", "1", "old"); /* the first one's end comes late */
    check_log(world, "");
    CHECK_INT_EQ(store_count(world->store), 1);
}

TEST_F(world, world, a_listing_removes_what_it_does_not_show)
{
    put(world, "a", "1", "1", "x");
    put(world, "b", "2", "1", "x");
    put(world, "c", "3", "1", "x");
    str_clear(&world->log);
    store_list_begin(world->store);
    put(world, "b", "2", "1", "x");
    put(world, "d", "4", "4", "new");
    check_log(world, "n/d(4) ->new;");
    store_list_end(world->store);
    check_log(world, "n/a(1) x>- unseen;n/c(3) x>- unseen;");
}

TEST_F(world, world, an_unfinished_listing_removes_nothing)
{
    put(world, "a", "1", "1", "x");
    put(world, "b", "2", "1", "x");
    store_list_begin(world->store);
    put(world, "a", "1", "1", "x");
    store_list_begin(world->store);
    put(world, "b", "2", "1", "x");
    str_clear(&world->log);
    store_list_end(world->store);
    check_log(world, "n/a(1) x>- unseen;");
}

TEST_F(world, world, what_loses_interest_is_gone)
{
    CHECK(!put(world, "a", "1", "1", "ignore"));
    check_log(world, "");
    put(world, "a", "1", "2", "x");
    CHECK(!put(world, "a", "1", "3", "ignore"));
    check_log(world, "n/a(1) ->x;n/a(1) x>-;");
}

TEST_F(world, world, items_without_a_name_are_rejected)
{
    AUTO(json) cJSON *nothing = json_object();

    CHECK(!store_put(world->store, nothing, 10));
    CHECK(!store_delete(world->store, nothing));
}

TEST_F(world, world, the_bytes_are_those_of_what_is_there)
{
    AUTO(json) cJSON *larger = item("a", "1", "2", "new", NULL);

    put(world, "a", "1", "1", "old");
    put(world, "b", "2", "1", "text");
    CHECK_INT_EQ(store_bytes(world->store), 20);
    CHECK(store_put(world->store, larger, 30));
    CHECK_INT_EQ(store_bytes(world->store), 40);
    gone(world, "b", "2", "text");
    CHECK_INT_EQ(store_bytes(world->store), 30);
}

static void put_owned(struct world *world, const char *name, const char *version, const char *owner)
{
    AUTO(json) cJSON *root = item(name, name, version, name, owner);

    store_put(world->store, root, 10);
}

static void check_owned(const struct world *world, const char *owner, const char *want)
{
    AUTO(str) struct str got = {0};

    for (const struct store_item *at = store_first_of(world->store, owner); at != NULL;
         at = store_next_of(at))
        str_addf(&got, "%s ", at->key + 2);
    CHECK_STR_EQ(str_text(&got), want);
}

TEST_F(world, world, the_index_follows_the_views)
{
    put_owned(world, "a", "1", "j");
    put_owned(world, "b", "1", "k");
    put_owned(world, "c", "1", "j");
    put_owned(world, "d", "1", NULL);
    check_owned(world, "j", "a c ");
    check_owned(world, "k", "b ");
    put_owned(world, "b", "2", "j");
    check_owned(world, "j", "a c b ");
    check_owned(world, "k", "");
    put_owned(world, "c", "2", NULL);
    check_owned(world, "j", "a b ");
    gone(world, "a", "a", "x");
    gone(world, "b", "b", "x");
    check_owned(world, "j", "");
}

TEST_F(world, world, walking_meets_every_item_in_order)
{
    AUTO(str) struct str got = {0};

    put(world, "c", "1", "1", "x");
    put(world, "a", "2", "1", "x");
    put(world, "b", "3", "1", "x");
    put(world, "a", "2", "2", "y");
    for (const struct store_item *at = store_first(world->store); at != NULL; at = store_next(at))
        str_addf(&got, "%s ", at->key);
    CHECK_STR_EQ(str_text(&got), "n/c n/a n/b ");
}
