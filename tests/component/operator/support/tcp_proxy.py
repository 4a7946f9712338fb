"""A TCP proxy that passes bytes on until it is told to break: TLS and HTTP/2 reach the API server untouched."""

import select
import socket
import threading


class TcpProxy:
    def __init__(self, host, port):
        self._target = (host, port)
        self._pairs = set()
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._cut_after = None
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.accepted += 1
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        self._flows.wait()
        try:
            far = socket.create_connection(self._target, timeout=10)
        except OSError:
            near.close()
            return
        with self._lock:
            self._pairs.add((near, far))
        try:
            while self._move(near, far):
                pass
        except (OSError, ValueError):
            pass  # one side has gone
        with self._lock:
            self._pairs.discard((near, far))
        near.close()
        far.close()

    def _move(self, near, far):
        readable, _, _ = select.select([near, far], [], [], 1)
        for source in readable:
            self._flows.wait()
            data = source.recv(65536)
            if not data:
                return False
            if source is far and self._cut_after and len(data) >= self._cut_after:
                near.sendall(data[: self._cut_after // 2])
                self._cut_after = None
                return False
            (far if source is near else near).sendall(data)
        return True

    def freeze(self):
        """Connections are accepted and stay open, and nothing moves."""
        self._flows.clear()

    def thaw(self):
        self._flows.set()

    def cut_inside(self, size):
        """Ends the connection that brings the next `size` bytes at once, in the middle of them."""
        self._cut_after = size

    def has_cut(self):
        return self._cut_after is None

    def hang_up(self):
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # gone already

    def close(self):
        self._listener.close()
        self._flows.set()
        self.hang_up()
