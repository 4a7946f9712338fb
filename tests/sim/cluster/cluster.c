#include "cluster/cluster.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "cluster/pod_status.h"

#define SIGTERM_EXIT 143
#define ASK_AGAIN_MS 1000
/* A kubelet cleans up behind an ended pod before it lets go of the object, which the API server does in two
 * writes. */
#define CLEANS_UP_MS 3000
#define LETS_GO_MS 50
/* When the node controller gives up on a node; the real one's default is five minutes. */
#define EVICT_AFTER_MS 60000

static void plan(struct node_process *s, int64_t delay_ms, clock_fn fn)
{
    clock_cancel(s->next);
    s->next = clock_plan(delay_ms, NULL, fn, s);
}

/* The pod's object as long as it is this one; NULL: it has gone. */
static struct api_object *object_of(const struct node_process *s)
{
    struct api_object *object = api_find(s->cluster->api, "pods", s->ns, s->name);

    return object && str_eq(object->uid, s->uid) ? object : NULL;
}

static bool is_heard(const struct node_process *s)
{
    return s->node->trouble == NODE_IS_WELL;
}

static void come_alive(struct node_process *s)
{
    s->is_alive = true;
    s->next_living = s->cluster->living;
    if (s->next_living)
        s->next_living->prev_living = s;
    s->cluster->living = s;
}

static void cease(struct node_process *s)
{
    if (!s->is_alive)
        return;
    s->is_alive = false;
    *(s->prev_living ? &s->prev_living->next_living : &s->cluster->living) = s->next_living;
    if (s->next_living)
        s->next_living->prev_living = s->prev_living;
    s->prev_living = s->next_living = NULL;
}

static void node_process_free(struct node_process *s)
{
    cease(s);
    clock_cancel(s->next);
    mem_free(s->uid);
    mem_free(s->ns);
    mem_free(s->name);
    mem_free(s->job_uid);
    mem_free(s->partition);
    mem_free(s->controller);
    mem_free(s);
}

static void forget(struct node_process *s)
{
    map_remove(&s->cluster->node_processes, s->uid);
    node_process_free(s);
}

/* ---- the end ---- */

/* The pod's object, or NULL if the node cannot report it now. */
static struct api_object *object_to_tell(struct node_process *s, clock_fn again)
{
    struct api_object *object = object_of(s);

    s->next = NULL;
    if (!is_heard(s)) {
        plan(s, ASK_AGAIN_MS, again);
        return NULL;
    }
    if (!object)
        forget(s);
    return object;
}

static void let_go(void *ctx)
{
    struct node_process *s = ctx;
    struct api_object *object = object_to_tell(s, let_go);

    if (!object)
        return;
    if (json_i64(object->doc, "metadata/deletionGracePeriodSeconds", 0) == 0) {
        api_remove(s->cluster->api, object);
        return;
    }
    pod_status_let_go(object->doc);
    plan(s, dice_between(1, LETS_GO_MS), let_go);
    api_changed(s->cluster->api, object);
}

/* kubernetes/kubernetes, pkg/kubelet/active_deadline.go, pastActiveDeadline: it counts from the start on the
 * node, and has no effect before. */
static int64_t left_until_deadline_ms(const struct node_process *s, const cJSON *pod)
{
    int64_t allowed_s = json_i64(pod, "spec/activeDeadlineSeconds", INT32_MAX);

    return s->started_s ? (s->started_s + allowed_s - clock_unix_s()) * 1000 : INT64_MAX;
}

static void tell_end(void *ctx)
{
    struct node_process *s = ctx;
    struct api_object *object = object_to_tell(s, tell_end);

    if (!object)
        return;
    if (json_at(object->doc, "metadata/deletionTimestamp"))
        plan(s, dice_between(1, CLEANS_UP_MS), let_go);
    if (s->is_reported)
        return;
    s->is_reported = true;
    pod_status_ended(object->doc, s->exit_code);
    /* Whatever ended it: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus. */
    if (!s->knows_no_deadlines && left_until_deadline_ms(s, object->doc) <= 0)
        pod_status_past_deadline(object->doc);
    api_changed(s->cluster->api, object);
}

static void die(struct node_process *s, int exit_code)
{
    if (s->is_over)
        return;
    cease(s);
    s->is_over = true;
    s->exit_code = exit_code;
}

static void on_end(void *ctx)
{
    struct node_process *s = ctx;

    s->next = NULL;
    die(s, s->habit.exit_code);
    plan(s, dice_between(1, 300), tell_end);
}

