"""vipu-server's HTTP endpoint for admins."""

import re
import socket
import urllib.error
import urllib.request

import grpc
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from programs import DEADLINE_S, ROOT, run_program, until

CONFIG = "admin-listen: 127.0.0.1:0\ncreate-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters: [{id: cl1}]\n"


def get(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}{path}", timeout=DEADLINE_S) as answer:
        return answer.read().decode(), answer.headers["content-type"]


def test_healthz(serve):
    assert get(serve(CONFIG), "/healthz")[0] == "ok\n"


def scrape(server):
    """Family name -> family, and (sample name, labels in order of their names) -> value."""
    text, kind = get(server, "/metrics")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
               for family in families.values() for sample in family.samples}
    return families, samples


def test_what_exists_is_listed(serve, dial):
    server = serve("admin-listen: 127.0.0.1:0\ncreate-ms: 0\n"
                   "clusters: [{id: a, agents: 4}, {id: b, ipulink-domains: 2, agents: 32}]\n")
    client = dial(server.target)
    _, idle = scrape(server)
    assert idle["vipu_ipus", "a", "free"] == 16 and idle["vipu_ipus", "b", "free"] == 128
    assert idle["vipu_largest_free_block_ipus", "a"] == 16 and idle["vipu_largest_free_block_ipus", "b"] == 64
    assert idle["vipu_partitions", "ACTIVE"] == 0 and idle["vipu_storage_commits_total",] == 0
    client.create("p1", 8, cluster_id="a")
    client.create("p2", 64, cluster_id="b")
    client.create("p3", 1, cluster_id="b")
    until(lambda: scrape(server)[1]["vipu_partitions", "ACTIVE"] == 3, "all are active")
    _, busy = scrape(server)
    assert busy["vipu_ipus", "a", "free"] == 8 and busy["vipu_ipus", "a", "partitioned"] == 8
    assert busy["vipu_ipus", "b", "free"] == 63 and busy["vipu_ipus", "b", "partitioned"] == 65
    assert busy["vipu_largest_free_block_ipus", "a"] == 8 and busy["vipu_largest_free_block_ipus", "b"] == 32
    assert busy["vipu_partitions", "PENDING"] == 0 and busy["vipu_storage_commits_total",] >= 3


def test_calls_are_counted_and_timed(start):
    server, client = start(CONFIG)
    for _ in range(3):
        client.version()
    client.create("p1", 4)
    for _ in range(2):
        with pytest.raises(grpc.RpcError):
            client.status("none")
    with pytest.raises(grpc.RpcError):
        client.channel.unary_unary("/virmgrpc.UserService/Nothing")(b"", timeout=DEADLINE_S)
    families, samples = scrape(server)
    assert samples["vipu_calls_total", "GetVersion", "OK"] == 3
    assert samples["vipu_calls_total", "CreatePartition", "OK"] == 1
    assert samples["vipu_calls_total", "GetPartitionStatus", "NOT_FOUND"] == 2
    assert samples["vipu_calls_total", "other", "UNIMPLEMENTED"] == 1
    assert samples["vipu_call_duration_seconds_count", "GetVersion"] == 3
    assert samples["vipu_call_duration_seconds_bucket", "+Inf", "GetVersion"] == 3
    assert samples["vipu_call_duration_seconds_sum", "CreatePartition"] > 0
    assert families["vipu_build"].type == "info"


def test_the_page_has_the_same_table(serve):
    page = (ROOT / "docs" / "vipu.md").read_text()
    written = set(re.findall(r"^\| `(vipu_\w+)` \| (\w+) \| (.*) \|$", page, re.MULTILINE))
    families, _ = scrape(serve(CONFIG))
    assert written == {(name, family.type, family.documentation[:-1]) for name, family in families.items()}


def test_unknown_paths(serve):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(serve(CONFIG), "/")
    assert caught.value.code == 404


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_only_reading(serve, path):
    server = serve(CONFIG)
    for method, status in (("POST", 405), ("PUT", 405), ("DELETE", 405), ("HEAD", 200)):
        request = urllib.request.Request(f"http://127.0.0.1:{server.admin_port}{path}", method=method,
                                         data=b"" if method in ("POST", "PUT") else None)
        try:
            assert urllib.request.urlopen(request, timeout=DEADLINE_S).status == status
        except urllib.error.HTTPError as error:
            assert error.code == status, method


def test_it_is_off_by_default(serve):
    assert "admin" not in serve().log()


def test_a_taken_port(tmp_path):
    config = tmp_path / "config.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config.write_text(f"admin-listen: '127.0.0.1:{taken.getsockname()[1]}'\nclusters: [{{id: a}}]\n")
        result = run_program("vipu-server", "--config", str(config), "--storage", str(tmp_path / "state.db"))
    assert result.returncode == 1 and "in use" in result.stderr
