"""What a container has of its pod's spec."""

import os

import pytest
from conftest import job

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"rate": "0.1", "file..txt": "text\n"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"key": "s3cret"},
          "data": {"coded": "aGVsbG8="}}


def test_variables_come_from_configmaps_secrets_and_fields(run):
    env = [{"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}},
           {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}},
           {"name": "CODED", "valueFrom": {"secretKeyRef": {"name": "token", "key": "coded"}}},
           {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
           {"name": "JOB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['graphcore.ai/job-name']"}}},
           {"name": "GONE", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "x", "optional": True}}},
           {"name": "BOTH", "value": "$(RATE) of $(POD) $$(POD) $(NONE)"}]
    done = run(job('echo "$RATE $KEY $CODED $POD $JOB ${GONE-unset} $BOTH"', container={"env": env}), CONFIG, SECRET)
    assert done.lines == ["[0.0] 0.1 s3cret hello hello-worker-0 hello unset 0.1 of hello-worker-0 $(POD) $(NONE)"], done.err


def test_all_variables_of_an_object_and_words_of_a_command(run, tmp_path):
    extra = tmp_path / "extra.yaml"
    extra.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {A: one, B: two}\n")
    container = {"envFrom": [{"configMapRef": {"name": "more"}, "prefix": "P_"}], "command": ["echo", "$(P_A)"],
                 "args": ["$(P_B)", "$$(P_B)"]}
    done = run(job("", container=container), options=["--with", extra])
    assert done.lines == ["[0.0] one two $(P_B)"], done.err


def test_volumes_are_mounted_where_the_pod_has_them(run, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("from the host\n")
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}},
               {"name": "one", "secret": {"secretName": "token", "items": [{"key": "key", "path": "deep/name"}]}},
               {"name": "host", "hostPath": {"path": str(tmp_path / "data")}}]
    mounts = [{"name": "scratch", "mountPath": "/scratch"}, {"name": "settings", "mountPath": "/etc/settings"},
              {"name": "one", "mountPath": "/run/secrets/mine", "readOnly": True},
              {"name": "host", "mountPath": "/opt/data/deep", "readOnly": True},
              {"name": "settings", "mountPath": "/scratch/file", "subPath": "file..txt"}]
    done = run(job("echo kept > /scratch/a; cat /scratch/a /etc/settings/rate /etc/settings/file..txt /run/secrets/mine/deep/name "
                   "/opt/data/deep/x /scratch/file; echo; touch /opt/data/deep/y || echo read-only",
                   template={"volumes": volumes}, container={"volumeMounts": mounts}), CONFIG, SECRET)
    assert done.code == 0, done.out + done.err
    words = " ".join(line.removeprefix("[0.0] ") for line in done.lines)
    for word in ("kept", "0.1text", "s3cret", "from the host", "read-only"):
        assert word in words
    assert not os.path.exists("/scratch") and not os.path.exists("/opt/data/deep")
    assert "s3cret" not in "".join(path.read_text() for path in done.dir.rglob("*") if path.is_file() and path.suffix != ".log")


def test_init_containers_run_one_after_the_other_before_the_rest(run):
    template = {"volumes": [{"name": "shared", "emptyDir": {}}],
                "initContainers": [{"name": f"init{n}", "command": ["sh", "-c", f"echo {n} >> /shared/order"],
                                    "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]} for n in range(2)]}
    done = run(job("cat /shared/order", template=template,
                   container={"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}))
    assert done.lines == ["[0.0] 0", "[0.0] 1"], done.out + done.err


def test_a_failed_init_container_fails_the_job(run):
    template = {"initContainers": [{"name": "fetch", "command": ["sh", "-c", "echo no network; exit 4"]}]}
    done = run(job("echo never", template=template), options=["-o", "json"])
    assert done.code == 1
    assert done.final["status"]["lastMessage"] == "Container fetch of pod hello-worker-0 exited with code 4: no network"


def test_sidecars_end_after_the_others(run):
    template = {"initContainers": [{"name": "side", "restartPolicy": "Always",
                                    "command": ["sh", "-c", "trap 'echo stopped; exit 0' TERM; echo up; while :; do sleep 0.05; done"]}]}
    done = run(job("sleep 0.3; echo main", template=template))
    assert done.code == 0, done.out
    assert sorted(done.lines) == ["[0.0 side] stopped", "[0.0 side] up", "[0.0] main"]


def test_a_sidecar_that_ends_is_started_again(run):
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    template = {"volumes": [{"name": "shared", "emptyDir": {}}],
                "initContainers": [{"name": "side", "restartPolicy": "Always", "command": ["sh", "-c", "echo up; echo >> /shared/starts; exit 3"], **shared}]}
    done = run(job("until [ $(cat /shared/starts 2>/dev/null | wc -l) -ge 2 ]; do sleep 0.05; done; echo main", template=template, container=shared))
    assert done.code == 0, done.out + done.err
    assert sorted(done.lines) == ["[0.0 side] up", "[0.0 side] up", "[0.0] main"]


def test_working_directory_host_name_and_aliases(run, tmp_path):
    done = run(job("pwd; hostname; getent hosts far", container={"workingDir": str(tmp_path)},
                   template={"hostAliases": [{"ip": "192.0.2.7", "hostnames": ["far"]}]}))
    assert [line.split()[1] for line in done.lines] == [str(tmp_path), "hello-worker-0", "192.0.2.7"]


def test_bind_stands_in_for_an_image(run, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.sh").write_text("echo from the app\n")
    done = run(job("sh /app/main.sh"), options=["--bind", f"{tmp_path}/app:/app"])
    assert done.lines == ["[0.0] from the app"], done.err


def test_a_termination_message_is_taken_from_its_file(run):
    done = run(job("echo noise; echo -n written > /dev/termination-log; exit 1"), options=["-o", "json"])
    assert done.final["status"]["lastMessage"].endswith("exited with code 1: written")


def test_a_program_that_is_missing(run):
    done = run(job("", container={"command": ["no-such-program"]}), options=["-o", "json"])
    assert done.code == 1
    assert "exited with code 127" in done.final["status"]["lastMessage"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_needs_no_rights(run, tmp_path):
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(folder.stat().st_mode | 0o711)
    tmp_path.chmod(0o777)
    done = run(job("id -u; cat /mine/rate", template={"volumes": [{"name": "s", "configMap": {"name": "settings"}}]},
                   container={"volumeMounts": [{"name": "s", "mountPath": "/mine"}]}, ipus=16, workersPerJobInstance="16"), CONFIG,
               user=65534, group=65534)
    assert done.code == 0, done.out + done.err
    assert done.lines.count("[0.7] 65534") == 1
