"""The shipped programs."""

import gzip
import re
import sys

import numpy
import pytest

import runs
from conftest import ROOT
from test_python import python
from tutorial import HELLO_OF_RANK, NOT_INVOKED

EXAMPLES = ROOT / "deploy" / "examples"


def test_hello_without_poprun(site):
    """On record: isPopdistEnvSet tells whether poprun started the program."""
    assert python(site, (EXAMPLES / "hello_poprun.py").read_text()) == NOT_INVOKED


@pytest.mark.parametrize("index", range(4))
def test_hello_prints_what_the_tutorial_shows(site, index):
    printed = python(
        site, (EXAMPLES / "hello_poprun.py").read_text(), POPDIST_NUM_TOTAL_REPLICAS="8", POPDIST_NUM_LOCAL_REPLICAS="2",
        POPDIST_NUM_IPUS_PER_REPLICA="2", POPDIST_REPLICA_INDEX_OFFSET=str(2 * index),
        POPDIST_LOCAL_INSTANCE_INDEX=str(index), POPDIST_NODE_DEVICE_ID="30",
    )  # fmt: skip
    assert printed == HELLO_OF_RANK[index]


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Pictures of ten random shapes with noise, in the form of the real data."""
    rng = numpy.random.default_rng(3)
    shapes, names = rng.uniform(0, 16, (10, 64)), rng.integers(0, 10, 900)
    pictures = numpy.clip(shapes[names] + rng.normal(0, 3, (900, 64)), 0, 16).round()
    path = tmp_path_factory.mktemp("digits") / "digits.csv.gz"
    with gzip.open(path, "wt") as text:
        numpy.savetxt(text, numpy.column_stack([pictures, names]), fmt="%d", delimiter=",")
    return path


def test_the_loss_curve_is_the_same_on_any_number_of_instances(site, digits):
    """On record: data is sharded by getNumInstances and getInstanceIndex."""
    words = [sys.executable, EXAMPLES / "digits" / "digits_distributed.py", "--data", digits, "--epochs", "4"]
    printed = {count: runs.mpirun(count, words, PYTHONPATH=site, PYTHONDONTWRITEBYTECODE=1) for count in (1, 2, 4)}
    curves = {count: [float(loss) for loss in re.findall(r"loss (\S+)", text)] for count, text in printed.items()}
    assert len(curves[1]) == 4 and curves[1][-1] < curves[1][0] / 4
    for count in (2, 4):
        assert curves[count] == pytest.approx(curves[1], abs=2e-4), printed
        assert f"{count} instances" in printed[count] and "done: " in printed[count]


def test_any_number_of_replicas_and_of_instances_learns_the_same(site, digits):
    """The batches cannot be divided evenly by 3: each part counts by its images."""
    def curve(*words):
        printed = runs.mpirun(1, [sys.executable, *words, "--data", digits, "--epochs", "4"], PYTHONPATH=site,
                              PYTHONDONTWRITEBYTECODE=1)
        return [float(loss) for loss in re.findall(r"loss (\S+)", printed)]

    alone = curve(EXAMPLES / "digits" / "digits_distributed.py")
    for replicas in (1, 3, 4):
        assert curve(EXAMPLES / "digits" / "digits.py", "--replicas", replicas) == pytest.approx(alone, abs=2e-4), replicas
