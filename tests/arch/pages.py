"""The pages of the documentation hold together: each rule is a function that returns sentences about what breaks it.

    python3 tests/arch/pages.py
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))

import pages  # noqa: E402
import tree  # noqa: E402

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
ARROW = re.compile(r"    (?:\[\*\]|\w+) --> (?:\[\*\]|\w+): [^;:]+")
UNFENCED = re.compile(r"~~~| *`{4}|<pre|(?: {4}|\t)\s*[$#] ")  # other ways to write one, which no test would run
NAMED_PATH = re.compile(r"(?:\.ci|base|charts|cmake|deploy|docs|kubectl|launcher|local|operator|popdist|python|tests|vipu)/[\w./-]+")
# What a build or an installation makes has no place in the tree.
MADE = re.compile(r"operator/(?:ipu-|vipu-)|vipu/(?:ca\.crt|server)")
# Wrong -> right, in prose.
TERMS = {
    r"\bVIPU\b": "V-IPU",
    r"\b[Kk]8s\b": "Kubernetes",
    r"\b(?:Pop[Rr]un|Pop-?[Dd]ist)\b(?<!PopRun)(?<!PopDist)": "PopRun or poprun, PopDist or popdist",
    r"\bGraph[Cc]ore\b(?<!Graphcore)": "Graphcore",
    r"\b(?:Openmpi|OpenMPI|Open-MPI)\b": "Open MPI",
    r"\b[Pp]rometheus-operator\b": "Prometheus operator",
}


def without_blocks(text):
    """Line numbers stay."""
    return pages.FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def without_code(text):
    return CODE.sub(lambda found: "\n" * found[0].count("\n"), text)


def anchors(text):
    """Of each heading, as GitHub makes them."""
    seen = {}
    for heading in re.findall(r"^#+ +(.+?) *$", without_blocks(text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        yield f"{slug}-{count}" if count else slug


def lines_of(page):
    yield from enumerate(without_blocks((ROOT / page).read_text()).splitlines(), 1)


def links(page):
    for number, line in lines_of(page):
        for target in LINK.findall(without_code(line)):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            file = (ROOT / page).parent / unquote(path) if path else ROOT / page
            if not file.exists():
                yield f"{page}:{number}: there is no {target}"
            elif anchor and anchor not in set(anchors(file.read_text())):
                yield f"{page}:{number}: {path or page} has no heading for #{anchor}"


def paths(page):
    """Files of the tree that prose names in code."""
    for number, line in lines_of(page):
        for _, code in CODE.findall(line):
            named = code.strip("()").partition(" ")[0]
            homes = (ROOT, ROOT / "popdist" / "include")
            if NAMED_PATH.fullmatch(named) and not MADE.match(named) and not any((home / named).exists() for home in homes):
                yield f"{page}:{number}: there is no {named}"


def blocks(page):
    for block in pages.blocks_of(page):
        if block.language not in pages.COMMANDS + pages.READ_ONLY:
            yield f"{block.where}: a block has a language: {', '.join(pages.COMMANDS + pages.READ_ONLY)}"
        elif (block.mark or block.language in pages.COMMANDS) and not pages.MARK.fullmatch(block.mark):
            yield f"{block.where}: say where these commands are run, as tests/lib/pages.py tells"
        elif block.place and block.place not in pages.PLACES:
            yield f"{block.where}: there is no place {block.place}; tests/lib/pages.py has them"
        elif block.language == "console" and not block.session:
            yield f"{block.where}: a console block has its commands behind \"$ \""
        elif block.language not in (*pages.COMMANDS, "mermaid") and (found := pages.COMMAND.search(block.text)):
            yield f"{block.where}: what has commands is a block of {' or '.join(pages.COMMANDS)}: {found[0].strip()}"
    for number, line in lines_of(page):
        if UNFENCED.match(line):
            yield f"{page}:{number}: a block stands between lines of ```: {line.strip()}"


def terms(page):
    for number, line in lines_of(page):
        prose = LINK.sub("", without_code(line))
        for wrong, right in TERMS.items():
            yield from (f"{page}:{number}: {found[0]} is called {right}" for found in re.finditer(wrong, prose))


def states():
    """The picture and the table of a job's states have those that the code gives."""
    code = (ROOT / "operator" / "reconcile" / "decide" / "model" / "verdict.c").read_text()
    given = set(re.findall(r'\[JOB_\w+\] = "(\w+)"', code))
    page = (ROOT / "docs" / "jobs.md").read_text()
    picture = next(block.text for block in pages.blocks_of("docs/jobs.md") if block.text.startswith("stateDiagram"))
    drawn = {word for ends in re.findall(r"^ *(\S+) --> (\w+|\[\*\])", picture, re.MULTILINE) for word in ends} - {"[*]"}
    reported = set(re.findall(r"^\| `(\w+)` \|", page.split("| STATUS |")[1].split("\n\n")[0], re.MULTILINE))
    for line in picture.splitlines()[1:]:
        if not ARROW.fullmatch(line):  # for mermaid a label ends there, and the words behind it are states
            yield f"docs/jobs.md: an arrow of the picture of states is 'A --> B: label', without ; or : in it: {line.strip()}"
    if not given or reported != given:
        yield f"docs/jobs.md: the table of states differs from operator/reconcile/decide/model/verdict.c: {sorted(reported ^ given)}"
    if drawn != given:
        yield f"docs/jobs.md: the picture of states differs from operator/reconcile/decide/model/verdict.c: {sorted(drawn ^ given)}"


def modules():
    """The diagram of modules has the arrows that tests/arch/tree.py allows."""
    allowed = {(source.split("/")[0], target.split("/")[0]) for source, targets in tree.MAY_INCLUDE.items() for target in targets}
    picture = next(block.text for block in pages.blocks_of("docs/ARCHITECTURE.md") if block.language == "mermaid")
    drawn = set(re.findall(r"^ *(\w+) --> (\w+)$", picture, re.MULTILINE))
    for source, target in sorted(drawn ^ {(source, target) for source, target in allowed if source != target}):
        yield f"docs/ARCHITECTURE.md: the diagram of modules and tests/arch/tree.py differ in {source} --> {target}"


def index():
    """Every page of docs/ is found from its index."""
    listed = (ROOT / "docs" / "README.md").read_text()
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name != "README.md" and f"({page.name}" not in listed:
            yield f"docs/README.md: does not name {page.name}"


def places(found):
    """Every place has blocks, and every block a place that exists."""
    used = {block.place for page in found for block in pages.blocks_of(page)}
    for place, test in pages.PLACES.items():
        if place not in used:
            yield f"tests/lib/pages.py: no page has anything to run at {place}"
        if not (ROOT / test).is_file() or f'"{place}"' not in (ROOT / test).read_text():
            yield f"{test}: does not run the blocks of {place}"


def main():
    found = pages.all_pages()
    broken = [sentence for page in found for rule in (links, paths, blocks, terms) for sentence in rule(page)]
    broken += [*states(), *modules(), *index(), *places(found)]
    print("\n".join(broken))
    print(f"pages: {len(found)} read, {len(broken)} broken")
    return bool(broken) or not found


if __name__ == "__main__":
    sys.exit(main())
