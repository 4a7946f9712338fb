/* The face of our unit tests over cmocka. A test registers itself:
 *
 *     TEST(a_line_over_the_cap_is_rejected) { CHECK_ERR(lines_push(&l, "abc", 3, &err), err, ERR_INVALID); }
 *
 * main() lives in check.c. A failed check prints file, line, both sides and the table row, and ends its test.
 * After each test the open descriptors are counted: a test that leaks one (twice in a row, see check.c)
 * fails. Tests wait for conditions, never for times; ctest ends one that hangs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

typedef void (*check_fn)(void);

struct check_case {
    const char *name;
    check_fn fn;
    struct check_case *next;
};

struct check_at {
    const char *file;
    int line;
};

#define CHECK_AT ((struct check_at){__FILE__, __LINE__})

#define TEST(name)                                                                                           \
    static void name(void);                                                                                  \
    __attribute__((constructor)) static void register_##name(void)                                           \
    {                                                                                                        \
        static struct check_case self = {#name, name, NULL};                                                 \
        check_register(&self);                                                                               \
    }                                                                                                        \
    static void name(void)

/* A test with a fixture: a struct KIND that KIND_init() fills before the test and KIND_release() empties
 * after it.
 *
 *     TEST_F(world, w, an_event_moves_the_position) { event(w, ADDED("11")); } */
#define TEST_F(kind, var, name)                                                                              \
    static void name##_with(struct kind *var);                                                               \
    TEST(name)                                                                                               \
    {                                                                                                        \
        struct kind fixture;                                                                                 \
        kind##_init(&fixture);                                                                               \
        name##_with(&fixture);                                                                               \
        kind##_release(&fixture);                                                                            \
    }                                                                                                        \
    static void name##_with(struct kind *var)

/* for each row of an array: CHECK_ROWS(row, rows) { CHECK_INT_EQ(row->got, row->want); } */
#define CHECK_ROWS(row, rows)                                                                                \
    for (const __typeof__((rows)[0]) *row = (rows);                                                          \
         check_row(#rows, (size_t)(row - (rows)), sizeof(rows) / sizeof((rows)[0])); row++)

#define CHECK(condition) check_true(CHECK_AT, (condition), #condition)
#define CHECK_INT_EQ(got, want) check_int_eq(CHECK_AT, #got, (intmax_t)(got), (intmax_t)(want))
#define CHECK_STR_EQ(got, want) check_str_eq(CHECK_AT, #got, (got), (want)) /* NULL equals NULL */
#define CHECK_SLICE_EQ(got, want) check_slice_eq(CHECK_AT, #got, (got), (want))
#define CHECK_HAS(text, part) check_has(CHECK_AT, #text, (text), (part)) /* part occurs in text */
/* `call` is a call that returns success and fills the struct err variable `err`. */
#define CHECK_OK(call, err) check_ok(CHECK_AT, (call), #call, &(err))
#define CHECK_ERR(call, err, wanted_kind) check_err(CHECK_AT, (call), #call, &(err), (wanted_kind))
#define CHECK_FAIL(...) check_fail(CHECK_AT, __VA_ARGS__)
/* The statement ends the process by abort(); it runs in a child. */
#define CHECK_ABORTS(statement)                                                                              \
    do {                                                                                                     \
        if (check_fork()) {                                                                                  \
            statement;                                                                                       \
            check_child_survived();                                                                          \
        }                                                                                                    \
        check_child_aborted(CHECK_AT, #statement);                                                           \
    } while (0)

void check_register(struct check_case *self);
bool check_row(const char *rows, size_t index, size_t count);
void check_true(struct check_at at, bool condition, const char *text);
void check_int_eq(struct check_at at, const char *text, intmax_t got, intmax_t want);
void check_str_eq(struct check_at at, const char *text, const char *got, const char *want);
void check_slice_eq(struct check_at at, const char *text, struct slice got, const char *want);
void check_has(struct check_at at, const char *text, const char *got, const char *part);
void check_ok(struct check_at at, bool good, const char *text, const struct err *err);
void check_err(struct check_at at, bool good, const char *text, const struct err *err, enum err_kind kind);
_Noreturn void check_fail(struct check_at at, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool check_fork(void);
_Noreturn void check_child_survived(void);
void check_child_aborted(struct check_at at, const char *text);

/* A new directory, removed with all it holds when the process ends. Borrowed. */
const char *check_tmpdir(void);
