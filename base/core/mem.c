#include "base/core/mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* write() and not stdio: the stream may need memory itself. */
static _Noreturn void out_of_memory(void)
{
    static const char line[] = "out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);

    (void)ignored;
    abort();
}

static void *must(void *ptr)
{
    if (!ptr)
        out_of_memory();
    return ptr;
}

void *mem_alloc(size_t size)
{
    return must(calloc(1, size ? size : 1));
}

void *mem_grow(void *old, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total) || total > PTRDIFF_MAX)
        out_of_memory();
    return must(realloc(old, total ? total : 1));
}

void *mem_dup(const void *bytes, size_t size)
{
    if (!bytes)
        return NULL;
    return memcpy(mem_grow(NULL, size, 1), bytes, size);
}

char *mem_strdup(const char *text)
{
    return text ? mem_dup(text, strlen(text) + 1) : NULL;
}

char *mem_strndup(const char *text, size_t len)
{
    size_t used = strnlen(text, len);
    char *copy = mem_grow(NULL, used + 1, 1);

    memcpy(copy, text, used);
    copy[used] = '\0';
    return copy;
}

char *mem_vprintf(const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    if (len < 0) /* a text over INT_MAX bytes: certainly a bug */
        out_of_memory();
    char *text = mem_grow(NULL, (size_t)len + 1, 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

char *mem_printf(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = mem_vprintf(fmt, args);
    va_end(args);
    return text;
}

void mem_free(void *ptr)
{
    free(ptr);
}

void mem_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void mem_trim(void)
{
    (void)malloc_trim(0);
}

void mem_set_str(char **slot, const char *value)
{
    char *copy = mem_strdup(value); /* before the free: value may point into *slot */

    free(*slot);
    *slot = copy;
}

void fd_auto(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    errno = saved;
}
