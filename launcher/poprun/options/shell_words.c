#include "launcher/poprun/options/shell_words.h"

#include <string.h>

#include "base/core/mem.h"

static const char space[] = " \t\r\n\v\f";

static bool is_space(char c)
{
    return c && strchr(space, c);
}

/* Advances from the opening quote at *text to behind the closing one. */
static bool take_quoted(const char **text, struct str *word)
{
    char quote = **text;
    const char *at = *text + 1;

    for (; *at && *at != quote; at++) {
        if (quote == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
            at++;
        (void)str_addc(word, *at);
    }
    if (!*at)
        return false;
    *text = at + 1;
    return true;
}

static bool take_word(const char **text, struct str *word)
{
    char before = '=';

    while (**text && !is_space(**text)) {
        const char *at = *text;

        if ((*at == '\'' || *at == '"') && before == '=') {
            if (!take_quoted(text, word))
                return false;
            before = *at;
            continue;
        }
        if (*at == '\\' && (is_space(at[1]) || at[1] == '\'' || at[1] == '"'))
            at++;
        (void)str_addc(word, *at);
        before = *at;
        *text = at + 1;
    }
    return true;
}

bool shell_words_split(const char *text, struct strv *words, struct err *err)
{
    AUTO(strv) struct strv found = {0};

    for (text += strspn(text, space); *text; text += strspn(text, space)) {
        AUTO(str) struct str word = {0};
        const char *start = text;

        if (!take_word(&text, &word))
            return err_set(err, ERR_INVALID, "unclosed quotes in: %.120s", start);
        strv_push(&found, str_text(&word));
    }
    for (size_t i = 0; i < found.count; i++)
        strv_push(words, found.items[i]);
    return true;
}

void shell_words_join_quoted(const struct strv *words, struct str *out)
{
    for (size_t i = 0; i < words->count; i++) {
        if (i == 0) {
            (void)str_adds(out, words->items[i]);
            continue;
        }
        (void)str_adds(out, " '");
        for (const char *at = words->items[i]; *at; at++)
            (void)(*at == '\'' ? str_adds(out, "'\\''") : str_addc(out, *at));
        (void)str_addc(out, '\'');
    }
}

const char *shell_words_exported(const struct strv *words, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;

    for (size_t i = 1; i < words->count; i++) {
        const char *word = words->items[i];

        if (strcmp(words->items[i - 1], "-x") != 0 || strncmp(word, name, len) != 0)
            continue;
        if (word[len] == '=' || word[len] == '\0')
            found = word[len] ? word + len + 1 : "";
    }
    return found;
}

bool shell_words_have_option(const struct strv *words, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < words->count; i++) {
        size_t dashes = strspn(words->items[i], "-");
        const char *word = words->items[i] + dashes;

        if (dashes && strncmp(word, name, len) == 0 && (word[len] == '\0' || word[len] == '='))
            return true;
    }
    return false;
}
