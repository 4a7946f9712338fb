"""Installed Debian packages: owners of files, versions, licences."""

import re
import subprocess
from pathlib import Path


def owners(files) -> dict[str, str]:
    """{package: version} of the packages that these files belong to; files of no package are left out."""
    # On a merged /usr a file has two paths; dpkg knows only the one in the package.
    bare = {str(file).removeprefix("/usr") for file in files}
    names = sorted(bare | {f"/usr{name}" for name in bare})
    if not names:
        return {}
    found = subprocess.run(["dpkg-query", "--search", "--", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False)
    packages = sorted({match[1] for match in re.finditer(r"^(\S+?): /", found.stdout, re.MULTILINE)})
    return versions(packages)


def versions(packages: list[str]) -> dict[str, str]:
    """{package: version}, without the packages' architectures."""
    if not packages:
        return {}
    asked = subprocess.run(["dpkg-query", "--show", "--showformat=${Package} ${Version}\\n", *packages],
                           stdout=subprocess.PIPE, text=True, check=True)
    return dict(line.split() for line in asked.stdout.splitlines())


def copyright_file(package: str) -> Path:
    return Path("/usr/share/doc") / package / "copyright"
