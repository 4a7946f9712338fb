"""A browser's side of HTTP and WebSocket on loopback, byte by byte, so that tests can also do what no browser does."""

import base64
import json
import os
import socket
import ssl
import struct

DEADLINE_S = 60
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body


def read_head(reader):
    """The status, and the headers by their lower-case names."""
    status = int(reader.readline().split()[1])
    headers = {}
    while (line := reader.readline().strip()):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return status, headers


def connect(port, host="127.0.0.1", tls=False, receive_buffer=None):
    connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(DEADLINE_S)
    connection.connect((host, port))
    return ssl._create_unverified_context().wrap_socket(connection) if tls else connection


def exchange(port, data, host="127.0.0.1", tls=False):
    """Sends the bytes, and reads until the server closes."""
    with connect(port, host, tls) as connection, connection.makefile("rb") as reader:
        connection.sendall(data)
        status, headers = read_head(reader)
        return Response(status, headers, reader.read())


def request(port, method, path, headers=(), body=b"", host="127.0.0.1", tls=False):
    """`headers` replace those that a browser sends; None leaves one out."""
    name = f"[{host}]" if ":" in host else host
    sent = {"Host": f"{name}:{port}", **({"Content-Length": str(len(body))} if body else {}), **dict(headers)}
    lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items() if value is not None)]
    return exchange(port, "\r\n".join([*lines, "", ""]).encode() + body, host, tls)


def upgrade(port, cookie, path="/live", tls=False, **headers):
    """The bytes of a request for a WebSocket."""
    sent = {"Host": f"127.0.0.1:{port}", "Origin": f"http{'s' if tls else ''}://127.0.0.1:{port}", "Connection": "keep-alive, Upgrade", "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), "Cookie": cookie,
            **{key.replace("_", "-"): value for key, value in headers.items()}}
    lines = [f"GET {path} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items() if value is not None)]
    return "\r\n".join([*lines, "", ""]).encode()


def frame(payload, opcode=TEXT, first=0x80, masked=0x80):
    mask = os.urandom(4) if masked else b""
    length = bytes([masked | len(payload)]) if len(payload) < 126 else struct.pack("!BH", masked | 126, len(payload))
    return bytes([first | opcode]) + length + mask + bytes(byte ^ mask[i % 4] if masked else byte for i, byte in enumerate(payload))


class WebSocket:
    def __init__(self, port, cookie, receive_buffer=None, tls=False, **headers):
        self.connection = connect(port, tls=tls, receive_buffer=receive_buffer)
        self.connection.sendall(upgrade(port, cookie, tls=tls, **headers))
        self.reader = self.connection.makefile("rb")
        self.status, self.headers = read_head(self.reader)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reader.close()
        self.connection.close()

    def send(self, message):
        self.connection.sendall(frame(json.dumps(message).encode()))

    def receive(self):
        """The opcode and the bytes of the next frame."""
        first, second = self.reader.read(2)
        length = second & 0x7F
        if length >= 126:
            length = struct.unpack("!H" if length == 126 else "!Q", self.reader.read(2 if length == 126 else 8))[0]
        return first & 0x0F, self.reader.read(length)

    def message(self):
        opcode, payload = self.receive()
        assert opcode == TEXT, (opcode, payload)
        return json.loads(payload)

    def until(self, wanted):
        """All messages up to the first for which `wanted` is true."""
        seen = [self.message()]
        while not wanted(seen[-1]):
            seen.append(self.message())
        return seen

    def close_code(self):
        while (received := self.receive())[0] != CLOSE:
            pass
        return struct.unpack("!H", received[1][:2])[0]
