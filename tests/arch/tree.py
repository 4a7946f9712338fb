"""The tree's own rules, each a function that returns sentences about what breaks it.

    python3 tests/arch/tree.py includes|circles|banned|format
    python3 tests/arch/tree.py headers ROOM... -- CC FLAG...
    python3 tests/arch/tree.py purity ARCHIVE...
    python3 tests/arch/tree.py names ARCHIVE...
"""

import concurrent.futures
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("base", "vipu", "popdist", "launcher", "operator", "local", "kubectl")

BESIDE_RECONCILE = ("operator/reconcile/decide/", "operator/api/", "operator/kube/", "operator/pool/", "vipu/", "base/")

# What a module, or a folder of it, may include. The longest prefix that matches a file counts.
MAY_INCLUDE = {
    "base/core/": ("base/core/",),
    "base/text/": ("base/text/", "base/core/"),
    "base/options/": ("base/options/", "base/text/", "base/core/"),
    "base/doc/": ("base/doc/", "base/text/", "base/core/"),
    "base/io/": ("base/io/", "base/text/", "base/core/"),
    "base/http/": ("base/http/", "base/io/", "base/text/", "base/core/"),
    "vipu/": ("vipu/", "base/"),
    "vipu/model/": ("vipu/model/", "base/core/"),
    "vipu/placement/": ("vipu/placement/", "vipu/model/", "base/core/"),
    "vipu/wire/messages/": ("vipu/wire/messages/", "vipu/model/", "base/core/"),
    "vipu/wire/transport/": ("vipu/wire/transport/", "base/"),
    "vipu/wire/grpc/": ("vipu/wire/grpc/", "vipu/wire/transport/", "base/"),
    "vipu/client/": ("vipu/client/", "vipu/wire/", "vipu/model/", "base/"),
    "vipu/server/controller/": ("vipu/server/controller/", "vipu/placement/", "vipu/model/", "base/"),
    "vipu/server/config/": ("vipu/server/config/", "vipu/server/controller/", "vipu/wire/transport/", "vipu/model/", "base/"),
    "vipu/server/calls/": ("vipu/server/calls/", "vipu/server/controller/", "vipu/wire/", "vipu/model/", "base/"),
    "vipu/server/storage/": ("vipu/server/storage/", "vipu/server/calls/", "vipu/server/controller/", "vipu/wire/", "vipu/model/", "base/"),
    "vipu/server/": ("vipu/server/", "vipu/wire/", "vipu/model/", "base/"),
    "vipu/cli/args/": ("vipu/cli/args/", "base/"),
    "vipu/cli/output/": ("vipu/cli/output/", "vipu/model/", "base/"),
    "vipu/cli/": ("vipu/cli/", "vipu/client/", "vipu/model/", "base/"),
    "vipu/tools/devices/": ("vipu/tools/devices/", "vipu/model/", "base/"),
    "vipu/tools/display/": ("vipu/tools/display/", "vipu/tools/devices/", "base/"),
    "vipu/tools/discovery/": ("vipu/tools/discovery/", "vipu/tools/devices/", "vipu/client/", "vipu/model/", "base/"),
    "vipu/tools/": ("vipu/tools/", "vipu/client/", "vipu/model/", "base/"),
    "popdist/": ("popdist/",),
    "popdist/src/core/": ("popdist/src/core/", "popdist/backend.h", "popdist/popdist.h"),
    "popdist/src/query/": ("popdist/src/query/", "popdist/src/core/", "popdist/contract.h", "popdist/popdist.h"),
    "launcher/": ("launcher/", "vipu/client/", "vipu/model/", "vipu/cli/args/hcl.h", "vipu/cli/args/options.h", "vipu/tools/", "base/", "popdist/contract.h"),
    "launcher/tools/": ("launcher/", "vipu/cli/main.h", "vipu/tools/", "base/"),
    "operator/": ("operator/", "vipu/", "base/"),
    "local/": ("local/", "operator/", "vipu/", "base/"),
    "local/api/": ("local/api/", "base/"),
    # Deciding knows nothing of the others; observing and acting do not know each other; the reconciler is on top.
    "operator/kube/auth/": ("operator/kube/auth/", "base/"),
    "operator/kube/client/": ("operator/kube/client/", "operator/kube/auth/", "base/"),
    "operator/serve/certificates/": ("operator/serve/certificates/", "operator/api/", "operator/kube/", "base/"),
    # The plan is on top; the interface and what is known of run times are at the bottom.
    "operator/forecast/": ("operator/forecast/forecast.h", "operator/forecast/run_estimate.h", "operator/forecast/share_list.h",
                            "operator/forecast/usage.h", "base/core/"),
    "operator/forecast/place/": ("operator/forecast/place/", "operator/forecast/forecast.h", "base/core/"),
    "operator/forecast/queue/": ("operator/forecast/queue/", "operator/forecast/place/", "operator/forecast/forecast.h",
                                 "operator/forecast/run_estimate.h", "base/core/"),
    "operator/forecast/projection/": ("operator/forecast/projection/", "operator/forecast/queue/", "operator/forecast/place/",
                                      "operator/forecast/forecast.h", "base/core/"),
    "operator/forecast/plan/": ("operator/forecast/", "base/core/"),
    "operator/history/": ("operator/history/", "operator/forecast/", "operator/progress/", "operator/kube/", "base/"),
    "operator/progress/": ("operator/progress/", "operator/kube/auth/", "base/core/", "base/text/", "base/doc/"),
    "operator/reconcile/decide/": ("operator/reconcile/decide/", "operator/api/", "operator/pool/", "base/core/", "base/text/", "base/doc/"),
    "operator/reconcile/accounting/": ("operator/reconcile/accounting/", "operator/reconcile/decide/", "operator/api/", "operator/forecast/", "base/core/",
                                       "base/text/", "base/doc/"),
    "operator/reconcile/state/": ("operator/reconcile/state/", "operator/reconcile/accounting/", "operator/forecast/", "operator/history/",
                                  *BESIDE_RECONCILE),
    "operator/reconcile/queue/": ("operator/reconcile/queue/", "operator/reconcile/accounting/", "operator/reconcile/state/", "operator/forecast/",
                                  "operator/history/", *BESIDE_RECONCILE),
    "operator/reconcile/observe/": ("operator/reconcile/observe/", "operator/reconcile/queue/", "operator/reconcile/accounting/",
                                    "operator/reconcile/state/", *BESIDE_RECONCILE),
    "operator/reconcile/act/": ("operator/reconcile/act/", "operator/reconcile/accounting/", "operator/reconcile/state/", *BESIDE_RECONCILE),
    "operator/reconcile/report/": ("operator/reconcile/report/", "operator/reconcile/queue/", "operator/reconcile/accounting/", "operator/reconcile/state/",
                                   "operator/forecast/", "operator/progress/", *BESIDE_RECONCILE),
    "kubectl/": ("kubectl/", "operator/api/", "operator/kube/", "operator/serve/live/", "base/"),
    "kubectl/core/": ("kubectl/core/", "operator/api/", "base/core/", "base/text/", "base/options/", "base/doc/"),
}

