"""The command line, as people and their scripts use it."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from programs import DEADLINE_S, program, run_program


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
        return run_program("vipu", *words, env=environment, **options)

    return begin


def good(result):
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout


def test_the_life_of_a_partition(run):
    """Success line: `<verb> <kind> (<id>): success.` [D]; `list partition` = `list partitions` [S].
    On record: a kind may be given in the singular or the plural; success is told as: verb kind (id): success.;
    create partition takes --size; create partition takes --reconfigurable; the later partition table has Cluster,
    Allocation, Partition, ILDs, GW Routing, ILD Routing, Size, GCDs, State; the State column has no PS_ prefix; a
    gateway routing that is left undefined is shown as DEFAULT; vipu list partitions; vipu create partition; vipu
    reset partition; vipu remove partition."""
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
    """The id of the active partition, as a published script cuts it out of the table.
    On record: grep ACTIVE | cut -d'|' -f 3 | cut -d' ' -f 2 gives the partition's id."""
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
    """On record: --size 2 --gcds 2 makes two GCDs of one IPU; --size 4 --gcds 2 --gcd-sync-replicas 4 makes two
    GCDs of two IPUs and four replicas; create partition takes --num-gcds, formerly --gcds; create partition takes
    --gcd-sync-replicas; create partition takes --routing ringswnc; create partition takes --cluster and
    --allocation; num_ipulink_segments counts the IPU-Link domain segments of a partition."""
    good(run("create", "partition", "p1", *words))
    (entry,) = json.loads(good(run("list", "partition", "--showjson")))
    spec = entry["partition"]["spec"]
    assert entry["partition"]["id"] == "p1" and entry["partition"]["ready_state"] == "PS_ACTIVE"
    assert (len(spec["ipus"]), spec["num_gcds"], spec["num_replicas"], spec["num_ipulink_segments"]) == (
        size, gcds, replicas, ilds)
    assert spec["sync_type"] == "ST_GS2_DEFAULT"


def test_options_may_stand_anywhere(run, server):
    """Grammar: `vipu [global options] <verb> <kind> [id] [options]`, options may stand before or after. [S]
    On record: options may stand before or after the command."""
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
    """On record: vipu get partition with --gcd and --ipuof-configs; create partition writes the IPUoF files to
    ~/.ipuof.conf.d; the old vipu-cli delete partition."""
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


def test_where_no_files_can_be_written(server, home):
    """The partition is there all the same, and a remark says what is missing."""
    (home / ".ipuof.conf.d").write_text("in the way")
    for name, env, part in (("p1", {"HOME": str(home)}, "cannot write the IPUoF files: "),
                            ("p2", {}, "HOME is not set; no IPUoF files written")):
        made = run_program("vipu", "-H", "127.0.0.1", "-P", str(server.port), "create", "partition", name, "--size", "1", env=env)
        assert (made.returncode, made.stdout) == (0, f"create partition ({name}): success.\n")
        assert part in made.stderr


def test_a_controller_that_is_away_for_a_moment(serve, run):
    """While a partition is waited for, the controller may be restarted; what was asked for is not asked twice."""
    port = serve("clusters: [{id: cl1}]\nfaults:\n  calls:\n"
                 "  - {method: GetPartitionStatus, after: 1, times: 3, status: UNAVAILABLE}\n"
                 "  - {method: GetPartitionStatus, after: 1, times: 1, drop: true}\n").port
    assert good(run("create", "partition", "p1", "--size", "4", port=port)) == "create partition (p1): success.\n"


