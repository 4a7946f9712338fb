"""Real V-IPU controllers in secure mode with TLS, and their Secrets as a kubelet mounts them for the operator."""

import os
import secrets
import shutil
import sys
from pathlib import Path

import yaml

from vipu_side import ROOT, VipuServer

sys.path.append(str(ROOT / "tests/vipu/support"))

import generic  # noqa: E402


def new_key():
    """Random, and easy to look for in logs."""
    return f"planted-{secrets.token_hex(12)}"


class SecureVipu(VipuServer):
    """Accepts only the users of `keys` (id -> access key)."""

    def __init__(self, folder, authority, keys, name):
        self.keys, self._authority = dict(keys), authority
        self._certificate = authority.sign(name, "IP:127.0.0.1")
        super().__init__(folder, self._text())
        self.client.close()
        user, key = next(iter(keys.items()))
        self.client = generic.Client(self.address, authority.pem.read_bytes(), user, key)

    def _text(self):
        return yaml.safe_dump({
            "create-ms": 20, "remove-ms": 20, "reset-ms": 20, "secure": True, "clusters": [{"id": "cl1"}],
            "tls": {"certificate": str(self._certificate.pem), "key": str(self._certificate.key)},
            "users": [{"id": user, "access-key": key, "allocations": ["cl1"]} for user, key in self.keys.items()]})

    def change_key(self, user, key):
        self.keys[user] = key
        self.read_again(self._text())


class Mounted:
    """A projected volume of Secrets: all of it is replaced in one step, by a link."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        self._secrets, self._version = {}, 0

    def put(self, name, **files):
        """Replaces a Secret; `_` stands for `-`, and ca_crt for ca.crt."""
        self._secrets[name] = {key.replace("_", "-").replace("ca-crt", "ca.crt"): text for key, text in files.items()}
        self._publish()

    def _publish(self):
        before, self._version = self.folder / f"..{self._version}", self._version + 1
        now = self.folder / f"..{self._version}"
        for name, files in self._secrets.items():
            (now / name).mkdir(parents=True)
            for key, text in files.items():
                (now / name / key).write_text(text)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        (self.folder / "..new").symlink_to(now.name)
        os.replace(self.folder / "..new", self.folder / "..data")
        shutil.rmtree(before, ignore_errors=True)
