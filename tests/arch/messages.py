"""The operator's messages are documented word by word: docs/troubleshooting.md has every log message, the reasons why it does not
start, the errors of its HTTP endpoints and the output of its subcommands; docs/admission.md has the errors and warnings about a job.

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
ERROR = (r'\berr_(?:set|set_code|errno|wrap)\([^";]*?,\s*@', r"\bstrv_pushf?\(\s*(?:scan->)?problems,\s*@")
JOB_ERROR = (r"\bfield_(?:invalid|forbidden)\([^;]*?,\s*@(?=\);)", r"\bwhat = mem_printf\(\s*@", r"\badd\(problems, path, @")
# Page -> source files -> patterns of the calls that print messages; @ is the text.
CALLS = {
    TROUBLE: {
        ("operator", "vipu/client", "vipu/wire", "base"): LOG,
        ("base/http/http_server_request.c",): (r"\breject\(request, \d+, @",),
        ("operator/serve",): (r'\bhttp_server_replyf\(\s*\w+,(?:[^;"]|"[A-Z]+")*?,\s*@',),
        ("operator/serve/live/live_page.c",): (r"\bpage_viewer_reject\([^;]*?, \d+,\s*@",),
        ("operator/main.c",): (r"\bNULL\s*:\s*@", r"(?m)^        return (?=\")@"),
        ("operator/options.c", "base/options/opts.c", "base/io", "base/http", "operator/kube", "operator/serve", "operator/pool/controller_secret.c",
         "operator/api/partition/orphan.c"): ERROR,
        ("operator/pool/config.c",): (*ERROR, r"\bret_problem =\s*mem_printf\(@"),
        ("operator/kube/auth/kubeconfig.c",): (r"\breject\([^;]*?, err,\s*@", r"\bwhat = mem_printf\(@"),
        ("base/doc",): (*ERROR, r"\bcomplain\([^;]*?, @", r"\bwhat = (?:mem_printf\()?@", r"\bproblem : @"),
        ("operator/admin",): (*ERROR, r"\bfprintf\(stderr,\s*@", r"(?<!n)\bprintf\(@", r"\bputs\(@",
                              r"\bmem_(?:strdup|printf)\(@", r"\bstr_addf\(&(?:out|text),\s*@"),
    },
    ADMISSION: {
        ("operator/api/job/additions.c", "operator/api/job/template_limit.c", "operator/api/job/template_types.c", "operator/api/job/validate.c", "operator/api/queue/queue_limits.c", "operator/api/job/jobspec.c", "operator/api/job/env_conflicts.c", "operator/api/field.c"): JOB_ERROR,
        ("operator/api/admission/warnings.c",): (r"\bstrv_pushf?\(\s*warnings,\s*@",),
    },
}
# Messages about types of options, and about requests, that the operator does not use.
UNUSED = {'--%s: expected one of %s, got "%s"', "--%s: the table row has no type", "variable %s",
          "connection aborted"}
# Files with log calls whose text comes from elsewhere: errors in options, and those of a library.
INDIRECT = {"operator/main.c": 1, "operator/serve/certificates/cert_rotator.c": 1}
DEFINED = re.compile(r'^#define (ANNOTATION_\w+) "([^"]*)"', re.MULTILINE)
CONVERSION = re.compile(r"%[-.*\d]*(?:zu|ll[du]|td|[sdu])")


def sources(places):
    for place in places:
        path = ROOT / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.c"))


def message_text(literals, names):
    """The format, without the prefix of all messages of a program."""
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
                        text = message_text(literals, names)
                        if len(re.sub(r"\W", "", CONVERSION.sub("", text))) > 2:
                            yield page, str(path.relative_to(ROOT)), text


def unmatched():
    """Patterns without any match, in all of the files that they are for, check nothing."""
    code = {}
    for rows in CALLS.values():
        for places, calls in rows.items():
            for call in calls:
                code.setdefault(call, []).extend(path.read_text() for path in sources(places))
    for call, texts in code.items():
        if not any(re.search(call.replace("@", WORDS), text) for text in texts):
            yield f"tests/arch/messages.py: no call matches {call}"


def indirect():
    """Log calls whose text is not a literal."""
    for path in sources(["operator", "vipu/client", "vipu/wire", "base"]):
        found = re.findall(r'\blog_(?:debug|info|warn|error)\((?!\s*["(.])(?!\.\.\.)', path.read_text())
        if len(found) > INDIRECT.get(str(path.relative_to(ROOT)), 0):
            yield f"{path.relative_to(ROOT)}: the text of a log call is not a literal, so it is not compared with the docs"


def quoted(page):
    """The text between backticks, in the cells of its tables and between the tables."""
    return "|".join(cell[cell.find("`") + 1 : cell.rfind("`")] for cell in page.split("|") if "`" in cell)


def is_documented(text, page):
    """The page may have any text in place of a conversion."""
    return re.search("[^|\n]*?".join(re.escape(part) for part in CONVERSION.split(text) if part), page)


def main():
    pages = {page: quoted((ROOT / page).read_text()) for page in CALLS}
    found = {message for message in messages() if message[2] not in UNUSED}
    broken = sorted(f"{path}: not in {page}: {text}" for page, path, text in found if not is_documented(text, pages[page]))
    broken += [*indirect(), *unmatched()]
    print("\n".join(broken))
    print(f"messages: {len(found)} read, {len(broken)} broken")
    return bool(broken) or len(found) < 200


if __name__ == "__main__":
    sys.exit(main())
