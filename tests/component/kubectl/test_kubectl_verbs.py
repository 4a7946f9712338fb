"""The verbs of kubectl ipu against a real API server, with jobs whose status the tests write."""

import json
import queue
import re
from subprocess import PIPE, Popen

from kube import run
from waiting import until

JOB = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob",
       "spec": {"jobInstances": 1, "ipusPerJobInstance": "64",
                "workers": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}}}
QUEUE = {"controller": "pod256:8090", "ipus": 64, "position": 1, "freeIpus": 96, "totalIpus": 256, "fittingPartitions": 0,
         "blockedBy": ["cv/resnet"]}


def make(namespace, name, **status):
    namespace.create(JOB | {"metadata": {"name": name}})
    write_status(namespace, name, observedGeneration=1, **status)


def write_status(namespace, name, **status):
    namespace("patch", "ipujob", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def make_pod(namespace, job, number, status):
    labels = {"job-name": job, "instance": "0", "worker": str(number), "role": "worker"}
    name = f"{job}-worker-{number}"
    namespace.create({"apiVersion": "v1", "kind": "Pod",
                      "metadata": {"name": name, "labels": {f"graphcore.ai/{key}": value for key, value in labels.items()}},
                      "spec": {"containers": [{"name": "main", "image": "i"}]}})
    namespace("patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def viewer(cluster, namespace, tmp_path):
    """The kubeconfig of somebody who may only view this namespace."""
    namespace("create", "serviceaccount", "viewer")
    namespace("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={namespace.namespace}:viewer")
    namespace("create", "role", "ipujobs-view", "--verb=get,list,watch", "--resource=ipujobs.graphcore.ai")
    namespace("create", "rolebinding", "ipujobs-view", "--role=ipujobs-view", f"--serviceaccount={namespace.namespace}:viewer")
    token = namespace("create", "token", "viewer").strip()
    path = tmp_path / "viewer"
    path.write_text(cluster("config", "view", "--raw", "--flatten"))
    kubectl = [cluster.program, "--kubeconfig", path, "config"]
    run(*kubectl, "set-credentials", "viewer", f"--token={token}")
    run(*kubectl, "set-context", "viewer", f"--cluster={json.loads(run(*kubectl, 'view', '-o', 'json').stdout)['clusters'][0]['name']}",
        "--user=viewer", f"--namespace={namespace.namespace}")
    run(*kubectl, "use-context", "viewer")
    return path


def test_a_viewer_learns_why_a_job_waits(cluster, namespace, ipu, tmp_path):
    make(namespace, "digits", launcherStatus="Pending", reason="InsufficientIPUs", lastMessage="Waiting for 64 IPUs.", queue=QUEUE)
    kubeconfig = viewer(cluster, namespace, tmp_path)
    done = ipu(kubeconfig, "why", "digits")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.sub(r"for \d+s", "for 0s", done.stdout) == """\
digits waits for IPUs: InsufficientIPUs, for 0s
  message     Waiting for 64 IPUs.
  needs       64 IPUs for its next instance
  free        96 of 256 IPUs, enough for no partition of this size
  place       1 in the queue of pod256:8090
  blocked by  cv/resnet
  what to do  Wait, or suspend or delete one of the jobs that the message names.
"""
    done = ipu(kubeconfig, "queue")
    assert "only namespace" in done.stderr and done.stdout.splitlines()[1].split()[:4] == ["1", namespace.namespace, "digits", "64"]
    done = ipu(kubeconfig, "suspend", "digits")
    assert done.returncode == 1 and "cannot patch resource" in done.stderr and "ask an admin for the permission" in done.stderr


def test_why_reads_pods_and_their_events(cluster, namespace, ipu):
    make(namespace, "stuck", launcherStatus="Starting", reason="StartingPods")
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off \x1b[2Jpulling"}}
    make_pod(namespace, "stuck", 0, {"phase": "Pending", "containerStatuses": [
        {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": waiting}]})
    namespace.create({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Warning", "reason": "Failed",
                      "eventTime": "2026-01-01T00:00:00.000000Z", "action": "Pull", "reportingController": "kubelet",
                      "reportingInstance": "n", "note": "no such image",
                      "regarding": {"kind": "Pod", "name": "stuck-worker-0", "namespace": namespace.namespace}})
    done = ipu(cluster.kubeconfig, "why", "stuck", "-n", namespace.namespace)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stuck has pods that do not start: StartingPods" in done.stdout
    assert r"stuck-worker-0 [0.0]: ImagePullFailed: Back-off \x1b[2Jpulling" in done.stdout
    assert "Pod/stuck-worker-0: Failed: no such image" in done.stdout
    report = json.loads(ipu(cluster.kubeconfig, "why", "stuck", "-n", namespace.namespace, "-o", "json").stdout)
    assert report["apiVersion"] == "cli.graphcore.ai/v1alpha1" and report["kind"] == "WhyReport"
    assert report["situation"] == "PodsStuck" and report["pods"][0]["conspicuous"] and report["events"][0]["note"] == "no such image"


def test_queue_and_top_of_all_namespaces(cluster, namespace, ipu):
    make(namespace, "second", launcherStatus="Pending", reason="Queued", queue=QUEUE | {"position": 2})
    make(namespace, "first", launcherStatus="Pending", reason="InsufficientIPUs", queue=QUEUE)
    make(namespace, "holds", launcherStatus="Running", partitions=[{"id": "p", "ipus": 64}], desiredReplicas=1, lastMessage="")
    done = ipu(cluster.kubeconfig, "queue", "-A", "--no-headers")
    names = [line.split()[2] for line in done.stdout.splitlines() if line.split()[1] == namespace.namespace]
    assert (done.returncode, names) == (0, ["first", "second"])
    done = ipu(cluster.kubeconfig, "top", "-n", namespace.namespace, "-o", "name")
    assert done.stdout == "ipujob.graphcore.ai/holds\n"
    items = json.loads(ipu(cluster.kubeconfig, "top", "-n", namespace.namespace, "-o", "json").stdout)["items"]
    assert [(item["name"], item["ipus"]) for item in items] == [("holds", 64)]
    done = ipu(cluster.kubeconfig, "queue", "-n", "empty")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No job waits for IPUs in namespace empty.\n")


def test_a_watched_queue_shows_what_changes(cluster, namespace, program):
    make(namespace, "first", launcherStatus="Pending", reason="InsufficientIPUs", queue=QUEUE)
    with Popen([program, "queue", "-w", "-n", namespace.namespace, "--no-headers", "--kubeconfig", cluster.kubeconfig], stdout=PIPE,
               text=True) as watching:
        assert watching.stdout.readline().split()[:3] == ["1", namespace.namespace, "first"]
        write_status(namespace, "first", queue={"position": 7})
        assert watching.stdout.readline().split()[:3] == ["7", namespace.namespace, "first"]
        watching.kill()


def test_suspend_resume_and_release_change_the_job(cluster, namespace, ipu):
    make(namespace, "a", launcherStatus="Running")
    where = ("-n", namespace.namespace)
    done = ipu(cluster.kubeconfig, "suspend", "a", "nobody", *where)
    assert done.returncode == 1 and done.stdout == "ipujob.graphcore.ai/a suspended\n" and '"nobody" not found' in done.stderr
    assert namespace.get("ipujob", "a")["spec"]["suspend"] is True
    assert ipu(cluster.kubeconfig, "resume", "a", *where).stdout == "ipujob.graphcore.ai/a resumed\n"
    assert namespace.get("ipujob", "a")["spec"]["suspend"] is False
    done = ipu(cluster.kubeconfig, "release", "a", "--yes", *where)
    assert done.returncode == 1 and "holds no partition that has to be released by hand" in done.stderr
    write_status(namespace, "a", partitions=[{"id": "p-0", "state": "Held"}, {"id": "p-1", "state": "Active"}, {"id": "p-2", "state": "Held"}])
    done = ipu(cluster.kubeconfig, "release", "a", *where)
    assert done.returncode == 1 and "repeat with --yes" in done.stderr
    done = ipu(cluster.kubeconfig, "release", "a", "p-1", "--yes", *where)
    assert done.returncode == 1 and "partition p-1 of job a is not held" in done.stderr
    assert "graphcore.ai/release" not in namespace.get("ipujob", "a")["metadata"].get("annotations", {})
    done = ipu(cluster.kubeconfig, "release", "a", "--yes", *where)
    assert (done.returncode, done.stdout) == (0, "ipujob.graphcore.ai/a: released p-0,p-2\n")
    assert namespace.get("ipujob", "a")["metadata"]["annotations"]["graphcore.ai/release"] == "p-0,p-2"


def test_kubectl_finds_the_plug_in_and_its_completion(cluster, namespace, program, tmp_path):
    make(namespace, "digits", launcherStatus="Running")
    for name in ("kubectl-ipu", "kubectl_complete-ipu"):
        (tmp_path / name).symlink_to(program)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "KUBECONFIG": cluster.kubeconfig, "HOME": str(tmp_path)}
    assert run(cluster.program, "ipu", "why", "digits", "-n", namespace.namespace, env=env).stdout.startswith("digits runs")
    done = run(cluster.program, "ipu", "why", "nobody", "-n", namespace.namespace, env=env, check=False)
    assert done.returncode == 1 and done.stderr == \
        f'kubectl ipu: ipujobs.graphcore.ai "nobody" not found in namespace {namespace.namespace}\n'
    words = ("__complete", "ipu", "why", "-n", namespace.namespace)
    assert run(cluster.program, *words, "", env=env).stdout == "digits\tRunning\n:4\n"
    assert "--output\t" in run(cluster.program, *words, "--out", env=env).stdout
    assert f"\n{namespace.namespace}\n" in run(cluster.program, "__complete", "ipu", "why", "-n", "", env=env).stdout


def test_what_the_operator_does_is_seen_at_once(cluster, namespace, ipu):
    """`why` asks the API server each time."""
    make(namespace, "digits", launcherStatus="Pending", reason="Queued")
    where = ("-n", namespace.namespace)
    assert "waits for IPUs" in ipu(cluster.kubeconfig, "why", "digits", *where).stdout
    write_status(namespace, "digits", launcherStatus="Completed", reason="Completed")
    until(lambda: "has completed" in ipu(cluster.kubeconfig, "why", "digits", *where).stdout, "it has completed")


def test_the_map_of_a_cluster_and_who_may_not_see_it(server, ipu):
    controller = {"metadata": {"name": "pod4\x1b[2J"}, "status": {
        "conditions": [{"type": "Reachable", "status": "True"}], "ipus": {"total": 4, "free": 2, "largestFree": 2},
        "domains": [{"name": "ild0", "size": 4, "free": "000000000000000c"}],
        "partitions": [{"size": 2, "state": "ACTIVE", "ours": True, "job": "ml/digits", "places": [{"domain": "ild0", "ipus": "3"}]}]}}

    def answer(exchange):
        if exchange.path.endswith("/ipujobs"):
            exchange.status(403, "Forbidden", "not for you")
        else:
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": [controller]})

    server.always(answer)
    drawn = ipu(server.kubeconfig, "map")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert drawn.stdout.splitlines() == ["pod4\\x1b[2J: up, 2 of 4 IPUs free, largest block 2", "ild0: 2 free", "aa..", "a ml/digits, 2 IPUs",
                                         ". free  - cordoned  x failed  # no job's"]
    assert "\x1b[32m" in ipu(server.kubeconfig, "map", "--color", "always").stdout
    assert json.loads(ipu(server.kubeconfig, "map", "-o", "json").stdout)["items"][0]["domains"][0]["cells"] == "aa.."
    server.always(lambda exchange: exchange.status(403, "Forbidden", "vipucontrollers are not for you"))
    assert ipu(server.kubeconfig, "map").returncode == 1


def test_a_new_job_of_another_size(server, ipu):
    later = {"state": "Later", "earliest": "2126-01-01T00:00:00Z", "expected": "2126-01-01T00:00:00Z", "latest": "2126-01-01T00:00:00Z"}
    starts = [{"ipus": 1, "state": "Now"}, {"ipus": 2, "state": "Now"}, {"ipus": 4, **later, "startsNowWithin": 2700}]
    controllers = [{"metadata": {"name": name}, "status": {"starts": told}} for name, told in (("pod4", starts), ("old", None))]

    def answer(exchange):
        if exchange.path.endswith("/ipujobs/digits"):
            forecast = {"position": 2, "basis": "Open"}
            exchange.reply(200, JOB | {"metadata": {"name": "digits"}, "status": {"launcherStatus": "Pending", "forecast": forecast}})
        elif exchange.path.endswith("/vipucontrollers"):
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": controllers})
        else:
            exchange.status(404, "NotFound", "no such job")

    server.always(answer)
    lines = ipu(server.kubeconfig, "whatif", "digits").stdout.splitlines()
    assert lines[:2] == ["digits: Pending", "  starts      at a time that is not known"]
    assert [line.split()[:2] for line in lines[6:9]] == [["1", "now"], ["2", "now"], ["4", "in"]] and len(lines) == 10
    assert lines[9] == "With a deadline of 45 minutes or less (activeDeadlineSeconds: 2700), a job of 4 IPUs would start now at pod4."
    assert ipu(server.kubeconfig, "whatif", "--ipus", "4", "--for", "45m").stdout.splitlines()[1].split() == ["4", "now", "pod4"]
    report = json.loads(ipu(server.kubeconfig, "whatif", "digits", "--ipus", "4", "-o", "json").stdout)
    assert report["items"] == [{"ipus": 4, "controller": "pod4", **later, "startsNowWithin": 2700}] and report["job"]["status"] == "Pending"

    for words, status, told in ((["--ipus", "8"], 1, "no V-IPU controller makes a partition of 8 IPUs; choose one of 1, 2, 4"),
                                (["--for", "soon"], 2, '--for: expected a duration such as 90s, 10m or 1h30m, got "soon"'),
                                (["other"], 1, "no such job"), (["a", "b"], 2, 'unexpected argument "b"; see kubectl ipu whatif --help')):
        done = ipu(server.kubeconfig, "whatif", *words)
        assert (done.returncode, done.stdout) == (status, "") and told in done.stderr
    controllers.clear()
    done = ipu(server.kubeconfig, "whatif")
    assert (done.returncode, done.stderr) == (1, "kubectl ipu: no VIPUController tells when new jobs start: the operator has not reported it yet\n")
    server.always(lambda exchange: exchange.status(403, "Forbidden", "vipucontrollers are not for you"))
    assert "ask an admin for the permission" in ipu(server.kubeconfig, "whatif").stderr


def test_a_watched_map_shows_what_changes(server, program, ipu):
    def controller(free, version):
        return {"kind": "VIPUController", "metadata": {"name": "pod4", "uid": "u", "resourceVersion": str(version)}, "status": {
            "conditions": [{"type": "Reachable", "status": "True"}], "waiting": 2, "domains": [{"name": "ild0", "size": 4, "free": free}]}}

    changes = queue.Queue()

    def answer(exchange):
        if "ipujobs" in exchange.path:
            exchange.status(403, "Forbidden", "not for you")
        elif "watch" not in exchange.query:
            exchange.reply(200, {"kind": "List", "metadata": {}, "items": [controller("f", 1)]})
        else:
            stream = exchange.stream().event("ADDED", controller("f", 1))
            stream.event("BOOKMARK", {"kind": "VIPUController", "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}})
            while change := changes.get(timeout=60):
                stream.event("MODIFIED", change)

    server.always(answer)
    with Popen([program, "map", "-w", "-o", "json", "--domain", "ild0", "--kubeconfig", server.kubeconfig], stdout=PIPE, text=True) as watching:
        cells = lambda: json.loads(watching.stdout.readline())["items"][0]["domains"][0]["cells"]
        assert cells() == "...."
        changes.put(controller("3", 2))
        assert cells() == "..??"
        watching.kill()
    changes.put(None)
    assert ipu(server.kubeconfig, "map", "--domain", "ild0").stdout.startswith("pod4: up, 2 instances wait\nild0: 4 free\n")
    done = ipu(server.kubeconfig, "map", "--domain", "ild7")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "kubectl ipu: no V-IPU controller has a domain ild7; see kubectl ipu map\n")
