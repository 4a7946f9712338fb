#include <stddef.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/cli/args/completion.h"

/* A line ":files" asks the shell to complete file names. The script calls the program by the name in the
 * command line, so that the program that completes is the one that will run. */
static const char bash[] =
    "# Completion of vipu for bash. Load it with:  source <(vipu completion bash)\n"
    "_vipu() {\n"
    "    local line typed=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"${typed#=}\")\n"
    "            compopt -o filenames 2>/dev/null\n"
    "        else\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _vipu vipu vipu-cli\n";

static const char zsh[] =
    "#compdef vipu vipu-cli\n"
    "# Completion of vipu for zsh. Put it into a folder of $fpath as _vipu, or load it with:\n"
    "#   source <(vipu completion zsh)\n"
    "_vipu() {\n"
    "    local line word about\n"
    "    local -a found shown\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            _files\n"
    "            continue\n"
    "        fi\n"
    "        word=${line%%$'\\t'*}\n"
    "        about=${line#*$'\\t'}\n"
    "        found+=(\"$word\")\n"
    "        shown+=(\"$word${about:+  -- $about}\")\n"
    "    done < <(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    (( ${#found} )) && compadd -l -d shown -a found\n"
    "}\n"
    "if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n"
    "    _vipu \"$@\"\n"
    "else\n"
    "    compdef _vipu vipu vipu-cli\n"
    "fi\n";

static const char fish[] = "# Completion of vipu for fish. Load it with:  vipu completion fish | source\n"
                           "function __vipu_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
                           "        if test \"$line\" = :files\n"
                           "            __fish_complete_path (commandline -ct)\n"
                           "        else\n"
                           "            echo $line\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "complete -c vipu -f -a '(__vipu_complete)'\n"
                           "complete -c vipu-cli -f -a '(__vipu_complete)'\n";

const char *completion_script(const char *shell)
{
    static const struct {
        const char *name, *text;
    } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

    for (size_t i = 0; i < COUNT_OF(scripts); i++)
        if (str_eq(scripts[i].name, shell))
            return scripts[i].text;
    return NULL;
}
