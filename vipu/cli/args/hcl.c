#include "vipu/cli/args/hcl.h"

#include <string.h>

struct reader {
    const char *at, *end;
    unsigned line;
    const char *name;
    struct strv *problems;
};

static bool complain(struct reader *r, const char *what)
{
    strv_pushf(r->problems, "%s: line %u: %s", r->name, r->line, what);
    return false;
}

static bool looks_at(const struct reader *r, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

static void skip_line(struct reader *r)
{
    while (r->at < r->end && *r->at != '\n')
        r->at++;
}

static bool skip_long_comment(struct reader *r)
{
    for (r->at += 2; r->at < r->end; r->at++) {
        if (looks_at(r, "*/")) {
            r->at += 2;
            return true;
        }
        r->line += *r->at == '\n';
    }
    return complain(r, "unterminated comment");
}

/* Whitespace and comments; newlines too if `lines`. */
static bool skip(struct reader *r, bool lines)
{
    while (r->at < r->end) {
        if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
            r->at++;
        } else if (*r->at == '\n' && lines) {
            r->line++;
            r->at++;
        } else if (*r->at == '#' || looks_at(r, "//")) {
            skip_line(r);
        } else if (looks_at(r, "/*")) {
            if (!skip_long_comment(r))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool word(struct reader *r, struct str *out)
{
    while (r->at < r->end && is_word(*r->at))
        str_addc(out, *r->at++);
    return out->len > 0;
}

/* What may stand without quotes; another word is the name of something that HCL would look up. */
static bool bare_value(struct reader *r, struct str *out)
{
    const char *text;

    if (!word(r, out))
        return false;
    text = str_text(out);
    return text[strspn(text, "0123456789")] == '\0' || str_eq(text, "true") || str_eq(text, "false");
}

static bool escape(struct reader *r, struct str *out)
{
    static const char from[] = "\"\\nrt", to[] = "\"\\\n\r\t";
    const char *found = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;

    if (!found)
        return complain(r, "invalid escape sequence, expected one of \\\", \\\\, \\n, \\r and \\t");
    str_addc(out, to[found - from]);
    r->at++;
    return true;
}

static bool quoted(struct reader *r, struct str *out)
{
    for (r->at++; r->at < r->end && *r->at != '\n'; r->at++) {
        if (*r->at == '"') {
            r->at++;
            return true;
        }
        if (looks_at(r, "${"))
            return complain(r, "expressions in strings are not supported");
        if (*r->at == '\0')
            return complain(r, "a string must not contain a zero byte");
        if (*r->at != '\\') {
            str_addc(out, *r->at);
            continue;
        }
        r->at++;
        if (!escape(r, out))
            return false;
        r->at--;
    }
    return complain(r, "unterminated string");
}

static bool setting(struct reader *r, hcl_fn fn, void *ctx, struct str *key, struct str *value)
{
    unsigned line = r->line;

    if (!word(r, key))
        return complain(r, "expected key = \"value\"");
    if (!skip(r, false))
        return false;
    if (r->at == r->end || *r->at != '=')
        return complain(r, "expected \"=\" after the key");
    r->at++;
    if (!skip(r, false))
        return false;
    if (r->at < r->end && *r->at == '"') {
        if (!quoted(r, value))
            return false;
    } else if (!bare_value(r, value)) {
        return complain(r, "expected a quoted string, a number, true or false");
    }
    if (!skip(r, false))
        return false;
    if (r->at < r->end && *r->at != '\n')
        return complain(r, "unexpected text after the value");
    fn(ctx, str_text(key), str_text(value), line);
    return true;
}

bool hcl_parse(struct slice text, const char *name, hcl_fn fn, void *ctx, struct strv *problems)
{
    struct reader r = {text.ptr, text.ptr ? text.ptr + text.len : NULL, 1, name, problems};
    struct str key = {0}, value = {0};
    size_t before = problems->count;

    while (skip(&r, true) && r.at < r.end) {
        str_clear(&key);
        str_clear(&value);
        if (!setting(&r, fn, ctx, &key, &value))
            skip_line(&r);
    }
    str_release(&key);
    str_release(&value);
    return problems->count == before;
}
