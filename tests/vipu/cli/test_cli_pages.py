"""Help, manual page and shell completion of vipu: all from the same tables, so all must say the same."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from programs import DEADLINE_S, ROOT, program


def output(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, **options)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def man():
    """The page as a reader sees it, on very long lines."""
    page = output(program("vipu"), "__man")
    return output("mandoc", "-T", "utf8", "-O", "width=1000", input=page)


def plain(text):
    return re.sub(r".\x08", "", text)


def candidates(*words):
    return [line.partition("\t")[0] for line in output(program("vipu"), "__complete", *words, env={}).splitlines()]


def commands_of_help():
    text = output(program("vipu"), "--help")
    return re.findall(r"^  ([a-z]+(?: [a-z-]+)?)(?: ID| bash\|zsh\|fish)?(?: \[OPTIONS\])?(?:  |$)",
                      text.partition("Commands:\n")[2].partition("\nOptions:")[0], re.MULTILINE)


def test_all_pages_have_the_same_options():
    help_flags = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", output(program("vipu"), "--help"), re.MULTILINE)
    man_flags = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)(?: \S+)?$", plain(man()), re.MULTILINE)
    man_flags += re.findall(r"^ +(?:-\w, )?(--[a-z-]+)(?: \S+)?  ", plain(man()), re.MULTILINE)
    assert len(help_flags) > 25 and len(set(help_flags)) == len(help_flags)
    assert sorted(man_flags) == sorted(help_flags) == sorted(candidates("--"))


def test_all_pages_have_the_same_commands():
    commands = commands_of_help()
    assert len(commands) == 12
    section = plain(man()).partition("\nCOMMANDS\n")[2].partition("\nOPTIONS\n")[0]
    for command in commands:
        assert re.search(rf"^ +{command}\b", section, re.MULTILINE), command
    offered = []
    for verb in candidates(""):
        kinds = candidates(verb, "")
        offered += [verb] if kinds in ([], ["bash", "zsh", "fish"]) else [f"{verb} {kind}" for kind in kinds]
    assert offered == sorted(commands, key=offered.index) and len(offered) == len(commands)


def test_the_variables_are_documented():
    text = output(program("vipu"), "--help")
    section = plain(man()).partition("\nENVIRONMENT\n")[2].partition("\nCONFIGURATION")[0]
    variables = set(re.findall(r"VIPU_CLI_[A-Z_]+", text))
    assert variables == set(re.findall(r"VIPU_CLI_[A-Z_]+", section))
    assert {"VIPU_CLI_API_HOST", "VIPU_CLI_API_PORT", "VIPU_CLI_API_TIMEOUT", "VIPU_CLI_API_USER_ID",
            "VIPU_CLI_API_ACCESS_KEY"} <= variables


@pytest.mark.parametrize("name", ["vipu", "vipu-server"])
def test_the_page_is_sound(name):
    page = output(program(name), "__man")
    checked = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True,
                             timeout=DEADLINE_S)
    # A page made by a build has no date of its own.
    left = [line for line in checked.stdout.splitlines() if "missing date" not in line]
    assert left == [] and page.startswith(f'.TH {name.upper()} 1 ')


def test_the_page_describes_the_rest():
    for words in ("Exit status: 0 for success, 1 if", "/etc/vipu/vipu-cli.hcl", "~/.ipuof.conf.d/"):
        assert words in plain(man())


@pytest.fixture
def server(serve):
    server = serve("create-ms: 0\nclusters: [{id: cl1, allocations: [{id: left, agents: [ag1]}]}]")
    for name in ("part1", "part2", "other"):
        output(program("vipu"), "create", "partition", name, "--size", "1", env=environment(server))
    return server


def environment(server):
    return {"VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port), "HOME": str(server.folder),
            "PATH": f"{os.path.dirname(program('vipu'))}:{os.environ['PATH']}", "TERM": "dumb"}


LINES = [
    ("vipu li", ["list"]),
    ("vipu get partition pa", ["part1", "part2"]),
    ("vipu --api-timeout 5 remove partition ot", ["other"]),
    ("vipu list partitions --allocation le", ["left"]),
    ("vipu create partition new --routing r", ["ringswnc"]),
    ("vipu remove partition part1 --fo", ["--force"]),
    ("vipu get partition nothing-like-it", []),
]


@pytest.mark.parametrize("line, wanted", LINES)
def test_bash(server, line, wanted):
    words = line.split(" ")
    script = ("source <(vipu completion bash)\n"
              f"COMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_vipu\n"
              'printf "%s\\n" "${COMPREPLY[@]}"\ncomplete -p vipu vipu-cli >/dev/null')
    assert [word for word in output("bash", "-c", script, env=environment(server)).splitlines() if word] == wanted


def test_bash_splits_at_the_equals_sign(server):
    script = ("source <(vipu completion bash)\nCOMP_WORDS=(vipu list partitions --allocation = le)\nCOMP_CWORD=5\n_vipu\n"
              'printf "%s\\n" "${COMPREPLY[@]}"')
    assert output("bash", "-c", script, env=environment(server)) == "left\n"


def test_bash_completes_files(server):
    (server.folder / "alice.vipu-cli.hcl").write_text("")
    script = ("source <(vipu completion bash)\nCOMP_WORDS=(vipu --config al)\nCOMP_CWORD=2\n_vipu\n"
              'printf "%s\\n" "${COMPREPLY[@]}"')
    assert output("bash", "-c", script, env=environment(server), cwd=server.folder) == "alice.vipu-cli.hcl\n"


@pytest.mark.parametrize("line, wanted", LINES)
def test_fish(server, line, wanted):
    text = output("fish", "--no-config", "-c", f"vipu completion fish | source; complete -C '{line}'",
                  env=environment(server))
    assert [found.partition("\t")[0] for found in text.splitlines()] == wanted


OTHERS = [
    ("vipu/vipu-server", "--log-l", ["--log-level"]),
    ("vipu/vipu-server", "--log-level er", ["error"]),
    ("vipu/gc-info", "--device-id 3 --chip", ["--chip-id"]),
    ("vipu/gc-monitor", "--no-c", ["--no-card-info"]),
    ("operator/ipu-operator", "before", ["before-uninstall"]),
    ("operator/ipu-operator", "partitions --kube", ["--kubeconfig"]),
    ("launcher/ipu-launch", "agen", ["agent", "agent-ready"]),
]


@pytest.mark.parametrize("path, line, wanted", OTHERS)
def test_the_other_programs(tmp_path, path, line, wanted):
    """One shape for all: the same scripts, and words from the program's own table."""
    room, name = path.split("/")
    env = {"PATH": f"{os.path.dirname(program(name, room))}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    words = line.split(" ")
    script = (f"source <({name} __completion bash)\nCOMP_WORDS=({name} {line})\nCOMP_CWORD={len(words)}\n_{name}\n"
              'printf "%s\\n" "${COMPREPLY[@]}"')
    assert output("bash", "-c", script, env=env).splitlines() == wanted
    text = output("fish", "--no-config", "-c", f"{name} __completion fish | source; complete -C '{name} {line}'", env=env)
    assert [found.partition("\t")[0] for found in text.splitlines()] == wanted


class Zsh:
    """An interactive zsh; its completion needs a terminal."""

    def __init__(self, env):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], env)
        self.seen = b""

    def send(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, pattern):
        end = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.seen):
            assert select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0], (pattern, self.seen)
            self.seen += os.read(self.terminal, 4096)
        seen, self.seen = self.seen, b""
        return seen

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def test_zsh(server):
    """One candidate is put into the line, several are listed with what they are."""
    shell = Zsh(environment(server))
    shell.send("PS1='ready> '; autoload -Uz compinit; compinit -u -D\n")
    shell.send("source <(vipu completion zsh); echo load''ed\n")
    shell.read_until(rb"loaded[\s\S]*ready> ")
    shell.send("vipu remove partition ot\t")
    shell.read_until(rb"other ")
    shell.send("\x15vipu remove partition part1 --fo\t")
    shell.read_until(rb"--force ")
    shell.send("\x15vipu get partition \t")
    listed = shell.read_until(rb"part2")
    assert b"part1" in listed or b"other" in listed
    shell.send("\x15exit\n")
    shell.close()