/* The kubelet ends deleted pods, and those without an object. */
static void on_kill(void *ctx)
{
    struct node_process *s = ctx;

    s->next = NULL;
    if (!is_heard(s)) {
        plan(s, ASK_AGAIN_MS, on_kill);
        return;
    }
    die(s, SIGTERM_EXIT);
    tell_end(s);
}

/* A deadline may be set and lowered while it runs. */
static void limit(struct node_process *s, const cJSON *pod)
{
    int64_t left_ms;

    if (s->is_limited || s->is_over || !json_at(pod, "spec/activeDeadlineSeconds"))
        return;
    s->is_limited = true;
    if (!s->goes_since_ms)
        s->goes_since_ms = clock_now_ms();
    left_ms = left_until_deadline_ms(s, pod);
    left_ms = (left_ms > 0 ? left_ms : 0) + dice_between(1, 3000);
    if (!s->knows_no_deadlines && clock_now_ms() + left_ms < s->ends_ms)
        plan(s, left_ms, on_kill);
}

/* ---- the beginning ---- */

static void on_start(void *ctx)
{
    struct node_process *s = ctx;
    struct api_object *object = object_of(s);

    s->next = NULL;
    if (!object || !is_heard(s)) {
        if (object)
            plan(s, ASK_AGAIN_MS, on_start);
        return;
    }
    if (s->habit.how == POD_CANNOT_PULL) {
        pod_status_waits(object->doc, "ImagePullBackOff", "Back-off pulling image \"train:1\"");
        api_changed(s->cluster->api, object);
        if (s->habit.pulls_at_ms)
            plan(s, s->habit.pulls_at_ms - clock_now_ms(), on_start);
        s->habit.how = s->habit.pulls_at_ms ? POD_RUNS : POD_CANNOT_PULL;
        return;
    }
    s->started_s = clock_unix_s();
    s->ends_ms = s->habit.runs_ms >= 0 ? clock_now_ms() + s->habit.runs_ms : INT64_MAX;
    come_alive(s);
    s->cluster->on_start(s->cluster->ctx, s);
    if (s->habit.runs_ms >= 0)
        plan(s, s->habit.runs_ms, on_end);
    pod_status_runs(object->doc, ++s->cluster->addresses);
    api_changed(s->cluster->api, object);
}

static bool node_fits(const struct cluster *cluster, const struct node_side *node, const cJSON *pod)
{
    const struct api_object *object = api_find(cluster->api, "nodes", NULL, node->name);
    const cJSON *labels = json_at(object->doc, "metadata/labels");

    JSON_EACH (wanted, json_at(pod, "spec/nodeSelector")) {
        if (!str_eq(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, wanted->string)),
                    cJSON_GetStringValue(wanted)))
            return false;
    }
    return node->trouble == NODE_IS_WELL;
}

static struct node_side *choose_node(struct cluster *cluster, const cJSON *pod)
{
    size_t first = dice_below((uint32_t)cluster->node_count);

    for (size_t i = 0; i < cluster->node_count; i++) {
        struct node_side *node = &cluster->nodes[(first + i) % cluster->node_count];

        if (node_fits(cluster, node, pod))
            return node;
    }
    return NULL;
}

static void on_schedule(void *ctx)
{
    struct node_process *s = ctx;
    struct api_object *object = object_of(s);

    s->next = NULL;
    if (!object)
        return;
    s->node = s->habit.how == POD_FITS_NOWHERE ? NULL : choose_node(s->cluster, object->doc);
    if (s->node) {
        json_put_str(json_at_mut(object->doc, "spec"), "nodeName", s->node->name);
        plan(s, dice_between(10, 3000), on_start);
        api_changed(s->cluster->api, object);
        return;
    }
    if (s->habit.how != POD_FITS_NOWHERE)
        plan(s, ASK_AGAIN_MS, on_schedule);
    if (!json_at(object->doc, "status/conditions")) {
        pod_status_unschedulable(object->doc);
        api_changed(s->cluster->api, object);
    }
}

/* ---- what happens to objects ---- */

static const char *env_of(const cJSON *pod, const char *name)
{
    const cJSON *containers = json_at(pod, "spec/containers");

    JSON_EACH (variable, json_at(containers ? containers->child : NULL, "env")) {
        if (str_eq(json_str(variable, "name", ""), name))
            return json_str(variable, "value", "");
    }
    return "";
}