# How many circles of files a module still has. A number may only become smaller.
CIRCLES = {"base": 2, "operator": 4, "vipu": 3}

# Function -> the files that may call it. Everything else uses what base/ offers in its place.
BANNED = {
    "malloc calloc aligned_alloc realloc strdup strndup": ("base/core/mem.c", "popdist/src/core/alloc.c"),
    "asprintf vasprintf": (),
    "getenv secure_getenv": ("main.c", "launcher/", "popdist/src/query/settings.c"),
    "exit": ("main.c",),
    "sprintf vsprintf strcpy stpcpy strcat strncpy strncat gets strtok atoi atol atof": (),
    "system popen sleep usleep rand srand random alloca setjmp longjmp tmpnam mktemp": (),
}

# What a pure archive may need from outside the pure archives: words over memory, nothing that looks at the world.
# write and close are mem.c's last line when memory runs out, and the closing of a descriptor at a scope's end.
PURE = re.compile(
    r"""(__)?(mem(cpy|move|set|cmp|chr|mem|rchr)|explicit_bzero
      |str(len|nlen|cmp|ncmp|verscmp|casecmp|ncasecmp|chr|chrnul|rchr|str|spn|cspn|pbrk|error_r|tol|toul|toll|toull|tod)
      |rawmemchr|v?snprintf|abs|labs|qsort|bsearch|ffs|isoc99_sscanf|sigabbrev_np
      |calloc|aligned_alloc|realloc|free|malloc_trim|write|close|hton[ls]|ntoh[ls]|inet_[pn]to[pn])(_chk)?
      |abort|__assert_fail|__errno_location|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__popcount[ds]i2|__ctype_(b|tolower|toupper)_loc
      |isfinite|floor|ceil|fabs|cJSON_\w+|yaml_\w+|(de|in)flate(End|Init2?_)?|protobuf_c_\w+|(virmgrpc|ipuoperator|grpc__health|grpc__reflection)__\w+|vipu_descriptors(_len)?""",
    re.VERBOSE,
)


def sources(*folders, suffixes=(".c", ".h")):
    found = []
    for folder in folders:
        found += (p for p in sorted((ROOT / folder).rglob("*")) if p.suffix in suffixes and p.is_file())
    return found


def without_comments_and_strings(text):
    """The same text with comments and literals blanked, so that line numbers stay."""
    literal = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return literal.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def allowed_includes(name):
    prefixes = [p for p in MAY_INCLUDE if name.startswith(p)]
    return MAY_INCLUDE[max(prefixes, key=len)]


