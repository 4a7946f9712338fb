"""Several instances and workers: every worker gets its own share of its own instance's partition."""

import re

import pytest
from jobs import job

SHARE = """
for name in POPDIST_NUM_TOTAL_REPLICAS POPDIST_NUM_IPUS_PER_REPLICA POPDIST_NUM_LOCAL_REPLICAS \
        POPDIST_REPLICA_INDEX_OFFSET IPUOF_VIPU_API_GCD_ID IPUOF_VIPU_API_PARTITION_ID RANK WORLD_SIZE; do
    echo "$name=${!name-unset}"
done
"""

# The first worker of an instance listens where its peers are told to look for it, and greets each.
MEET = """
import os, socket, sys
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    server = socket.create_server(("", port))
    for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
        peer, _ = server.accept()
        print("met rank", peer.recv(16).decode(), flush=True)
        peer.sendall(b"hello from " + os.environ["IPUOF_VIPU_API_PARTITION_ID"].encode())
        peer.close()
else:
    import time
    deadline = time.monotonic() + 60
    while True:
        try:
            meeting = socket.create_connection((address, port), timeout=10)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    meeting.sendall(os.environ["RANK"].encode())
    print(meeting.recv(200).decode(), flush=True)
"""


def share(log):
    return dict(line.split("=", 1) for line in log.splitlines() if re.match(r"[A-Z_]+=", line))


def test_two_instances_of_two_workers(namespace, start):
    made = start(job("shares", f"{SHARE}\nexec python3 -c '{MEET}'", ipus=16, instances=2, workersPerJobInstance="2",
                     modelReplicasPerWorker="2"))
    made.wait_for_state("Completed", seconds=90)
    for worker in range(4):
        instance, rank = divmod(worker, 2)
        partition = f"p-shares-{namespace.namespace}-{instance}"
        log = made.log(worker)
        assert share(log) == {
            "POPDIST_NUM_TOTAL_REPLICAS": "4", "POPDIST_NUM_IPUS_PER_REPLICA": "4", "POPDIST_NUM_LOCAL_REPLICAS": "2",
            "POPDIST_REPLICA_INDEX_OFFSET": str(rank * 2), "IPUOF_VIPU_API_GCD_ID": str(rank),
            "IPUOF_VIPU_API_PARTITION_ID": partition, "RANK": str(rank), "WORLD_SIZE": "2",
        }
        assert log.splitlines()[-1] == ("met rank 1" if rank == 0 else f"hello from {partition}")
        labels = made.pod(worker)["metadata"]["labels"]
        assert (labels["graphcore.ai/instance"], labels["graphcore.ai/worker"]) == (str(instance), str(rank))
    assert made.status["desiredReplicas"] == 2


@pytest.mark.parametrize("ipus", [1, 2, 64])
def test_one_worker_takes_the_whole_partition(start, ipus):
    """No model replicas given: the program finds no PopDist environment, as on a bare host."""
    made = start(job("whole", SHARE, ipus=ipus))
    made.wait_for_state("Completed")
    found = share(made.log())
    assert found.pop("IPUOF_VIPU_API_PARTITION_ID").startswith("p-whole-")
    assert set(found.values()) == {"unset"}
