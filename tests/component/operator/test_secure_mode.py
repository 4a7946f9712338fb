"""V-IPU controllers that want to know who asks, and are to be known themselves. And that no secret is ever told."""

import base64
import json
import re
import subprocess

import grpc
import pytest

import generic
import operator_program
import secret_leaks
from certificates import Authority
from kube_api import Rejected
from secure_vipu import Mounted, SecureVipu, new_key
from test_admission import Webhooks
from waiting import until
from world import OPERATOR_NS, container, pod_template

LABEL = "vipu-ctrl"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca") / "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca") / "theirs", "another CA")


@pytest.fixture
def mounted(world):
    return Mounted(world.folder / "credentials")


@pytest.fixture
def make_secure(world, authority):
    """A controller that accepts `operator` and `jobs`, with new keys."""
    def make(name):
        server = SecureVipu(world.folder / name, authority, {"operator": new_key(), "jobs": new_key()}, name)
        return world.keep(server, server.stop)
    return make


def start(world, mounted, controllers):
    return world.start_operator(controllers, "--credentials", mounted.folder, "--log-level", "debug")


def entry(server, secret, **more):
    return {"host": "127.0.0.1", "port": server.port, "secretRef": {"name": secret}, **more}


def pinned(world, name):
    return world.job(name, workers={"template": pod_template(nodeSelector={LABEL: name})})


def secrets_of(world):
    return {item["metadata"]["name"]: item for item in world.api.list("secrets", world.ns)}


def check_nothing_told(world, keys):
    """None of the keys is in anything but the job's own Secret."""
    texts = {kind: json.dumps(world.api.list(kind, ns)) for kind, ns in
             (("ipujobs", world.ns), ("pods", world.ns), ("events", world.ns), ("configmaps", OPERATOR_NS))}
    texts["log"] = world.operator.log()
    texts |= {page: world.operator.ask(page)[1] for page in ("/metrics", "/queue", "/stats", "/controllers", "/partitions")}
    texts |= {file: world.operator.of_process(file) for file in ("cmdline", "environ")}
    assert '"ops":' in texts["log"] or "ops=" in texts["log"], "the log is at its most talkative"
    assert all(texts.values()), "there is something to look at"
    assert secret_leaks.find(texts, [*keys, world.token]) == []


def test_its_memory_is_not_dumped(world, vipu):
    assert re.search(r"^Max core file size +0 +0 ", world.start_operator(vipu.address).of_process("limits"), re.M)


def test_no_key_of_the_webhooks_and_no_variable_of_a_job_is_logged(world):
    planted_value, webhooks = new_key(), Webhooks(world, "--log-level", "debug")

    def job(name, variable):
        env = [{"name": variable, "value": planted_value}]
        return world.job(name, workers={"template": pod_template(container(env=env))})
    try:
        job("fine", "PASSWORD").wait("Pending")
        with pytest.raises(Rejected):
            job("bad", "IPUOF_VIPU_API_PARTITION_ID")
        key = base64.b64decode(webhooks.secret()["tls.key"]).decode().splitlines()
        check_nothing_told(world, [line for line in key if not line.startswith("--")])
        assert secret_leaks.find({"log": world.operator.log(), "events": json.dumps(world.api.list("events", world.ns))},
                             [planted_value]) == []
    finally:
        webhooks.remove()


def launch_keys(world):
    """What launchers and workers know each other by, of the starts that there are."""
    return {base64.b64decode(key) for name, secret in secrets_of(world).items() if "-mpi-" in name
            for key in secret["data"].values()}


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_key_of_a_launch_is_logged(world, vipu, form):
    """Neither of the first start nor of the next."""
    world.start_operator(vipu.address, "--log-level", "debug", "--log-format", form)
    job = world.job("led", workersPerJobInstance="2", launcher={"command": ["mpirun"]},
                    restartPolicy={"type": "OnFailure", "backOffLimit": 1})
    job.run_pods(2)
    keys = launch_keys(world)
    assert len(keys) == 2 and {len(key) for key in keys} == {32}
    launcher = until(lambda: job.pods().get("led-launcher"), "there is a launcher", tell=world.tell)
    world.kubelet.run(launcher)
    job.wait("Running")
    check_nothing_told(world, keys)
    world.automatic()
    world.kubelet.fail(launcher, 3)
    until(lambda: launch_keys(world) - keys, "there are keys for the next start", tell=world.tell)
    check_nothing_told(world, keys | launch_keys(world))


