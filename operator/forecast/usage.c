#include "operator/forecast/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MAX_S ((int64_t)10 * 365 * 86400)
#define IPU_S_MAX 1e15 /* whole numbers in a double */
#define LN_2 0.69314718055994531
#define HALVES_MAX 60 /* nothing is left then */

/* 2^-x of the part below a half-life is a series, because there is no mathematical library here. Its steps
 * add up: often a bit is as much as once all of it. */
static double part_left(const struct usage *usage, int64_t seconds)
{
    double left = 1, x, term = 1;
    int64_t halves;

    if (!usage->half_life_s || seconds <= 0)
        return 1;
    halves = seconds / usage->half_life_s;
    if (halves > HALVES_MAX)
        return 0;
    x = (double)(seconds % usage->half_life_s) / (double)usage->half_life_s * LN_2;
    for (int i = 1; i <= 10; i++) {
        term *= -x / i;
        left += term;
    }
    return left / (double)((uint64_t)1 << halves);
}

static int64_t since(const struct usage *usage, int64_t now_s)
{
    int64_t seconds;

    return __builtin_sub_overflow(now_s, usage->as_of_s, &seconds) ? 0 : seconds;
}

static void decay(struct usage *usage, int64_t now_s)
{
    double left = part_left(usage, since(usage, now_s));

    for (uint32_t i = 0; i < usage->count; i++)
        usage->accounts[i].ipu_s *= left;
    usage->as_of_s = now_s;
}

static const struct usage_account *find(const struct usage *usage, uint64_t ns)
{
    for (uint32_t i = 0; i < usage->count; i++) {
        if (usage->accounts[i].ns == ns)
            return &usage->accounts[i];
    }
    return NULL;
}

/* NULL: others have used more. */
static struct usage_account *open_account(struct usage *usage, uint64_t ns, double ipu_s)
{
    const struct usage_account *found = find(usage, ns);
    struct usage_account *least = &usage->accounts[0];

    if (found)
        return &usage->accounts[found - usage->accounts];
    if (usage->count < USAGE_NAMESPACES_MAX) {
        least = &usage->accounts[usage->count++];
    } else {
        for (uint32_t i = 1; i < usage->count; i++)
            least = usage->accounts[i].ipu_s < least->ipu_s ? &usage->accounts[i] : least;
        if (least->ipu_s >= ipu_s)
            return NULL;
    }
    *least = (struct usage_account){.ns = ns};
    return least;
}

void usage_note(struct usage *usage, const char *ns, uint32_t ipus, int64_t seconds, int64_t now_s)
{
    double ipu_s = (double)ipus * (double)seconds;
    struct usage_account *account;

    if (!usage->half_life_s || seconds < 0 || seconds > RUN_MAX_S)
        return;
    decay(usage, now_s);
    account = open_account(usage, str_hash(ns), ipu_s);
    if (account)
        account->ipu_s = account->ipu_s + ipu_s < IPU_S_MAX ? account->ipu_s + ipu_s : IPU_S_MAX;
}

static uint64_t left_of(const struct usage *usage, const struct usage_account *account, int64_t now_s)
{
    return (uint64_t)(account->ipu_s * part_left(usage, since(usage, now_s)));
}

uint64_t usage_of(const struct usage *usage, const char *ns, int64_t now_s)
{
    const struct usage_account *account = find(usage, str_hash(ns));

    return account ? left_of(usage, account, now_s) : 0;
}

uint64_t usage_total(const struct usage *usage, int64_t now_s)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < usage->count; i++)
        total += left_of(usage, &usage->accounts[i], now_s);
    return total;
}

void usage_write(const struct usage *usage, struct str *text)
{
    for (uint32_t i = 0; i < usage->count; i++)
        str_addf(text, "%" PRIx64 " %" PRIu64 "\n", usage->accounts[i].ns,
                 (uint64_t)usage->accounts[i].ipu_s);
}

static bool read_number(const char **at, int base, char end, uint64_t *ret)
{
    size_t len = strspn(*at, base == 16 ? "0123456789abcdef" : "0123456789");

    if (len == 0 || len > 16 || (*at)[len] != end)
        return false;
    *ret = strtoull(*at, NULL, base);
    *at += len + 1;
    return true;
}

static bool read_account(const char *at, struct usage_account *ret)
{
    uint64_t ipu_s;

    if (!read_number(&at, 16, ' ', &ret->ns) || !read_number(&at, 10, '\n', &ipu_s) ||
        ipu_s > (uint64_t)IPU_S_MAX)
        return false;
    ret->ipu_s = (double)ipu_s;
    return true;
}

size_t usage_read(struct usage *usage, const char *text, int64_t as_of_s)
{
    size_t left_out = 0, lines = 0;
    double left;

    if (usage->as_of_s < as_of_s)
        decay(usage, as_of_s);
    left = part_left(usage, usage->as_of_s - as_of_s);
    for (const char *end; *text; text = *end ? end + 1 : end) {
        struct usage_account read, *account;

        end = strchrnul(text, '\n');
        if (++lines > USAGE_NAMESPACES_MAX || !read_account(text, &read)) {
            left_out++;
            continue;
        }
        read.ipu_s *= left;
        account = open_account(usage, read.ns, read.ipu_s);
        if (account && account->ipu_s < read.ipu_s)
            account->ipu_s = read.ipu_s;
    }
    return left_out;
}
