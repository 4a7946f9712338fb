/* Which job gets the IPUs of a partition. */
#include "operator/reconcile/state/partitions.h"

#include "lib/check.h"

static char victim_uid[] = "uid-v", partition_name[] = "p-digits-team-0", of_record[] = "team/before";

/* A job whose IPUs another one is to get. */
struct preemption {
    struct reconciler r;
    struct job_cache *victim, *urgent;
    struct record record;
};

static void claim(struct job_cache *cache, const char *instances)
{
    AUTO(indexset) struct indexset set = {0};

    indexset_parse(&set, instances);
    job_claims_set(&cache->claims, &set, true, 1000);
}

static void grant(struct job_cache *cache, size_t count)
{
    static const struct indexset none = {0};
    const struct job_grant grants[] = {{.controller = "a:1"}, {.controller = "a:1"}};

    (void)job_claims_assign(&cache->claims, &none, grants, count);
}

static void preemption_init(struct preemption *p)
{
    struct partition_cache *partition;

    *p = (struct preemption){.record = {.name = partition_name, .job_uid = victim_uid}};
    p->r.loop = loop_new();
    p->victim = job_cache_get(&p->r, "team/digits", victim_uid);
    p->victim->is_preemptible = true;
    p->urgent = job_cache_get(&p->r, "team/urgent", "uid-1");
    claim(p->urgent, "0-1");
    partition = job_cache_partition(p->victim, partition_name, 0);
    mem_set_str(&partition->preemptor, "team/urgent");
    mem_set_str(&partition->preemptor_uid, "uid-1");
}

static void preemption_release(struct preemption *p)
{
    map_release(&p->r.job_caches);
    job_cache_free(p->victim);
    job_cache_free(p->urgent);
    loop_free(p->r.loop);
}

TEST_F(preemption, p, who_waits_gets_the_ipus_of_who_agrees)
{
    CHECK_STR_EQ(reconciler_preemptor(&p->r, &p->record), "team/urgent");
    p->victim->is_preemptible = false;
    CHECK(!reconciler_preemptor(&p->r, &p->record));
}

TEST_F(preemption, p, who_is_served_elsewhere_gets_no_more)
{
    grant(p->urgent, 1);
    CHECK_STR_EQ(reconciler_preemptor(&p->r, &p->record), "team/urgent");
    grant(p->urgent, 2);
    CHECK(!reconciler_preemptor(&p->r, &p->record));
}

TEST_F(preemption, p, who_has_left_the_queue_gets_none)
{
    claim(p->urgent, "");
    CHECK(!reconciler_preemptor(&p->r, &p->record));
}

TEST_F(preemption, p, a_new_job_of_the_same_name_gets_none)
{
    struct job_cache *again = job_cache_get(&p->r, "team/urgent", "uid-2");

    claim(again, "0");
    map_remove(&p->r.job_caches, "uid-1");
    CHECK(!reconciler_preemptor(&p->r, &p->record));
    job_cache_free(again);
}

TEST_F(preemption, p, what_the_record_says_is_not_withdrawn)
{
    p->record.preemptor = of_record;
    p->victim->is_preemptible = false;
    claim(p->urgent, "");
    CHECK_STR_EQ(reconciler_preemptor(&p->r, &p->record), of_record);
}
