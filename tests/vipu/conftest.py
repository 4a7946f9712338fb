"""Fixtures of the V-IPU suite: vipu-server and a generic client."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "lib"), str(Path(__file__).resolve().parent / "support")]

import peers  # noqa: E402
import programs  # noqa: E402
import rawh2  # noqa: E402
from certificates import LOCAL, Authority  # noqa: E402
from generic import Client  # noqa: E402

QUICK = "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nclusters: [{id: cl1}]\n"


@pytest.fixture
def serve(tmp_path):
    """Starts vipu-server with this configuration text; it must end cleanly after the test."""
    started = []

    def begin(config="", **options):
        folder = tmp_path / f"server{len(started)}"
        folder.mkdir()
        server = programs.Server(folder, config, **options)
        started.append(server)
        return server

    yield begin
    for server in started:
        if server.process.poll() is None:
            assert server.stop() == 0, server.log()


@pytest.fixture
def dial():
    """A generic client of an address; options are generic.Client's."""
    clients = []

    def connect(target, **options):
        clients.append(Client(target, **options))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def start(serve, dial):
    """Starts vipu-server with this configuration text, and gives it and a client of it."""

    def begin(config=""):
        server = serve(config)
        return server, dial(server.target)

    return begin


@pytest.fixture
def server(serve):
    """Its operations take no time; files whose tests need another one have their own."""
    return serve(QUICK)


@pytest.fixture
def quick(serve, dial):
    """A client of a server whose operations take no time."""
    return dial(serve(QUICK).target)


@pytest.fixture
def generic():
    """A generic server, for our client."""
    servicer = peers.Generic()
    server, servicer.port = peers.listen_generic(servicer)
    yield servicer
    server.stop(0)


@pytest.fixture
def raw():
    """Starts rawh2 servers; what they assert must hold."""
    servers = []

    def begin(script):
        servers.append(rawh2.Server(script))
        return servers[-1]

    yield begin
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "stranger", "another CA")


@pytest.fixture(scope="session")
def certificate(authority):
    """For this host, by the authority."""
    return authority.sign("local", *LOCAL)
