#include "vipu/model/agents.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

static void ipu_release(struct vipu_agent_ipu *ipu)
{
    for (size_t i = 0; i < ipu->attribute_count; i++) {
        mem_free(ipu->attributes[i].key);
        mem_free(ipu->attributes[i].value);
    }
    mem_free(ipu->attributes);
}

void vipu_agent_release(struct vipu_agent *agent)
{
    if (!agent)
        return;
    for (size_t i = 0; i < agent->ipu_count; i++)
        ipu_release(&agent->ipus[i]);
    mem_free(agent->ipus);
    mem_free(agent->name);
    *agent = (struct vipu_agent){0};
}

void vipu_agents_release(struct vipu_agents *agents)
{
    if (!agents)
        return;
    for (size_t a = 0; a < agents->count; a++)
        vipu_agent_release(&agents->items[a]);
    mem_free(agents->items);
    *agents = (struct vipu_agents){0};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares the runs of digits at *a and *b as numbers of any length and moves past them. */
static int compare_digits(const char **a, const char **b)
{
    size_t len_a, len_b;
    int order;

    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    len_a = strspn(*a, "0123456789");
    len_b = strspn(*b, "0123456789");
    order = len_a != len_b ? (len_a < len_b ? -1 : 1) : memcmp(*a, *b, len_a);
    *a += len_a;
    *b += len_b;
    return order;
}

int vipu_name_compare(const char *a, const char *b)
{
    const char *whole_a = a, *whole_b = b;

    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            int order = compare_digits(&a, &b);

            if (order)
                return order;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    if (*a || *b)
        return *a ? 1 : -1;
    return strcmp(whole_a, whole_b); /* "ag01" and "ag1" are different names */
}

static int by_name(const void *a, const void *b)
{
    return vipu_name_compare(((const struct vipu_agent *)a)->name, ((const struct vipu_agent *)b)->name);
}

static int by_id(const void *a, const void *b)
{
    uint32_t ia = ((const struct vipu_agent_ipu *)a)->id, ib = ((const struct vipu_agent_ipu *)b)->id;

    return (ia > ib) - (ia < ib);
}

void vipu_agents_sort(struct vipu_agents *agents)
{
    agents->total_ipus = 0;
    if (agents->count)
        qsort(agents->items, agents->count, sizeof(agents->items[0]), by_name);
    for (size_t a = 0; a < agents->count; a++) {
        struct vipu_agent *agent = &agents->items[a];

        if (agent->ipu_count)
            qsort(agent->ipus, agent->ipu_count, sizeof(agent->ipus[0]), by_id);
        agents->total_ipus += (uint32_t)agent->ipu_count;
    }
}
