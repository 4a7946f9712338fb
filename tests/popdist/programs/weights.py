"""Each rank begins with weights of its own and ends with those of the rank that is named. The session is made by the class
that is named, with PopART as it is since release 2.3 if the last argument says so."""

import os
import sys

import numpy as np
import popart

import horovod.popart as hvd

if sys.argv[3:]:
    popart.as_of_release_2_3()
hvd.init()
module = {"popart": popart, "horovod": hvd}[sys.argv[1]]
session_class = module.TrainingSession if module is popart else hvd.DistributedTrainingSession
begin = {"w": np.full((3, 1), hvd.rank() + 1.0), "b": [hvd.rank() + 10.0], "unused": [0.0]}
session = session_class(fnModel=begin)
session.prepareDevice()
hvd.broadcast_weights(session, int(sys.argv[2]))

session.weightsFromHost()
session.weightsToHost()
weights = {"w": np.empty((3, 1), np.float32), "b": np.empty(1, np.float32)}
session.readWeights(popart.PyWeightsIO(weights))
os.write(1, f"rank {hvd.rank()} has {weights['w'].ravel().tolist()} {weights['b'].tolist()}\n".encode())
