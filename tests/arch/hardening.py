"""How the files of a release build are hardened, read from their ELF headers, symbols and code.

    python3 tests/arch/hardening.py --dynamic FILE... --static FILE... --library FILE... --archive FILE... --absent WORD...

--absent lists what this compiler or linker does not have: static-pie, cf-protection."""

import argparse
import re
import subprocess
import sys

X86 = "Advanced Micro Devices X86-64"


def readelf(path, *what):
    return subprocess.run(["readelf", "--wide", *what, path], capture_output=True, text=True, check=True).stdout


def segments(path):
    """Type -> its flags, as R, RW, RWE."""
    found = re.findall(r"^ +([A-Z_]+) +(?:0x\w+ +){5}([RWE ]+?) +0x", readelf(path, "--program-headers"), re.MULTILINE)
    return {kind: flags.replace(" ", "") for kind, flags in found}


def image(path):
    """Shared libraries and programs alike."""
    found = segments(path)
    if not re.search(r"^ +Type: +DYN ", readelf(path, "--file-header"), re.MULTILINE):
        yield "is not position-independent (ELF type DYN)"
    if found.get("GNU_STACK") != "RW":
        yield f"has a stack segment {found.get('GNU_STACK')}, expected RW"
    if "GNU_RELRO" not in found:
        yield "has no read-only relocations (GNU_RELRO)"
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", readelf(path, "--dynamic")):
        yield "binds symbols lazily, expected at start (NOW)"
    if "TEXTREL" in readelf(path, "--dynamic"):
        yield "relocates its code (TEXTREL)"
    if any(set("WE") <= set(flags) for flags in found.values()):
        yield "has a segment that is writable and executable"


def static(path, absent):
    if "INTERP" in segments(path):
        yield "asks for a dynamic loader (INTERP)"
    if "(NEEDED)" in readelf(path, "--dynamic"):
        yield "needs a shared library"
    if "static-pie" not in absent:
        yield from image(path)


def marks_branch_targets(path):
    """Does `main` begin with endbr64? The note of a whole program is missing as soon as one library in it was compiled without."""
    at = re.search(r"^ *\d+: ([0-9a-f]+) .* FUNC .* main$", readelf(path, "--symbols"), re.MULTILINE)
    if not at:
        return False
    start = int(at[1], 16)
    code = subprocess.run(["objdump", "--disassemble", f"--start-address={start}", f"--stop-address={start + 4}", path],
                          capture_output=True, text=True, check=True).stdout
    return "endbr64" in code


def archive(path, absent):
    """What the compiler made of one module: checked calls, and a note on each object."""
    symbols = subprocess.run(["nm", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
    for symbol in (r"__\w+_chk", "__stack_chk_fail"):
        if not re.search(rf" U {symbol}$", symbols, re.MULTILINE):
            yield f"calls no {symbol}"
    if "cf-protection" not in absent:
        notes = readelf(path, "--notes").split("\nFile: ")[1:]
        unmarked = [note.partition("\n")[0] for note in notes if not re.search(r"x86 feature: IBT, SHSTK", note)]
        if not notes or unmarked:
            yield f"has objects without control-flow protection: {' '.join(unmarked)}"


def main():
    parser = argparse.ArgumentParser()
    for option in ("dynamic", "static", "library", "archive", "absent"):
        parser.add_argument(f"--{option}", nargs="*", default=[])
    given = parser.parse_args()
    absent = set(given.absent)
    if X86 not in readelf(given.dynamic[0], "--file-header"):
        absent.add("cf-protection")
    broken = []
    for files, rule in ((given.dynamic + given.library, image), (given.static, lambda path: static(path, absent)),
                        (given.archive, lambda path: archive(path, absent))):
        broken += [f"{path}: {sentence}" for path in files for sentence in rule(path)]
    if "cf-protection" not in absent:
        broken += [f"{path}: main is not marked as a branch target" for path in given.dynamic + given.static if not marks_branch_targets(path)]
    print("\n".join(broken))
    print(f"hardening: {len(given.dynamic)} dynamic and {len(given.static)} static programs, {len(broken)} broken")
    return bool(broken) or not given.dynamic or not given.archive


if __name__ == "__main__":
    sys.exit(main())