def test_a_job_runs_on_a_controller_in_secure_mode(world, mounted, make_secure, authority):
    server = make_secure("secure")
    mounted.put("pod1", user_id="operator\n", access_key=server.keys["operator"] + "\n", ca_crt=authority.pem.read_text(),
                job_user_id="jobs", job_access_key=server.keys["jobs"])
    start(world, mounted, [entry(server, "pod1")])
    job = world.job("secure")
    pod = job.run_pods(1)["secure-worker-0"]
    job.wait("Running")

    (name, secret), = secrets_of(world).items()
    data = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
    assert data == {"vipu-user-id": "jobs", "vipu-access-key": server.keys["jobs"], "vipu-ca.crt": authority.pem.read_text()}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job.uid and secret["immutable"]
    env = {item["name"]: item for item in pod["spec"]["containers"][0]["env"]}
    assert env["VIPU_CLI_API_ACCESS_KEY"]["valueFrom"] == {"secretKeyRef": {"name": name, "key": "vipu-access-key"}}
    (volume,) = [volume["secret"] for volume in pod["spec"]["volumes"] if volume["name"] == "ipu-vipu-ca"]
    assert volume["secretName"] == name and [item["key"] for item in volume["items"]] == ["vipu-ca.crt"]
    as_pod = generic.Client(server.address, data["vipu-ca.crt"].encode(), data["vipu-user-id"], data["vipu-access-key"])
    assert [partition.id for partition in as_pod.list()] == list(job.records())
    as_pod.close()

    check_nothing_told(world, server.keys.values())
    world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released()
    until(lambda: secrets_of(world) == {}, "keys end with what they were for", tell=world.tell)
    check_nothing_told(world, server.keys.values())


def test_each_job_can_use_its_own_partition_only(world, mounted, make_secure, authority):
    """With what the pods of one job have, nothing of another's partition can be seen, reset or removed, and no IPUs taken."""
    server, planted = make_secure("shared"), new_key()
    mounted.put("pod1", user_id="operator", access_key=server.keys["operator"], ca_crt=authority.pem.read_text(),
                partition_secret=planted)
    start(world, mounted, [entry(server, "pod1")])
    clients, ids, keys = {}, {}, [planted, *server.keys.values()]
    for name in ("victim", "mallory"):
        job = world.job(name)
        job.run_pods(1)
        job.wait("Running")
        (ids[name],) = job.records()
        (secret,) = [secret for found, secret in secrets_of(world).items() if found.startswith(name)]
        data = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
        assert data["vipu-user-id"] == f"partition:{ids[name]}"
        keys.append(data["vipu-access-key"])
        clients[name] = generic.Client(server.address, data["vipu-ca.crt"].encode(), data["vipu-user-id"], data["vipu-access-key"])
        assert [partition.id for partition in clients[name].list()] == [ids[name]]
    mallory = clients["mallory"]
    for attack in (lambda: mallory.status(ids["victim"]), lambda: mallory.ipuof(ids["victim"]),
                   lambda: mallory.reset(ids["victim"]), lambda: mallory.remove(ids["victim"], force=True),
                   lambda: mallory.create("p-mallory-more-0", 1), lambda: mallory.create(ids["victim"], 1)):
        with pytest.raises(grpc.RpcError) as caught:
            attack()
        assert caught.value.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.PERMISSION_DENIED)
    assert sorted(p.id for p in server.client.list()) == sorted(ids.values())
    assert clients["victim"].status(ids["victim"]).ready_state == generic.pb.PS_ACTIVE
    for client in clients.values():
        client.close()
    check_nothing_told(world, keys)


