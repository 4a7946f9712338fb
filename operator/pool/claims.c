#include "operator/pool/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/model/shape.h"

/* What looking ahead changes about a controller. */
struct outlook {
    struct vipu_pool_view left; /* room after the grants so far */
    const struct claim *head;   /* the first that could use it and has to wait; nothing passes it */
    uint32_t behind;            /* claims that wait behind the head */
};

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    int order;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->created_s != y->created_s)
        return x->created_s < y->created_s ? -1 : 1;
    if (x->arrival != y->arrival)
        return x->arrival < y->arrival ? -1 : 1;
    order = strcmp(x->uid, y->uid);
    if (order)
        return order;
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static bool is_eligible(const struct claim *claim, size_t controller)
{
    return !claim->eligible || claim->eligible[controller];
}

static bool size_is_known(const struct claims_controller *c)
{
    return c->pool->total_ipus > 0;
}

static bool could_ever_hold(const struct claims_controller *c, uint32_t size)
{
    return !c->is_known || !size_is_known(c) || vipu_pool_could_fit(c->pool, size);
}

/* A controller that does not tell its size is asked; its answer decides. */
static bool take(const struct claims_controller *c, struct outlook *outlook, uint32_t size)
{
    return !size_is_known(c) || vipu_pool_reserve(&outlook->left, size);
}

/* ---- the decision ---- */

static bool try_grant(const struct claim *claim, const struct claims_controller *controllers, size_t count,
                      struct outlook *outlooks, struct claim_verdict *verdict)
{
    for (size_t i = 0; i < count; i++) {
        const struct claims_controller *c = &controllers[i];

        if (!is_eligible(claim, i) || !c->is_known || !c->has_nodes || outlooks[i].head)
            continue;
        if (!could_ever_hold(c, claim->size) || !take(c, &outlooks[i], claim->size))
            continue;
        *verdict = (struct claim_verdict){.controller = claim->is_ready ? (int)i : -1};
        return true;
    }
    return false;
}

static void enqueue_claim(const struct claim *claim, const struct claims_controller *c,
                          const struct outlook *outlook, struct claim_verdict *verdict)
{
    bool is_head = outlook->head == claim;

    verdict->place = is_head ? 1 : outlook->behind + 1;
    verdict->first = outlook->head->job;
    if (verdict->place > CLAIMS_PLACES) {
        verdict->why = CLAIM_IS_FAR_BEHIND;
        return;
    }
    verdict->why = is_head ? CLAIM_IS_FIRST : CLAIM_IS_BEHIND;
    verdict->free_ipus = outlook->left.free_ipus;
    verdict->granted_ipus = c->pool->free_ipus - outlook->left.free_ipus;
    verdict->fitting = vipu_pool_fit_count(&outlook->left, claim->size);
}

/* It waits: it stands at the head of every controller that could serve it, or behind who stands there
 * already. The controller that is nearest to serving it explains the wait. */
static void make_wait(const struct claim *claim, const struct claims_controller *controllers, size_t count,
                      struct outlook *outlooks, struct claim_verdict *verdict)
{
    int down = -1, bare = -1, full = -1;
    bool unasked = false, is_anybodys = false;

    for (size_t i = 0; i < count; i++) {
        is_anybodys = is_anybodys || is_eligible(claim, i);
        if (!is_eligible(claim, i) || !could_ever_hold(&controllers[i], claim->size))
            continue;
        if (!controllers[i].is_known) {
            unasked = unasked || !controllers[i].trouble;
            down = (int)i;
        } else if (!controllers[i].has_nodes) {
            bare = (int)i;
        } else {
            if (outlooks[i].head)
                outlooks[i].behind++;
            else
                outlooks[i].head = claim;
            if (full < 0 || (outlooks[full].head != claim && outlooks[i].head == claim))
                full = (int)i;
        }
    }
    *verdict = (struct claim_verdict){.controller = -1};
    if (!claim->is_ready || (full >= 0 && !outlooks[full].head->is_ready))
        return; /* who is being judged now may leave the line within milliseconds */
    if (unasked)
        return; /* after a start; what the status says stands until the controller has answered */
    verdict->about = (size_t)(full >= 0 ? full : bare >= 0 ? bare : down >= 0 ? down : 0);
    if (full >= 0)
        enqueue_claim(claim, &controllers[full], &outlooks[full], verdict);
    else if (bare >= 0)
        verdict->why = CLAIM_HAS_NO_NODES;
    else if (down >= 0)
        verdict->why = CLAIM_CONTROLLER_UNAVAILABLE;
    else
        verdict->why = is_anybodys ? CLAIM_IS_TOO_LARGE : CLAIM_NO_MATCHING_CONTROLLER;
}

