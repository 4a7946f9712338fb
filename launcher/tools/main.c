/* ipu-tools: the programs that ipu-launch installs, as one file. It only selects a program by its name or
 * its first argument. */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/main.h"
#include "launcher/poprun/numa_wrapper/main.h"
#include "launcher/process/bundled_programs.h"
#include "launcher/remote/agent_main.h"
#include "vipu/cli/main.h"
#include "vipu/tools/gc-info/main.h"
#include "vipu/tools/gc-monitor/main.h"

#define EXIT_NO_SUCH_TOOL 127 /* exit status of a shell for an unknown command */

struct tool {
    const char *name;
    int (*run)(int argc, char **argv);
};

#define ROW(name, function) {name, function},
static const struct tool tools[] = {BUNDLED_PROGRAMS(ROW)};
/* Only ipu-launch calls it, so it is not listed. */
static const struct tool agent = {BUNDLED_PROGRAMS_AGENT, agent_main};

static const struct tool *find(const char *word)
{
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;

    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return strcmp(agent.name, name) == 0 ? &agent : NULL;
}

static int reject(void)
{
    (void)fputs(BUNDLED_PROGRAMS_FILE ": unknown tool; expected one of:", stderr);
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        (void)fprintf(stderr, " %s", tools[i].name);
    (void)fputc('\n', stderr);
    return EXIT_NO_SUCH_TOOL;
}

int main(int argc, char **argv)
{
    for (int word = 0; word < argc && word < 2; word++) {
        const struct tool *tool = find(argv[word]);

        if (tool)
            return tool->run(argc - word, argv + word);
    }
    return reject();
}
