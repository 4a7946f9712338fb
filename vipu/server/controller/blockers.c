#include "vipu/server/controller/blockers.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/shape.h"

#define NAMED_MAX 3u

static bool may_see_all(const struct controller *c, const struct user *user, const size_t *blocker,
                        size_t count)
{
    for (size_t b = 0; b < count; b++)
        if (!user_may(user, c->list[blocker[b]]->partition.allocation_id))
            return false;
    return true;
}

static void name_them(const struct controller *c, const size_t *blocker, size_t count, struct str *out)
{
    for (size_t b = 0; b < count && b < NAMED_MAX; b++)
        str_addf(out, "%s%s",
                 b == 0           ? ""
                 : b + 1 == count ? " and "
                                  : ", ",
                 c->list[blocker[b]]->partition.id);
    if (count > NAMED_MAX)
        str_addf(out, " and %zu more", count - NAMED_MAX);
}

void blockers_explain(const struct controller *c, const struct user *user,
                      const struct vipu_requirements *given, struct err *err)
{
    AUTO(mem) struct vipu_holder *holders = mem_alloc((c->count + 1) * sizeof(*holders));
    AUTO(mem) size_t *blocker = mem_alloc((c->count + 1) * sizeof(*blocker));
    AUTO(str) struct str names = {0};
    struct vipu_requirements r = vipu_requirements_with_defaults(given);
    struct err rejection = *err;
    size_t count;

    for (size_t i = 0; i < c->count; i++) {
        const struct controller_partition *entry = c->list[i];

        holders[i] = (struct vipu_holder){entry->cluster, entry->partition.ipus, entry->partition.size};
    }
    count = vipu_allocator_blockers(&c->allocator, &r, holders, c->count, blocker);
    if (count == 0 || !may_see_all(c, user, blocker, count))
        return;
    name_them(c, blocker, count, &names);
    err_set_code(err, rejection.kind, rejection.code, "%s; blocked by %s", rejection.msg, str_text(&names));
}
