"""Several instances and workers: every worker gets its own share of its own instance's partition."""

import re

from jobs import MEET, job

SHARE = """
for name in POPDIST_NUM_TOTAL_REPLICAS POPDIST_NUM_IPUS_PER_REPLICA POPDIST_NUM_LOCAL_REPLICAS \
        POPDIST_REPLICA_INDEX_OFFSET IPUOF_VIPU_API_GCD_ID IPUOF_VIPU_API_PARTITION_ID RANK WORLD_SIZE; do
    echo "$name=${!name-unset}"
done
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


def test_one_worker_takes_the_whole_partition(start):
    """No model replicas given: the program finds no PopDist environment, as on a bare host."""
    for made in [start(job(f"whole-{ipus}", SHARE, ipus=ipus)) for ipus in (1, 2, 64)]:
        made.wait_for_state("Completed", seconds=90)
        found = share(made.log())
        assert found.pop("IPUOF_VIPU_API_PARTITION_ID").startswith(f"p-{made.name}-")
        assert set(found.values()) == {"unset"}
