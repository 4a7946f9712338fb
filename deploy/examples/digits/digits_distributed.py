#!/usr/bin/env python3
"""The training of digits.py, shared by several processes:

    poprun --num-instances 4 --num-replicas 4 python3 digits_distributed.py

Each instance has a part of every batch, and popdist.collectives averages the gradients, so the losses are those of one
process with the same batch.
"""

import argparse
import os
import sys

import numpy as np

import popdist
import popdist.collectives as collectives
from digits import HELD_OUT, Network, load


def share(batch):
    """This instance's part of a batch; the parts differ by at most one image."""
    return np.array_split(batch, popdist.getNumInstances())[popdist.getInstanceIndex()]


def average(network, images, digits, part, whole):
    """Loss and gradients of the whole batch: each instance's count by the images that it has of it."""
    loss, gradients = network.gradients(images[part], digits[part])
    sums = np.concatenate([np.array([loss]), *(gradient.ravel() for gradient in gradients)]) * (len(part) / len(whole))
    collectives.allReduceSum(sums, "gradients")
    ends = np.cumsum([1] + [gradient.size for gradient in gradients])
    return sums[0], [sums[begin:end].reshape(gradient.shape)
                     for begin, end, gradient in zip(ends, ends[1:], gradients)]  # fmt: skip


def train_epoch(network, momentum, images, digits, options, rng):
    losses = []
    for batch in np.array_split(rng.permutation(len(digits)), max(1, len(digits) // options.batch)):
        loss, gradients = average(network, images, digits, share(batch), batch)
        losses.append(loss)
        for index, parameter in enumerate(network.parameters):
            momentum[index] = 0.9 * momentum[index] - options.rate * gradients[index]
            parameter += momentum[index]
    return np.mean(losses)


def say(text):
    """Once for all instances."""
    if popdist.getInstanceIndex() == 0:
        os.write(1, f"{text}\n".encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz"))
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64, help="images of all instances together")
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--target", type=float, default=0.9, help="accuracy below which training has failed")
    options = parser.parse_args()

    popdist.init()
    images, digits = load(options.data)
    seen, held_out = slice(HELD_OUT, None), slice(0, HELD_OUT)
    say(f"{len(digits) - HELD_OUT} training images, {HELD_OUT} test images, {popdist.getNumInstances()} instances")
    # The instances shuffle alike, so that the parts of a batch are parts of the same one.
    rng = np.random.default_rng(1)
    network = Network(images.shape[1], rng)
    for index, parameter in enumerate(network.parameters):
        collectives.broadcast(parameter, 0, f"parameter {index}")
    momentum = [np.zeros_like(parameter) for parameter in network.parameters]
    for epoch in range(1, options.epochs + 1):
        loss = train_epoch(network, momentum, images[seen], digits[seen], options, rng)
        accuracy = network.accuracy(images[held_out], digits[held_out])
        say(f"epoch {epoch:2}/{options.epochs}  loss {loss:.4f}  accuracy {accuracy:.3f}")
    if accuracy < options.target:
        sys.exit(f"accuracy {accuracy:.3f} is below {options.target}: training has failed")
    say(f"done: accuracy {accuracy:.1%} on the test images")


if __name__ == "__main__":
    main()
