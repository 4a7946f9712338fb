/* FNV-1a: the same in every process and version, for names, for what is kept, and to notice a change. Not
 * resistant to attacks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV32_BASIS UINT32_C(0x811c9dc5)
#define FNV64_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint32_t fnv32_add(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * UINT32_C(0x01000193);
}

static inline uint64_t fnv64_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x00000100000001b3);
}

static inline uint32_t fnv32_add_bytes(uint32_t hash, const void *bytes, size_t size)
{
    for (const uint8_t *at = bytes; size; at++, size--)
        hash = fnv32_add(hash, *at);
    return hash;
}

static inline uint64_t fnv64_add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (const uint8_t *at = bytes; size; at++, size--)
        hash = fnv64_add(hash, *at);
    return hash;
}