def test_what_may_be_done_all_the_same(serve, run):
    port = serve("create-ms: 0\nremove-ms: 0\nclusters: [{id: cl1}]\nfaults:\n  calls:\n"
                 "  - {method: CreatePartition, times: 1, status: UNAVAILABLE, takes-effect: true}\n"
                 "  - {method: RemovePartition, times: 1, drop: true, takes-effect: true}\n").port
    hint = "; it may still take effect: check with `vipu get partition p1`\n"
    made = run("create", "partition", "p1", "--size", "4", port=port)
    assert made.returncode == 1 and made.stderr.endswith("injected fault" + hint)
    again = run("create", "partition", "p1", "--size", "4", port=port)
    assert again.stderr == "create partition (p1): failed: partition p1 already exists\n"
    removed = run("remove", "partition", "p1", port=port)
    assert removed.returncode == 1 and removed.stderr.endswith(hint)


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-", ">/dev/full"])
def test_streams_that_are_closed(server, tmp_path, closed):
    """No socket gets their numbers; an answer that cannot be written is a failure."""
    env = {"HOME": str(tmp_path), "VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port)}
    result = subprocess.run(["bash", "-c", f'"$0" list partitions {closed}', program("vipu")], capture_output=True,
                            text=True, timeout=DEADLINE_S, env=env)
    can_write = ">" not in closed
    assert result.returncode == (0 if can_write else 1)
    assert can_write or result.stderr.startswith("vipu: cannot write the output: ")


def test_index_chooses_the_place(run):
    """On record: create partition takes --index."""
    good(run("create", "partition", "p1", "--size", "16", "--index", "5", "--cluster", "cl1"))
    (entry,) = json.loads(good(run("list", "partition", "--showjson")))
    assert [(ipu["ipulink_domain_topology_id"], ipu["topology_id"]) for ipu in entry["partition"]["spec"]["ipus"]] == [
        (1, 16 + i) for i in range(16)]


def test_listed_ipus(run):
    good(run("create", "partition", "p1", "--ipus", "4-5,1:8-9", "--cluster", "cl1", "--num-gcds", "2", "--num-ilds", "2"))
    (entry,) = json.loads(good(run("list", "partition", "--showjson")))
    assert [tuple(ipu.values()) for ipu in entry["partition"]["spec"]["ipus"]] == [
        (0, 0, 4, 0), (0, 0, 5, 1), (1, 1, 8, 2), (1, 1, 9, 3)]
    for words in (["--ipus", "x"], ["--ipus", "4-"], ["--ipus", "7-4"], ["--ipus", "64"], ["--ipus", "4", "--index", "0"],
                  ["--ipus", "4-7", "--size", "2"]):
        result = run("create", "partition", "p2", "--cluster", "cl1", *words)
        assert result.returncode == 2 and "--ipus" in result.stderr


def test_table_layouts(run):
    """Scripts cut ids out of the table by column; three layouts are on record.
    On record: the earlier partition table has Partition, Cluster, ILDs, GW Routing, ILD Routing, Size, GCDs, State;
    the row of a whole POD64 reads 1 | DEFAULT | RINGSWNC | 64 | 1 | ACTIVE."""
    good(run("create", "partition", "p64", "--size", "64", "--reconfigurable", "--cluster", "cl1"))
    rows = {}
    for layout in ("allocation", "cluster", "partition"):
        rows[layout] = good(run("list", "partition", env={"VIPU_CLI_TABLE_LAYOUT": layout})).splitlines()
        assert good(run("--table-layout", layout, "list", "partitions")).splitlines() == rows[layout]
        # "every cell after the first must start with exactly one space"
        assert all(re.match(r" [^ ]", cell) for cell in rows[layout][2].split("|")[1:])
    # Later: `Cluster | Allocation | Partition | ILDs | GW Routing | ILD Routing | Size | GCDs | State` [D: seed 003]
    assert [cell.strip() for cell in rows["allocation"][0].split("|")] == [
        "Cluster", "Allocation", "Partition", "ILDs", "GW Routing", "ILD Routing", "Size", "GCDs", "State"]
    # Earlier: `Partition | Cluster | ILDs | GW Routing | ILD Routing | Size | GCDs | State` [S]; a row of it:
    # `p64 | c64_1-16 | 1 | DEFAULT | RINGSWNC | 64 | 1 | ACTIVE`.
    assert [cell.strip() for cell in rows["partition"][0].split("|")] == [
        "Partition", "Cluster", "ILDs", "GW Routing", "ILD Routing", "Size", "GCDs", "State"]
    assert re.fullmatch(r"p64 +\| cl1 +\| 1 +\| DEFAULT +\| RINGSWNC +\| 64 +\| 1 +\| ACTIVE", rows["partition"][2])
    # `grep ACTIVE | cut -d'|' -f 3 | cut -d' ' -f 2`, "or -f 2 (so a third layout with the partition second existed)".
    for layout, column in (("allocation", 3), ("cluster", 2)):
        cut = subprocess.run(f"grep ACTIVE | cut -d'|' -f {column} | cut -d' ' -f 2", shell=True,
                             input="\n".join(rows[layout]), text=True, capture_output=True, check=True)
        assert cut.stdout == "p64\n"


def test_the_old_name(run, home, server, tmp_path):
    """`vipu-cli -a delete partition <id>` [S].
    On record: the old vipu-cli takes -a."""
    old = tmp_path / "vipu-cli"
    old.symlink_to(program("vipu"))
    good(run("create", "partition", "p1", "--size", "4"))
    done = subprocess.run([old, "-a", "delete", "partition", "p1", "-H", "127.0.0.1", "-P", str(server.port)],
                          env={"HOME": str(home)}, capture_output=True, text=True, timeout=DEADLINE_S)
    assert good(done) == "remove partition (p1): success.\n"


def test_server_version(run, server):
    """Two lines, `version: 1.18.0` and `host: localhost:8090`; scripts parse `host: (.*):` and "2nd line, 2nd field".
    On record: --server-version prints the lines version: 1.18.0 and host: localhost:8090; scripts take the host
    from host: (.*): and the 2nd field of the 2nd line."""
    text = good(run("--server-version"))
    assert text == f"version: 1.18.0\nhost: 127.0.0.1:{server.port}\n"
    assert re.search(r"host: (.*):", text)[1] == "127.0.0.1"
    assert text.splitlines()[1].split()[1] == server.target
    assert json.loads(good(run("--server-version", "--showjson"))) == {"version": "1.18.0", "host": server.target}


def test_the_first_line_of_a_configuration_is_a_heading(run, home):
    """Without --gcd a published script strips it: `vipu get partition p --ipuof-configs | tail -n +2`.
    On record: without --gcd scripts strip the first line with tail -n +2; with --gcd the IPUoF configuration can be
    used as a file as it is."""
    good(run("create", "partition", "p", "--size", "4", "--reconfigurable"))
    text = good(run("get", "partition", "p", "--ipuof-configs"))
    stripped = subprocess.run(["tail", "-n", "+2"], input=text, text=True, capture_output=True, check=True).stdout
    assert json.loads(stripped) == json.loads((home / ".ipuof.conf.d" / "p_ipuof.conf").read_text())
    assert good(run("get", "partition", "p", "--ipu-configs")) == text  # as a published guide spells it
    assert good(run("get", "partition", "p", "--gcd", "0", "--ipuof-configs")) == stripped


def test_json_as_other_programs_read_it(run):
    """`list partition` -> `[i].partition.id`, `[i].partition.spec.ipus[]`, `.spec.num_gcds`, `.spec.num_replicas` [S].
    On record: list partition gives an array with partition.id and partition.spec.ipus, num_gcds and num_replicas;
    --showjson prints JSON instead of a table."""
    good(run("create", "partition", "p1", "--size", "8", "--num-gcds", "2", "--gcd-sync-replicas", "4"))
    (entry,) = json.loads(good(run("--showjson", "list", "partition")))
    spec = entry["partition"]["spec"]
    assert entry["partition"]["id"] == "p1"
    assert (len(spec["ipus"]), spec["num_gcds"], spec["num_replicas"]) == (8, 2, 4)


def test_progress_and_interrupt(serve, home):
    """On a terminal a line tells how long it takes; Ctrl-C says what goes on without us."""
    slow = serve("create-ms: 600000\nclusters: [{id: cl1}]")
    ours, theirs = pty.openpty()
    environment = {"HOME": str(home), "TERM": "xterm"}
    waiting = subprocess.Popen([program("vipu"), "-H", "127.0.0.1", "-P", str(slow.port), "create", "partition", "p1",
                                "--size", "4"], env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    seen = b""
    while not re.search(rb"partition p1: CREATING, [1-9]\d* s", seen):
        assert select.select([ours], [], [], DEADLINE_S)[0], seen
        seen += os.read(ours, 4096)
    waiting.send_signal(signal.SIGINT)
    out, _ = waiting.communicate(timeout=DEADLINE_S)
    while select.select([ours], [], [], 0)[0]:
        try:
            seen += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    assert waiting.returncode == -signal.SIGINT and out == ""
    # Cut at a narrow terminal's edge, not wrapped.
    assert re.search(rb"\033\[\?7lpartition p1: CREATING, [1-9]\d* s\033\[\?7h", seen)
    assert b"create partition (p1): interrupted" in seen and b"vipu remove partition p1" in seen
    # No terminal, no line.
    waiting = subprocess.Popen([program("vipu"), "-H", "127.0.0.1", "-P", str(slow.port), "--api-timeout", "2", "create",
                                "partition", "p2", "--size", "4"], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert waiting.communicate(timeout=DEADLINE_S) == (
        "", "create partition (p2): failed: timed out after 2 s waiting for partition p2 to become active\n")


def test_attributes(run):
    """On record: vipu list ipu-attrs; the attribute table has Agent, IPU, Attribute and Value, agent and IPU once
    per group; IPU 0 has board ipu index 1 in the sample."""
    lines = good(run("list", "ipu-attrs")).splitlines()
    assert re.fullmatch(r"Agent \| IPU \| Attribute +\| Value", lines[0])
    assert re.fullmatch(r"ag1   \| 0   \| board ipu index +\| 1", lines[2])
    assert re.fullmatch(r"      \|     \| board serial number +\| \S+", lines[3])
    agents = json.loads(good(run("list", "ipu-attrs", "--showjson")))
    assert [agent["agent"] for agent in agents] == [f"ag{i}" for i in range(1, 33)]


def test_rejections(run):
    """On record: failure is an exit status other than 0."""
    rejected = run("create", "partition", "p|1", "--size", "3", "--num-gcds", "5", "--allocation", "nowhere")
    assert rejected.returncode == 1 and rejected.stdout == ""
    for part in ("create partition (p|1): failed:", "letters, digits", "size 3", "GCDs 5", "replicas 5", '"nowhere"'):
        assert part in rejected.stderr
    for words in (["get", "partition", "p9"], ["remove", "partition", "p9"], ["reset", "partition", "p9"]):
        result = run(*words)
        assert (result.returncode, result.stderr) == (1, f'{words[0]} partition (p9): failed: partition "p9" not found\n')


def test_no_controller_answers(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        result = run("list", "partition", "--api-timeout", "1", port=port)
        # The connection stands, so this is an answer that never came.
        assert result.returncode == 1 and f"127.0.0.1:{port}: no response within 1000 ms" in result.stderr
    # Seed 003, 2.10.1: "unable to connect to VIRM/V-IPU Controller at 127.0.0.1:8090: context deadline exceeded".
    result = run("list", "partition", "--api-timeout", "1", port=port)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith(
        f"unable to connect to VIRM/V-IPU Controller at 127.0.0.1:{port}: context deadline exceeded")
    assert result.stderr.endswith("(connect: Connection refused)\n")


def test_a_controller_behind_a_wall():
    """Seed 003, 2.10.1, word for word: packets vanish, so the time that was given is all there is to tell."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    address = listener.getsockname()
    fillers = []
    while True:  # until the backlog is full, and no connection is accepted
        fillers.append(socket.socket())
        fillers[-1].settimeout(1)
        try:
            fillers[-1].connect(address)
        except TimeoutError:
            break
    done = run_program("vipu", "-H", "127.0.0.1", "-P", str(address[1]), "--api-timeout", "1", "list", "partition", env={})
    for filler in fillers:
        filler.close()
    listener.close()
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", f"unable to connect to VIRM/V-IPU Controller at 127.0.0.1:{address[1]}: context deadline exceeded\n")


def test_a_controller_that_is_just_starting(serve, home):
    """The command line waits some seconds for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    waiting = subprocess.Popen([program("vipu"), "-H", "127.0.0.1", "-P", str(port), "--server-version"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    serve("clusters: [{id: cl1}]", listen=f"127.0.0.1:{port}")
    out, problems = waiting.communicate(timeout=DEADLINE_S)
    assert waiting.returncode == 0, problems
    assert out == f"version: 1.18.0\nhost: 127.0.0.1:{port}\n"


def test_a_wrong_command_line(run):
    for words, part in ((["bogus"], 'unknown command "bogus"'), ([], "missing command; for example: "), (["create", "partition"], "requires the ID of the partition"),
                        (["create", "partition", "p1"], "--size"), (["list", "partition", "p1"], "unexpected argument"),
                        (["create", "partition", "p1", "--size", "4", "--routing", "x"], "ringswnc"),
                        (["get", "partition", "p1", "--gcd", "x"], "--gcd"), (["list", "partition", "--nope"], "--nope"),
                        (["list", "partition", "--api-port", "0"], "api-port")):
        result = run(*words)
        assert result.returncode == 2 and part in result.stderr and result.stdout == "", result.stderr


def test_one_mistake_is_one_message(run):
    hint = "Run 'vipu --help' for usage.\n"
    for words in (["list", "partitions", "--depth", "3"], ["--depth", "3", "list", "partitions"]):
        assert run(*words).stderr == f"vipu: unknown option --depth; see vipu --help\n{hint}"
    done = run("create", "partition", "p1", "--size", "4", "--gcds", "1", "--size", "8", "--size=2")
    assert (done.returncode, done.stderr) == (2, f"vipu: --size is given more than once\n{hint}")


def test_help_of_a_command(run):
    page = good(run("help", "create", "partition"))
    assert page == good(run("create", "partition", "--help")) == good(run("create", "partitions", "p1", "-h"))
    assert page.startswith("Usage: vipu create partition ID [OPTIONS]\n") and "--size N" in page and "--force" not in page
    assert "-o, --output FORMAT" in page
    kinds = good(run("help", "list"))
    assert [line.split()[1] for line in kinds.splitlines() if line.startswith("  list ")] == [
        "partitions", "allocations", "clusters", "ipu-attrs"]
    assert good(run("help")) == good(run("--help")) == good(run("help", "bogus")) != page


def test_json_everywhere(run):
    """Output and errors; what is printed as a table has the same JSON as with --showjson."""
    made = run("create", "partition", "p1", "--size", "4", "--num-gcds", "2", "-o", "json")
    assert json.loads(good(made)) == {"partition": "p1", "operation": "create", "result": "success"} and made.stderr == ""
    for words in (["list", "partitions"], ["list", "clusters"], ["list", "allocations"], ["list", "ipu-attrs"], ["get", "partition", "p1"],
                  ["get", "cluster", "cl1"], ["get", "allocation", "cl1"], ["--server-version"]):
        assert json.loads(good(run(*words, "-o", "json"))) == json.loads(good(run(*words, "--showjson")))
    configs = json.loads(good(run("get", "partition", "p1", "--ipuof-configs", "-ojson")))
    assert [config["attributes"]["GCD Id"] for config in configs] == ["0", "1"]
    for words, status, part in ((["get", "partition", "p9"], 1, 'partition "p9" not found'), (["get"], 2, "get: missing resource")):
        failed = run(*words, "--output=json")
        (error,) = json.loads(failed.stderr)["errors"]
        assert failed.returncode == status and part in error and failed.stdout == ""


def test_the_timeout_is_that_of_the_whole_command(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        result = run("list", "partitions", "--api-timeout", "6", port=silent.getsockname()[1])
        took_s = time.monotonic() - began
    assert result.stderr.endswith(": no response within 6000 ms\n") and 5.9 < took_s < 9


def test_a_reader_that_has_enough():
    """`vipu --help | head -1`: as other programs, vipu ends without a word when nobody reads its output any more."""
    for name in ("vipu", "gc-info"):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([program(name), "--help"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)
        os.close(writing)
        assert done.returncode != 0 and done.stderr == ""


def test_configuration_file(run, server, tmp_path):
    """On record: --config names another configuration file than /etc/vipu/vipu-cli.hcl; the configuration file is
    HCL with api-host and api-port; -P is the controller's port."""
    path = tmp_path / "alice.vipu-cli.hcl"
    path.write_text(f'# for alice\napi-host="127.0.0.1"\napi-port = "{server.port}" // quoted or not\napi-timeout = 20\n'
                    'api-user-id="alice"\n')
    nothing = {"VIPU_CLI_API_HOST": "", "VIPU_CLI_API_PORT": ""}
    assert "host: 127.0.0.1" in good(run("--config", str(path), "--server-version", env=nothing))
    # Environment beats file, option beats environment.
    assert run("--config", str(path), "--server-version", port=1).returncode == 1
    good(run("--config", str(path), "--server-version", "-P", str(server.port), port=1))


def test_in_a_pod_of_a_job(run, server, tmp_path):
    """The job's controller is asked where vipu is told no other one."""
    nobody = {"VIPU_CLI_API_HOST": "", "VIPU_CLI_API_PORT": ""}
    job = {"IPUOF_VIPU_API_HOST": "127.0.0.1", "IPUOF_VIPU_API_PORT": str(server.port)}
    asked = f"version: 1.18.0\nhost: 127.0.0.1:{server.port}\n"
    assert good(run("--server-version", env=nobody | job)) == asked
    elsewhere = {"IPUOF_VIPU_API_HOST": "elsewhere.invalid", "IPUOF_VIPU_API_PORT": "no number"}
    assert good(run("--server-version", env=elsewhere)) == asked
    config = tmp_path / "own.hcl"
    config.write_text(f'api-host = "127.0.0.1"\napi-port = "{server.port}"\n')
    assert good(run("--config", str(config), "--server-version", env=nobody | elsewhere)) == asked


def test_mistakes_in_the_configuration_file(run, tmp_path):
    path = tmp_path / "x.hcl"
    path.write_text('api-host = "unclosed\napi-prot = "8090"\napi-port = "99999"\nsize = 4\nblock {\n}\n')
    result = run("--config", str(path), "list", "partition")
    assert result.returncode == 2
    for part in ("line 1: unterminated string", 'line 2: unknown setting "api-prot"', "line 3: ",
                 'line 4: unknown setting "size"', "line 5: "):
        assert f"{path}: {part}" in result.stderr
    missing = run("--config", str(tmp_path / "none.hcl"), "list", "partition")
    assert missing.returncode == 2 and "none.hcl" in missing.stderr


def test_every_mistake_is_reported_at_once(run, tmp_path):
    path = tmp_path / "x.hcl"
    path.write_text('api-prot = "8090"\n')
    result = run("crate", "partition", "--siez", "4", "--gcd", "x", "--api-port", "0", "--config", str(path))
    assert (result.returncode, result.stdout) == (2, "")
    for part in (f'{path}: line 1: unknown setting "api-prot"; did you mean "api-port"?', 'did you mean "create"?',
                 "unknown option --siez; did you mean --size?", '--gcd must be a number from 0 to 65536, got "x"',
                 '--api-port: expected a number from 1 to 65535, got "0"'):
        assert result.stderr.count(part) == 1, result.stderr
    result = run("create", "partition", "p1", "p2", "--routing", "x", "--sync-type", "y", "--force", "--showjsn")
    for part in ('unexpected argument "p2"', "unknown option --showjsn; did you mean --showjson?"):
        assert part in result.stderr
    result = run("create", "partition", "p1", "--routing", "x", "--sync-type", "y", "--force")
    for part in ("requires --size", "ringswnc", "pod-native-default",
                 "--force does not apply to create partition, only to remove partition"):
        assert part in result.stderr


def test_help_and_version(run):
    """On record: --version tells the client's version; version banners go to stdout."""
    text = good(run("--help"))
    for word in ("create partition", "--size", "--ipuof-configs", "VIPU_CLI_API_HOST"):
        assert word in text
    assert re.fullmatch(r"vipu \d+\.\d+\.\d+\n", good(run("--version")))


def test_full_disk(run):
    with open("/dev/full", "w") as full:
        result = subprocess.run([program("vipu"), "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "No space left" in result.stderr
