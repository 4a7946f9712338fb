"""Retired words and what to use instead: a row of RETIRED for each, checked over the tree.

    python3 tests/arch/words.py

Scopes of a row: "names" are identifiers and file names, word by word (`crew` is found in `crew_free`); "texts" are string literals of
the product, and the chart; "comments" are those of the product; "docs" are the pages. Pages are read without code, and without the tables of statements about other products,
which quote the lists in tests/."""

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("base/", "kubectl/", "launcher/", "local/", "operator/", "popdist/", "python/", "vipu/")
REJECT = "refus(?:e|es|ed|al|als|ing)"
# Retired word (a pattern) -> what to use instead, and where it is retired.
RETIRED = {
    # Names that had a term in the field.
    "hush": ("log_ratelimit", "names"),
    "noisy": ("may_be_running", "names"),
    "memories": ("job_cache", "names"),
    "breath": ("accept_backoff", "names"),
    "goodbye": ("close", "names"),
    "guest": ("connection", "docs"),
    "stranger": ("unauthenticated client", "docs"),
    "neighbour": ("local", "names docs"),
    "lanes?": ("suite", "docs"),
    "crew": ("pod_summary", "names"),
    "told": ("reported", "texts docs"),
    "whoever": ("the client, the user, the process", "names texts docs comments"),
    "somebody": ("a user, another owner, another user", "texts docs comments"),
    "nobody": ("no user, no process", "docs"),
    "errands?": ("request", "names"),
    "debris": ("abandoned", "names"),
    "census": ("counts", "names"),
    "homeless": ("unplaced", "names"),
    "fleeting": ("cli_only", "names"),
    "outlooks?": ("forecast", "names"),
    "hindered|mendable": ("rejected, correctable", "names"),
    "wish": ("options", "names"),
    "podlaunch|podneeds|podoverlay|podspec|lastwords": ("pod_launcher, pod_references, pod_overlay, pod_spec, log_tail", "names"),
    # Words of sentences.
    "anew": ("again", "texts docs comments"),
    "judge[ds]?": ("validate", "texts docs comments"),
    REJECT: ("reject", "names docs comments"),
    "room": ("capacity, space, free IPUs", "docs"),
    "door": ("port, endpoint", "names texts docs"),
    "crowds?": ("many", "texts docs"),
    "leave it out": ("remove it", "texts docs"),
    "looked at": ("checked", "texts docs comments"),
    "gives? back": ("release", "texts docs"),
    "stands": ("is", "texts docs"),
    "of ours": ("of this project, of the operator", "texts docs"),
    "end-point": ("endpoint", "docs"),
    "as ever": ("as usual", "texts docs"),
    "in the way": ("blocking", "texts docs"),
    "for ever": ("forever", "texts comments"),
    "side-car": ("sidecar", "docs"),
    "time-out": ("timeout", "texts docs comments"),
    r"\w+\(s\)": ("the right plural", "docs"),
    "just that": ("the command", "texts docs"),
    "makes no sense": ("is invalid", "docs"),
    "goes on": ("continues", "docs"),
    "given back": ("released", "docs comments"),
    "says by itself": ("prints", "texts docs"),
    "misspelt": ("misspelled", "texts docs"),
    "has to say": ("reports", "texts docs comments"),
}
# File, word -> why it stays: fixed by another product, or ordinary English.
EXCEPTIONS = {
    ("tests/popdist/programs/early.py", REJECT): "ConnectionRefusedError of Python",
    ("tests/unit/base/http/test_http_client.c", REJECT): "a system's ECONNREFUSED",
    ("vipu/wire/grpc/*.c", REJECT): "REFUSED_STREAM of HTTP/2",
}
CODE = re.compile(r"```.*?^ *```$|(`+)(?:(?!\n\n).)+?\1|\]\([^)]*\)|^\| statement \| why not \|\n(?:\|[^\n]*\n)*",
                  re.DOTALL | re.MULTILINE)
# Of C and Python: comments, then strings.
COMMENT = {".py": re.compile(r'"""(?:[^\\]|\\.)*?"""|#[^\n]*', re.DOTALL), ".c": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)}
STRING = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")


def blank(found):
    """Line numbers stay."""
    return "\n" * found[0].count("\n")


def split(path, text):
    """Code without strings and comments, its strings, and its comments."""
    comment = COMMENT[".py" if path.endswith(".py") else ".c"]
    both = re.compile(f"(?P<comment>{comment.pattern})|{STRING.pattern}", re.DOTALL)
    strings, comments = [], []

    def take(match):
        number = text.count("\n", 0, match.start()) + 1
        if match["comment"] is None:
            strings.append((number, match[0][1:-1]))
        else:
            comments.append((number, re.sub(r"\n[ *]*", " ", match[0])))
        return blank(match)

    return both.sub(take, text), strings, comments


def lines(text):
    return list(enumerate(text.splitlines(), 1))


def scopes(path):
    """What of a file is read: scope -> lines of text, with their numbers."""
    text = (ROOT / path).read_text(errors="replace")
    found = {}
    if path.endswith((".c", ".h", ".py", ".hpp", ".cpp")):
        code, strings, comments = split(path, text)
        words = [(number, " ".join(re.sub(r"([a-z])([A-Z])", r"\1 \2", line).replace("_", " ").split())) for number, line in lines(code)]
        found["names"] = [(1, re.sub(r"[/_.-]", " ", path)), *words]
        if path.startswith(PRODUCT):
            found["texts"], found["comments"] = strings, comments
    elif path.startswith("charts/") and not path.endswith(".md"):
        found["texts"] = lines(text)
    elif path.endswith(".md"):
        found["docs"] = lines(CODE.sub(blank, text))
    return found


def main():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    patterns = {scope: re.compile(r"(?<![\w-])(?:" + "|".join(f"({word})" for word, (_, where) in RETIRED.items() if scope in where.split())
                                  + r")(?![\w-])", re.IGNORECASE) for scope in ("names", "texts", "comments", "docs")}
    rows = {scope: [word for word, (_, where) in RETIRED.items() if scope in where.split()] for scope in patterns}
    read, broken, unused = dict.fromkeys(patterns, 0), [], set(EXCEPTIONS)
    for path in filter(None, files):
        if path == str(Path(__file__).relative_to(ROOT)) or not (ROOT / path).is_file():
            continue
        for scope, found in scopes(path).items():
            read[scope] += 1
            for number, line in found:
                for match in patterns[scope].finditer(line):
                    word = rows[scope][match.lastindex - 1]
                    excepted = {key for key in EXCEPTIONS if fnmatch(path, key[0]) and key[1] == word}
                    unused -= excepted
                    if not excepted:
                        broken.append(f"{path}:{number}: {scope}: {match[0]}: use {RETIRED[word][0]}")
    broken += [f"tests/arch/words.py: the exception {path}, {word} is not needed" for path, word in sorted(unused)]
    print("\n".join(broken))
    print(f"words: {read['names']} files of code, {read['texts']} of texts, {read['comments']} of comments, {read['docs']} pages read, {len(broken)} broken")
    return bool(broken) or not all(read.values())


if __name__ == "__main__":
    sys.exit(main())
