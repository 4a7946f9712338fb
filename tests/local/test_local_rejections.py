"""Files that ipu-run rejects, with every mistake and its line, and what it tells of the rest."""

import subprocess

import pytest
from conftest import BUILD, job

FILE = """\
apiVersion: graphcore.ai/v1alpha1
kind: IPUJob
metadata:
  name: bad
spec:
  jobInstances: 1
  ipusPerJobInstance: "3"
  restartPolicy:
    type: Sometimes
  workers:
    template:
      spec:
        volumes:
          - name: data
            persistentVolumeClaim: {claimName: data}
        containers:
          - name: main
            tty: true
            imgae: x
            env:
              - name: KEY
                valueFrom: {secretKeyRef: {name: token, key: key}}
"""


def test_every_mistake_is_told_at_once_with_its_line(run):
    done = run(FILE)
    assert done.code == 2
    assert done.out == ""
    for line, text in [(7, "spec.ipusPerJobInstance: Invalid value"), (9, "spec.restartPolicy.type: Unsupported value"),
                       (15, "volumes[0].persistentVolumeClaim: not possible without a cluster"), (18, "containers[0].tty"),
                       (19, "containers[0].imgae: Forbidden: unknown field"), (17, "containers[0].command: Required value"),
                       (22, 'Secret "token" is in no file')]:
        assert any(f"line {line}: " in told and text in told for told in done.err.splitlines()), (line, text, done.err)
    assert not done.dir.exists()


@pytest.mark.parametrize("text, told", [
    ("a: [", "line 2"),
    ("kind: IPUJob\n", "apiVersion must be graphcore.ai/v1alpha1"),
    ("\ufeffmetadata: {name: x}\nkind: IPUjob\n", 'line 2: kind: Unsupported value: "IPUjob"'),
    ("kind: ConfigMap\nmetadata: {name: x}\n", "there is no IPUJob in the files"),
    ("- just a list\n", "not a Kubernetes object"),
    ("a: &a [x, x]\nb: [*a, *a]\n", "anchors are not supported"),
    ("a: " + "[" * 500, "nested too deeply"),
    ("a: [" + "1," * 300000 + "1]", "too many values"),
])
def test_files_that_are_no_job(run, text, told):
    done = run(text)
    assert done.code == 2
    assert told in done.err and len(done.err.splitlines()) == 1


def test_a_file_that_is_missing_and_one_that_is_too_large(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (5 << 20))
    done = subprocess.run([BUILD / "local" / "ipu-run", tmp_path / "none.yaml", large], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none.yaml" in done.stderr and "large.yaml" in done.stderr


@pytest.mark.parametrize("pod", [
    {"containers": [{"name": f"c{n}", "command": ["true"], "tty": True} for n in range(10000)]},
    {"volumes": [{"name": f"v{n}", "nfs": {}} for n in range(10000)]},
])
def test_a_flood_of_mistakes_is_cut_off(run, pod):
    done = run(job("true", template=pod))
    assert done.code == 2
    assert len(done.err.splitlines()) == 100


def test_an_object_that_no_cluster_would_store(run):
    done = run(job("true " + "x" * (2 << 20)))
    assert done.code == 2
    assert "larger than the 1.5 MiB that a cluster stores of an object" in done.err


@pytest.mark.parametrize("objects", [[job("true", name="../package")],
                                     [job("true"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: A_b\n"],
                                     [job("true", name=123)]])
def test_a_name_that_no_cluster_has(run, objects):
    done = run(*objects)
    assert done.code == 2 and "metadata.name: Invalid value: " in done.err and not done.dir.exists()


def test_two_objects_of_one_name(run):
    done = run(job("true"), job("true"))
    assert done.code == 2 and "Duplicate value" in done.err


def test_what_differs_is_told_once_and_rejected_by_strict(run):
    one = job("true", container={"image": "x", "resources": {"limits": {"cpu": "1"}}})
    done = run(one)
    assert done.code == 0
    assert [line.split()[:2] for line in done.err.splitlines() if line.startswith("  ")] == \
        [["approximated", "containers[].image"], ["ignored", "containers[].resources"]]
    strict = run(one, options=["--strict"])
    assert strict.code == 2 and strict.err.count("line ") == 1 and "resources.limits.cpu: ignored" in strict.err


@pytest.mark.parametrize("options, told", [
    (["--set", "metadata.name=x"], "--set metadata.name=x: must be spec.FIELD=VALUE"),
    (["--set", "spec.jobInstances=-1"], "in-1.yaml: --set spec.jobInstances=-1: spec.jobInstances: Invalid value"),
    (["--bind", "x"], "--bind x: must be SOURCE:PATH"),
    (["--bind", "/none/at/all:/x"], "cannot find /none/at/all"),
    (["--ipus", "65"], "--ipus must be a multiple of 4, and above 64 a multiple of 64, got 65"),
    (["--ipsu", "64"], "did you mean --ipus?"),
    (["--controller", "a:b"], "--controller: "),
])
def test_options_that_are_wrong(run, options, told):
    done = run(job("true"), options=options)
    assert done.code != 0 and told in done.err


def test_a_job_that_is_too_large_is_told(run):
    done = run(job("true", ipus=128))
    assert done.code == 2 and "the simulated system has 64 IPUs; use --ipus 128" in done.err


@pytest.mark.parametrize("data, key, told", [
    ('{rate: 0.1}', "rate", "line 4: data[rate]: Invalid value: must be a string"),
    ('{a..b: "1"}', "rate", 'valueFrom.configMapKeyRef: ConfigMap "settings" has no key "rate"'),
])
def test_values_that_never_come_are_not_waited_for(run, data, key, told):
    variable = {"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": key}}}
    settings = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {data}\n"
    done = run(settings, job("true", container={"env": [variable]}))
    assert done.code == 2 and told in done.err and len(done.err.splitlines()) == 1
