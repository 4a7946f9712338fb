#include "vipu/server/controller/blockers.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/shape.h"

#define NAMED_MAX 3u

static bool may_see_all(const struct vipu_partition *const *partitions, const struct user *user,
                        const size_t *blocker, size_t count)
{
    for (size_t b = 0; b < count; b++)
        if (!user_may_use(user, partitions[blocker[b]]))
            return false;
    return true;
}

static void name_them(const struct vipu_partition *const *partitions, const size_t *blocker, size_t count,
                      struct str *out)
{
    for (size_t b = 0; b < count && b < NAMED_MAX; b++)
        str_addf(out, "%s%s", b == 0 ? "" : b + 1 == count ? " and " : ", ", partitions[blocker[b]]->id);
    if (count > NAMED_MAX)
        str_addf(out, " and %zu more", count - NAMED_MAX);
}

void blockers_explain(const struct controller *c, const struct user *user,
                      const struct vipu_requirements *given, struct err *err)
{
    AUTO(mem) struct vipu_holder *holders = mem_alloc((c->count + 1) * sizeof(*holders));
    AUTO(mem)
    const struct vipu_partition **partitions =
        mem_alloc((c->count + 1) * sizeof(const struct vipu_partition *));
    AUTO(mem) size_t *blocker = mem_alloc((c->count + 1) * sizeof(*blocker));
    AUTO(str) struct str names = {0};
    struct vipu_requirements r = vipu_requirements_with_defaults(given);
    struct err rejection = *err;
    size_t listed = 0, count;

    CONTROLLER_EACH (entry, c) {
        holders[listed] = (struct vipu_holder){entry->cluster, entry->partition.ipus, entry->partition.size};
        partitions[listed++] = &entry->partition;
    }
    count = vipu_allocator_blockers(&c->allocator, &r, holders, listed, blocker);
    if (count == 0 || !may_see_all(partitions, user, blocker, count))
        return;
    name_them(partitions, blocker, count, &names);
    err_set_code(err, rejection.kind, rejection.code, "%s; blocked by %s", rejection.msg, str_text(&names));
}