def test_no_controller_is_configured():
    """Completion without a controller is quick, silent, and knows its own words."""
    assert candidates("-P", "1", "get", "partition", "") == []
    assert candidates("get", "")[0] == "partition"


def test_what_is_installed(tmp_path):
    build = ROOT / os.environ.get("BUILD_DIR", "build/dev")
    subprocess.run(["cmake", "--install", str(build / "vipu"), "--prefix", str(tmp_path)], check=True,
                   capture_output=True, timeout=DEADLINE_S)
    for name in ("vipu", "vipu-server"):
        assert (tmp_path / "share/man/man1" / f"{name}.1").read_text() == output(program(name), "__man")
    for name, word in (("vipu", "completion"), ("vipu-server", "__completion"), ("gc-info", "__completion")):
        for shell, path in (("bash", f"bash-completion/completions/{name}"), ("zsh", f"zsh/site-functions/_{name}"),
                            ("fish", f"fish/vendor_completions.d/{name}.fish")):
            assert (tmp_path / "share" / path).read_text() == output(program(name), word, shell)
    assert output(str(tmp_path / "bin" / "vipu-cli"), "--version") == output(program("vipu"), "--version")


@pytest.mark.parametrize("name", ["vipu", "vipu-server", "gc-info", "gc-monitor", "poprun"])
def test_a_page_is_made_with_its_program(name):
    """After a build of some programs only, as the quickstart's, nothing of them is missing when they are installed."""
    build = ROOT / os.environ.get("BUILD_DIR", "build/dev")
    assert f"{name} __man > " in output("ninja", "-C", str(build), "-t", "commands", name)


def test_the_guide_has_the_same_commands():
    """The table of docs/vipu.md and the help text, word for word."""
    section = (ROOT / "docs" / "vipu.md").read_text().partition("\n## Command line\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", section.replace("\\|", "or"), re.MULTILINE)
    text = output(program("vipu"), "--help").partition("Commands:\n")[2].partition("\nOptions:")[0]
    printed = re.sub(r"\s+", " ", text.replace("|", "or")).strip()
    assert printed == " ".join(f"{usage} {about}" for usage, about in rows) and len(rows) == 12
    for code in ("0", "1", "2"):
        assert re.search(rf"^\| {code} \| ", section, re.MULTILINE)
    options = set(re.findall(r"--[a-z-]+", output(program("vipu"), "--help"))) | {"--gcds", "--ipu-configs"}
    programs = {"--install"}  # of cmake
    assert set(re.findall(r"--[a-z][a-z-]+", section)) <= options | programs
