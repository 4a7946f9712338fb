"""The webhooks with a certificate that the real cert-manager makes and renews."""

import json

import kube
import pytest
from cert_manager import AUTHORITY, GIVEN, KINDS, NAME, Kept
from jobs import job
from local_cluster.go_programs import CERT_MANAGER
from pages import blocks_at
from clients import DryRunClients, Visitor
from stack import SYSTEM

PAGE = "docs/admission.md"
CERTIFIED = ("admissionWebhooks.enabled=true", "controller.replicas=2", "admissionWebhooks.certManager.enabled=true")


@pytest.fixture(scope="module", autouse=True)
def certified(stack, defined, beside):
    """The release with the chart's values for cert-manager."""
    defined(*KINDS)
    with beside(CERT_MANAGER):
        stack.install(*CERTIFIED)
        yield
        stack.install()
    stack.wait_until_leading()


@pytest.fixture
def kept(stack, namespace):
    made = Kept(stack, Visitor(namespace, "visitor"))
    made.wait_until_shown()
    return made


def test_the_api_server_asks_under_cert_managers_authority(namespace, kept):
    assert kept.is_ready() and kept.is_ready(AUTHORITY)
    secret = kept.secret()
    assert secret["ca.crt"] == kept.secret(AUTHORITY)["tls.crt"]
    assert len(kept.trusted()) == 2 and all(secret["ca.crt"].strip() in bundle for bundle in kept.trusted())
    wrong = job("wrong", "true", container={"imaeg": "typo"})
    assert "containers[0].imaeg: Forbidden" in namespace.attempt("create", "-f", "-", stdin=json.dumps(wrong)).stderr


@pytest.mark.timeout(900)
def test_a_renewal_rejects_no_request(namespace, kept):
    """Nor does that of the authority, with a key of its own, which the second renewal of the certificate brings along."""
    with DryRunClients(namespace) as clients:
        clients.wait_for_more()
        for name, is_shown in ((NAME, True), (AUTHORITY, False), (NAME, True)):
            before = kept.secret()
            kept.renew(name)
            if is_shown:
                kept.wait_until_shown(other_than=before["tls.crt"])
            clients.wait_for_more()
    assert clients.failures == []
    assert kept.secret()["ca.crt"] == kept.secret(AUTHORITY)["tls.crt"] != before["ca.crt"]


@pytest.mark.timeout(900)
def test_what_is_deleted_is_created_again_and_no_request_is_rejected(stack, namespace, kept):
    with DryRunClients(namespace) as clients:
        clients.wait_for_more()
        before = kept.secret()["tls.crt"]
        stack.system("delete", "secret", GIVEN)
        kept.wait_until_shown(other_than=before)
        clients.wait_for_more()
        before = kept.secret()["tls.crt"]
        stack.system("delete", "certificate", NAME, AUTHORITY)
        stack.system("delete", "secret", GIVEN, AUTHORITY)
        stack.install(*CERTIFIED)
        kept.wait_until_shown(other_than=before)
        clients.wait_for_more()
    assert clients.failures == []
    assert kept.is_ready() and kept.is_ready(AUTHORITY)


@pytest.mark.timeout(900)
def test_the_certificate_moves_between_owners_and_no_request_is_rejected(stack, namespace, kept):
    with DryRunClients(namespace) as clients:
        clients.wait_for_more()
        stack.install(*CERTIFIED, "admissionWebhooks.certManager.enabled=false")
        clients.wait_for_more()
        stack.install(*CERTIFIED)
        kept.wait_until_shown()
        clients.wait_for_more()
    assert clients.failures == []
    wrong = job("wrong", "true", container={"imaeg": "typo"})
    assert "containers[0].imaeg: Forbidden" in namespace.attempt("create", "-f", "-", stdin=json.dumps(wrong)).stderr


@pytest.mark.timeout(600)
def test_an_uninstall_leaves_what_the_page_says(stack, kept, reader):
    """Last in this file: it ends with the release as the other tests have it."""
    try:
        stack.helm("uninstall", "ipu-operator", "--namespace", SYSTEM, "--kubeconfig", stack.kubectl.kubeconfig, "--wait")
        kube.wait_for("cert-manager's objects are gone", lambda: stack.system(
            "get", "certificates,certificaterequests,issuers", "-o", "name") == "")
        assert stack.system("get", "secrets", "-o", "name").split() == [f"secret/{AUTHORITY}", f"secret/{GIVEN}"]
        assert kept.trusted() == []
        types = reader("default", SYSTEM)
        for block in blocks_at(PAGE, "interop"):
            types(block)
        assert stack.system("get", "secrets", "-o", "name") == ""
    finally:
        stack.install(*CERTIFIED)
