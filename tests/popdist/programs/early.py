"""The first instance calls one operation and then does nothing until the other has its result, so that what is
still on its way from there must travel without a call."""

import os
import socket

import numpy

import popdist

ADDRESS = ("10.123.0.1", 7123)
LIMIT_S = 100


def wait_for_word():
    with socket.create_server(ADDRESS) as server:
        server.settimeout(LIMIT_S)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1)


def send_word():
    while True:
        try:
            with socket.create_connection(ADDRESS, timeout=LIMIT_S) as connection:
                connection.sendall(b"x")
            return
        except ConnectionRefusedError:
            pass  # the other does not listen yet


popdist.init()
index = popdist.getInstanceIndex()
data = numpy.ones(1)
popdist.collectives.allReduceSum(data, "only")
send_word() if index else wait_for_word()
os.write(1, f"{index} has {int(data[0])}\n".encode())