static void sit(struct cluster *cluster, const struct api_object *object)
{
    struct node_process *s = NEW(struct node_process);
    const cJSON *owner = json_at(object->doc, "metadata/ownerReferences");

    s->cluster = cluster;
    s->uid = mem_strdup(object->uid);
    s->ns = mem_strdup(object->ns);
    s->name = mem_strdup(object->name);
    s->job_uid = mem_strdup(json_str(owner ? owner->child : NULL, "uid", ""));
    s->partition = mem_strdup(json_str(object->doc, "metadata/annotations/graphcore.ai~1partition", ""));
    s->controller = mem_printf("%s:%s", env_of(object->doc, "IPUOF_VIPU_API_HOST"),
                               env_of(object->doc, "IPUOF_VIPU_API_PORT"));
    parse_u32(json_str(object->doc, "metadata/annotations/graphcore.ai~1run", ""), 0, UINT32_MAX, &s->run);
    s->habit = cluster->habit_of(cluster->ctx, object->doc);
    s->knows_no_deadlines = dice_permille(cluster->no_deadlines_permille);
    map_set(&cluster->node_processes, s->uid, s);
    plan(s, dice_between(1, 100), on_schedule);
}

static void ask_to_go(struct node_process *s)
{
    if (s->is_asked)
        return;
    s->is_asked = true;
    if (!s->goes_since_ms)
        s->goes_since_ms = clock_now_ms();
    if (s->node)
        plan(s, dice_between(1, 3000), on_kill);
}

/* Some programs outlive the patience of everybody: their kubelet is stuck, or they cannot be killed. */
static int64_t life_after_object_ms(void)
{
    return dice_permille(300) ? dice_between(20000, 400000) : dice_between(1000, 20000);
}

/* The object has gone; a program that lives on is found by its kubelet, some time. */
static void lose_object(struct node_process *s)
{
    if (!s->goes_since_ms)
        s->goes_since_ms = clock_now_ms();
    if (s->is_alive)
        plan(s, life_after_object_ms(), on_kill);
    else
        forget(s);
}

/* The owner reference was changed by hand. */
static bool is_disowned(const struct api_object *pod)
{
    return !json_at(pod->doc, "metadata/annotations/graphcore.ai~1partition");
}

static void delete_owned(struct cluster *cluster, const char *plural, const char *uid)
{
    struct map *objects = api_objects(cluster->api, plural);
    struct strv keys = {0};
    const char *key;
    void *value;

    for (size_t i = 0; map_next(objects, &i, &key, &value);) {
        if (str_eq(((struct api_object *)value)->job_uid, uid))
            strv_push(&keys, key);
    }
    for (size_t i = 0; i < keys.count; i++) {
        struct api_object *object = map_get(objects, keys.items[i]);

        if (object)
            api_delete(cluster->api, object, -1);
    }
    strv_release(&keys);
}

struct orphans {
    struct cluster *cluster;
    char uid[64];
};

static void on_orphans(void *ctx)
{
    struct orphans *orphans = ctx;

    delete_owned(orphans->cluster, "pods", orphans->uid);
    delete_owned(orphans->cluster, "services", orphans->uid);
    delete_owned(orphans->cluster, "endpointslices", orphans->uid);
    delete_owned(orphans->cluster, "secrets", orphans->uid);
    delete_owned(orphans->cluster, "networkpolicies", orphans->uid);
    mem_free(orphans);
}

/* What a job owned goes with it, in the background; what comes later, too. */
static void collect(struct cluster *cluster, const char *uid)
{
    struct orphans *orphans = NEW(struct orphans);

    orphans->cluster = cluster;
    strncpy(orphans->uid, uid, sizeof(orphans->uid) - 1);
    clock_plan(dice_between(10, 1000), NULL, on_orphans, orphans);
}

static bool is_orphan(const struct cluster *cluster, const struct api_object *object)
{
    const cJSON *owners = json_at(object->doc, "metadata/ownerReferences");
    const char *name = json_str(owners ? owners->child : NULL, "name", "");
    const struct api_object *owner = api_find(cluster->api, "ipujobs", object->ns, name);

    return owners && (!owner || !str_eq(owner->uid, json_str(owners->child, "uid", "")));
}

void cluster_saw(struct cluster *cluster, enum api_change_type type, const struct api_object *object)
{
    bool is_pod = str_eq(object->kind->plural, "pods");
    struct node_process *s = is_pod ? map_get(&cluster->node_processes, object->uid) : NULL;

    if (str_eq(object->kind->plural, "ipujobs") && type == API_DELETED)
        collect(cluster, object->uid);
    if (type == API_ADDED && is_orphan(cluster, object))
        collect(cluster, json_str(json_at(object->doc, "metadata/ownerReferences")->child, "uid", ""));
    if (is_pod && type == API_ADDED)
        sit(cluster, object);
    if (s && type == API_MODIFIED && json_at(object->doc, "metadata/deletionTimestamp"))
        ask_to_go(s);
    else if (s && type == API_MODIFIED && !s->goes_since_ms && is_disowned(object))
        s->goes_since_ms = clock_now_ms();
    if (s && type == API_MODIFIED && !s->is_asked && s->started_s)
        limit(s, object->doc);
    if (s && type == API_DELETED)
        lose_object(s);
}

