"""The image's software bill of materials, as SPDX 2.3 JSON: this project, and each Debian package of which it holds a file,
linked into a program or beside it. It lies in the image itself. Equal inputs give equal bytes."""

import hashlib
import json
import tarfile
from pathlib import Path

from local_cluster.errors import UserError

EPOCH = "1970-01-01T00:00:00Z"
UNKNOWN = "NOASSERTION"


def path(image: str) -> str:
    return f"/usr/share/doc/{image}/sbom.spdx.json"


def text(image: str, tag: str, packages: dict[str, str]) -> str:
    materials = [_debian(name, version) for name, version in sorted(packages.items())]
    own = _package("image", image, tag, supplier="Organization: IPU Operator developers", licence="Apache-2.0")
    identity = hashlib.sha256(json.dumps([own, materials]).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "dataLicense": "CC0-1.0",
        "name": f"{image}-{tag}",
        "documentNamespace": f"urn:ipu-operator:{image}:{identity}",
        "creationInfo": {"created": EPOCH, "creators": ["Tool: deploy/image"]},
        "packages": [own, *materials],
        "relationships": [_relation("SPDXRef-DOCUMENT", "DESCRIBES", own),
                          *(_relation(own["SPDXID"], "CONTAINS", each) for each in materials)],
    }
    return json.dumps(document, indent=1) + "\n"


def read(archive: Path, image: str) -> str:
    """What lies in an image that was built."""
    with tarfile.open(archive) as outer, tarfile.open(fileobj=outer.extractfile("layer.tar")) as layer:
        try:
            return layer.extractfile(path(image).lstrip("/")).read().decode()
        except KeyError as error:
            raise UserError(f"{archive} does not contain a software bill of materials.") from error


def _debian(name: str, version: str) -> dict:
    package = _package(f"debian-{name}", name, version, supplier="Organization: Debian", licence=UNKNOWN)
    package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}"}]
    return package


def _package(reference: str, name: str, version: str, supplier: str, licence: str) -> dict:
    # Identifiers may hold letters, digits, dots and dashes (SPDX 2.3, 7.2).
    return {"SPDXID": f"SPDXRef-{reference.replace('+', '-plus')}", "name": name, "versionInfo": version, "supplier": supplier,
            "downloadLocation": UNKNOWN, "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": UNKNOWN}


def _relation(element: str, kind: str, package: dict) -> dict:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": package["SPDXID"]}