def includes():
    for path in sources(*MODULES):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not found:
                continue
            target = found.group(1)
            if target.split("/")[0] not in MODULES:
                if not target.endswith(".pb-c.h") and not (name.count("/") == 1 and (path.parent / target).is_file()):
                    yield f'{name}:{number}: "{target}" is not named from the top of the tree'
            elif not target.startswith(allowed_includes(name)):
                yield f"{name}:{number}: {name.split('/')[0]} may not look into {target}"


INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def circles_of(arrows):
    """The sets of nodes that reach each other, by Tarjan's walk."""
    found, index, low, stack = [], {}, {}, []

    def walk(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(arrows.get(node, ())):
            if target not in index:
                walk(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            circle = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(circle) > 1:
                found.append(circle)

    for node in sorted(arrows):
        if node not in index:
            walk(node)
    return found


def circles():
    """No files of a folder, and no folders, include each other. A source and its header are one."""
    files, folders = {}, {}
    for path in sources(*MODULES):
        name = path.relative_to(ROOT)
        for target in map(Path, INCLUDE.findall(path.read_text())):
            if target.parent == name.parent and target.stem != name.stem:
                files.setdefault(name.with_suffix("").as_posix(), set()).add(target.with_suffix("").as_posix())
            elif target.parent != name.parent and target.parts[0] in MODULES:
                folders.setdefault(name.parent.as_posix(), set()).add(target.parent.as_posix())
    if not files or not folders:
        yield "no file includes another"
    yield from (f"these folders include each other: {' '.join(sorted(circle))}" for circle in circles_of(folders))
    found = [" ".join(sorted(circle)) for circle in circles_of(files)]
    for module in MODULES:
        own = [circle for circle in found if circle.startswith(module + "/")]
        if len(own) > CIRCLES.get(module, 0):
            yield from (f"these files include each other: {circle}" for circle in own)


def banned():
    rules = [
        (re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(names.split())), homes) for names, homes in BANNED.items()
    ]
    for path in sources(*MODULES):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            for call, homes in rules:
                for found in call.finditer(line):
                    if not any(name.startswith(h) or name.endswith("/" + h) for h in homes):
                        yield f"{name}:{number}: {found.group(1)}() is banned here; see BANNED in tests/arch/tree.py"
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                yield f"{name}:{number}: an open end; finish it or open an issue"
            if re.match(r"\s*//", line):
                yield f"{name}:{number}: comments that stay are written /* like this */"


def headers(modules, compiler):
    def compile_alone(path):
        name = path.relative_to(ROOT).as_posix()
        done = subprocess.run(
            [*compiler, "-fsyntax-only", "-x", "c", "-"],
            input=f'#include "{name}"\n', capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
        first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip())
        return None if done.returncode == 0 else f"{name}: does not compile alone: {first}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(compile_alone, sources(*modules, suffixes=(".h",))))


def symbols(archive, *flags):
    listing = subprocess.run(["nm", "-A", *flags, archive], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        where, _, symbol = line.rpartition(" ")
        yield where.split(":")[1], symbol


def purity(archives):
    own = {symbol for archive in archives for _, symbol in symbols(archive, "--defined-only")}
    if not own:
        yield "the archives define nothing"
    for archive in archives:
        for member, symbol in symbols(archive, "--undefined-only"):
            if symbol not in own and not PURE.fullmatch(symbol):
                yield f"{Path(archive).name}({member}): needs {symbol}, so it is not pure"


def names(archives):
    """Two functions of one name in modules of one program: the linker may pick the wrong one without a warning."""
    homes = {}
    for archive in archives:
        for member, symbol in symbols(archive, "--defined-only", "--extern-only"):
            homes.setdefault(symbol, set()).add(f"{Path(archive).name}({member})")
    if not homes:
        yield "the archives define nothing"
    for symbol, found in sorted(homes.items()):
        if len(found) > 1:
            yield f"{symbol} is defined in {' and '.join(sorted(found))}: give one of them another name"


def layout():
    files = [str(p) for p in sources(*MODULES, "tests", "deploy")]
    done = subprocess.run(
        ["clang-format", "--dry-run", "--Werror", *files], capture_output=True, text=True, check=False, cwd=ROOT
    )
    names = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
    for name in names:
        yield f"{Path(name).relative_to(ROOT)}: run clang-format -i on it"
    if done.returncode and not names:
        yield done.stderr.strip()


def main(argv):
    rule, rest = argv[0], argv[1:]
    split = rest.index("--") if "--" in rest else len(rest)
    rules = {
        "includes": includes,
        "circles": circles,
        "banned": banned,
        "format": layout,
        "headers": lambda: headers(rest[:split], rest[split + 1 :]),
        "purity": lambda: purity(rest),
        "names": lambda: names(rest),
    }
    broken = list(rules[rule]())
    for sentence in broken:
        print(sentence)
    print(f"{rule}: {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
