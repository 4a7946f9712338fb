"""An HTTP/2 server without a library, so that it can say what no library would. It understands as much as the tests need:
it reads frames, and answers with whatever bytes the test composes. Headers are sent as literals without indexing."""

import socket
import struct
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1


def frame(kind, payload=b"", flags=0, stream=0):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(stream, pairs, end=False):
    block = b"".join(b"\x00" + _text(name) + _text(value) for name, value in pairs)
    return frame(HEADERS, block, END_HEADERS | (END_STREAM if end else 0), stream)


def _text(text):
    raw = text if isinstance(text, bytes) else text.encode()
    assert len(raw) < 127, "longer texts need HPACK's continuation of lengths"
    return bytes([len(raw)]) + raw


def message(payload):
    return b"\x00" + struct.pack(">I", len(payload)) + payload


OPEN = [(":status", "200"), ("content-type", "application/grpc")]


def response(stream, payload, status="0"):
    return (headers(stream, OPEN) + frame(DATA, message(payload), stream=stream) +
            headers(stream, [("grpc-status", status)], end=True))


def settings(*pairs):
    return frame(SETTINGS, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def goaway(last_stream, code=0):
    return frame(GOAWAY, struct.pack(">II", last_stream, code))


def reset(stream, code):
    return frame(RST_STREAM, struct.pack(">I", code), stream=stream)


class Peer:
    """One accepted connection."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.stream_room, self.room = 65535, {0: 65535}
        self.resets = set()  # streams that the other side gave up

    def send(self, *pieces):
        self.sock.sendall(b"".join(pieces))

    def send_slowly(self, data):
        """Byte by byte, each in a packet of its own."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in data:
            self.send(bytes([byte]))

    def _take(self, count):
        while len(self.buffer) < count:
            piece = self.sock.recv(65536)
            if not piece:
                raise EOFError
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read_preface(self):
        assert self._take(len(PREFACE)) == PREFACE

    def greet(self, *pairs):
        self.read_preface()
        self.send(settings(*pairs))

    def frame(self):
        head = self._take(9)
        kind, flags, (stream,) = head[3], head[4], struct.unpack(">I", head[5:])
        payload = self._take(int.from_bytes(head[:3], "big"))
        if kind == WINDOW_UPDATE:
            self.room[stream] = self.room.get(stream, self.stream_room) + int.from_bytes(payload, "big")
        if kind == RST_STREAM:
            self.resets.add(stream)
        if kind == SETTINGS:
            self.stream_room = dict(struct.iter_unpack(">HI", payload)).get(4, self.stream_room)
        return kind, flags, stream, payload

    def acknowledge(self):
        """The other side's settings, which this one has read; its larger windows are in force with that."""
        self.send(frame(SETTINGS, b"", ACK))

    def send_data(self, stream, data, flags=0):
        """As soon as the other side has room for it; not if it has given the stream up."""
        while stream not in self.resets and min(self.room[0], self.room.setdefault(stream, self.stream_room)) < len(data):
            self.frame()
        if stream in self.resets:
            return
        for which in (0, stream):
            self.room[which] -= len(data)
        self.send(frame(DATA, data, flags, stream))

    def request(self):
        """The number of the next stream whose request is complete."""
        while True:
            kind, flags, stream, _ = self.frame()
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return stream

    def until_closed(self):
        try:
            while True:
                self.frame()
        except (EOFError, OSError):
            pass

    def read_aside(self):
        """Reads on, in a thread of its own, so that the other side can always write."""
        threading.Thread(target=self.until_closed, daemon=True).start()

    def say_goaway(self, last_stream, code=0):
        """And wait until the other side has read it."""
        self.send(goaway(last_stream, code), frame(PING, b"have you?"[:8]))
        while self.frame()[0] != PING:
            pass


class Server:
    """Listens, and plays `script(peer)` with every connection, each in its thread."""

    def __init__(self, script):
        self.script = script
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        self.failures = []
        self.peers = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            self.peers.append(sock)
            threading.Thread(target=self._play, args=(sock,), daemon=True).start()

    def _play(self, sock):
        with sock:
            try:
                self.script(Peer(sock))
            except (EOFError, ConnectionError, OSError):
                pass
            except AssertionError as failure:
                self.failures.append(failure)

    def close(self):
        self.listener.close()
        for sock in self.peers:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        assert not self.failures, self.failures
