#!/usr/bin/env python3
"""What a program learns from poprun, by PopDist:

    poprun --num-replicas 8 --num-instances 4 --ipus-per-replica 2 python3 hello_poprun.py

It uses no IPU.
"""

import popdist

MESSAGE = """\
poprun is invoked with "--num-replicas {total}", "--num-instances {instances}" and "--ipus-per-replica {ipus}".
        - This message is generated from instance with index {index}.
        - The number of local replicas for this instance is {local}.
        - The first replica index associated with this instance is {offset}.
        - The device ID for this instance is {device}.
        (To see the IPU chip IDs in this device, run "gc-info -d {device} --chip-id")"""


def main() -> None:
    if not popdist.isPopdistEnvSet():
        print("poprun is not invoked.")
        return
    print(MESSAGE.format(
        total=popdist.getNumTotalReplicas(), instances=popdist.getNumInstances(), ipus=popdist.getNumIpusPerReplica(),
        index=popdist.getInstanceIndex(), local=popdist.getNumLocalReplicas(), offset=popdist.getReplicaIndexOffset(),
        device=popdist.getDeviceId(),
    ))  # fmt: skip


if __name__ == "__main__":
    main()
