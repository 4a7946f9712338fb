"""The cluster's certificate authority, its certificates (P-256, by openssl) and kubeconfig files."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .subprocesses import run

DAYS = "3650"
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    folder: Path

    @property
    def pair(self) -> Pair:
        return self._pair("ca")

    @property
    def service_account_key(self) -> Path:
        return self.folder / "service-account.key"

    def create(self) -> None:
        """Makes the authority and the key that signs service account tokens, once."""
        if self.service_account_key.exists():
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = self.pair
        run("openssl", "req", "-x509", *CURVE, "-days", DAYS, "-subj", "/CN=ipu-operator local cluster",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
            "-keyout", str(own.key), "-out", str(own.certificate))
        # Kubernetes derives the public key only from the older "EC PRIVATE KEY" form, which ecparam writes.
        run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(self.service_account_key))

    def server(self, name: str, dns: Iterable[str], ips: Iterable[str]) -> Pair:
        names = ",".join([f"DNS:{host}" for host in dns] + [f"IP:{ip}" for ip in ips])
        return self._issue(name, f"/CN={name}", "serverAuth", f"subjectAltName={names}")

    def client(self, name: str, user: str, group: str = "") -> Pair:
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        return self._issue(name, subject, "clientAuth")

    def _pair(self, name: str) -> Pair:
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def _issue(self, name: str, subject: str, use: str, *extensions: str) -> Pair:
        own, authority = self._pair(name), self.pair
        if own.certificate.exists():
            return own
        extra = [word for extension in extensions for word in ("-addext", extension)]
        run("openssl", "req", "-x509", *CURVE, "-days", DAYS, "-subj", subject,
            "-CA", str(authority.certificate), "-CAkey", str(authority.key),
            "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature",
            "-addext", f"extendedKeyUsage={use}", *extra,
            "-keyout", str(own.key), "-out", str(own.certificate))
        return own


def write_kubeconfig(target: Path, cluster: str, server: str, authority: Authority, client: Pair) -> Path:
    """A kubeconfig that holds all it needs, so that it can be copied anywhere."""
    target.touch(mode=0o600)
    target.write_text(f"""apiVersion: v1
kind: Config
current-context: {cluster}
clusters:
- name: {cluster}
  cluster:
    server: {server}
    certificate-authority-data: {_base64(authority.pair.certificate)}
users:
- name: {cluster}
  user:
    client-certificate-data: {_base64(client.certificate)}
    client-key-data: {_base64(client.key)}
contexts:
- name: {cluster}
  context:
    cluster: {cluster}
    user: {cluster}
""")
    return target


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