def test_a_job_with_the_id_of_another_gets_another_key(world, mounted, make_secure, authority):
    """`p-a-b-c-0` may be of job a in b-c, or of a-b in c; and a deleted job's key is over with it."""
    server = make_secure("again")
    mounted.put("pod1", user_id="operator", access_key=server.keys["operator"], ca_crt=authority.pem.read_text(),
                partition_secret=new_key())
    start(world, mounted, [entry(server, "pod1")])
    keys = []
    for _ in range(2):
        job = world.job("again")
        pod = job.run_pods(1)["again-worker-0"]
        job.wait("Running")
        ((_, secret),) = secrets_of(world).items()
        data = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
        keys.append((data["vipu-user-id"], data["vipu-access-key"]))
        client = generic.Client(server.address, authority.pem.read_bytes(), *keys[-1])
        assert [partition.id for partition in client.list()] == list(job.records())
        client.close()
        world.kubelet.succeed(pod)
        job.wait("Completed")
        job.wait_released()
        job.delete()
        job.wait_gone()
        until(lambda job=job: not job.pods(), "its pods are gone", tell=world.tell)
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]


def modes(world):
    return {one["name"]: one.get("secureMode") for one in json.loads(world.operator.ask("/controllers")[1])["controllers"]}


def test_a_controller_without_secure_mode_is_reported(world, vipu, mounted, make_secure, authority):
    """Also one that has a Secret and does not ask for it."""
    server, lax = make_secure("strict"), make_secure("lax")
    lax.read_again(lax._text().replace("secure: true", "secure: false"))
    for name, one in (("pod1", server), ("pod2", lax)):
        mounted.put(name, user_id="operator", access_key=one.keys["operator"], ca_crt=authority.pem.read_text())
    start(world, mounted, [entry(server, "pod1"), entry(lax, "pod2"), vipu.address])
    wanted = {server.address: True, lax.address: False, vipu.address: False}
    until(lambda: modes(world) == wanted, "the page says which", tell=world.tell)
    for one in (lax, vipu):
        world.operator.until_logged(f"V-IPU controller without secure mode.*controller={one.address}")
    assert not re.search(f"without secure mode.*{server.address}", world.operator.log())


def test_keys_of_the_charts_own_controller_are_created_once(world):
    world.api.create("secrets", OPERATOR_NS, {"metadata": {"name": "own-keys"}})

    def fill():
        done = subprocess.run([operator_program.program(), "create-vipu-keys", "own-keys", "--namespace", OPERATOR_NS, "--kubeconfig",
                               world.cluster.kubeconfig, "--hosts", "vipu.system.svc,127.0.0.1"],
                              capture_output=True, text=True, timeout=240, env=operator_program.environment())
        assert done.returncode == 0, done.stderr
        return world.api.get("secrets", OPERATOR_NS, "own-keys")["data"], done.stdout

    first, said = fill()
    assert said == "Created the keys of the V-IPU controller in Secret own-keys.\n"
    assert sorted(first) == ["access-key", "ca.crt", "partition-secret", "tls.crt", "tls.key", "user-id"]
    keys = {base64.b64decode(first[key]).decode() for key in ("access-key", "partition-secret")}
    assert len(keys) == 2 and all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
    assert secret_leaks.find({"output": said}, keys) == []
    again, said = fill()
    assert again == first and said == "Secret own-keys has the keys of the V-IPU controller.\n"
    world.api.delete("secrets", OPERATOR_NS, "own-keys")


