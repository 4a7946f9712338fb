#!/usr/bin/env python3
"""Answers over HTTP which digit an image shows: GET /digits/N for one of the images that come along.

A model that serves, in as few lines as show it: it learns at its start, says when it is ready, and ends when it is
told to. Each instance of the job is a process of its own with IPUs of its own; the Service before them shares the
requests out. GET /healthz is for the readiness probe.
"""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from digits import HELD_OUT, Network, load

PORT = 8080
EPOCHS = 6
BATCH = 32


def learn(images, digits):
    rng = np.random.default_rng(1)
    network = Network(images.shape[1], rng)
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, len(order), BATCH):
            part = order[start:start + BATCH]
            _, gradients = network.gradients(images[part], digits[part])
            for parameter, gradient in zip(network.parameters, gradients):
                parameter -= 0.3 * gradient
    return network


class Model:
    def __init__(self, path):
        images, digits = load(path)
        self.images, self.digits = images[:HELD_OUT], digits[:HELD_OUT]
        self.network = learn(images[HELD_OUT:], digits[HELD_OUT:])

    def read(self, number):
        likely = self.network.forward(self.images[number:number + 1])[1][0]
        return {"image": number, "digit": int(likely.argmax()), "is": int(self.digits[number]),
                "instance": int(os.environ.get("IPU_JOB_INSTANCE_INDEX", 0)),
                "version": os.environ.get("MODEL_VERSION", ""),
                "partition": os.environ.get("IPUOF_VIPU_API_PARTITION_ID", "")}


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            words = self.path.strip("/").split("/")
            if words == ["healthz"]:
                self.answer(200, {"ready": True})
            elif len(words) == 2 and words[0] == "digits" and words[1].isdecimal() and int(words[1]) < HELD_OUT:
                self.answer(200, model.read(int(words[1])))
            else:
                self.answer(404, {"error": f"ask for /digits/N, N from 0 to {HELD_OUT - 1}"})

        def answer(self, status, what):
            body = json.dumps(what).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def main():
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("digits.csv.gz")
    server = ThreadingHTTPServer(("", PORT), handler(Model(data)))
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"serving on port {PORT}", flush=True)
    server.serve_forever()
    print("stopped by SIGTERM", flush=True)


if __name__ == "__main__":
    main()
