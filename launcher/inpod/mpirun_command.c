#include "launcher/inpod/mpirun_command.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/str.h"
#include "base/io/file.h"

#define SCRIPT_BYTES_MAX ((size_t)64 * 1024)

static bool is_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The name as a word of its own, also behind a folder, and before a suffix such as .openmpi. */
static bool has_name(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, name)); at++) {
        if ((at == text || (!is_in_name(at[-1]) && at[-1] != '.')) && !is_in_name(at[strlen(name)]))
            return true;
    }
    return false;
}

static bool names_mpirun(const char *text)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_name(text, names[i]))
            return true;
    return false;
}

static bool is_script_of_mpirun(const char *path)
{
    AUTO(str) struct str text = {0};
    struct stat about;
    struct err err;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= (off_t)SCRIPT_BYTES_MAX &&
           file_read(path, SCRIPT_BYTES_MAX, &text, &err) && names_mpirun(str_text(&text));
}

bool command_starts_mpirun(char *const *argv)
{
    for (; *argv; argv++)
        if (names_mpirun(*argv) || is_script_of_mpirun(*argv))
            return true;
    return false;
}
