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


@pytest.mark.parametrize("ipus", [1, 2])
def test_poptorch_options_work_alone(both, ipus):
    """On record: without poprun it is process 0 of 1. graphcore/poptorch tests/popdist_test.py makes them with two IPUs
    per replica; the device is then PopTorch's choice."""
    code = (
        f"import popdist.poptorch; opts = popdist.poptorch.Options(ipus_per_replica={ipus})\n"
        "print(opts.Distributed.processId, opts.Distributed.numProcesses, opts.toDict()['ipu_id'])\n"
    )
    assert python(both, code) == "0 1 None\n"


@pytest.mark.parametrize("call", ["useIpuId(1)", "replicationFactor(1)", "Distributed.disable()",
                                  "Distributed.setEnvVarNames('a', 'b')", "Distributed.configureProcessId(1)"])  # fmt: skip
def test_poptorch_options_reject_what_the_launcher_has_decided(both, call):
    """On record: Cannot call `X` with popdist.poptorch.Options, for useIpuId, replicationFactor, Distributed.disable,
    setEnvVarNames and configureProcessId. So does graphcore/poptorch tests/popdist_test.py, without poprun."""
    output = python(both, f"import popdist.poptorch as p; p.Options(ipus_per_replica=2).{call}", expect=1)
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


def test_popart_device_alone_is_any_that_is_free(both):
    """graphcore/popart python/popxl/python_files/utils.py asks for it without poprun too."""
    code = (
        "import popart, popdist.popart\n"
        "one = popdist.popart.getDevice(connectionType=popart.DeviceConnectionType.OnDemand)\n"
        "print(one.id, one.connection.name, popdist.popart.getDevice(2).id)\n"
        "popdist.popart.getDevice(64)\n"
    )
    output = python(both, code, expect=1)
    assert output.startswith("1 OnDemand 24\n")
    assert "a device of 64 IPUs cannot be acquired; see with gc-monitor" in output


CONFIG = (
    "import popdist.tensorflow\n"
    "from tensorflow.python import ipu\n"
    "config = ipu.config.IPUConfig()\n"
)  # fmt: skip
CONFIGURE = "config.configure_ipu_system()\nprint(*ipu.config.systems)\n"


@pytest.mark.parametrize("call", [
    # graphcore/examples tutorials/feature_examples/tensorflow2/popdist/popdist_training.py
    "popdist.tensorflow.set_ipu_config(config)",
    # graphcore/tensorflow tensorflow/python/ipu/horovod/poprun_popdist_strategy_test.py
    "popdist.tensorflow.set_ipu_config(config, ipus_per_replica=2)",
    # graphcore/examples nlp/bert/tensorflow2/utilities/ipu_utils.py
    "popdist.tensorflow.set_ipu_config(config, ipus_per_replica=2, configure_device=True)",
    # graphcore/examples vision/cnns/tensorflow2/ipu_config.py
    "popdist.tensorflow.set_ipu_config(config=config, ipus_per_replica=2, configure_device=True)",
    # graphcore/examples vision/cnns/tensorflow2/tests_serial/test_distributed_training.py
    "config = popdist.tensorflow.set_ipu_config(config, ipus_per_replica=popdist.getNumIpusPerReplica(), configure_device=True)",
])  # fmt: skip
def test_tensorflow_config_follows_the_launcher(both, call):
    """On record: set_ipu_config(config, ipus_per_replica, configure_device) sets device and process, and returns the
    config. The callers configure the system themselves, once, after it. The options are those of graphcore/tensorflow
    tensorflow/python/ipu/config.py: experimental.multi_replica_distribution.process_count and process_index."""
    assert python(both, CONFIG + call + "\n" + CONFIGURE, **INSTANCE) == "([27], 4, 3)\n"


@pytest.mark.parametrize("before,devices", [
    # graphcore/examples vision/cnns/tensorflow1/training/train.py and validation.py, nlp/bert/tensorflow1/run_pretraining.py
    ("config.select_ipus = [popdist.getDeviceId()]", "[27]"),
    # graphcore/examples vision/yolo_v3/tensorflow1/train.py with ipu_utils.py: a number, not a list
    ("config.select_ipus = popdist.getDeviceId(2)", "27"),
    ("config.select_ipus = [5]", "[5]"),
    ("config.auto_select_ipus = 4", "4"),
])  # fmt: skip
def test_tensorflow_config_leaves_devices_alone_when_told(both, before, devices):
    """With configure_device=False the programs have chosen the devices before."""
    call = f"{before}\nconfig = popdist.tensorflow.set_ipu_config(config, 2, configure_device=False)\n"
    assert python(both, CONFIG + call + CONFIGURE, **INSTANCE) == f"({devices}, 4, 3)\n"


def test_tensorflow_config_works_alone(both):
    """Without poprun, any free IPUs: no launcher says which device it is."""
    assert python(both, f"{CONFIG}popdist.tensorflow.set_ipu_config(config, 2)\n{CONFIGURE}") == "(2, 1, 0)\n"


@pytest.mark.parametrize("call", ["poptorch.Options(4)", "popart.getDevice(4)", "tensorflow.set_ipu_config(None, 4)"])
def test_another_number_of_ipus_than_the_launchers_is_rejected(both, call):
    output = python(both, f"import popdist.{call.split('.')[0]}; popdist.{call}", expect=1, **INSTANCE)
    assert "the program wants 4 IPUs per replica, but was started with 2; start it with poprun --ipus-per-replica=4" in output
