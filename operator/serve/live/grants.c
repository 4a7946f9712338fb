#include "operator/serve/live/grants.h"

#include "base/core/mem.h"

void grants_release(struct grants *grants)
{
    const char *ns;
    void *of_ns;

    for (size_t i = 0; map_next(&grants->namespaces, &i, &ns, &of_ns);)
        mem_free(of_ns);
    map_release(&grants->namespaces);
}

void grants_add_namespace(struct grants *grants, const char *ns)
{
    if (!map_get(&grants->namespaces, ns) && grants->namespaces.count < GRANTS_NAMESPACES_MAX)
        (void)map_set(&grants->namespaces, ns, mem_alloc(FEED_KINDS * sizeof(struct grant)));
}

void grants_drop_namespace(struct grants *grants, const char *ns)
{
    mem_free(map_remove(&grants->namespaces, ns));
}

static bool is_allowed(const struct grant *everywhere, const struct grant *of_ns, enum feed_kind kind)
{
    return everywhere[kind].verdict == GRANT_ALLOWED || (of_ns && of_ns[kind].verdict == GRANT_ALLOWED);
}

static bool matters(const struct grants *grants, const struct grant *of_ns, enum feed_kind kind)
{
    const struct grant *everywhere = grants->everywhere;

    if (of_ns && everywhere[kind].verdict == GRANT_ALLOWED)
        return false;
    if (kind == FEED_POD)
        return is_allowed(everywhere, of_ns, FEED_JOB);
    return kind == FEED_JOB || (kind == FEED_CONTROLLER && !of_ns);
}

static int64_t due_ms(const struct grant *grant)
{
    switch (grant->verdict) {
    case GRANT_UNKNOWN:
        break;
    case GRANT_DENIED:
        return grant->at_ms + GRANTS_DENIED_MS;
    case GRANT_ALLOWED:
        return grant->at_ms + GRANTS_ALLOWED_MS;
    }
    return INT64_MIN;
}

/* True: one of these is due before *due, which it sets. */
static bool find_earlier(const struct grants *grants, const struct grant *of_ns, enum feed_kind *ret,
                         int64_t *due)
{
    const struct grant *all = of_ns ? of_ns : grants->everywhere;
    bool found = false;

    for (enum feed_kind kind = 0; kind < FEED_KINDS; kind++) {
        int64_t at = due_ms(&all[kind]);

        if (!matters(grants, of_ns, kind) || at >= *due)
            continue;
        *ret = kind;
        *due = at;
        found = true;
    }
    return found;
}

bool grants_next(const struct grants *grants, int64_t now_ms, struct grants_question *ret,
                 int64_t *ret_due_ms)
{
    const char *ns;
    void *of_ns;

    *ret_due_ms = INT64_MAX;
    ret->ns = NULL;
    (void)find_earlier(grants, NULL, &ret->kind, ret_due_ms);
    for (size_t i = 0; map_next(&grants->namespaces, &i, &ns, &of_ns);) {
        if (find_earlier(grants, of_ns, &ret->kind, ret_due_ms))
            ret->ns = ns;
    }
    return *ret_due_ms <= now_ms;
}

enum grants_change grants_answer(struct grants *grants, enum feed_kind kind, const char *ns, bool is_given,
                                 int64_t now_ms)
{
    struct grant *all = ns ? map_get(&grants->namespaces, ns) : grants->everywhere;
    bool was_allowed;

    if (!all)
        return GRANTS_SAME;
    was_allowed = all[kind].verdict == GRANT_ALLOWED;
    all[kind] = (struct grant){is_given ? GRANT_ALLOWED : GRANT_DENIED, now_ms};
    return was_allowed == is_given ? GRANTS_SAME : is_given ? GRANTS_GIVEN : GRANTS_TAKEN;
}

bool grants_allow(const struct grants *grants, enum feed_kind kind, const char *ns)
{
    return is_allowed(grants->everywhere, ns ? map_get(&grants->namespaces, ns) : NULL, kind);
}

bool grants_allow_any(const struct grants *grants, enum feed_kind kind)
{
    bool found = is_allowed(grants->everywhere, NULL, kind);
    const char *ns;
    void *of_ns;

    for (size_t i = 0; !found && map_next(&grants->namespaces, &i, &ns, &of_ns);)
        found = is_allowed(grants->everywhere, of_ns, kind);
    return found;
}

static bool is_stale(const struct grants *grants, const struct grant *of_ns, int64_t now_ms)
{
    const struct grant *all = of_ns ? of_ns : grants->everywhere;

    for (enum feed_kind kind = 0; kind < FEED_KINDS; kind++) {
        if (all[kind].verdict == GRANT_ALLOWED && matters(grants, of_ns, kind) &&
            now_ms >= all[kind].at_ms + GRANTS_STALE_MS)
            return true;
    }
    return false;
}

bool grants_are_stale(const struct grants *grants, int64_t now_ms)
{
    bool found = is_stale(grants, NULL, now_ms);
    const char *ns;
    void *of_ns;

    for (size_t i = 0; !found && map_next(&grants->namespaces, &i, &ns, &of_ns);)
        found = is_stale(grants, of_ns, now_ms);
    return found;
}
