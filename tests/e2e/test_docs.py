"""The commands that the documentation says are run: those of people who run jobs, in a namespace of the shared cluster, as are
those of the examples, and those of its admin, on the cluster with the release taken away. tests/lib/pages.py tells how a page says so."""

import re
import socket
from concurrent.futures import ThreadPoolExecutor

import kube
import pytest
from pages import blocks_at, pages_of
from stack import CHART, SYSTEM

# A page that an admin has followed leaves what the next one begins with.
ADMIN_PAGES = ["charts/ipu-operator/README.md", "docs/install.md", "docs/configuration.md", "docs/admission.md",
               "docs/monitoring.md", "docs/upgrade.md", "docs/security.md"]
# What a page takes for granted, by the heading above the commands that do.
BEFORE = {
    "docs/configuration.md#V-IPU controllers": "for file in operator.key ca.pem jobs.key; do echo secret > $file; done",
    "docs/admission.md#Admission webhooks": """
        kubectl -n ipu-operator rollout status deployment/ipu-operator --timeout=120s
        cat > job.yaml <<'END'
apiVersion: graphcore.ai/v1alpha1
kind: IPUJob
metadata: {name: train}
spec:
  jobInstances: 1
  ipusPerJobInstance: "12"
  restartPolcy: {type: Never}
  workers:
    template:
      spec:
        containers: [{name: main, env: [{name: A, value: 1}], volumeMounts: [{name: data, mountPath: /data}]}]
END
        # Until the API server's way to the webhooks is there.
        until { kubectl apply --dry-run=server -f job.yaml 2>&1 || true; } | grep -q restartPolcy:; do sleep 0.2; done""",
    "docs/install.md#Install in an air-gapped cluster": """
        for image in ipu-operator ipu-launch; do cp "$(deploy/image build $image)" $image.tar; done""",
    "docs/upgrade.md#Uninstall": """
        kubectl apply -f deploy/examples/interactive.yaml
        kubectl wait --for=condition=Running ipujob/session --timeout=120s""",
    "docs/upgrade.md#Clean up after a forced uninstall": "vipu create partition p-left --size 4",
    "docs/install.md#Install without Helm": "helm uninstall ipu-operator --namespace ipu-operator --no-hooks --wait",
    "docs/security.md#One namespace only": """
        helm uninstall ipu-operator --namespace ipu-operator --no-hooks --wait
        kubectl create namespace research""",
    "docs/jobs.md#Job lifecycle": "kubectl apply -f deploy/examples/digits.yaml",
    # It still runs when it is suspended.
    "docs/kubectl-ipu.md#kubectl ipu": """
        sed "s|command:.*|command: [sh, -c, 'python3 /examples/digits.py; sleep 45']|" deploy/examples/digits.yaml | kubectl apply -f -
        kubectl wait --for=condition=Running ipujob/NAME --timeout=3m
        until kubectl logs NAME-worker-0 | grep -q done; do sleep 0.2; done""",
    "docs/kubectl-ipu.md#Read the logs of all ranks": "kubectl wait --for=condition=Running ipujob/NAME --timeout=3m",
    "docs/jobs.md#Scaling": """
        kubectl delete ipujob NAME
        sed s/session/NAME/ deploy/examples/interactive.yaml | kubectl apply -f -
        kubectl wait --for=condition=Running ipujob/NAME --timeout=3m""",
    "docs/jobs.md#Debug a job": "kubectl wait --for=jsonpath='{.status.currentReplicas}'=2 ipujob/NAME --timeout=3m",
}
EXAMPLES = kube.ROOT / "deploy" / "examples"
VIPU = "vipu"  # the namespace of a V-IPU controller that is no part of the release
MADE = ["namespace/vipu", "namespace/research", "namespace/research-ipus", "namespace/monitoring",
        "clusterrolebinding/prometheus-reads-ipus", "clusterrolebinding/ipu-operator-metrics-reader",
        "clusterrolebinding/ops-reads-ipus"]


