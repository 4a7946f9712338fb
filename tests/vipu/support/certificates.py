"""Certificates for the tests, made by the openssl program: an authority, and what it signs."""

import subprocess
from pathlib import Path

LOCAL = ("IP:127.0.0.1", "DNS:localhost")

CA_CONFIG = """
[ca]
default_ca = here
[here]
database = {folder}/index
serial = {folder}/serial
new_certs_dir = {folder}
private_key = {folder}/ca.key
certificate = {folder}/ca.pem
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Certificate:
    """Two PEM files: `pem` and `key`."""

    def __init__(self, pem, key):
        self.pem, self.key = Path(pem), Path(key)

    def read(self):
        return self.key.read_bytes(), self.pem.read_bytes()


class Authority:
    """Signs what it is asked to; `pem` is the file that those who believe it name."""

    def __init__(self, folder, name="test CA"):
        self.folder = Path(folder)
        self.folder.mkdir()
        self.pem = self.folder / "ca.pem"
        self.config = self.folder / "ca.conf"
        self.config.write_text(CA_CONFIG.format(folder=self.folder))
        (self.folder / "index").touch()
        (self.folder / "serial").write_text("01\n")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", self.folder / "ca.key", "-out", self.pem)

    def sign(self, name, *hosts, start=None, end=None):
        """A certificate for the hosts ("DNS:localhost", "IP:127.0.0.1"); times are YYYYMMDDHHMMSSZ."""
        made = Certificate(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"basicConstraints=critical,CA:FALSE\nsubjectAltName={','.join(hosts)}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", made.key, "-out", request)
        span = ["-startdate", start or "20200101000000Z", "-enddate", end or "21200101000000Z"]
        openssl("ca", "-batch", "-notext", "-config", self.config, "-extfile", extensions, *span, "-in", request,
                "-out", made.pem)
        return made
