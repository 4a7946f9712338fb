"""What the operator prints is found in docs/troubleshooting.md, in the same words: every line of its log, what its pages answer
in place of their content, and what its verbs say.

    python3 tests/arch/messages.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
TEXT = r'(?:"(?:[^"\\]|\\.)*"|\bANNOTATION_\w+|\bIPU_OPERATOR_VERSION)'
WORDS = rf"({TEXT}(?:\s*{TEXT})*)"
# Where messages are made -> what stands before their words.
CALLS = {
    ("operator", "vipu/client", "vipu/wire", "base"): (r"\blog_(?:debug|info|warn|error)\(\s*", r"\bon_failure\([\w>-]+,\s*"),
    ("operator/serve",): (r'\bserve_replyf\(\s*\w+,(?:[^;"]|"[A-Z]+")*?,\s*',),
    ("operator/main.c",): (r"\bNULL\s*:\s*", r"(?m)^        return (?=\")"),
    ("operator/api/orphan.c",): (r"\bstrv_pushf?\(\s*problems,\s*", r"\berr_set\(err,\s*ERR_\w+,\s*"),
    ("operator/admin",): (r"\bfprintf\(stderr,\s*", r"(?<!n)\bprintf\(", r"\bputs\(", r"\bmem_(?:strdup|printf)\(", r"\bstr_addf\(&out,\s*"),
}
# A message of these files comes from somewhere else: the mistakes in options, the library's own words.
HANDED_ON = {"operator/main.c": 1, "operator/serve/trust.c": 1}
DEFINED = re.compile(r'^#define (ANNOTATION_\w+) "([^"]*)"', re.MULTILINE)
CONVERSION = re.compile(r"%[-.*\d]*(?:zu|ll[du]|[sdu])")


def sources(places):
    for place in places:
        path = ROOT / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.c"))


def spoken(literals, names):
    """What is printed, without what every message of a program begins with."""
    parts = re.findall(TEXT, literals)
    text = "".join(part[1:-1] if part[0] == '"' else names.get(part, "") for part in parts)
    text = text.replace(r"\n", "").replace(r"\"", '"')
    return text.removeprefix("ipu-operator: ").removeprefix("%s: ").strip()


def messages():
    names = dict(DEFINED.findall((ROOT / "operator" / "api" / "names.h").read_text()))
    for places, calls in CALLS.items():
        for path in sources(places):
            for call in calls:
                for literals in re.findall(call + WORDS, path.read_text()):
                    text = spoken(literals, names)
                    if len(re.sub(r"\W", "", CONVERSION.sub("", text))) > 2:
                        yield str(path.relative_to(ROOT)), text


def handed_on():
    """Calls whose words cannot be read here."""
    for path in sources(["operator", "vipu/client", "vipu/wire", "base"]):
        found = re.findall(r'\blog_(?:debug|info|warn|error)\((?!\s*["(.])(?!\.\.\.)', path.read_text())
        if len(found) > HANDED_ON.get(str(path.relative_to(ROOT)), 0):
            yield f"{path.relative_to(ROOT)}: a log call has its words from elsewhere, where nobody compares them"


def is_told(text, page):
    """With whatever the page has in the place of what is filled in."""
    pattern = ".*?".join(re.escape(part) for part in CONVERSION.split(text))
    return re.search(rf"`[^|]*?{pattern}[^|]*?`", page)


def main():
    page = PAGE.read_text()
    found = set(messages())
    broken = sorted(f"{path}: not in docs/troubleshooting.md: {text}" for path, text in found if not is_told(text, page))
    broken += handed_on()
    print("\n".join(broken))
    print(f"messages: {len(found)} read, {len(broken)} broken")
    return bool(broken) or len(found) < 60


if __name__ == "__main__":
    sys.exit(main())
