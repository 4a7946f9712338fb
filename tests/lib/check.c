#include "lib/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct check_case *cases;
static size_t case_count;

static const char *row_table; /* of the row that is being checked, or NULL */
static size_t row_index;

static pid_t child;
static char *tmpdir;

void check_register(struct check_case *self)
{
    struct check_case **end = &cases;

    while (*end)
        end = &(*end)->next;
    *end = self;
    case_count++;
}

bool check_row(const char *rows, size_t index, size_t count)
{
    row_table = index < count ? rows : NULL;
    row_index = index;
    return index < count;
}

_Noreturn void check_fail(struct check_at at, const char *fmt, ...)
{
    char text[4096];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (row_table)
        print_error("%s[%zu]: ", row_table, row_index);
    print_error("%s\n", text);
    row_table = NULL;
    _fail(at.file, at.line);
    abort(); /* _fail jumps out of the test */
}

void check_true(struct check_at at, bool condition, const char *text)
{
    if (!condition)
        check_fail(at, "not so: %s", text);
}

void check_int_eq(struct check_at at, const char *text, intmax_t got, intmax_t want)
{
    if (got != want)
        check_fail(at, "%s is %jd, not %jd", text, got, want);
}

static const char *shown(const char *text)
{
    return text ? text : "(NULL)";
}

void check_str_eq(struct check_at at, const char *text, const char *got, const char *want)
{
    if (!str_eq(got, want))
        check_fail(at, "%s\n  is:     %s\n  not:    %s", text, shown(got), shown(want));
}

void check_slice_eq(struct check_at at, const char *text, struct slice got, const char *want)
{
    if (!slice_eq(got, want))
        check_fail(at, "%s\n  is:     %.*s\n  not:    %s", text, (int)got.len, got.ptr ? got.ptr : "", want);
}

void check_has(struct check_at at, const char *text, const char *got, const char *part)
{
    if (!got || !strstr(got, part))
        check_fail(at, "%s\n  is:     %s\n  without: %s", text, shown(got), part);
}

void check_ok(struct check_at at, bool good, const char *text, const struct err *err)
{
    if (!good)
        check_fail(at, "%s\n  failed: %s (%s, code %d)", text, err->msg, err_kind_name(err->kind), err->code);
}

void check_err(struct check_at at, bool good, const char *text, const struct err *err, enum err_kind kind)
{
    if (good)
        check_fail(at, "%s\n  succeeded, should fail with: %s", text, err_kind_name(kind));
    if (err->kind != kind)
        check_fail(at, "%s\n  failed with: %s (%s)\n  not with: %s", text, err_kind_name(err->kind), err->msg,
                   err_kind_name(kind));
    if (!err->msg[0] || strchr(err->msg, '\n'))
        check_fail(at, "%s\n  has a message that is not one line: \"%s\"", text, err->msg);
}

bool check_fork(void)
{
    (void)fflush(NULL);
    child = fork();
    if (child != 0)
        return false;
    struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)dup2(null, STDERR_FILENO);
    return true;
}

_Noreturn void check_child_survived(void)
{
    _exit(0);
}

void check_child_aborted(struct check_at at, const char *text)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child)
        check_fail(at, "no child process for: %s", text);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        check_fail(at, "did not abort: %s", text);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tmpdir(void)
{
    (void)nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(tmpdir);
}

const char *check_tmpdir(void)
{
    if (tmpdir)
        return tmpdir;
    const char *parent = getenv("TMPDIR");
    if (asprintf(&tmpdir, "%s/check.XXXXXX", parent ? parent : "/tmp") < 0 || !mkdtemp(tmpdir))
        abort();
    (void)atexit(remove_tmpdir);
    return tmpdir;
}

static intmax_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    intmax_t count = 0;

    if (!dir)
        abort();
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static intmax_t leak_of(const struct check_case *self)
{
    intmax_t before = count_descriptors();

    self->fn();
    return count_descriptors() - before;
}

/* Libraries open a few descriptors for the whole process at first use: only what leaks twice is a leak. */
static void run_case(void **state)
{
    const struct check_case *self = *state;
    intmax_t leak = leak_of(self);

    if (leak > 0)
        leak = leak_of(self);
    if (leak > 0)
        check_fail(CHECK_AT, "%s leaves %jd descriptors open", self->name, leak);
}

int main(void)
{
    struct CMUnitTest *tests = calloc(case_count + 1, sizeof *tests);
    size_t count = 0;

    if (!tests)
        abort();
    for (struct check_case *at = cases; at; at = at->next)
        tests[count++] = (struct CMUnitTest){.name = at->name, .test_func = run_case, .initial_state = at};
    if (count == 0) {
        print_error("no tests in this program\n");
        return 1;
    }
    int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    free(tests);
    return failed ? 1 : 0;
}
