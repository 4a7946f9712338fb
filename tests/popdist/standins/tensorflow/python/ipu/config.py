"""As much of TensorFlow's IPUConfig as PopDist meets, with its rules: an option that does not exist cannot be set, a
category cannot be assigned, and devices are selected in one of two ways. What configure_ipu_system was given, in order,
is in `systems`."""

systems = []


class _Options:
    def __init__(self, **options):
        self.__dict__.update(options)

    def __setattr__(self, name, value):
        if name not in self.__dict__ or isinstance(self.__dict__[name], _Options):
            raise ValueError(f"Could not find attribute '{name}'")
        self.__dict__[name] = value


class IPUConfig(_Options):
    def __init__(self):
        distribution = _Options(process_count=0, process_index=0)
        super().__init__(select_ipus=[], auto_select_ipus=[], experimental=_Options(multi_replica_distribution=distribution))

    def configure_ipu_system(self):
        if self.select_ipus and self.auto_select_ipus:
            raise Exception("Only one of `auto_select_ipus` and `select_ipus` can be set.")
        distribution = self.experimental.multi_replica_distribution
        systems.append((self.select_ipus or self.auto_select_ipus, distribution.process_count, distribution.process_index))
