"""vipu-server's HTTP end-point for admins."""

import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from programs import DEADLINE_S, program

CONFIG = "admin-listen: 127.0.0.1:0\ncreate-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters: [{id: cl1}]\n"


def get(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}{path}", timeout=DEADLINE_S) as answer:
        return answer.read().decode(), answer.headers["content-type"]


def test_healthz(serve):
    assert get(serve(CONFIG), "/healthz")[0] == "ok\n"


def test_unknown_paths(serve):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(serve(CONFIG), "/")
    assert caught.value.code == 404


def test_it_is_off_by_default(serve):
    assert "admin" not in serve().log()


@pytest.mark.parametrize("address, part", [("nonsense", "does not end in :PORT"), ("127.0.0.1:99999", "port up to 65535")])
def test_wrong_addresses(tmp_path, address, part):
    config = tmp_path / "config.yaml"
    config.write_text(f"admin-listen: '{address}'\nclusters: [{{id: a}}]\n")
    result = subprocess.run([program("vipu-server"), "--config", str(config), "--storage", str(tmp_path / "state.db")],
                            capture_output=True, text=True, timeout=DEADLINE_S)
    assert result.returncode == 1 and part in result.stderr


def test_a_taken_port(tmp_path):
    config = tmp_path / "config.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config.write_text(f"admin-listen: '127.0.0.1:{taken.getsockname()[1]}'\nclusters: [{{id: a}}]\n")
        result = subprocess.run([program("vipu-server"), "--config", str(config), "--storage", str(tmp_path / "state.db")],
                                capture_output=True, text=True, timeout=DEADLINE_S)
    assert result.returncode == 1 and "in use" in result.stderr
