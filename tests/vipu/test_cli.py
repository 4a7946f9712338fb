"""The command line, as people and their scripts use it."""

import json
import os
import re
import socket
import subprocess

import pytest

from programs import DEADLINE_S, program


@pytest.fixture
def server(serve):
    return serve("create-ms: 20\nremove-ms: 20\nreset-ms: 20\n"
                 "clusters: [{id: cl1, ipulink-domains: 2, allocations: [{id: left, agents: [ag1, ag2]}]}]")


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def run(server, home):
    """Runs vipu with these words against the server."""

    def begin(*words, env=None, port=server.port, **options):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "VIPU_CLI_API_HOST": "127.0.0.1",
                       "VIPU_CLI_API_PORT": str(port), **(env or {})}
        return subprocess.run([program("vipu"), *words], env=environment, capture_output=True, text=True,
                              timeout=DEADLINE_S, **options)

    return begin


def good(result):
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def test_the_life_of_a_partition(run):
    assert good(run("create", "partition", "p1", "--size", "16", "--reconfigurable")) == \
        "create partition (p1): success.\n"
    assert good(run("list", "partition")) == (
        "Cluster | Allocation | Partition | ILDs | GW Routing | ILD Routing | Size | GCDs | State\n"
        "-------------------------------------------------------------------------------------------\n"
        "cl1     | cl1        | p1        | 1    | DEFAULT    | DNC         | 16   | 1    | ACTIVE\n"
        "-------------------------------------------------------------------------------------------\n")
    assert good(run("reset", "partition", "p1")) == "reset partition (p1): success.\n"
    assert good(run("remove", "partition", "p1")) == "remove partition (p1): success.\n"
    assert good(run("list", "partitions")).count("\n") == 3


def test_pipelines_of_scripts(run):
    """The id of the active partition, as a published script cuts it out of the table."""
    good(run("create", "partition", "p1", "--size=4"))
    table = good(run("list", "partition"))
    cut = subprocess.run("grep ACTIVE | cut -d'|' -f 3 | cut -d' ' -f 2", shell=True, input=table, text=True,
                         capture_output=True, check=True)
    assert cut.stdout == "p1\n"
    version = good(run("--server-version"))
    assert version.splitlines()[0].split()[1] == "1.18.0"
    assert re.search(r"host: (.*):", version)[1] == "127.0.0.1"


@pytest.mark.parametrize("words, size, gcds, replicas, ilds", [
    (["--size", "2", "--gcds", "2"], 2, 2, 2, 1),
    (["--size", "4", "--gcds", "2", "--gcd-sync-replicas", "4"], 4, 2, 4, 1),
    (["--size", "16", "--reconfigurable", "--allocation", "cl1"], 16, 1, 1, 1),
    (["--cluster", "cl1", "--size=64", "--reconfigurable"], 64, 1, 1, 1),
    (["--cluster", "cl1", "--size", "128", "--num-gcds", "32", "--gcd-sync-replicas", "32", "--routing", "ringswnc"],
     128, 32, 32, 2),
])
def test_requests_seen_in_public(run, words, size, gcds, replicas, ilds):
    good(run("create", "partition", "p1", *words))
    (entry,) = json.loads(good(run("list", "partition", "--showjson")))
    spec = entry["partition"]["spec"]
    assert entry["partition"]["id"] == "p1" and entry["partition"]["ready_state"] == "PS_ACTIVE"
    assert (len(spec["ipus"]), spec["num_gcds"], spec["num_replicas"], spec["num_ipulink_segments"]) == (
        size, gcds, replicas, ilds)
    assert spec["sync_type"] == "ST_GS2_DEFAULT"


def test_options_may_stand_anywhere(run, server):
    good(run("--size", "4", "create", "-H", "127.0.0.1", "partition", "-P", str(server.port), "p1", port=1))
    assert "p1" in good(run("list", "--allocation", "cl1", "partition"))
    assert "p1" not in good(run("list", "partition", "--allocation=left"))


def test_get(run):
    good(run("create", "partition", "p1", "--size", "8", "--num-gcds", "2"))
    rows = dict(line.split(" | ") for line in good(run("get", "partition", "p1")).splitlines() if " | " in line)
    rows = {key.strip(): value for key, value in rows.items()}
    assert (rows["State"], rows["Size"], rows["GCDs"], rows["Operation"]) == ("ACTIVE", "8", "2", "IDLE")
    document = json.loads(good(run("get", "partition", "p1", "--showjson")))
    assert document["partition"]["spec"]["num_gcds"] == 2 and document["status"]["ready_state"] == "PS_ACTIVE"


def test_ipuof_configs(run, home):
    good(run("create", "partition", "p1", "--size", "8", "--num-gcds", "2"))
    good(run("create", "partition", "p", "--size", "4"))
    one = json.loads(good(run("get", "partition", "p1", "--gcd", "1", "--ipuof-configs")))
    assert one["attributes"]["GCD Id"] == "1" and len(one["devices"]) == 4
    # Without --gcd a script takes the first line away.
    single = good(run("get", "partition", "p", "--ipuof-configs"))
    assert len(json.loads(single.partition("\n")[2])["devices"]) == 4
    folder = home / ".ipuof.conf.d"
    assert sorted(path.name for path in folder.iterdir()) == [
        "p1_gcd0_ipuof.conf", "p1_gcd1_ipuof.conf", "p_ipuof.conf"]
    assert json.loads((folder / "p1_gcd1_ipuof.conf").read_text()) == one
    good(run("remove", "partition", "p"))
    assert len(list(folder.iterdir())) == 2
    good(run("delete", "partition", "p1"))
    assert list(folder.iterdir()) == []