def test_pods_get_nothing_that_is_not_meant_for_them(world, mounted, make_secure, authority):
    """Only the CA, as the Secret has no user for jobs; with a launcher, beside its keys."""
    server = make_secure("frugal")
    mounted.put("pod1", user_id="operator", access_key=server.keys["operator"], ca_crt=authority.pem.read_text())
    start(world, mounted, [entry(server, "pod1")])
    world.job("plain").wait_pods(1)
    world.job("led", workersPerJobInstance="2", launcher={"command": ["mpirun"]}).wait_pods(2)
    found = {name.split("-")[1]: sorted(secret["data"]) for name, secret in secrets_of(world).items()}
    assert found == {"vipu": ["vipu-ca.crt"], "mpi": ["0", "1", "vipu-ca.crt"]}
    check_nothing_told(world, server.keys.values())


def test_a_controller_without_keys_mounts_nothing(world, vipu, mounted):
    start(world, mounted, vipu.address)
    (pod,) = world.job("open").wait_pods(1).values()
    assert secrets_of(world) == {}
    assert not any(item["name"].startswith("VIPU_CLI") for item in pod["spec"]["containers"][0]["env"])


def test_a_job_without_access_names_the_secret_and_continues_when_it_is_corrected(world, vipu, mounted, make_secure, authority,
                                                                           stranger):
    names = ("wrong-key", "wrong-ca", "no-secret")
    servers = {name: make_secure(name) for name in names}
    right = {name: dict(user_id="operator", access_key=servers[name].keys["operator"], ca_crt=authority.pem.read_text())
             for name in names}
    mounted.put("wrong-key", **right["wrong-key"] | {"access_key": new_key()})
    mounted.put("wrong-ca", **right["wrong-ca"] | {"ca_crt": stranger.pem.read_text()})
    for name in (*names, "open"):
        world.make_node(f"node-{name}", labels={LABEL: name})
    start(world, mounted, [*(entry(servers[name], name, selector=f"{LABEL}={name}") for name in names),
                           f"{vipu.address}:{LABEL}=open"])
    jobs = {name: pinned(world, name) for name in (*names, "open")}

    world.kubelet.succeed(jobs["open"].run_pods(1)["open-worker-0"])
    jobs["open"].wait("Completed")
    sentences = {"wrong-key": "check user-id and access-key in Secret wrong-key",
                 "wrong-ca": "check ca.crt in Secret wrong-ca",
                 "no-secret": "Secret no-secret: Secret not found"}
    for name in names:
        until(lambda name=name: sentences[name] in jobs[name].status["lastMessage"], sentences[name], tell=world.tell)
        reported = jobs[name].wait("Pending", "ControllerUnavailable")["lastMessage"]
        assert sentences[name] in reported and servers[name].address in reported
        until(lambda name=name: "ControllerUnavailable" in jobs[name].reasons_reported(), "an event tells", tell=world.tell)
        assert f'ipu_operator_controller_up{{controller="{servers[name].address}"}} 0\n' in world.operator.ask("/metrics")[1]
    assert f'ipu_operator_controller_up{{controller="{vipu.address}"}} 1\n' in world.operator.ask("/metrics")[1]
    for name in names:
        mounted.put(name, **right[name])
    for name in names:
        jobs[name].run_pods(1)
        jobs[name].wait("Running")
    check_nothing_told(world, [key for server in servers.values() for key in server.keys.values()])


def test_keys_rotate_without_a_restart(world, mounted, make_secure, authority):
    server = make_secure("rotating")
    old = dict(user_id="operator", access_key=server.keys["operator"], ca_crt=authority.pem.read_text())
    mounted.put("pod1", **old)
    start(world, mounted, [entry(server, "pod1")])
    first = world.job("before")
    pod = first.run_pods(1)["before-worker-0"]
    first.wait("Running")
    fresh = new_key()
    server.change_key("operator", fresh)
    world.operator.until_logged("V-IPU controller unavailable.*Secret pod1")
    mounted.put("pod1", **old | {"access_key": fresh})
    world.job("after").run_pods(1)
    world.kubelet.succeed(pod)
    first.wait("Completed")
    first.wait_released()
    check_nothing_told(world, [old["access_key"], fresh, server.keys["jobs"]])
