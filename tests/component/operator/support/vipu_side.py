"""The V-IPU side: the real vipu-server, a generic client of it, and a proxy between it and the operator."""

import os
import signal
import subprocess
import sys
from concurrent import futures
from pathlib import Path

import grpc

from ports import free_port
from waiting import until

ROOT = Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tests/vipu/support"))

import generic  # noqa: E402

QUICK = "create-ms: 20\nremove-ms: 20\nreset-ms: 20\n"
ONE_POD = QUICK + "clusters: [{id: cl1}]\n"
PREFIX = "/virmgrpc.UserService/"


def program():
    built = ROOT / os.environ.get("BUILD_DIR", "build/asan") / "vipu/vipu-server"
    path = Path(os.environ.get("VIPU_SERVER", built))
    assert path.is_file(), f"{path} is missing: build the target vipu-server, or set BUILD_DIR or VIPU_SERVER"
    return str(path)


def options():
    return [("grpc.so_reuseport", 0), ("grpc.use_local_subchannel_pool", 1)]


class VipuServer:
    """vipu-server with its state in a folder; it keeps its port when it is started again."""

    def __init__(self, folder, config=ONE_POD):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self._config = config
        (self.folder / "config.yaml").write_text(config)
        self.port = free_port()
        self.client = None
        self.start()

    def start(self):
        with open(self._log, "wb") as out:
            self.process = subprocess.Popen(
                [program(), "--config", str(self.folder / "config.yaml"), "--storage", str(self.folder / "state.db"),
                 "--listen", f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until(lambda: "serving the V-IPU user API" in self._log.read_text(), "vipu-server serves", tell=self._log.read_text)
        self.client = self.client or generic.Client(self.address)

    @property
    def _log(self):
        return self.folder / "vipu-server.log"

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def partitions(self):
        return {partition.id: partition for partition in self.client.list()}

    def fail(self, faults):
        """What goes wrong from now on, as in the configuration's `faults`; {} ends it."""
        self.read_again(f"{self._config}faults: {faults}\n")

    def read_again(self, config):
        def times():
            return self._log.read_text().count("configuration reloaded")
        before = times()
        (self.folder / "config.yaml").write_text(config)
        self.process.send_signal(signal.SIGHUP)
        until(lambda: times() > before, "vipu-server reads its configuration again", tell=self._log.read_text)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def forget(self):
        """Its memory is lost, as after a new installation."""
        for path in self.folder.glob("state.db*"):
            path.unlink()

    def stop(self):
        if self.client:
            self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(60) == 0, self._log.read_text()


class Forward(grpc.GenericRpcHandler):
    """Passes every call on as bytes."""

    def __init__(self, proxy):
        self._proxy = proxy

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._proxy.pass_on(details.method, request, context))


class VipuProxy:
    """Before a V-IPU controller; before(method, request) and after(...) may end a call by returning False."""

    def __init__(self, target):
        self._channel = grpc.insecure_channel(target, options=options())
        self.before = lambda method, request: True
        self.after = lambda method, request: True
        self._server = grpc.server(futures.ThreadPoolExecutor(16), handlers=[Forward(self)], options=options())
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{self.port}"
        self._server.start()

    def pass_on(self, method, request, context):
        name = method.removeprefix(PREFIX)
        if not self.before(name, request):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")
        try:
            reply = self._channel.unary_unary(method)(request, timeout=10, wait_for_ready=True)
        except grpc.RpcError as error:
            self.after(name, request)
            context.abort(error.code(), error.details())
        if not self.after(name, request):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")
        return reply

    def close(self):
        self._server.stop(None).wait()
        self._channel.close()