void claims_decide(struct claim *claims, size_t count, const struct claims_controller *controllers,
                   size_t controller_count, struct claim_verdict *verdicts)
{
    AUTO(mem) struct outlook *outlooks = mem_alloc((controller_count + 1) * sizeof(*outlooks));

    if (count > 1)
        qsort(claims, count, sizeof(*claims), compare_claims);
    for (size_t i = 0; i < controller_count; i++)
        outlooks[i].left = vipu_pool_view_copy(controllers[i].pool);
    for (size_t i = 0; i < count; i++) {
        if (!try_grant(&claims[i], controllers, controller_count, outlooks, &verdicts[i]))
            make_wait(&claims[i], controllers, controller_count, outlooks, &verdicts[i]);
    }
    for (size_t i = 0; i < controller_count; i++)
        vipu_pool_view_release(&outlooks[i].left);
}

/* ---- in words ---- */

void claim_wait_release(struct claim_wait *wait)
{
    mem_free(wait->text);
    mem_free(wait->controller);
    strv_release(&wait->blockers);
    *wait = (struct claim_wait){0};
}

/* One without a label serves every job. */
static void say_other_nodes(const struct claims_controller *c, struct str *text)
{
    str_addf(text, " %s serves nodes with the label %s", c->name, c->node_label);
}

/* Its nodeSelector and every controller's label exclude each other. */
static void say_nobody_there(const struct claims_controller *controllers, size_t count, struct str *text)
{
    if (count == 0) {
        str_adds(text, "No V-IPU controller is configured (chart value global.vipuControllers)");
        return;
    }
    str_adds(text, "No V-IPU controller serves the nodes that the job's nodeSelector asks for:");
    for (size_t i = 0; i < count; i++) {
        str_adds(text, i ? "," : "");
        say_other_nodes(&controllers[i], text);
    }
}

/* IPUs of domains and clusters that no partition joins are more than the largest one has. */
static void say_what_it_has(const struct claims_controller *c, struct str *text)
{
    uint32_t largest = vipu_pool_capacity(c->pool);

    str_addf(text, " %s has %u", c->name, c->pool->total_ipus);
    if (largest < c->pool->total_ipus)
        str_addf(text, ", in partitions of at most %u", largest);
}

static void say_too_large(const struct claim *claim, const struct claims_controller *controllers,
                          size_t count, struct str *text)
{
    str_addf(text, "No V-IPU controller can ever give %u IPUs to one instance:", claim->size);
    if (!vipu_is_power_of_two(claim->size)) {
        str_adds(text, " a partition has a power of two");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        str_adds(text, i ? "," : "");
        if (is_eligible(claim, i))
            say_what_it_has(&controllers[i], text);
        else
            say_other_nodes(&controllers[i], text);
    }
}

static void say_no_nodes(const struct claims_controller *c, struct str *text)
{
    str_addf(text,
             "No node carries the label %s, which marks the nodes of V-IPU controller %s; "
             "set it with: kubectl label node NODE %s",
             c->node_label, c->name, c->node_label);
}

static void say_unavailable(const struct claims_controller *c, struct str *text)
{
    str_addf(text, "V-IPU controller %s is not available%s%s: %s", c->name, c->trouble_since ? " " : "",
             c->trouble_since ? c->trouble_since : "", c->trouble);
}

static const char *holder_name(const struct claims_holder *holder)
{
    return holder->job ? holder->job : holder->partition;
}

static void name_holder(const struct claims_holder *holder, struct str *list)
{
    str_addf(list, "%s%s%s (%u)%s", list->len ? ", " : "", holder->job ? "" : "partition ",
             holder_name(holder), holder->size, holder->job ? "" : ", which is not the operator's");
}

