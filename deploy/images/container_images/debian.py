"""Files out of Debian packages. apt resolves, downloads and verifies; no package's scripts are run."""

import fnmatch
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

from local_cluster.errors import UserError

from .recipe import Debian
from .rootfs import RootFilesystem

LISTS = Path("/var/lib/apt/lists")


class Packages:
    """The package files that a recipe asks for, kept in a folder of the cache."""

    def __init__(self, debian: Debian, folder: Path):
        self._debian = debian
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # An empty one makes apt name every package that is needed, whatever this machine has installed.
        self._status = folder / "status"
        self._status.touch()
        self.versions = self._remembered_versions()

    def _remembered_versions(self) -> list[tuple[str, str]]:
        """apt takes seconds to resolve, and its answer changes only with its lists."""
        asked = json.dumps([LISTS.stat().st_mtime_ns, self._debian.packages, sorted(self._debian.single_files),
                            self._debian.without_packages])
        memory = self._folder / f"versions-{hashlib.sha256(asked.encode()).hexdigest()[:16]}.json"
        if not memory.exists():
            versions = self._versions()
            memory.write_text(json.dumps(versions))
        return [(package, version) for package, version in json.loads(memory.read_text())]

    def _versions(self) -> list[tuple[str, str]]:
        """(package, version) of all package files that the image is made of."""
        debian = self._debian
        installed = self._resolved(debian.packages)
        single = [row for package in sorted(debian.single_files) for row in self._resolved([package])
                  if row[0] == package]
        return sorted({row for row in [*installed, *single] if row[0] not in debian.without_packages})

    def download(self, say) -> None:
        absent = [f"{package}={version}" for package, version in self.versions if not self._file(package, version)]
        if not absent:
            return
        say(f"downloading {len(absent)} Debian packages (usually 10 seconds)")
        done = subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *absent], cwd=self._folder,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"apt-get cannot download the packages of the image: {done.stderr.strip()}")

    def add(self, rootfs: RootFilesystem) -> None:
        for package, version in self.versions:
            file = self._file(package, version)
            with _contents(file) as contents:
                if package in self._debian.single_files:
                    _add_single(rootfs, contents, file, self._debian.single_files[package])
                else:
                    self._add_all(rootfs, contents)

    def _file(self, package: str, version: str) -> Path | None:
        return next(self._folder.glob(f"{package}_{version.replace(':', '%3a')}_*.deb"), None)

    def _add_all(self, rootfs: RootFilesystem, contents: tarfile.TarFile) -> None:
        hard_links = []
        for member in contents:
            path = member.name.lstrip(".")
            if not path.strip("/") or not self._is_wanted(path):
                continue
            if member.isdir():
                rootfs.add_directory(path, member.mode)
            elif member.issym():
                rootfs.add_link(path, member.linkname)
            elif member.islnk():
                hard_links.append((path, member))
            elif member.isfile():
                rootfs.add_file(path, contents.extractfile(member).read(), member.mode)
        for path, member in hard_links:
            original = contents.getmember(member.linkname)
            rootfs.add_file(path, contents.extractfile(original).read(), original.mode)

    def _is_wanted(self, path: str) -> bool:
        def matches(patterns):
            return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)

        return not matches(self._debian.without) or matches(self._debian.keep)

    def _resolved(self, packages: list[str]) -> list[tuple[str, str]]:
        """(package, version) of the packages and all that they depend on."""
        if not packages:
            return []
        done = self._simulated(packages)
        if "Unable to locate package" in done.stderr and os.geteuid() == 0:
            subprocess.run(["apt-get", "update", "-qq"], check=False)
            done = self._simulated(packages)
        if done.returncode:
            raise UserError(f"apt-get cannot find the packages of the image: {done.stderr.strip()}")
        return re.findall(r"^Inst (\S+) \((\S+) ", done.stdout, re.MULTILINE)

    def _simulated(self, packages: list[str]) -> subprocess.CompletedProcess:
        options = [f"Dir::State::status={self._status}", "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache="]
        flags = [part for option in options for part in ("-o", option)]
        return subprocess.run(["apt-get", "install", "--simulate", "-qq", "--no-install-recommends", *flags, *packages],
                              capture_output=True, text=True, check=False)


def _contents(file: Path) -> tarfile.TarFile:
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], capture_output=True, check=False)
    if done.returncode:
        raise UserError(f"The package {file} cannot be read: {done.stderr.decode().strip()}")
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


def _add_single(rootfs: RootFilesystem, contents: tarfile.TarFile, file: Path, wanted: dict[str, str]) -> None:
    for inside, path in wanted.items():
        try:
            member = contents.getmember("." + inside)
        except KeyError as error:
            raise UserError(f"The package {file.name} does not hold {inside} (any more).") from error
        rootfs.add_file(path, contents.extractfile(member).read())
