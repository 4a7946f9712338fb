"""IPUJobs as the tests make them, and what their users see of them."""

import re

import kube
from stack import IMAGE, SPARE

KILLED = 137
# A job that runs until the test lets it end.
UNTIL_TOLD = 'echo "partition $IPUOF_VIPU_API_PARTITION_ID"; until [ -e /tmp/end ]; do sleep 0.1; done; echo over'
# The first worker of an instance listens where its peers are told to look for it, and greets each.
MEET = """
import os, socket, sys
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    server = socket.create_server(("", port))
    for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
        peer, _ = server.accept()
        print("met rank", peer.recv(16).decode(), flush=True)
        peer.sendall(b"hello from " + os.environ["IPUOF_VIPU_API_PARTITION_ID"].encode())
        peer.close()
else:
    import time
    deadline = time.monotonic() + 60
    while True:
        try:
            meeting = socket.create_connection((address, port), timeout=10)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    meeting.sendall(os.environ["RANK"].encode())
    print(meeting.recv(200).decode(), flush=True)
"""


def job(name, script, *, ipus=4, instances=1, namespace=None, pod=None, container=None, **spec):
    """A job whose workers run this bash script."""
    return {
        "apiVersion": "graphcore.ai/v1alpha1",
        "kind": "IPUJob",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "spec": {
            "jobInstances": instances,
            "ipusPerJobInstance": str(ipus),
            "workers": {"template": {"spec": {
                "terminationGracePeriodSeconds": 5,
                "containers": [{"name": "main", "image": IMAGE, "command": ["/bin/bash", "-c", script],
                                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}} | (container or {})],
            } | (pod or {})}},
            **spec,
        },
    }


def mpi(name, script, workers=2, command=("mpirun",), pod=None, **spec):
    """A job whose launcher starts this bash script once on every worker."""
    made = job(name, "", ipus=4, workersPerJobInstance=str(workers),
               launcher={"command": [*command, "/bin/bash", "-c", script]}, pod=pod, **spec)
    del made["spec"]["workers"]["template"]["spec"]["containers"][0]["command"]
    return made


def untagged(log):
    """The lines that the ranks wrote, whatever their order, without mpirun's tags, which can stand inside a line, and without
    its own warnings that a daemon was quicker than itself, and that a user without a name has no shell."""
    lines = re.sub(r"\[\d+,\d+\]<std(out|err)>:", "", log).splitlines()
    return sorted(line for line in lines if line and "plm:rsh: Warning: setpgid(" not in line
                  and "WARNING: local probe returned unhandled shell" not in line)


def over_both_nodes(name):
    """What makes as many workers of that job run on one node as on the other."""
    return {"tolerations": [SPARE], "topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"graphcore.ai/job-name": name, "graphcore.ai/role": "worker"}}}]}


class Job:
    """One job of a namespace, by name."""

    def __init__(self, kubectl, name):
        self.kubectl, self.name = kubectl, name

    def get(self):
        return self.kubectl.get("ipujob", self.name)

    @property
    def status(self):
        return (self.get() or {}).get("status", {})

    @property
    def uid(self):
        return self.get()["metadata"]["uid"]

    def state(self):
        return self.status.get("launcherStatus", "")

    def condition(self, kind):
        return next((c for c in self.status.get("conditions", []) if c["type"] == kind), {})

    def wait_for_state(self, *states, seconds=kube.DEADLINE_S):
        """Its status, once it is in one of these states."""

        def reached():
            status = self.status
            return status if status.get("launcherStatus") in states else None

        return kube.wait_for(lambda: f"{self.name} is {' or '.join(states)}; {self.reported()}", reached, seconds)

    def wait_for_reason(self, reason, seconds=kube.DEADLINE_S):
        def reached():
            status = self.status
            return status if status.get("reason") == reason else None

        return kube.wait_for(lambda: f"{self.name} says {reason}; {self.reported()}", reached, seconds)

    def reported(self):
        status = self.status
        pods = self.kubectl("get", "pods", "-l", f"graphcore.ai/job-name={self.name}", "--no-headers")
        return f"it is {status.get('launcherStatus')} ({status.get('reason')}): {status.get('lastMessage')}\n{pods}"

    def pod(self, number=0):
        return self.kubectl.get("pod", f"{self.name}-worker-{number}")

    def pods(self):
        return self.kubectl.items("pods", f"graphcore.ai/job-name={self.name}")

    def wait_log_kept(self, number=0):
        """Its log, once the operator has stopped this worker and its kubelet has ended it."""
        def ended():
            pod = self.pod(number)
            return pod and "graphcore.ai/stopped-at" in pod["metadata"]["annotations"] and pod["status"]["phase"] == "Failed" and pod

        pod = kube.wait_for(lambda: f"worker {number} has ended and is kept; {self.reported()}", ended)
        assert pod["status"]["reason"] == "DeadlineExceeded"
        return self.log(number)

    def log(self, number=0):
        return self.kubectl("logs", f"{self.name}-worker-{number}")

    def let_end(self, number=0):
        """Ends a worker that runs UNTIL_TOLD. With the container goes what was executed in it, touch itself perhaps."""
        done = self.kubectl.attempt("exec", f"{self.name}-worker-{number}", "--", "touch", "/tmp/end")
        assert done.returncode in (0, KILLED), done.stderr


def told_as_event(made, reason):
    kube.wait_for(lambda: f"an event says {reason}; {made.reported()}", lambda: any(
        event["reason"] == reason and event["regarding"]["name"] == made.name
        for event in made.kubectl.items("events.events.k8s.io")))
