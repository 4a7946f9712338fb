#include "operator/pool/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

/* What looking ahead changes about a controller. */
struct outlook {
    struct vipu_pool_view left; /* room after the grants so far */
    const struct claim *head;   /* the first that could use it and has to wait; nothing passes it */
    uint32_t behind;            /* claims that wait behind the head */
};

static int by_turn(const void *a, const void *b)
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
    return !size_is_known(c) || vipu_pool_take(&outlook->left, size);
}

/* ---- why not ---- */

void claim_wait_release(struct claim_wait *wait)
{
    mem_free(wait->text);
    mem_free(wait->controller);
    strv_release(&wait->blockers);
    *wait = (struct claim_wait){0};
}

static void wait(struct claim_verdict *verdict, const char *reason, struct str *text)
{
    verdict->controller = -1;
    verdict->wait.reason = reason;
    verdict->wait.text = str_take(text);
}

static void say_nobody(const struct claim *claim, const struct claims_controller *controllers, size_t count,
                       struct claim_verdict *verdict)
{
    struct str text = {0};

    if (count == 0) {
        str_adds(&text, "No V-IPU controller is configured (chart value global.vipuControllers)");
        wait(verdict, "NoController", &text);
        return;
    }
    str_addf(&text, "No V-IPU controller can ever give %u IPUs to one instance:", claim->size);
    for (size_t i = 0; i < count; i++) {
        if (is_eligible(claim, i))
            str_addf(&text, "%s %s has %u", i ? "," : "", controllers[i].name,
                     controllers[i].pool->total_ipus);
        else
            str_addf(&text, "%s %s serves other nodes than the job's nodeSelector", i ? "," : "",
                     controllers[i].name);
    }
    wait(verdict, "ExceedsCapacity", &text);
}

static void say_no_nodes(const struct claims_controller *c, struct claim_verdict *verdict)
{
    struct str text = {0};

    str_addf(&text,
             "No node carries the label %s, which marks the nodes of V-IPU controller %s; "
             "set it with: kubectl label node NODE %s",
             c->node_label, c->name, c->node_label);
    wait(verdict, "NoNodes", &text);
}

static void say_unavailable(const struct claims_controller *c, struct claim_verdict *verdict)
{
    struct str text = {0};

    str_addf(&text, "V-IPU controller %s is not available%s%s: %s", c->name, c->trouble_since ? " " : "",
             c->trouble_since ? c->trouble_since : "", c->trouble);
    wait(verdict, "ControllerUnavailable", &text);
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

static bool is_among(const struct claims_holder *holder, const size_t *blocking, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (holder->listed == blocking[i])
            return true;
    }
    return false;
}

/* Whose end would make room for the head: the cheapest set, or everybody when that cannot be told. */
static void say_holders(const struct claim *claim, const struct claims_controller *c, struct claim_wait *wait,
                        struct str *text)
{
    size_t listed = c->listed ? c->listed->count : 0, shown = 0, left_out = 0;
    AUTO(mem) size_t *blocking = mem_alloc((listed + 1) * sizeof(*blocking));
    size_t count = listed ? vipu_pool_blockers(c->pool, c->listed, claim->size, blocking) : 0;
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < c->holder_count; i++) {
        if (count && !is_among(&c->holders[i], blocking, count))
            continue;
        if (shown == CLAIMS_BLOCKERS) {
            left_out++;
            continue;
        }
        name_holder(&c->holders[i], &names);
        strv_push(&wait->blockers, holder_name(&c->holders[i]));
        shown++;
    }
    if (shown)
        str_addf(text, "; held by %s", str_text(&names));
    if (left_out)
        str_addf(text, " and %zu more", left_out);
}

static void say_far_behind(const struct claim *claim, const struct claims_controller *c,
                           struct claim_verdict *verdict)
{
    struct str text = {0};

    str_addf(
        &text,
        "Waiting for %u IPUs: %d or more stand before it in the line for V-IPU controller %s; the operator's "
        "/queue shows all of it",
        claim->size, CLAIMS_PLACES, c->name);
    wait(verdict, "Queued", &text);
}

static void say_no_room(const struct claim *claim, const struct claims_controller *c,
                        const struct outlook *outlook, struct claim_verdict *verdict)
{
    struct str text = {0};
    struct claim_wait *told = &verdict->wait;
    bool is_head = outlook->head == claim;
    uint32_t granted = c->pool->free_ipus - outlook->left.free_ipus;

    told->controller = mem_strdup(c->name);
    told->place = is_head ? 1 : outlook->behind + 1;
    if (told->place > CLAIMS_PLACES) {
        say_far_behind(claim, c, verdict);
        return;
    }
    told->free_ipus = outlook->left.free_ipus;
    told->total_ipus = c->pool->total_ipus;
    told->fitting = vipu_pool_fit_count(&outlook->left, claim->size);
    str_addf(
        &text,
        "Waiting for %u IPUs: V-IPU controller %s has %u of %u free, and %u partition(s) of %u would fit",
        claim->size, c->name, told->free_ipus, told->total_ipus, told->fitting, claim->size);
    if (is_head)
        say_holders(claim, c, told, &text);
    if (granted) /* they have no record yet that would name them as holders */
        str_addf(&text, "; %u have just been granted to jobs before it", granted);
    if (!is_head) {
        str_addf(&text, "; %s is first in line, %u ahead", outlook->head->job, outlook->behind);
        strv_push(&told->blockers, outlook->head->job);
    }
    wait(verdict, is_head ? "InsufficientIPUs" : "Queued", &text);
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

/* It waits: it stands at the head of every controller that could serve it, or behind who stands there
 * already. The controller that is nearest to serving it explains the wait. */
static void make_wait(const struct claim *claim, const struct claims_controller *controllers, size_t count,
                      struct outlook *outlooks, struct claim_verdict *verdict)
{
    int down = -1, bare = -1, full = -1;
    bool unasked = false;

    for (size_t i = 0; i < count; i++) {
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
    if (full >= 0)
        say_no_room(claim, &controllers[full], &outlooks[full], verdict);
    else if (bare >= 0)
        say_no_nodes(&controllers[bare], verdict);
    else if (down >= 0)
        say_unavailable(&controllers[down], verdict);
    else
        say_nobody(claim, controllers, count, verdict);
}

void claims_decide(struct claim *claims, size_t count, const struct claims_controller *controllers,
                   size_t controller_count, struct claim_verdict *verdicts)
{
    AUTO(mem) struct outlook *outlooks = mem_alloc((controller_count + 1) * sizeof(*outlooks));

    if (count > 1)
        qsort(claims, count, sizeof(*claims), by_turn);
    for (size_t i = 0; i < controller_count; i++)
        outlooks[i].left = vipu_pool_view_copy(controllers[i].pool);
    for (size_t i = 0; i < count; i++) {
        if (!try_grant(&claims[i], controllers, controller_count, outlooks, &verdicts[i]))
            make_wait(&claims[i], controllers, controller_count, outlooks, &verdicts[i]);
    }
    for (size_t i = 0; i < controller_count; i++)
        vipu_pool_view_release(&outlooks[i].left);
}
