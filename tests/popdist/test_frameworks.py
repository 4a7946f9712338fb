"""popdist.poptorch, popdist.popart and popdist.tensorflow against stand-ins for the frameworks."""

from pathlib import Path

import pytest

from test_python import python

STANDINS = Path(__file__).parent / "standins"
INSTANCE = {
    "POPDIST_NUM_TOTAL_REPLICAS": "8", "POPDIST_NUM_LOCAL_REPLICAS": "2", "POPDIST_NUM_IPUS_PER_REPLICA": "2",
    "POPDIST_REPLICA_INDEX_OFFSET": "6", "POPDIST_LOCAL_INSTANCE_INDEX": "3", "POPDIST_NODE_DEVICE_ID": "30",
    "POPDIST_EXECUTABLE_CACHE_PATH": "/cache",
}  # fmt: skip


@pytest.fixture(scope="module")
def both(site):
    """PopDist and the stand-ins."""
    return f"{site}:{STANDINS}"


@pytest.mark.parametrize("name,product", [("poptorch", "PopTorch"), ("popart", "PopART"), ("tensorflow", "TensorFlow")])
def test_a_missing_framework_is_named(site, name, product):
    output = python(site, f"import popdist.{name}", expect=1)
    assert f"ImportError: popdist.{name} needs {product}" in output
    assert "Install the wheel of the Poplar SDK" in output


def test_poptorch_options_follow_the_launcher(both):
    """On record: popdist.poptorch.Options(ipus_per_replica), by position or name or not at all; it sets replication
    factor, IPU id and process of the instance."""
    assert python(both, (
        "import popdist.poptorch\n"
        "opts = popdist.poptorch.Options()\n"
        "print(sorted(opts.toDict().items()), opts.Distributed.processId, opts.Distributed.numProcesses)\n"
    ), **INSTANCE) == (
        "[('cache_dir', '/cache'), ('distributedProcessId', 3), ('ipu_id', 27), ('numDistributedProcesses', 4), "
        "('replication_factor', 2)] 3 4\n"
    )  # fmt: skip


def test_poptorch_options_work_alone(both):
    """On record: without poprun it is process 0 of 1."""
    code = "import popdist.poptorch as p; d = p.Options(ipus_per_replica=1).Distributed; print(d.processId, d.numProcesses)"
    assert python(both, code) == "0 1\n"


@pytest.mark.parametrize("call", ["useIpuId(1)", "replicationFactor(1)", "Distributed.disable()",
                                  "Distributed.setEnvVarNames('a', 'b')", "Distributed.configureProcessId(0, 1)"])  # fmt: skip
def test_poptorch_options_refuse_what_the_launcher_has_decided(both, call):
    """On record: Cannot call `X` with popdist.poptorch.Options, for useIpuId, replicationFactor, Distributed.disable,
    setEnvVarNames and configureProcessId."""
    output = python(both, f"import popdist.poptorch as p; p.Options().{call}", expect=1)
    assert f"RuntimeError: Cannot call `{call.split('(')[0]}` with popdist.poptorch.Options" in output


def test_poptorch_options_freeze(both):
    """On record: Can't modify frozen Options."""
    output = python(both, "import popdist.poptorch as p; o = p.Options(); o._freeze(); o.Distributed.anything = 1", expect=1)
    assert "AttributeError: Can't modify frozen Options" in output
    output = python(both, "import popdist.poptorch as p; o = p.Options(); o._freeze(); o.anything = 1", expect=1)
    assert "AttributeError: Can't modify frozen Options" in output


def test_popart_session_options_follow_the_launcher(both):
    """On record: configureSessionOptions sets replicated graphs, their count, offset and global factor."""
    code = (
        "import popart, popdist.popart\n"
        "o = popart.SessionOptions()\n"
        "popdist.popart.configureSessionOptions(o)\n"
        "print(*(getattr(o, name) for name in list(o._names)[:7]))\n"
    )
    assert python(both, code, **INSTANCE) == "True 2 True 6 8 True /cache\n"
    assert python(both, code) == "False 1 False 0 1 False \n"


def test_popart_device_is_this_instances(both):
    """On record: getDevice takes a number of IPUs and a connection type, each of which may be left out; popxl.Ir with
    replication popdist calls configureSessionOptions and getDevice(connectionType=OnDemand)."""
    code = (
        "import popart, popdist.popart\n"
        "one = popdist.popart.getDevice(2)\n"
        "other = popdist.popart.getDevice(connectionType=popart.DeviceConnectionType.OnDemand)\n"
        "print(one.id, one.connection.name, other.id, other.connection.name)\n"
    )
    assert python(both, code, **INSTANCE) == "27 Always 27 OnDemand\n"
    output = python(both, code, expect=1, **INSTANCE | {"POPDIST_LOCAL_INSTANCE_INDEX": "2"})
    assert "device 26 cannot be acquired; see with gc-monitor" in output


def test_tensorflow_config_follows_the_launcher(both):
    """On record: set_ipu_config(config, ipus_per_replica, configure_device) sets device and process, and returns the
    config."""
    code = (
        "import types, popdist.tensorflow\n"
        "c = types.SimpleNamespace(multi_replica_distribution=types.SimpleNamespace(), configured=0)\n"
        "def configure(): c.configured += 1\n"
        "c.configure_ipu_system = configure\n"
        "assert popdist.tensorflow.set_ipu_config(c, 2) is c\n"
        "popdist.tensorflow.set_ipu_config(c, ipus_per_replica=2, configure_device=False)\n"
        "d = c.multi_replica_distribution\n"
        "print(c.select_ipus, d.process_count, d.process_index, c.configured)\n"
    )
    assert python(both, code, **INSTANCE) == "[27] 4 3 1\n"


@pytest.mark.parametrize("call", ["poptorch.Options(4)", "popart.getDevice(4)", "tensorflow.set_ipu_config(None, 4)"])
def test_another_number_of_ipus_than_the_launchers_is_refused(both, call):
    output = python(both, f"import popdist.{call.split('.')[0]}; popdist.{call}", expect=1, **INSTANCE)
    assert "the program wants 4 IPUs per replica, but was started with 2; start it with poprun --ipus-per-replica=4" in output
