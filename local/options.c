#include "options.h"

#include "base/options/opts_man.h"
#include "local/job/pod_support.h"
#include "local/run/embedded_controller.h"
#include "local/run/run_dir.h"

#define TEXT(token) #token
#define NUMBER(name) TEXT(name)
#define AT(field) offsetof(struct options, field)

static const char *const outputs[] = {"text", "json", NULL};
static const char *const engines[] = {"process", "podman", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

static const struct opt ROWS[] = {
    OPT_VALUE("set", OPT_LIST, AT(set), "FIELD=VALUE",
              "Set a field of every job, such as spec.ipusPerJobInstance=8; may be repeated"),
    OPT_VALUE("with", OPT_LIST, AT(with), "FILE", "File with more ConfigMaps and Secrets; may be repeated"),
    OPT_VALUE("bind", OPT_LIST, AT(bind), "SOURCE:PATH",
              "Show the file or directory SOURCE of this machine at PATH in every container, in place of an "
              "image's; may be repeated"),
    OPT_VALUE("engine", OPT_CHOICE, AT(engine), "ENGINE",
              "Containers are processes, with the programs of this machine, or podman's, with their images",
              .fallback = "process", .choices = engines),
    OPT_VALUE("ipus", OPT_U32, AT(ipus), "N",
              "Number of simulated IPUs, a multiple of 4 and above 64 a multiple of 64", .fallback = "64",
              .min = 4, .max = EMBEDDED_CONTROLLER_IPUS_MAX),
    OPT_VALUE("controller", OPT_STR, AT(controller), "HOST:PORT",
              "Use this V-IPU controller, with the user and certificates of vipu's variables VIPU_CLI_API_*; "
              "default: a simulated one for this run"),
    OPT_VALUE("timeout", OPT_U32, AT(timeout_s), "SECONDS",
              "Delete the jobs if they have not ended by then; 0: wait", .fallback = "0", .max = 86400 * 365),
    OPT_SWITCH("strict", AT(strict), "Reject jobs with fields that are ignored on this machine"),
    OPT_VALUE("run-dir", OPT_STR, AT(run_dir), "DIR",
              "Directory for logs and for the jobs' final state; default: a new one in "
              "~/.local/state/ipu-run, where the newest " NUMBER(RUNS_KEPT) " are kept"),
    {.flag = "output",
     .letter = 'o',
     .type = OPT_CHOICE,
     .offset = AT(output),
     .arg = "FORMAT",
     .help = "Output; json prints the final job to standard output, and all else to standard error",
     .fallback = "text",
     .choices = outputs},
    OPT_VALUE("log-level", OPT_CHOICE, AT(log_level), "LEVEL",
              "Minimum level of the messages of operator and V-IPU controller", .fallback = "error",
              .choices = levels),
    {0},
};

const struct opts_spec OPTIONS_SPEC = {
    .program = "ipu-run",
    .usage = "ipu-run [options] FILE...",
    .about =
        "Runs the IPUJobs in FILE on this machine, without a cluster: the operator itself, with processes in "
        "place of pods and simulated IPUs. FILE is YAML, with ConfigMaps and Secrets as well; \"-\" is "
        "standard input. Ctrl-C deletes the jobs, twice at once; Ctrl-Z suspends them until fg. Exit status: "
        "0 if all jobs have completed, "
        "1 if one has not, 2 if a file or an option is rejected, 130 after Ctrl-C.",
    .rows = ROWS,
    .once = true,
};

/* ---- the manual page ---- */

static void add_support(const struct pod_support *support, struct str *out)
{
    str_addf(out, "%s%s%s", pod_support_name(support->how), support->why ? ": " : "",
             support->why ? support->why : "");
}

void options_man(struct str *out)
{
    AUTO(str) struct str closing = {0};
    struct opts_man man = {.summary = "run IPUJobs on this machine, without a cluster",
                           .version = "ipu-operator " IPU_OPERATOR_VERSION};

    roff_section("FIELDS OF PODS", &closing);
    for (const struct pod_support_row *row = pod_support_rows; row->path; row++) {
        AUTO(str) struct str text = {0};

        add_support(&row->of[ENGINE_PROCESS], &text);
        if (row->of[ENGINE_PROCESS].how != row->of[ENGINE_PODMAN].how ||
            !str_eq(row->of[ENGINE_PROCESS].why, row->of[ENGINE_PODMAN].why)) {
            str_adds(&text, "; with --engine podman ");
            add_support(&row->of[ENGINE_PODMAN], &text);
        }
        roff_entry(row->path, str_text(&text), &closing);
    }
    man.closing = str_text(&closing);
    opts_man(&OPTIONS_SPEC, &man, out);
}

/* ---- completion ---- */

static void add_values(const struct opt *row, struct str *out)
{
    for (int i = 0; row->choices[i]; i++)
        str_addf(out, "%s%s", i ? " " : "", row->choices[i]);
}

static void add_bash(struct str *out)
{
    str_adds(out, "# Completion of ipu-run for bash. Load it with:  source <(ipu-run __completion bash)\n"
                  "_ipu_run() {\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    case $before in\n");
    for (const struct opt *row = ROWS; row->flag; row++) {
        if (!row->choices)
            continue;
        str_addf(out, "    --%s", row->flag);
        if (row->letter)
            str_addf(out, "|-%c", row->letter);
        str_adds(out, ") COMPREPLY=($(compgen -W '");
        add_values(row, out);
        str_adds(out, "' -- \"$word\")); return ;;\n");
    }
    str_adds(out, "    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W '");
    for (const struct opt *row = ROWS; row->flag; row++)
        str_addf(out, "--%s ", row->flag);
    str_adds(out, "--help --version' -- \"$word\"))\n"
                  "    else\n"
                  "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -o filenames -F _ipu_run ipu-run\n");
}

static void add_zsh(struct str *out)
{
    str_adds(out, "#compdef ipu-run\n"
                  "# Completion of ipu-run for zsh. Put it into a folder of $fpath as _ipu-run.\n"
                  "_arguments -S \\\n");
    for (const struct opt *row = ROWS; row->flag; row++) {
        str_addf(out, "  '%s--%s%s", row->type == OPT_LIST ? "*" : "", row->flag,
                 row->type == OPT_FLAG ? "" : "=:value:");
        if (row->choices) {
            str_addc(out, '(');
            add_values(row, out);
            str_addc(out, ')');
        } else if (row->type != OPT_FLAG) {
            str_adds(out, "_files");
        }
        str_adds(out, "' \\\n");
    }
    str_adds(out, "  '*:file:_files'\n");
}

static void add_fish(struct str *out)
{
    str_adds(out, "# Completion of ipu-run for fish. Load it with:  ipu-run __completion fish | source\n");
    for (const struct opt *row = ROWS; row->flag; row++) {
        str_addf(out, "complete -c ipu-run -l %s", row->flag);
        if (row->letter)
            str_addf(out, " -s %c", row->letter);
        if (row->choices) {
            str_adds(out, " -x -a '");
            add_values(row, out);
            str_addc(out, '\'');
        } else if (row->type != OPT_FLAG) {
            str_adds(out, " -r");
        }
        str_addc(out, '\n');
    }
}

bool options_completion(const char *shell, struct str *out)
{
    static const struct {
        const char *shell;
        void (*add)(struct str *out);
    } rows[] = {{"bash", add_bash}, {"zsh", add_zsh}, {"fish", add_fish}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!str_eq(rows[i].shell, shell))
            continue;
        rows[i].add(out);
        return true;
    }
    return false;
}
