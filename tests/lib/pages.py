"""The documentation as its tests read it: every block of a page, and where its commands are run.

A block says so behind its language, where readers of the page's source see it:

    sh run PLACE          its commands are run there as they stand, and have to succeed
    sh run PLACE fails    the same, but the last of them has to fail
    text shown            what the block before it prints
    yaml file NAME        a file that later commands of the page read
    yaml run PLACE        an object that is applied there
    python run PLACE      statements that are executed there, after those of earlier blocks

`console` blocks take the marks of `sh`; they show commands behind a "$ " and what they print. What is shown is compared loosely:
numbers, times and blanks may differ, more may be printed, and in another order, as the API server does with mistakes. There is no
way to exclude a block: if there is no place for one, add one."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
# Where blocks can be run -> the test that runs all of them.
PLACES = {
    "jobs": "tests/e2e/test_docs.py",  # in a namespace of a cluster with the operator, as who runs jobs
    "admin": "tests/e2e/test_docs.py",  # on a cluster without it, as who installs it
    "migration": "tests/e2e/test_lifecycle.py",  # where the vendor's operator was
    "quickstart": "tests/e2e/test_quickstart.py",
    "chart": "tests/chart/test_docs.py",  # without a cluster
    "manifest": "tests/chart/test_install.py",  # where the manifest was applied and edited
    "machine": "tests/chart/test_machine.py",  # as root, in a copy of machine and tree of which nothing stays
    "suites": "tests/chart/test_suites.py",  # what runs all tests, these too: it is asked whether it knows its words
    "registry": "tests/images/test_push.py",
    "vipu": "tests/vipu/test_guide.py",
    "poprun": "tests/poprun/test_pages.py",
    "image": "tests/e2e/test_own_program.py",  # with podman, in a namespace of the local cluster, with a registry
    "local": "tests/local/test_local_pages.py",  # without a cluster, by ipu-run
    "kubectl": "tests/component/kubectl/test_kubectl_page.py",  # as somebody with kubectl and a home
    "python": "tests/e2e/test_python.py",  # in a Jupyter kernel, and a shell beside it
    "interop": "tests/interop/test_cert_manager.py",  # where the real cert-manager runs
}
DEADLINE_S = 300
FOLDERS = ("charts", "deploy", "docs")
COMMANDS = ("sh", "console")
READ_ONLY = ("yaml", "json", "text", "mermaid", "python", "hcl", "dockerfile", "c")
# What begins like this is a command, whatever its block says of itself.
PROGRAMS = ("kubectl", "helm3?", "ipu-operator", "ipu-launch", "ipu-run", "vipu(?:-server)?", "gc-(?:info|monitor)", "poprun", "mpirun", "cmake",
            "systemctl", "skopeo", "ctr", "curl", "git", "export", r"(?:deploy|tests|build)/[\w./-]+")
COMMAND = re.compile(rf"^ *(?:\$ .+|(?:# )?(?:{'|'.join(PROGRAMS)})(?: .+|$))", re.MULTILINE)
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
METRIC = re.compile(r"^\| `((?:ipu_operator|process)_\w+)` \| (\w+) \|([^|]*)\| (.+) \|$", re.MULTILINE)
MARK = re.compile(r"run (?P<place>[a-z]+)(?P<fails> fails)?|file (?P<file>[\w.-]+)|(?P<shown>shown)")


@dataclass(frozen=True)
class Block:
    page: str  # from the top of the tree
    line: int
    heading: str  # the last one above
    language: str
    mark: str  # what stands behind the language
    text: str

    def _marked(self, name):
        found = MARK.fullmatch(self.mark)
        return found[name] if found else None

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def place(self):
        return self._marked("place")

    @property
    def fails(self):
        return bool(self._marked("fails"))

    @property
    def file(self):
        return self._marked("file")

    @property
    def is_shown(self):
        return bool(self._marked("shown"))

    @property
    def script(self):
        """What a shell runs."""
        if self.language == "console":
            return "\n".join(command for command, _ in self.session)
        if self.language == "yaml":
            return f"kubectl apply -f - <<'END_OF_BLOCK'\n{self.text}END_OF_BLOCK"
        return self.text

    @property
    def session(self):
        """Commands of a `console` block, each with what it shows."""
        found = re.findall(r"^[$#] (.*(?<=\\)(?:\n.*)*?(?<!\\)|.*)\n((?:(?![$#] ).*\n)*)", self.text, re.MULTILINE)
        return [(command, shown) for command, shown in found]

    @property
    def shown(self):
        if self.is_shown:
            return self.text
        return "".join(shown for _, shown in self.session) if self.language == "console" else ""


def blocks_of(page):
    """All blocks of a page, which is named from the top of the tree."""
    text = (ROOT / page).read_text()
    for found in FENCE.finditer(text):
        language, _, mark = found[2].partition(" ")
        above = FENCE.sub("", text[: found.start()])
        heading = re.findall(r"^#+ (.+)$", above, re.MULTILINE)[-1]
        yield Block(page, text.count("\n", 0, found.start()) + 1, heading, language, mark, dedent(found[3]))


def all_pages():
    """Every page of the tree, from its top."""
    found = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    return sorted(str(page.relative_to(ROOT)) for page in found)


def pages_of(*places):
    """The pages with something to run there."""
    return [page for page in all_pages() if any(block.place in places for block in blocks_of(page))]


def blocks_at(page, *places):
    """What of a page is to be run there, in its order, with the files that it needs."""
    found = []
    before = None
    for block in blocks_of(page):
        if block.place in places or block.file or (block.is_shown and before in found):
            found.append(block)
        before = block
    return found


def _like(line):
    """A pattern for lines that are the same but for numbers, times and blanks; what ends in "..." may go on."""
    words = []
    for word in line.removesuffix("...").split():
        number = re.fullmatch(r"[\d.]+(?:[smhd][\dsmhd.]*)?", word)
        words.append(r"(?:\d+ min )?[\d.smhd]+" if number else re.sub(r"\d+(?:\\\.\d+)*", r"\\d+(?:\\.\\d+)*", re.escape(word)))
    return r"\s+".join(words) + (".*" if line.endswith("...") else "")


def missing_from(printed, shown):
    """The first line of what is shown that was not printed, in whatever order; "" if all were."""
    rest = printed.splitlines()
    for line in shown.splitlines():
        if line.strip() in ("", "..."):
            continue
        pattern = re.compile(r"\s*" + _like(line) + r"\s*")
        at = next((number for number, candidate in enumerate(rest) if pattern.fullmatch(candidate)), None)
        if at is None:
            return line
        del rest[at]
    return ""


class Reader:
    """Somebody who types what a page says, in a folder of their own that looks like the top of the tree."""

    def __init__(self, folder, environment, **names):
        """`names` are what stands for a page's NAME, and for whatever else a reader would put in."""
        self.folder, self.environment, self.names, self._printed = Path(folder), environment, names, ""
        for thing in ("README.md", "build", "charts", "deploy", "docs"):
            (self.folder / thing).symlink_to(ROOT / thing)

    def filled(self, text):
        for name, value in self.names.items():
            text = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", lambda _, value=value: str(value), text)
        return text

    def __call__(self, block):
        """Does what a block says, and holds it against what the block shows."""
        if block.file:
            (self.folder / block.file).write_text(self.filled(block.text))
            return
        if not block.is_shown:
            done = self.types(block.script)
            self._printed = done.stdout + done.stderr
            assert (done.returncode != 0) == block.fails, f"{block.where}:\n{self.filled(block.script)}\n{self._printed}"
        missing = missing_from(self._printed, block.shown)
        assert not missing, f"{block.where}: not printed: {missing}\n{self._printed}"

    def types(self, commands):
        """What goes on in the background when they are over is ended."""
        script = f"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{self.filled(commands)}"
        return subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)


def metrics():
    """The table of docs/monitoring.md, in its order: name, type, set of labels, text."""
    found = METRIC.findall((ROOT / "docs" / "monitoring.md").read_text())
    return [(name, kind, set(re.findall(r"\w+", labels)), text) for name, kind, labels, text in found]
