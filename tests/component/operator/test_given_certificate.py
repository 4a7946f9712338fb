"""A certificate of the webhooks that others keep: the test plays cert-manager."""

import base64
import subprocess
import time

import pytest

from test_admission import NAME, WITH_WEBHOOKS, Load, Webhooks, create, job
from waiting import until
from world import OPERATOR_NS

GIVEN = f"{NAME}-certificate"
WITH_GIVEN = (*WITH_WEBHOOKS, "--set", "admissionWebhooks.certManager.enabled=true")


class Issuer:
    """Makes certificates as cert-manager does: a new CA each time, and no word of the one before."""

    def __init__(self, api, folder):
        self._api, self._folder = api, folder

    def issue(self):
        def openssl(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60, cwd=self._folder)

        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=issuer",
                "-addext", "keyUsage=keyCertSign")
        openssl("req", "-x509", *new, "-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "tls.key", "-out", "tls.crt",
                "-subj", "/CN=webhooks", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE")
        data = {name: base64.b64encode((self._folder / name).read_bytes().strip()).decode()  # some leave the last line open
                for name in ("ca.crt", "tls.crt", "tls.key")}
        self._api.apply("secrets", OPERATOR_NS, {"metadata": {"name": GIVEN}, "type": "kubernetes.io/tls", "data": data})
        return (self._folder / "tls.crt").read_text()


@pytest.fixture
def given(world, tmp_path):
    (tmp_path / "issuer").mkdir()
    issuer = Issuer(world.api, tmp_path / "issuer")
    first = issuer.issue()
    webhooks = Webhooks(world, "--admission-certificate", GIVEN, secret=GIVEN, values=WITH_GIVEN)
    yield webhooks, issuer, first
    webhooks.remove()
    world.api.delete("secrets", OPERATOR_NS, GIVEN)


NOTICE_S = 5  # so long API servers have known its CA when a certificate is shown


def test_a_certificate_of_others_is_shown_and_follows_theirs(given):
    webhooks, issuer, first = given
    assert webhooks.shown() == first
    with Load(webhooks) as load:
        load.until_all_answered()
        second = issuer.issue()
        until(lambda: webhooks.shown() == second, "the new certificate is shown", tell=webhooks.world.tell)
        load.until_all_answered()
    assert load.wrong == []
    webhooks.api.patch("secrets", OPERATOR_NS, GIVEN, {"data": {"ca.crt": ""}})
    webhooks.world.operator.until_logged("cannot use the provided webhook certificate.*CA certificate is missing")
    assert webhooks.shown() == second and webhooks.secret()["ca.crt"] == ""
    assert create(webhooks, job("still"), "?dryRun=All")["spec"]["cleanPodPolicy"] == "None"


def until_its_ca_is_known(webhooks):
    own = base64.b64decode(webhooks.secret()["ca.crt"]).decode()
    until(lambda: all(own in base64.b64decode(bundle).decode() for bundle in webhooks.bundles()), "its CA is known",
          tell=webhooks.world.tell)


def test_one_that_comes_soon_after_another_is_not_shown_before_its_ca_is_known(given):
    webhooks, issuer, _ = given
    until_its_ca_is_known(webhooks)
    issuer.issue()
    until_its_ca_is_known(webhooks)
    time.sleep(NOTICE_S - 2)
    third = issuer.issue()
    until_its_ca_is_known(webhooks)
    known_s = time.monotonic()
    until(lambda: webhooks.shown() == third, "the third one is shown", tell=webhooks.world.tell)
    assert time.monotonic() - known_s > NOTICE_S - 1
