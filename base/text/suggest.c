#include "base/text/suggest.h"

#include <stdint.h>
#include <string.h>

#define MAX_LEN 40u /* no known word is longer */

struct suggest suggest_init(const char *word)
{
    return (struct suggest){.word = word, .distance = SIZE_MAX};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: each swap of neighbours counts once, and no letter is edited twice. */
static size_t distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[MAX_LEN + 1][MAX_LEN + 1];

    for (size_t i = 0; i <= a_len; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            rows[i][j] = least(replaced, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows[a_len][b_len];
}

void suggest_candidate(struct suggest *suggest, const char *known)
{
    size_t len = strlen(suggest->word), known_len = strlen(known);
    size_t distance;

    if (len == 0 || len > MAX_LEN || known_len > MAX_LEN)
        return;
    distance = distance_of(suggest->word, len, known, known_len);
    /* The start of a word is a good guess, however much of it is missing. */
    if (len >= 3 && known_len > len && strncmp(suggest->word, known, len) == 0)
        distance = 1;
    if (distance <= (len < 3 ? 1 : 1 + len / 4) && distance < len && distance < suggest->distance) {
        suggest->best = known;
        suggest->distance = distance;
    }
}

const char *suggest_best(const struct suggest *suggest)
{
    return suggest->best;
}
