/* What Open MPI makes of such a file: open-mpi/ompi v4.1.4, orte/orted/orted_submit.c, parse_appfile; and
 * openpmix/prrte v3.0, src/tools/prte/prte.c, pmix_getline. */
#include "launcher/poprun/plan/app_file.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define PARTS 2

/* A word ends at |, so that words may have spaces. */
static void read_parts(const char *const *texts, struct strv *parts)
{
    for (size_t i = 0; i < PARTS; i++)
        strv_split(texts[i], '|', &parts[i]);
}

static bool make(const char *const *texts, struct strv *lines, struct strv *variables, struct err *err)
{
    struct strv parts[PARTS] = {0};
    bool good;

    read_parts(texts, parts);
    good = app_file_make(parts, PARTS, lines, variables, err);
    for (size_t i = 0; i < PARTS; i++)
        strv_release(&parts[i]);
    return good;
}

#define TAIL "-x POPRUN_WRAPPER_SHARED -x POPRUN_WRAPPER_PROGRAM poprun_numa_wrapper"

static const struct {
    const char *parts[PARTS];
    const char *lines[PARTS];
    const char *shared;
} files[] = {
    {{"-np|1|-x|A=1|poprun_numa_wrapper|p", "-np|1|-x|A=1|poprun_numa_wrapper|p"},
     {"-np 1 " TAIL, "-np 1 " TAIL},
     "A=1\n"},
    {{"-np|1|-x|A=1|poprun_numa_wrapper|p", "-np|1|-x|A=2|poprun_numa_wrapper|p"},
     {"-np 1 -x A=1 " TAIL, "-np 1 -x A=2 " TAIL},
     ""},
    /* The last of two wins, whichever mpirun takes. */
    {{"-np|1|-x|A=1|poprun_numa_wrapper|p", "-np|1|-x|A=1|-x|A=2|poprun_numa_wrapper|p"},
     {"-np 1 -x A=1 " TAIL, "-np 1 -x A=1 -x A=2 " TAIL},
     ""},
    {{"-np|1|-x|A=1|poprun_numa_wrapper|p", "-np|1|-x|A|poprun_numa_wrapper|p"},
     {"-np 1 -x A=1 " TAIL, "-np 1 -x A " TAIL},
     ""},
    /* What all instances have the same may contain anything. */
    {{"-x|A=b  c#//|poprun_numa_wrapper|p", "-x|A=b  c#//|poprun_numa_wrapper|p"},
     {TAIL, TAIL},
     "A=b  c#//\n"},
    /* mpirun needs these itself. */
    {{"-x|PATH=/z|-x|LD_LIBRARY_PATH=/y|-x|PATHS=/x|poprun_numa_wrapper|p",
      "-x|PATH=/z|-x|LD_LIBRARY_PATH=/y|-x|PATHS=/x|poprun_numa_wrapper|p"},
     {"-x PATH=/z -x LD_LIBRARY_PATH=/y " TAIL, "-x PATH=/z -x LD_LIBRARY_PATH=/y " TAIL},
     "PATHS=/x\n"},
    /* Words of the program are not mpirun's. */
    {{"-np|1|poprun_numa_wrapper|p|-x|A=1", "-np|1|poprun_numa_wrapper|p|-x|A=1"},
     {"-np 1 " TAIL, "-np 1 " TAIL},
     ""},
};

TEST(a_line_has_what_differs)
{
    CHECK_ROWS (row, files) {
        AUTO(strv) struct strv lines = {0}, variables = {0};
        AUTO(mem) char *shared = mem_printf("POPRUN_WRAPPER_SHARED=%s", row->shared);
        struct err err;

        CHECK_OK(make(row->parts, &lines, &variables, &err), err);
        CHECK_INT_EQ(lines.count, PARTS);
        for (size_t i = 0; i < PARTS; i++)
            CHECK_STR_EQ(lines.items[i], row->lines[i]);
        CHECK_INT_EQ(variables.count, 2);
        CHECK_STR_EQ(variables.items[0], shared);
        CHECK(str_has_prefix(variables.items[1], "POPRUN_WRAPPER_PROGRAM=p\n"));
    }
}

static const struct {
    const char *parts[PARTS];
    const char *problem;
} bad_files[] = {
    {{"-wdir|/a b|poprun_numa_wrapper|p", "-wdir|/a b|poprun_numa_wrapper|p"}, "cannot contain \"/a b\""},
    {{"-x|A=#|poprun_numa_wrapper|p", "-x|A=|poprun_numa_wrapper|p"}, "cannot contain \"A=#\""},
    {{"-x|A=/|poprun_numa_wrapper|p", "-x|A=//|poprun_numa_wrapper|p"}, "cannot contain \"A=//\""},
    {{"-x|A=\n|poprun_numa_wrapper|p", "-x|A=|poprun_numa_wrapper|p"}, "cannot contain \"A= \""},
};

TEST(what_a_line_cannot_contain_is_named)
{
    CHECK_ROWS (row, bad_files) {
        AUTO(strv) struct strv lines = {0}, variables = {0};
        struct err err;

        CHECK_ERR(make(row->parts, &lines, &variables, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, row->problem);
        CHECK_HAS(err.msg, "use fewer instances");
    }
}

static char *filled(const char *head, size_t count, const char *tail)
{
    AUTO(mem) char *middle = mem_alloc(count + 1);

    memset(middle, 'a', count);
    return mem_printf("%s%s%s", head, middle, tail);
}

/* One byte more, and version 5 would take the rest for another instance. */
TEST(a_line_has_a_limit)
{
    size_t fixed = strlen("-x A= " TAIL);
    AUTO(mem) char *longest = filled("-x|A=", 1023 - fixed, "|poprun_numa_wrapper|p");
    AUTO(mem) char *longer = filled("-x|A=", 1024 - fixed, "|poprun_numa_wrapper|p");
    const char *good[] = {longest, "poprun_numa_wrapper|p"}, *bad[] = {longer, "poprun_numa_wrapper|p"};
    AUTO(strv) struct strv lines = {0}, variables = {0};
    struct err err;

    CHECK_OK(make(good, &lines, &variables, &err), err);
    CHECK_INT_EQ(strlen(lines.items[0]), 1023);
    CHECK_ERR(make(bad, &lines, &variables, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "one of its lines is 1024 bytes long, limit 1023");
}

/* Linux accepts no longer variable (MAX_ARG_STRLEN). */
TEST(the_program_has_a_limit)
{
    AUTO(mem) char *program = filled("poprun_numa_wrapper|", (size_t)128 * 1024, "");
    const char *parts[] = {program, "poprun_numa_wrapper|p"};
    AUTO(strv) struct strv lines = {0}, variables = {0};
    struct err err;

    CHECK_ERR(make(parts, &lines, &variables, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "common to all instances are 131073 bytes long");
}
