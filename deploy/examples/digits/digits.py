#!/usr/bin/env python3
"""Trains a small network to read handwritten digits.

What a user of the operator runs in a worker: an ordinary program that finds its IPUs in the environment. The arithmetic
is NumPy's, so that the example needs neither the Poplar SDK nor real IPUs; replicas of the model share every batch as
they would on IPUs.
"""

import argparse
import gzip
import os
import sys

import numpy as np

PARTITION = ["IPUOF_VIPU_API_HOST", "IPUOF_VIPU_API_PORT", "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_VIPU_API_GCD_ID"]
HELD_OUT = 360
HIDDEN = 64
CLASSES = 10


def load(path):
    """Images as rows of 64 grey values from 0 to 1, and their digits; shuffled, the same way every time."""
    with gzip.open(path, "rt") as text:
        table = np.loadtxt(text, delimiter=",")
    table = np.random.default_rng(0).permutation(table)
    return table[:, :-1] / 16.0, table[:, -1].astype(int)


class Network:
    """One hidden layer of rectified units, softmax at the end."""

    def __init__(self, inputs, rng):
        self.parameters = [
            rng.normal(0, np.sqrt(2 / inputs), (inputs, HIDDEN)),
            np.zeros(HIDDEN),
            rng.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, CLASSES)),
            np.zeros(CLASSES),
        ]

    def forward(self, images):
        first, first_bias, second, second_bias = self.parameters
        hidden = np.maximum(images @ first + first_bias, 0)
        scores = hidden @ second + second_bias
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def gradients(self, images, digits):
        """The loss of this part of a batch, and by how much each parameter moves it."""
        hidden, likely = self.forward(images)
        loss = -np.log(likely[np.arange(len(digits)), digits] + 1e-12).mean()
        error = likely
        error[np.arange(len(digits)), digits] -= 1
        error /= len(digits)
        back = (error @ self.parameters[2].T) * (hidden > 0)
        return loss, [images.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]

    def accuracy(self, images, digits):
        return (self.forward(images)[1].argmax(axis=1) == digits).mean()


def train_epoch(network, momentum, images, digits, options, rng):
    """One pass over the images; every batch is shared by the replicas, whose gradients are averaged.

    The parts of a batch differ by an image where it cannot be divided evenly. Each counts by its images, so that any
    number of replicas learns the same."""
    losses = []
    for batch in np.array_split(rng.permutation(len(digits)), max(1, len(digits) // options.batch)):
        parts = np.array_split(batch, options.replicas)
        shares = [len(part) / len(batch) for part in parts]
        results = [network.gradients(images[part], digits[part]) for part in parts]
        losses.append(sum(share * loss for share, (loss, _) in zip(shares, results)))
        for index, parameter in enumerate(network.parameters):
            gradient = sum(share * gradients[index] for share, (_, gradients) in zip(shares, results))
            momentum[index] = 0.9 * momentum[index] - options.rate * gradient
            parameter += momentum[index]
    return np.mean(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--replicas", type=int, default=1, help="model replicas that share every batch")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--target", type=float, default=0.9, help="accuracy below which training has failed")
    options = parser.parse_args()

    for name in PARTITION:
        print(f"{name}={os.environ.get(name, '(not set)')}", flush=True)

    images, digits = load(options.data)
    seen, held_out = slice(HELD_OUT, None), slice(0, HELD_OUT)
    print(f"{len(digits) - HELD_OUT} training images, {HELD_OUT} test images, {options.replicas} replicas", flush=True)
    rng = np.random.default_rng(1)
    network = Network(images.shape[1], rng)
    momentum = [np.zeros_like(parameter) for parameter in network.parameters]
    for epoch in range(1, options.epochs + 1):
        loss = train_epoch(network, momentum, images[seen], digits[seen], options, rng)
        accuracy = network.accuracy(images[held_out], digits[held_out])
        print(f"epoch {epoch:2}/{options.epochs}  loss {loss:.4f}  accuracy {accuracy:.3f}", flush=True)
    if accuracy < options.target:
        sys.exit(f"accuracy {accuracy:.3f} is below {options.target}: training has failed")
    print(f"done: accuracy {accuracy:.1%} on the test images", flush=True)


if __name__ == "__main__":
    main()
