"""What cert-manager keeps for the admission webhooks."""

import base64
import json
import ssl
from datetime import datetime, timezone

import kube

KINDS = ("Certificate", "CertificateRequest", "Issuer", "ClusterIssuer")
NAME = "ipu-operator-admission"  # of the Certificate and the webhook configurations
AUTHORITY = f"{NAME}-ca"
GIVEN = f"{NAME}-certificate"
CONFIGURATIONS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")


class Kept:
    """The certificate of the webhooks that cert-manager keeps, and who shows it."""

    def __init__(self, stack, visitor):
        self._stack, self._visitor = stack, visitor

    def secret(self, name=GIVEN):
        """Its entries, or {} when there is none."""
        found = self._stack.system.get("secret", name)
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()} if found else {}

    def certificate(self, name=NAME):
        return self._stack.system.get("certificate", name)

    def is_ready(self, name=NAME):
        conditions = (self.certificate(name) or {}).get("status", {}).get("conditions", [])
        return {"Ready": "True"}.items() <= {each["type"]: each["status"] for each in conditions}.items()

    def renew(self, name):
        """As `cmctl renew` does it; over when there is another certificate."""
        before = self.certificate(name)["status"]["revision"]
        issuing = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "asked for by a test",
                   "lastTransitionTime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self._stack.system("patch", "certificate", name, "--subresource=status", "--type=json", "-p",
                           json.dumps([{"op": "add", "path": "/status/conditions/-", "value": issuing}]))
        kube.wait_for(f"{name} is renewed", lambda: self.certificate(name)["status"]["revision"] > before, 120)

    def trusted(self):
        """Whom the API server trusts, for each webhook."""
        configurations = [self._stack.kubectl.get(kind, NAME) for kind in CONFIGURATIONS]
        return [base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode()
                for each in configurations if each for hook in each["webhooks"]]

    def shown(self):
        """What each replica of the operator shows that is not on its way out, after a rollout."""
        pods = self._stack.system.items("pods", "control-plane=controller-manager")
        return [self._visitor.certificate_of(pod["status"]["podIP"], 9443) for pod in pods
                if "deletionTimestamp" not in pod["metadata"]]

    def is_shown(self):
        """Both replicas show what the Secret holds, and the API server trusts who signed it."""
        secret = self.secret()
        if not secret.get("tls.crt"):
            return False
        leaf = ssl.PEM_cert_to_DER_cert(secret["tls.crt"][: secret["tls.crt"].index("-----END") + 25])
        shown = [ssl.PEM_cert_to_DER_cert(text.strip()) for text in self.shown()]
        return shown == [leaf] * 2 and all(secret["ca.crt"].strip() in trusted for trusted in self.trusted())

    def wait_until_shown(self, other_than=""):
        kube.wait_for("the certificate is made", lambda: self.secret().get("tls.crt", other_than) != other_than, 120)
        kube.wait_for("both replicas show it, and it is trusted", self.is_shown, 180)