/* ---- nodes ---- */

static cJSON *node_doc(const struct node_side *node, const char *key, const char *value)
{
    cJSON *doc = json_object();
    cJSON *metadata = json_put_object(doc, "metadata");

    json_put_str(doc, "kind", "Node");
    json_put_str(doc, "apiVersion", "v1");
    json_put_str(metadata, "name", node->name);
    if (key)
        json_put_str(json_put_object(metadata, "labels"), key, value);
    json_put_object(doc, "spec");
    json_put_strf(json_put_object(json_put_object(doc, "status"), "nodeInfo"), "bootID", "boot-%u",
                  node->boots);
    return doc;
}

void cluster_init(struct cluster *cluster, struct api *api)
{
    cluster->api = api;
}

void cluster_add_node(struct cluster *cluster, const char *name, const char *label_key,
                      const char *label_value)
{
    struct node_side *node = &cluster->nodes[cluster->node_count++];

    *node = (struct node_side){.name = mem_strdup(name), .boots = 1};
    api_create(cluster->api, "nodes", node_doc(node, label_key, label_value));
}

void cluster_release(struct cluster *cluster)
{
    void *value;

    for (size_t i = 0; map_next(&cluster->node_processes, &i, NULL, &value);)
        node_process_free(value);
    map_release(&cluster->node_processes);
    for (size_t i = 0; i < cluster->node_count; i++)
        mem_free(cluster->nodes[i].name);
}

struct breakage {
    struct cluster *cluster;
    struct node_side *node;
    bool is_vouched_for;
};

static void taint(const struct breakage *b, bool on)
{
    struct api_object *object = api_find(b->cluster->api, "nodes", NULL, b->node->name);
    cJSON *spec = json_at_mut(object->doc, "spec");
    cJSON *entry;

    json_drop(spec, "taints");
    if (on) {
        entry = json_push_take(json_put_array(spec, "taints"), json_object());
        json_put_str(entry, "key", "node.kubernetes.io/out-of-service");
        json_put_str(entry, "effect", "NoExecute");
    }
    api_changed(b->cluster->api, object);
}

/* Pods of a node that does not answer are deleted; with the out-of-service taint, without asking it. */
static void on_evict(void *ctx)
{
    struct breakage *b = ctx;
    struct strv uids = {0};
    const char *uid;
    void *value;

    if (b->node->trouble == NODE_IS_WELL)
        return;
    if (b->is_vouched_for)
        taint(b, true);
    for (size_t i = 0; map_next(&b->cluster->node_processes, &i, &uid, &value);) {
        if (((struct node_process *)value)->node == b->node)
            strv_push(&uids, uid);
    }
    for (size_t i = 0; i < uids.count; i++) {
        struct node_process *s = map_get(&b->cluster->node_processes, uids.items[i]);
        struct api_object *object = s ? object_of(s) : NULL;

        if (object)
            api_delete(b->cluster->api, object, b->is_vouched_for ? 0 : 30);
    }
    strv_release(&uids);
}

static void on_back(void *ctx)
{
    struct breakage *b = ctx;
    struct api_object *object = api_find(b->cluster->api, "nodes", NULL, b->node->name);

    if (b->node->trouble == NODE_HAS_CRASHED) {
        b->node->boots++;
        json_put_strf(json_at_mut(object->doc, "status/nodeInfo"), "bootID", "boot-%u", b->node->boots);
    }
    b->node->trouble = NODE_IS_WELL;
    taint(b, false);
    mem_free(b);
}

void cluster_break_node(struct cluster *cluster, size_t node, enum node_trouble trouble, int64_t for_ms,
                        bool is_vouched_for)
{
    struct node_side *broken = &cluster->nodes[node];
    struct breakage *b;
    void *value;

    if (broken->trouble != NODE_IS_WELL)
        return;
    b = NEW(struct breakage);
    *b = (struct breakage){
        .cluster = cluster, .node = broken, .is_vouched_for = is_vouched_for && trouble == NODE_HAS_CRASHED};
    broken->trouble = trouble;
    for (size_t i = 0; trouble == NODE_HAS_CRASHED && map_next(&cluster->node_processes, &i, NULL, &value);) {
        struct node_process *s = value;

        if (s->node != broken || !s->is_alive)
            continue;
        die(s, 137);
        plan(s, ASK_AGAIN_MS, tell_end);
    }
    if (for_ms > EVICT_AFTER_MS)
        clock_plan(EVICT_AFTER_MS, NULL, on_evict, b);
    clock_plan(for_ms, NULL, on_back, b);
}
