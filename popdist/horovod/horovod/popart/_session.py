"""A training session of one rank."""

from typing import Any

import popdist
from popdist.popart import configureSessionOptions

from ._popart import popart
from ._weights import initializers


class DistributedTrainingSession(popart.TrainingSession):  # type: ignore[misc]
    """popart.TrainingSession, with the same arguments. Under poprun, the session's replicas are this instance's;
    enableEngineCaching keeps what was compiled, in the folder that poprun names."""

    def __init__(self, fnModel: Any, *args: Any, enableEngineCaching: bool = False, **kwargs: Any):
        options = kwargs.get("userOptions")
        if options is None:
            options = kwargs["userOptions"] = popart.SessionOptions()
        if popdist.isPopdistEnvSet():
            configureSessionOptions(options)
        if enableEngineCaching:
            options.enableEngineCaching = True
        super().__init__(fnModel, *args, **kwargs)
        # Now, because keeping the model would keep another copy of its weights.
        self.horovod_initializers = initializers(fnModel)
