"""The simulator's API server keeps the real one's rules: the same random script of operations gets the same answers."""

import itertools
import os
import subprocess

import pytest

from operator_program import ROOT
from waiting import until

PROGRAMS = ROOT / os.environ.get("BUILD_DIR", "build/asan") / "tests/sim"
STEPS = 150
numbers = itertools.count(1)


def run(program, *words):
    done = subprocess.run([PROGRAMS / program, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.since_kubernetes(1, 34)  # pods have a generation
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_script_gets_the_same_answers(cluster, tmp_path, seed):
    ns = f"t-script-{seed}-{next(numbers)}"  # of a failed try it may still be terminating
    cluster.api.create("namespaces", None, {"metadata": {"name": ns}})
    until(lambda: cluster.api.get("serviceaccounts", ns, "default"), f"namespace {ns} has its service account")
    until(lambda: cluster.api.get("configmaps", ns, "kube-root-ca.crt"), f"namespace {ns} has its certificate")
    try:
        real = run("script-on-cluster", seed, STEPS, cluster.kubeconfig, ns)
        memory = run("script-on-memory", seed, STEPS)
        assert memory == real
    finally:
        release(cluster, ns)
        cluster.api.delete("namespaces", None, ns)


def release(cluster, ns):
    """What the script has held back by a finalizer lets its namespace go."""
    for kind in ("configmaps", "ipujobs", "pods"):
        for item in cluster.api.list(kind, ns):
            cluster.api.patch(kind, ns, item["metadata"]["name"], {"metadata": {"finalizers": []}})
