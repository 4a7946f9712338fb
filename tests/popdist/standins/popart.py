"""As much of PopART as PopDist and Horovod meet, with the rules that PopART documents: which call needs which
other call before it, and options that exist and no others. Its device trains a linear model by gradient descent."""

import ctypes
import enum
import json
from pathlib import Path

import numpy as np

MACHINE = {0: 4, 1: 1, 24: 2, 27: 2}  # devices that can be acquired, and their IPUs

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class DeviceConnectionType(enum.Enum):
    Always = 0
    OnDemand = 1


class SessionOptions:
    """Setting what does not exist is an error, as with the real one."""

    _names = {"enableReplicatedGraphs": False, "replicatedGraphCount": 1, "enableDistributedReplicatedGraphs": False,
              "globalReplicaOffset": 0, "globalReplicationFactor": 1, "enableEngineCaching": False, "cachePath": "",
              "hostAllReduce": False, "hostWeightUpdate": False, "hostAllReduceRemoteBuffer": False}  # fmt: skip

    def __init__(self):
        self.__dict__.update(self._names)

    def __setattr__(self, name, value):
        if name not in self._names:
            raise AttributeError(f"'SessionOptions' object has no attribute '{name}'")
        self.__dict__[name] = value


class DeviceInfo:
    def __init__(self, device_id, connection):
        self.id, self.connection = device_id, connection


class DeviceManager:
    def acquireDeviceById(self, id, connectionType=DeviceConnectionType.Always):
        return DeviceInfo(id, connectionType) if id in MACHINE else None

    def acquireAvailableDevice(self, numIpus=1, connectionType=DeviceConnectionType.Always):
        return next((DeviceInfo(id, connectionType) for id, ipus in MACHINE.items() if ipus == numIpus), None)


def hostReduceGradCopyPrefix():
    return "HostReduceGradCopy__"


def hostReduceVarCopyPrefix():
    return "HostReduceVarCopy__"


def as_of_release_2_3():
    """Reducing on the host is gone from the module, the session and its options."""
    global hostReduceGradCopyPrefix, hostReduceVarCopyPrefix
    del hostReduceGradCopyPrefix, hostReduceVarCopyPrefix, TrainingSession.getHostReduceStreamIds
    for name in ("hostAllReduce", "hostWeightUpdate", "hostAllReduceRemoteBuffer"):
        del SessionOptions._names[name]


class popart_exception(Exception):
    pass


class Builder:
    """Of a model, or of a file with one."""

    def __init__(self, modelProtoOrFilename):
        is_file = isinstance(modelProtoOrFilename, str)
        self._model = json.loads(Path(modelProtoOrFilename).read_text()) if is_file else modelProtoOrFilename

    def getTrainableTensorIds(self):
        return list(self._model)


class TensorInfo:
    def __init__(self, array):
        self._array = array

    def shape(self):
        return list(self._array.shape)

    def data_type_lcase(self):
        return str(self._array.dtype)


class PyWeightsIO:
    def __init__(self, weights):
        self.weights = weights


class TrainingSession:
    """fnModel: {tensor id: initial value}; the model is y = x @ w + b. Other tensors are removed."""

    def __init__(self, fnModel, userOptions=None, learningRate=0.1):
        self._whole_model = fnModel
        self._model = {name: np.array(value, np.float32) for name, value in fnModel.items() if name in ("w", "b")}
        self._options = userOptions or SessionOptions()
        self._rate = learningRate
        self._ready, self._stored, self._device, self._streams = False, None, None, {}

    def prepareDevice(self):
        self._ready = True

    def getHostReduceStreamIds(self):
        prefixes = (hostReduceGradCopyPrefix(), hostReduceVarCopyPrefix()) if self._reduces() else ()
        return [prefix + name for prefix in prefixes for name in self._model]

    def _reduces(self):
        return getattr(self._options, "hostAllReduce", False)

    def getInfo(self, name):
        if name not in self._model:
            raise popart_exception(f"No tensor {name}")
        return TensorInfo(self._model[name])

    def modelToHost(self, file):
        assert self._device is not None, "modelToHost needs weightsFromHost"
        Path(file).write_text(json.dumps({name: np.asarray(value).tolist() for name, value in self._whole_model.items()}))

    def connectStreamToCallback(self, stream, callback, index):
        assert self._ready, "connectStreamToCallback needs prepareDevice"
        assert stream in self.getHostReduceStreamIds() and index == 0, stream
        self._streams[stream] = callback

    def weightsFromHost(self):
        assert self._ready, "weightsFromHost needs prepareDevice"
        self._device = {name: value.copy() for name, value in self._model.items()}

    def weightsToHost(self):
        assert self._device is not None, "weightsToHost needs weightsFromHost"
        self._stored = {name: value.copy() for name, value in self._device.items()}

    def readWeights(self, io):
        assert self._stored is not None, "readWeights needs weightsToHost"
        for name, array in io.weights.items():
            np.copyto(array, self._stored[name])

    def writeWeights(self, io):
        for name, array in io.weights.items():
            np.copyto(self._model[name], array)
        self._device = None  # stale until weightsFromHost

    def _exchange(self, stream, array):
        """The device hands memory of its own to the stream's function."""
        memory = np.ascontiguousarray(array)
        self._streams[stream](_new_capsule(memory.ctypes.data, None, None))
        return memory

    def run(self, x, y):
        assert self._device is not None, "run needs weightsFromHost"
        error = x @ self._device["w"] + self._device["b"] - y
        gradients = {"w": x.T @ error / len(x), "b": error.mean(keepdims=True)}
        if self._reduces():
            for name, gradient in gradients.items():
                self._exchange(hostReduceGradCopyPrefix() + name, gradient.astype(np.float32))
            for name in gradients:
                empty = np.zeros_like(self._model[name])
                gradients[name] = self._exchange(hostReduceVarCopyPrefix() + name, empty)
        for name, gradient in gradients.items():
            self._device[name] -= np.float32(self._rate) * gradient
        return float((error**2).mean())
