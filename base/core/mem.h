/* Memory. Running out aborts the program with one line: the programs are crash-only and are restarted.
 * AUTO(kind) frees a variable at the end of its scope; TAKE returns its value and leaves NULL behind. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#define AUTO(kind) __attribute__((cleanup(kind##_auto)))

/* Lets AUTO(kind) call kind_release() on a struct of this name. */
#define DEFINE_AUTO(kind)                                                                                    \
    static inline void kind##_auto(struct kind *it)                                                          \
    {                                                                                                        \
        kind##_release(it);                                                                                  \
    }                                                                                                        \
    struct kind /* takes the semicolon */

/* Moves the value out of a pointer variable: `return TAKE(name);` */
#define TAKE(ptr)                                                                                            \
    __extension__({                                                                                          \
        __typeof__(ptr) taken_ = (ptr);                                                                      \
        (ptr) = NULL;                                                                                        \
        taken_;                                                                                              \
    })

#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void *mem_alloc(size_t size);                         /* zeroed */
void *mem_grow(void *old, size_t count, size_t size); /* realloc to count * size; checks the product */
void *mem_dup(const void *bytes, size_t size);        /* NULL for NULL */
char *mem_strdup(const char *text);                   /* NULL for NULL */
char *mem_strndup(const char *text, size_t len);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
void mem_free(void *ptr);         /* accepts NULL */
void mem_free_secret(char *text); /* a key: leaves no copy of it behind; accepts NULL */
void mem_trim(void); /* returns freed memory to the system: a burst must not hold it until the next start */
void mem_set_str(char **slot,
                 const char *value); /* frees the old value, duplicates the new one (may be NULL) */

#define NEW(type) ((type *)mem_alloc(sizeof(type)))

static inline void mem_auto(void *slot)
{
    free(*(void **)slot);
}

/* Closes a descriptor that is still >= 0 when the scope ends: AUTO(fd) int fd = -1; */
void fd_auto(int *fd);