static void say_holders(const struct claims_controller *c, struct claim_wait *wait, struct str *text)
{
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < c->holder_count && i < CLAIMS_BLOCKERS; i++) {
        name_holder(&c->holders[i], &names);
        strv_push(&wait->blockers, holder_name(&c->holders[i]));
    }
    if (c->holder_count)
        str_addf(text, "; held by %s", str_text(&names));
    if (c->holder_count > CLAIMS_BLOCKERS)
        str_addf(text, " and %zu more", c->holder_count - CLAIMS_BLOCKERS);
}

static void say_far_behind(const struct claim *claim, const struct claims_controller *c, struct str *text)
{
    str_addf(
        text,
        "Waiting for %u IPUs: %d or more stand before it in the line for V-IPU controller %s; the operator's "
        "/queue shows all of it",
        claim->size, CLAIMS_PLACES, c->name);
}

static void say_no_room(const struct claim *claim, const struct claims_controller *c,
                        const struct claim_verdict *verdict, struct claim_wait *wait, struct str *text)
{
    bool is_first = verdict->why == CLAIM_IS_FIRST;

    wait->free_ipus = verdict->free_ipus;
    wait->total_ipus = c->pool->total_ipus;
    wait->fitting = verdict->fitting;
    str_addf(
        text,
        "Waiting for %u IPUs: V-IPU controller %s has %u of %u free, and %u partition(s) of %u would fit",
        claim->size, c->name, wait->free_ipus, wait->total_ipus, wait->fitting, claim->size);
    if (is_first)
        say_holders(c, wait, text);
    if (verdict->granted_ipus) /* they have no record yet that would name them as holders */
        str_addf(text, "; %u have just been granted to jobs before it", verdict->granted_ipus);
    if (!is_first) {
        str_addf(text, "; %s is first in line, %u ahead", verdict->first, verdict->place - 1);
        strv_push(&wait->blockers, verdict->first);
    }
}

static void say_where(const struct claims_controller *c, const struct claim_verdict *verdict,
                      struct claim_wait *wait)
{
    wait->reason = verdict->why == CLAIM_IS_FIRST ? "InsufficientIPUs" : "Queued";
    wait->controller = mem_strdup(c->name);
    wait->place = verdict->place;
}

bool claims_report_is_current(const struct claim *claim, const struct claim_verdict *verdict,
                              const struct claims_controller *controllers, const struct claim_wait *told)
{
    return verdict->why == CLAIM_IS_FAR_BEHIND && told->place > CLAIMS_PLACES && told->size == claim->size &&
           str_eq(told->controller, controllers[verdict->about].name);
}

void claims_explain(const struct claim *claim, const struct claim_verdict *verdict,
                    const struct claims_controller *controllers, size_t controller_count,
                    struct claim_wait *ret)
{
    const struct claims_controller *c = &controllers[verdict->about];
    struct str text = {0};

    *ret = (struct claim_wait){.size = claim->size};
    switch (verdict->why) {
    case CLAIM_NOTHING_TO_REPORT:
        return;
    case CLAIM_IS_FIRST:
    case CLAIM_IS_BEHIND:
        say_where(c, verdict, ret);
        say_no_room(claim, c, verdict, ret, &text);
        break;
    case CLAIM_IS_FAR_BEHIND:
        say_where(c, verdict, ret);
        say_far_behind(claim, c, &text);
        break;
    case CLAIM_HAS_NO_NODES:
        ret->reason = "NoNodes";
        say_no_nodes(c, &text);
        break;
    case CLAIM_CONTROLLER_UNAVAILABLE:
        ret->reason = "ControllerUnavailable";
        say_unavailable(c, &text);
        break;
    case CLAIM_IS_TOO_LARGE:
        ret->reason = "ExceedsCapacity";
        say_too_large(claim, controllers, controller_count, &text);
        break;
    case CLAIM_NO_MATCHING_CONTROLLER:
        ret->reason = "NoController";
        say_nobody_there(controllers, controller_count, &text);
        break;
    }
    ret->text = str_take(&text);
}
