"""The objects that are made of a program and its options, and those of a file."""

import base64

import ipu_jobs
import pytest
from ipu_jobs import IpuJobsError, documents, manifest
from ipu_jobs.source import Source

SCRIPT = Source("train", ["python3", "-u", "/job/train.py"], {"train.py": b"print()", "data/seed.bin": b"\xff\x00"})


def job(source=SCRIPT, ipus=4, env=None, spec=None):
    return manifest.job("train-x", source, "team/poplar:3.4", ipus, 2, 1, env or {}, spec or {})


def pod(made):
    return made["spec"]["workers"]["template"]["spec"]


def test_a_job_with_files():
    made = job(env={"A": "1"})
    assert made["metadata"] == {"name": "train-x"}
    assert {key: made["spec"][key] for key in ("jobInstances", "ipusPerJobInstance")} == {"jobInstances": 1, "ipusPerJobInstance": "4"}
    assert made["spec"]["workers"]["replicas"] == 2
    assert pod(made)["containers"] == [{
        "name": "main", "image": "team/poplar:3.4", "command": SCRIPT.command, "env": [{"name": "A", "value": "1"}],
        "volumeMounts": [{"name": "job-source", "mountPath": "/job", "readOnly": True}]}]
    items = pod(made)["volumes"][0]["configMap"]["items"]
    assert [item["path"] for item in items] == ["train.py", "data/seed.bin"]
    made_map = manifest.config_map("train-x", SCRIPT)
    assert made_map["metadata"]["name"] == pod(made)["volumes"][0]["configMap"]["name"] == "train-x-source"
    assert made_map["data"] == {items[0]["key"]: "print()"}
    assert base64.b64decode(made_map["binaryData"][items[1]["key"]]) == b"\xff\x00"


def test_a_command_has_no_volume():
    assert pod(job(Source("date", ["date"], {}))) == {
        "containers": [{"name": "main", "image": "team/poplar:3.4", "command": ["date"]}]}


def test_the_spec_of_the_user_is_merged_by_name():
    made = job(env={"A": "1", "B": "2"}, spec={"restartPolicy": {"type": "OnFailure"}, "workers": {"template": {"spec": {
        "containers": [{"name": "main", "resources": {"limits": {"memory": "1Gi"}}, "env": [{"name": "B", "value": "3"}]}, {"name": "side"}],
        "volumes": [{"name": "data", "emptyDir": {}}], "hostNetwork": False}}}})
    main, side = pod(made)["containers"]
    assert main["command"] == SCRIPT.command and main["resources"] == {"limits": {"memory": "1Gi"}} and side == {"name": "side"}
    assert main["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert [volume["name"] for volume in pod(made)["volumes"]] == ["job-source", "data"]
    assert made["spec"]["restartPolicy"] == {"type": "OnFailure"} and made["spec"]["workers"]["replicas"] == 2


def test_a_value_of_the_environment_is_a_string():
    with pytest.raises(IpuJobsError, match="env: the value of LR must be a string, got 0.1; convert it with"):
        job(env={"LR": 0.1})


@pytest.mark.parametrize("options,sentence", [
    ({"env": ["A=1"]}, r"env must be a dict, got \['A=1'\]"), ({"spec": "suspend"}, "spec must be a dict, got 'suspend'"),
])  # fmt: skip
def test_an_option_that_must_be_a_dict(options, sentence):
    with pytest.raises(IpuJobsError, match=sentence):
        job(**options)


@pytest.mark.parametrize("given", [{"kind": "IPUJob"}, {"kind": "IPUJob", "metadata": None}])
def test_a_job_without_metadata(given):
    with pytest.raises(IpuJobsError, match="the job contains something else than Kubernetes objects with metadata"):
        ipu_jobs.Local().apply(given)


@pytest.mark.parametrize("word,name", [
    ("train", "train-abcde"), ("My_Model.v2", "my-model-v2-abcde"), ("日本", "job-abcde"), ("__main__", "main-abcde"),
    ("x" * 99, "x" * 44 + "-abcde"),
])  # fmt: skip
def test_names(word, name):
    assert manifest.name_of(word, "abcde") == name and len(name + "-worker-32768") <= 63


@pytest.mark.parametrize("spec,worker,instance,name", [
    ({"workers": {}}, None, 0, "j-worker-0"),
    ({"workers": {"replicas": 4}}, 3, 2, "j-worker-11"),
    ({"workersPerJobInstance": "2", "workers": {"replicas": 1}}, None, 3, "j-worker-6"),
    ({"workers": {}, "launcher": {}}, None, 0, "j-launcher"),
    ({"workers": {}, "launcher": {}}, None, 2, "j-launcher-2"),
    ({"workers": {}, "launcher": {"command": ["mpirun"]}}, 1, 0, "j-worker-1"),
])  # fmt: skip
def test_the_pod_whose_log_is_meant(spec, worker, instance, name):
    assert manifest.pod_name({"metadata": {"name": "j"}, "spec": spec}, worker, instance) == name


JOB = "kind: IPUJob\nmetadata: {name: j}\n"


def written(tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text(text)
    return str(path)


def test_a_file_with_a_job_and_what_it_needs(tmp_path):
    path = written(tmp_path, f"---\n{JOB}---\nkind: Secret\nmetadata: {{name: s}}\n---\n")
    objects = documents.read(path)
    assert manifest.only_job(objects, path) is objects[0] and len(objects) == 2


@pytest.mark.parametrize("text,part", [
    ("a: [", "is not valid YAML"),
    ("- a\n", "contains something else than Kubernetes objects with metadata"),
    ("kind: IPUJob\n", "contains something else than Kubernetes objects with metadata"),
    ("", "must contain one IPUJob, got 0"),
    (f"{JOB}---\n{JOB}", "must contain one IPUJob, got 2"),
    (f"{JOB}---\nkind: Pod\nmetadata: {{}}\n", "contains a Pod; only an IPUJob and its ConfigMaps and Secrets can be applied here"),
    ("a: !!python/object/apply:os.system [date]", "is not valid YAML"),
    ("[" * 5000, "is not valid YAML"),
    (f"{JOB}a: {'[' * 3000}{']' * 3000}", "is not valid YAML"),
    ("a" * (3 << 20) + "a", "is larger than 3 MiB"),
])  # fmt: skip
def test_bad_files(tmp_path, text, part):
    path = written(tmp_path, text)
    with pytest.raises(IpuJobsError) as caught:
        manifest.only_job(documents.read(path), path)
    assert str(caught.value).startswith(path) and part in str(caught.value)


def test_a_yaml_bomb_is_rejected(tmp_path):
    text = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 64))
    with pytest.raises(IpuJobsError, match="expands to more than 200000 values; remove its YAML aliases"):
        documents.read(written(tmp_path, f"{text}metadata: {{}}\n"))


def test_aliases_are_fine(tmp_path):
    assert documents.read(written(tmp_path, f"{JOB}a: &a {{b: 1}}\nc: *a\n"))[0]["c"] == {"b": 1}
