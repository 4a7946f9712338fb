#include <string.h>

#include "base/http/http_client.h"

void http_add_escaped(struct str *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text; text++) {
        if (strchr(plain, *text))
            (void)str_addc(out, *text);
        else
            (void)str_addf(out, "%%%02X", (unsigned char)*text);
    }
}
