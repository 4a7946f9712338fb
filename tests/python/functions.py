"""Functions to submit, or to reject."""

import functools
import math

LIMIT = 3
print_twice = print


def train(epochs, lr=0.1, *, name="digits"):
    import json

    def step(epoch):
        return lr / (epoch + 1)

    print(json.dumps({"name": name, "rates": [step(epoch) for epoch in range(epochs)], "here": __name__}))


def recursive(n):
    if n:
        recursive(n - 1)
    print(n)


def uses_a_module(x):
    return math.sqrt(x)


def uses_a_value(x):
    def inner():
        return x < LIMIT

    return inner()


def has_a_default(x=LIMIT):
    return x


def has_an_annotation(x: math.inf):
    return x


@functools.lru_cache()
def is_decorated(x):
    return x


def shadows_a_builtin(x):
    return [vars for vars in x]


def writes_a_global():
    global LIMIT
    LIMIT = 4


def within(scale):
    def uses_a_closure(x):
        return scale * x

    return uses_a_closure


async def is_a_coroutine():
    pass


def is_a_generator():
    yield 1


class Model:
    def fit(self):
        pass
