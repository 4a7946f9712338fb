"""What the operator says is found in the docs, in the same words: in docs/troubleshooting.md every line of its log, why it does
not start, what its pages answer in place of their content, and what its verbs say; in docs/admission.md the mistakes in a job.

    python3 tests/arch/messages.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TROUBLE, ADMISSION = "docs/troubleshooting.md", "docs/admission.md"
TEXT = r'(?:"(?:[^"\\]|\\.)*"|\bANNOTATION_\w+|\bIPU_OPERATOR_VERSION)'
WORDS = rf"({TEXT}(?:\s*{TEXT})*)"
LOG = (r"\blog_(?:debug|info|warn|error)\(\s*@", r"\bon_failure\([\w>-]+,\s*@")
REFUSAL = (r'\berr_(?:set|set_code|errno|wrap)\([^";]*?,\s*@', r"\bstrv_pushf?\(\s*(?:scan->)?problems,\s*@")
MISTAKE = (r"\bfield_(?:invalid|forbidden)\([^;]*?,\s*@(?=\);)", r"\bwhat = mem_printf\(\s*@", r"\badd\(problems, path, @")
# Page -> where messages are made -> what stands around their words (@).
CALLS = {
    TROUBLE: {
        ("operator", "vipu/client", "vipu/wire", "base"): LOG,
        ("base/io/http_server_request.c",): (r"\brefuse\(request, \d+, @",),
        ("operator/serve",): (r'\bhttp_server_replyf\(\s*\w+,(?:[^;"]|"[A-Z]+")*?,\s*@',),
        ("operator/main.c",): (r"\bNULL\s*:\s*@", r"(?m)^        return (?=\")@"),
        ("operator/options.c", "base/core/opts.c", "base/io", "operator/kube", "operator/serve", "operator/pool/controller_secret.c",
         "operator/api/partition/orphan.c"): REFUSAL,
        ("operator/pool/config.c",): (*REFUSAL, r"\bret_problem =\s*mem_printf\(@"),
        ("operator/kube/auth/kubeconfig.c",): (r"\breject\([^;]*?, err,\s*@", r"\bwhat = mem_printf\(@"),
        ("base/doc",): (*REFUSAL, r"\bcomplain\([^;]*?, @", r"\bwhat = (?:mem_printf\()?@", r"\bproblem : @"),
        ("operator/admin",): (*REFUSAL, r"\bfprintf\(stderr,\s*@", r"(?<!n)\bprintf\(@", r"\bputs\(@",
                              r"\bmem_(?:strdup|printf)\(@", r"\bstr_addf\(&(?:out|text),\s*@"),
    },
    ADMISSION: {
        ("operator/api/job/validate.c", "operator/api/job/jobspec.c", "operator/api/job/env_conflicts.c", "operator/api/job/field.c"): MISTAKE,
        ("operator/api/job/warnings.c",): (r"\bstrv_pushf?\(\s*warnings,\s*@",),
    },
}
# Of options of types that the operator has none of, and of what it never asks for.
UNSAID = {'--%s: expected one of %s, got "%s"', "--%s: the table row has no type", "variable %s",
          "connection aborted"}
# A message of these files comes from somewhere else: the mistakes in options, the library's own words.
HANDED_ON = {"operator/main.c": 1, "operator/serve/certificates/cert_rotator.c": 1}
DEFINED = re.compile(r'^#define (ANNOTATION_\w+) "([^"]*)"', re.MULTILINE)
CONVERSION = re.compile(r"%[-.*\d]*(?:zu|ll[du]|td|[sdu])")


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
    for page, rows in CALLS.items():
        for places, calls in rows.items():
            for path in sources(places):
                for call in calls:
                    for literals in re.findall(call.replace("@", WORDS), path.read_text()):
                        text = spoken(literals, names)
                        if len(re.sub(r"\W", "", CONVERSION.sub("", text))) > 2:
                            yield page, str(path.relative_to(ROOT)), text


def handed_on():
    """Calls whose words cannot be read here."""
    for path in sources(["operator", "vipu/client", "vipu/wire", "base"]):
        found = re.findall(r'\blog_(?:debug|info|warn|error)\((?!\s*["(.])(?!\.\.\.)', path.read_text())
        if len(found) > HANDED_ON.get(str(path.relative_to(ROOT)), 0):
            yield f"{path.relative_to(ROOT)}: a log call has its words from elsewhere, where nobody compares them"


def quoted(page):
    """What of each cell of its tables, and of what stands between them, is between backticks."""
    return "|".join(cell[cell.find("`") + 1 : cell.rfind("`")] for cell in page.split("|") if "`" in cell)


def is_told(text, page):
    """With whatever the page has in the place of what is filled in."""
    return re.search("[^|\n]*?".join(re.escape(part) for part in CONVERSION.split(text) if part), page)


def main():
    pages = {page: quoted((ROOT / page).read_text()) for page in CALLS}
    found = {message for message in messages() if message[2] not in UNSAID}
    broken = sorted(f"{path}: not in {page}: {text}" for page, path, text in found if not is_told(text, pages[page]))
    broken += handed_on()
    print("\n".join(broken))
    print(f"messages: {len(found)} read, {len(broken)} broken")
    return bool(broken) or len(found) < 200


if __name__ == "__main__":
    sys.exit(main())
