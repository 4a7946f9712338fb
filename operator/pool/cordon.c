#include "operator/pool/cordon.h"

#include <string.h>

#include "base/core/mem.h"

void cordon_parse(const char *text, struct cordon *ret)
{
    AUTO(mem) char *commas = mem_strdup(text ? text : "");

    *ret = (struct cordon){0};
    for (char *p = commas; *p; p++) {
        if (strchr(" \t\r\n", *p))
            *p = ',';
    }
    strv_split(commas, ',', &ret->domains);
    if (ret->domains.count == 1 && str_eq(ret->domains.items[0], "true"))
        ret->is_whole = true;
    if (ret->is_whole || (ret->domains.count == 1 && str_eq(ret->domains.items[0], "false")))
        strv_release(&ret->domains);
}

struct cordon cordon_copy(const struct cordon *from)
{
    struct cordon copy = {.is_whole = from->is_whole};

    for (size_t i = 0; i < from->domains.count; i++)
        strv_push(&copy.domains, from->domains.items[i]);
    return copy;
}

void cordon_release(struct cordon *cordon)
{
    strv_release(&cordon->domains);
    *cordon = (struct cordon){0};
}

bool cordon_is_set(const struct cordon *cordon)
{
    return cordon->is_whole || cordon->domains.count > 0;
}

char *cordon_domain_name(const struct vipu_pool_view *view, const struct vipu_pool_domain *domain)
{
    if (view->cluster_count > 1)
        return mem_printf("%s/ild%u", domain->cluster, domain->index);
    return mem_printf("ild%u", domain->index);
}

bool cordon_can_steer(const struct vipu_pool_view *view)
{
    struct vipu_pool_domain first;

    return vipu_pool_next_domain(view, &(size_t){0}, &first) && *first.cluster;
}

/* A second cluster is seen only when it has a partition: a name without a cluster then means every cluster's.
 */
static bool names_domain(const char *name, const struct vipu_pool_view *view,
                         const struct vipu_pool_domain *domain)
{
    AUTO(mem) char *full = cordon_domain_name(view, domain);
    const char *slash = strrchr(full, '/');

    return str_eq(name, full) || (slash && str_eq(name, slash + 1));
}

static bool cordon_has(const struct cordon *cordon, const struct vipu_pool_view *view,
                       const struct vipu_pool_domain *domain)
{
    for (size_t i = 0; i < cordon->domains.count; i++) {
        if (names_domain(cordon->domains.items[i], view, domain))
            return true;
    }
    return false;
}

void cordon_apply(const struct cordon *cordon, struct vipu_pool_view *view)
{
    struct vipu_pool_domain domain;

    if (!cordon_is_set(cordon))
        return;
    if (cordon->is_whole || !cordon_can_steer(view)) {
        vipu_pool_cordon(view);
        return;
    }
    for (size_t at = 0; vipu_pool_next_domain(view, &at, &domain);) {
        if (cordon_has(cordon, view, &domain))
            vipu_pool_cordon_domain(view, &domain);
    }
}

static bool is_known(const char *name, const struct vipu_pool_view *view)
{
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(view, &at, &domain);) {
        if (names_domain(name, view, &domain))
            return true;
    }
    return false;
}

void cordon_find_unknown(const struct cordon *cordon, const struct vipu_pool_view *view, struct strv *ret)
{
    for (size_t i = 0; i < cordon->domains.count; i++) {
        if (!is_known(cordon->domains.items[i], view))
            strv_push(ret, cordon->domains.items[i]);
    }
}