def follow(types, page, place, known=()):
    """Does what a page says, but for what was done on an earlier page."""
    at = ""
    for block in blocks_at(page, place):
        before, at = at, f"{page}#{block.heading}"
        if block.script in known:
            continue
        if at != before and at in BEFORE:
            done = types.types(BEFORE[at])
            assert done.returncode == 0, done.stdout + done.stderr
        types(block)


@pytest.mark.parametrize("page", pages_of("jobs"))
def test_what_a_page_says_to_who_runs_jobs_works(reader, replicas, namespace, page):
    follow(reader(namespace.namespace, SYSTEM, NAME="digits"), page, "jobs")


def test_what_the_examples_say_of_themselves_works(reader, namespace):
    """The commands at their heads: some of them side by side, because each gives its job three minutes."""
    types = reader(namespace.namespace, SYSTEM, **{"namespaces/default": f"namespaces/{namespace.namespace}"})
    commands = {file.name: "\n".join(re.findall("^#   (.+)", file.read_text(), re.MULTILINE)) for file in EXAMPLES.glob("*.yaml")}
    assert all(commands.values())
    with ThreadPoolExecutor(3) as pool:
        for name, done in zip(commands, pool.map(types.types, commands.values())):
            assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"


def free_ports():
    """Replacements that forward ports to free ones."""
    words = {}
    for pod, port in (("deployment/ipu-operator", 8081), ("service/ipu-operator-controller-manager-metrics", 8443)):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            free = listener.getsockname()[1]
        words |= {f"{pod} {port}": f"{pod} {free}:{port}", f"localhost:{port}": f"localhost:{free}"}
    return words


@pytest.fixture
def admin(stack, reader):
    """Somebody with all rights, a cluster without the release, and a V-IPU controller; afterwards all is as it was."""
    helm = [stack.programs / "helm", "--kubeconfig", stack.kubectl.kubeconfig]
    names = {"NODE": stack.kubectl.items("nodes")[0]["metadata"]["name"], "PARTITION": "p-left",
             "vipu.example.com": f"ipu-operator-vipu-server.{VIPU}.svc"} | free_ports()
    try:
        kube.run(*helm, "uninstall", "ipu-operator", "--namespace", SYSTEM, "--no-hooks", "--wait")
        stack.kubectl("create", "namespace", VIPU)
        server = kube.run(*helm, "template", "ipu-operator", CHART, "--namespace", VIPU, "--set=vipuServer.enabled=true",
                          "--set=vipuServer.secureMode=false", "--show-only=templates/vipu-server.yaml").stdout
        stack.kubectl.within(VIPU)("apply", "-f", "-", stdin=server)
        yield reader("default", VIPU, **names)
    finally:
        for release, where in (("ipus", "research-ipus"), ("ipu-operator", SYSTEM)):
            kube.run(*helm, "uninstall", release, "--namespace", where, "--no-hooks", "--ignore-not-found", "--wait")
        stack.kubectl("delete", *MADE, "--ignore-not-found", "--wait=false")
        stack.system("delete", "role,rolebinding", "prometheus-finds-ipus", "--ignore-not-found")
        stack.system("delete", "serviceaccount,secret", "metrics-reader", "--ignore-not-found")
        stack.kubectl("apply", "--server-side", "--force-conflicts", "-f", CHART / "crds")
        stack.kubectl.attempt("label", "namespace", SYSTEM, "pod-security.kubernetes.io/enforce-")
        stack.install()
        stack.wait_until_leading()


@pytest.mark.timeout(1800)
def test_what_the_pages_say_to_an_admin_works(admin):
    assert sorted(ADMIN_PAGES) == pages_of("admin")
    first, *others = ADMIN_PAGES
    follow(admin, first, "admin")
    for page in others:
        follow(admin, page, "admin", [block.script for block in blocks_at(first, "admin")])
