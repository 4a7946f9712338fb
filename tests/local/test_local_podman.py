"""`ipu-run --engine podman`: containers have their images."""

import os
import shutil
import signal
import subprocess

import pytest
import yaml
from conftest import BUILD, NOBODY, job
from podman import Podman
from waiting import until

IMAGE = "localhost/team/own:1"
ENTRY = "localhost/team/entry:1"


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    made = Podman(tmp_path_factory.mktemp("podman"))
    folder = tmp_path_factory.mktemp("image")
    made.busybox(IMAGE, folder, "ENV FROM_IMAGE=yes", "RUN mkdir /app && echo from the image > /app/text && adduser -D -u 1000 one || true",
                 "WORKDIR /app")
    made.busybox(ENTRY, folder, 'ENTRYPOINT ["/bin/echo", "entry"]', 'CMD ["of the image"]')
    yield made
    made.release()


@pytest.fixture
def images(run, podman):
    """Runs with podman."""

    def start(*objects, options=(), **more):
        return run.start(*objects, options=["--engine", "podman", *options], env=podman.environment | more.pop("env", {}), **more)

    start.finish = lambda *objects, **options: run.finish(start(*objects, **options))
    yield start
    assert podman.containers() == []


def of_image(command, image=IMAGE, container=None, **spec):
    return job(command, container={"image": image, **(container or {})}, **spec)


def test_a_container_has_the_files_and_variables_of_its_image(images):
    """And none of the shell that ipu-run was started from."""
    done = images.finish(of_image("cat text; echo $FROM_IMAGE ${IPU_RUN_OUTSIDE-unset}; hostname; echo $IPUOF_VIPU_API_PARTITION_ID; "
                                  "ls /usr 2>/dev/null || echo alone"), env={"IPU_RUN_OUTSIDE": "x"})
    assert done.code == 0, done.out + done.err
    assert done.lines == [f"[0.0] {text}" for text in ("from the image", "yes unset", "hello-worker-0", "p-hello-default-0", "alone")]
    assert "differs on this machine" not in done.err


def test_variables_are_passed_as_they_are_and_not_shown_in_a_list_of_processes(images, prints):
    env = [{"name": "LINES", "value": "one\ntwo"}, {"name": "TOKEN", "value": "s3cret"}, {"name": "PATH", "value": "/bin:/own"},
           {"name": "XDG_DATA_HOME", "value": "/nowhere"}]
    process = images(of_image('echo "$LINES" $TOKEN $PATH $XDG_DATA_HOME; trap exit TERM; while :; do sleep 0.1; done', container={"env": env}))
    prints(process, "two s3cret /bin:/own")
    shown = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    process.send_signal(signal.SIGINT)
    process.wait()
    assert "two s3cret /bin:/own:/opt/ipu-launcher /nowhere" in process.output.read_text()
    assert "--env TOKEN" in shown and "s3cret" not in shown


def test_the_entry_point_of_the_image_runs_without_a_command(images):
    done = images.finish(of_image("", image=ENTRY, container={"command": None}))
    assert done.lines == ["[0.0] entry of the image"], done.out + done.err
    done = images.finish(of_image("", image=ENTRY, container={"command": None, "args": ["given"]}))
    assert done.lines == ["[0.0] entry given"], done.out + done.err


def test_volumes_binds_users_and_the_termination_message(images, tmp_path):
    (tmp_path / "text").write_text("bound\n")
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"rate": "0.1"}}
    template = {"volumes": [{"name": "s", "configMap": {"name": "s"}}, {"name": "e", "emptyDir": {}}],
                "securityContext": {"runAsUser": 1000, "runAsGroup": 1001}}
    mounts = [{"name": "s", "mountPath": "/etc/settings", "readOnly": True}, {"name": "e", "mountPath": "/data"}]
    done = images.finish(of_image("id -u; id -g; cat /etc/settings/rate /mine/text; touch /etc/settings/x 2>/dev/null || echo read-only; "
                                  "touch /data/x && echo written; pwd; echo -n last words > /dev/termination-log; exit 3",
                                  template=template, container={"volumeMounts": mounts, "workingDir": "/bin"}), settings,
                         options=["--bind", f"{tmp_path}/text:/mine/text"])
    assert done.lines == [f"[0.0] {text}" for text in ("1000", "1001", "0.1bound", "read-only", "written", "/bin")], done.out + done.err
    assert "exited with code 3: last words" in done.out
    assert "approximated  securityContext" in done.err


