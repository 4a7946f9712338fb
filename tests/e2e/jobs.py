"""IPUJobs as the tests make them, and what their users see of them."""

import kube
from stack import IMAGE

KILLED = 137
# A job that runs until the test lets it end.
UNTIL_TOLD = 'echo "partition $IPUOF_VIPU_API_PARTITION_ID"; until [ -e /tmp/end ]; do sleep 0.1; done; echo over'


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

        return kube.wait_for(lambda: f"{self.name} is {' or '.join(states)}; {self.told()}", reached, seconds)

    def wait_for_reason(self, reason, seconds=kube.DEADLINE_S):
        def reached():
            status = self.status
            return status if status.get("reason") == reason else None

        return kube.wait_for(lambda: f"{self.name} says {reason}; {self.told()}", reached, seconds)

    def told(self):
        status = self.status
        pods = self.kubectl("get", "pods", "-l", f"graphcore.ai/job-name={self.name}", "--no-headers")
        return f"it is {status.get('launcherStatus')} ({status.get('reason')}): {status.get('lastMessage')}\n{pods}"

    def pod(self, number=0):
        return self.kubectl.get("pod", f"{self.name}-worker-{number}")

    def pods(self):
        return self.kubectl.items("pods", "-l", f"graphcore.ai/job-name={self.name}")

    def log(self, number=0):
        return self.kubectl("logs", f"{self.name}-worker-{number}")

    def let_end(self, number=0):
        """Ends a worker that runs UNTIL_TOLD. With the container goes what was executed in it, touch itself perhaps."""
        done = self.kubectl.attempt("exec", f"{self.name}-worker-{number}", "--", "touch", "/tmp/end")
        assert done.returncode in (0, KILLED), done.stderr
