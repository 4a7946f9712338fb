"""As much of PopTorch's options as PopDist meets, with the rules that PopTorch documents: frozen options cannot
be changed, setters return the options, and toDict holds every option."""


class _OptionsDict:
    def __init__(self, **values):
        self._values = values

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"{name} is not an option of {type(self).__name__}")
        return self._values[name]

    def __setattr__(self, name, value):
        if name != "_values" and "_is_frozen" in self.__dict__ and self._is_frozen:
            raise AttributeError("Can't modify frozen Options")
        super().__setattr__(name, value)

    def set(self, **values):
        self.checkIsFrozen()
        self._values.update(values)

    def checkIsFrozen(self):
        if self.__dict__.get("_is_frozen"):
            raise AttributeError("Can't modify frozen Options")

    def _freeze(self):
        self._is_frozen = True

    def toDict(self):
        return dict(self._values)


class _DistributedOptions(_OptionsDict):
    def __init__(self):
        super().__init__(numDistributedProcesses=1, distributedProcessId=0)

    def disable(self):
        self.set(numDistributedProcesses=1, distributedProcessId=0)
        return self

    def setEnvVarNames(self, size, rank):
        return self

    def configureProcessId(self, process_id, num_processes):
        self.set(distributedProcessId=process_id, numDistributedProcesses=num_processes)
        return self

    @property
    def processId(self):
        return self._values["distributedProcessId"]

    @property
    def numProcesses(self):
        return self._values["numDistributedProcesses"]


class Options(_OptionsDict):
    def __init__(self):
        super().__init__(replication_factor=1, ipu_id=None, cache_dir="")
        self._distributed = _DistributedOptions()
        self.replicationFactor(1)

    @property
    def Distributed(self):
        return self._distributed

    def replicationFactor(self, factor):
        self.set(replication_factor=factor)
        return self

    def useIpuId(self, ipu_id):
        self.set(ipu_id=ipu_id)
        return self

    def enableExecutableCaching(self, path):
        self.set(cache_dir=path)
        return self

    def _freeze(self):
        super()._freeze()
        self._distributed._freeze()

    def toDict(self):
        return super().toDict() | self._distributed.toDict()