def test_init_containers_sidecars_and_probes(images):
    side = {"name": "side", "restartPolicy": "Always", "image": IMAGE, "startupProbe": {"exec": {"command": ["test", "-e", "/shared/up"]}},
            "command": ["sh", "-c", "trap 'echo stopped; exit' TERM; touch /shared/up; while :; do sleep 0.1; done"],
            "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    template = {"volumes": [{"name": "shared", "emptyDir": {}}],
                "initContainers": [{"name": "first", "image": IMAGE, "command": ["sh", "-c", "echo first"]}, side]}
    done = images.finish(of_image("until [ -e /shared/up ]; do sleep 0.1; done; echo main", template=template,
                                  container={"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}))
    assert done.code == 0, done.out + done.err
    assert sorted(done.lines) == ["[0.0 first] first", "[0.0 side] stopped", "[0.0] main"]


def test_limits_are_those_of_the_container(images):
    limits = {"resources": {"limits": {"memory": "48Mi", "cpu": "500m"}}}
    done = images.finish(of_image("cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null || true", container=limits))
    assert done.lines == [f"[0.0] {48 << 20}"], done.out + done.err


LASTING = "trap '' TERM; setsid sleep 1000 & echo up; while :; do sleep 0.1; done"


@pytest.mark.parametrize("how, code", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_nothing_is_left_of_a_run(images, prints, podman, how, code):
    """The containers end with ipu-run, and podman has forgotten them."""
    process = images(of_image(LASTING, ipus=8, workersPerJobInstance="2"))
    prints(process, "[0.0] up")
    prints(process, "[0.1] up")
    assert len(podman.containers()) == 2
    process.send_signal(how)
    assert process.wait() == code
    until(lambda: podman.containers() == [], "the end of the containers")


def test_what_cannot_be_pulled(images, podman, tmp_path):
    missing = "127.0.0.1:1/team/none"
    done = images.finish(of_image("true", image=f"{missing}:1"))
    assert done.code == 1
    assert f"ipu-run: cannot pull the image {missing}:1, see podman's message above" in done.err and "refused" in done.err
    done = images.finish(of_image("true", image=f"{missing}:1", container={"imagePullPolicy": "Never"}))
    assert f"ipu-run: the image {missing}:1 is not on this machine, and its imagePullPolicy is Never" in done.err
    podman("tag", IMAGE, missing)
    done = images.finish(of_image("echo here", image=missing, container={"imagePullPolicy": "IfNotPresent"}))
    assert done.lines == ["[0.0] here"], done.err
    done = images.finish(of_image("true", image=missing))
    assert done.code == 1 and "cannot pull" in done.err  # as its tag is latest


def test_a_machine_without_podman(run, tmp_path):
    for program in ("sh", "env"):
        (tmp_path / program).symlink_to(shutil.which(program))
    done = run(of_image("true"), options=["--engine", "podman"], env=os.environ | {"PATH": str(tmp_path)})
    assert done.code == 1
    assert "ipu-run: cannot run podman; install it (on Debian: apt install podman), or leave out --engine podman" in done.err


def test_an_image_is_required(run):
    done = run(job("true"), options=["--engine", "podman"])
    assert done.code == 2
    assert "spec.workers.template.spec.containers[0].image: Required value" in done.err


def test_a_job_with_mpirun_runs_in_the_image_of_the_examples(images, podman):
    """Four workers and a launcher, which find each other as in a cluster."""
    built = subprocess.run([BUILD.parents[1] / "deploy" / "image", "build", "ipu-examples", "--build-dir", BUILD], capture_output=True, text=True,
                           check=False)
    assert built.returncode == 0, built.stderr
    podman("load", "--quiet", "--input", built.stdout.strip())
    example = yaml.safe_load((BUILD.parents[1] / "deploy" / "examples" / "mpi.yaml").read_text())
    done = images.finish(example)
    assert done.code == 0, done.out + done.err
    assert any("the token came back as 100" in line for line in done.lines)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_needs_no_rights(run, podman, tmp_path):
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(folder.stat().st_mode | 0o711)
    archive, home = tmp_path / "image.tar", tmp_path / "home"
    podman("save", "--output", archive, IMAGE)
    settings = shutil.copy(podman.environment["CONTAINERS_CONF"], tmp_path)
    home.mkdir()
    for path in (archive, home, tmp_path):
        os.chown(path, NOBODY, NOBODY)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "CONTAINERS_CONF": settings}
    try:
        subprocess.run(["podman", "load", "--quiet", "--input", archive], env=environment, check=True, timeout=120, **user)
        done = run(of_image("cat text"), options=["--engine", "podman"], env=environment, **user)
    finally:
        subprocess.run(["podman", "system", "reset", "--force"], env=environment, check=True, timeout=120, **user)
    assert done.lines == ["[0.0] from the image"], done.out + done.err