def test_index_chooses_the_place(run):
    good(run("create", "partition", "p1", "--size", "16", "--index", "5", "--cluster", "cl1"))
    (entry,) = json.loads(good(run("list", "partition", "--showjson")))
    assert [(ipu["ipulink_domain_topology_id"], ipu["topology_id"]) for ipu in entry["partition"]["spec"]["ipus"]] == [
        (1, 16 + i) for i in range(16)]


def test_attributes(run):
    lines = good(run("list", "ipu-attrs")).splitlines()
    assert re.fullmatch(r"Agent \| IPU \| Attribute +\| Value", lines[0])
    assert re.fullmatch(r"ag1   \| 0   \| board ipu index +\| 1", lines[2])
    assert re.fullmatch(r"      \|     \| board serial number +\| \S+", lines[3])
    agents = json.loads(good(run("list", "ipu-attrs", "--showjson")))
    assert [agent["agent"] for agent in agents] == [f"ag{i}" for i in range(1, 33)]


def test_refusals(run):
    refused = run("create", "partition", "p|1", "--size", "3", "--num-gcds", "5", "--allocation", "nowhere")
    assert refused.returncode == 1 and refused.stdout == ""
    for part in ("create partition (p|1): failed:", "letters, digits", "size 3", "GCDs 5", "replicas 5", '"nowhere"'):
        assert part in refused.stderr
    for words in (["get", "partition", "p9"], ["remove", "partition", "p9"], ["reset", "partition", "p9"]):
        result = run(*words)
        assert (result.returncode, result.stderr) == (1, f'{words[0]} partition (p9): failed: there is no partition "p9"\n')


def test_nobody_answers(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        result = run("list", "partition", "--api-timeout", "1", port=port)
        # The connection stands, so this is an answer that never came.
        assert result.returncode == 1 and f"127.0.0.1:{port}: no answer within 1000 ms" in result.stderr
    result = run("list", "partition", port=port)
    assert (result.returncode, result.stderr) == (
        1, f"unable to connect to VIRM/V-IPU Controller at 127.0.0.1:{port}: connect: Connection refused\n")


def test_a_wrong_command_line(run):
    for words, part in ((["bogus"], "no such command"), ([], "what to do?"), (["create", "partition"], "needs the partition's id"),
                        (["create", "partition", "p1"], "--size"), (["list", "partition", "p1"], "one word too many"),
                        (["create", "partition", "p1", "--size", "4", "--routing", "x"], "ringswnc"),
                        (["get", "partition", "p1", "--gcd", "x"], "--gcd"), (["list", "partition", "--nope"], "--nope"),
                        (["list", "partition", "--api-port", "0"], "api-port")):
        result = run(*words)
        assert result.returncode == 2 and part in result.stderr and result.stdout == "", result.stderr


def test_configuration_file(run, server, tmp_path):
    path = tmp_path / "alice.vipu-cli.hcl"
    path.write_text(f'# for alice\napi-host="127.0.0.1"\napi-port = "{server.port}" // quoted or not\napi-timeout = 20\n'
                    'api-user-id="alice"\n')
    nothing = {"VIPU_CLI_API_HOST": "", "VIPU_CLI_API_PORT": ""}
    assert "host: 127.0.0.1" in good(run("--config", str(path), "--server-version", env=nothing))
    # Environment beats file, option beats environment.
    assert run("--config", str(path), "--server-version", port=1).returncode == 1
    good(run("--config", str(path), "--server-version", "-P", str(server.port), port=1))


def test_mistakes_in_the_configuration_file(run, tmp_path):
    path = tmp_path / "x.hcl"
    path.write_text('api-host = "unclosed\napi-prot = "8090"\napi-port = "99999"\nsize = 4\nblock {\n}\n')
    result = run("--config", str(path), "list", "partition")
    assert result.returncode == 2
    for part in ("line 1: the text has no closing quote", 'line 2: there is no setting "api-prot"', "line 3: ",
                 'line 4: there is no setting "size"', "line 5: "):
        assert f"{path}: {part}" in result.stderr
    missing = run("--config", str(tmp_path / "none.hcl"), "list", "partition")
    assert missing.returncode == 2 and "none.hcl" in missing.stderr


def test_help_and_version(run):
    text = good(run("--help"))
    for word in ("create partition", "--size", "--ipuof-configs", "VIPU_CLI_API_HOST"):
        assert word in text
    assert re.fullmatch(r"vipu \d+\.\d+\.\d+\n", good(run("--version")))


def test_full_disk(run):
    with open("/dev/full", "w") as full:
        result = subprocess.run([program("vipu"), "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "No space left" in result.stderr
