#include "operator/pool/partition_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"

enum { DIGEST_BYTES = 32 };

char *partition_key_derive(const char *secret, const char *id, const char *job_uid)
{
    AUTO(mem) char *text = mem_printf("%s/%s", job_uid, id); /* neither contains a slash */
    unsigned char digest[DIGEST_BYTES];
    struct str key = {0};
    unsigned len = sizeof(digest);

    if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)text, strlen(text), digest,
              &len))
        abort(); /* only without memory */
    str_add_hex(&key, digest, sizeof(digest));
    explicit_bzero(digest, sizeof(digest));
    return str_take(&key);
}
