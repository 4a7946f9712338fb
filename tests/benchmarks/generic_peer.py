"""The generic side of tests/bench vipu: grpcio and messages made from the published names, nothing of ours.

    generic_peer.py serve PARTITIONS                   answers status and list; says "port=N"
    generic_peer.py call TARGET IN_FLIGHT COUNT status ID
    generic_peer.py call TARGET IN_FLIGHT COUNT list   prints {"count":N,"seconds":S}
"""
import json
import signal
import sys
import threading
import time
from concurrent import futures
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vipu" / "support"))
import generic  # noqa: E402
import grpc  # noqa: E402

MAX_MESSAGE = [("grpc.max_send_message_length", 1 << 30), ("grpc.max_receive_message_length", 1 << 30)]
DEADLINE_S = 60


class Answers(generic.services.UserServiceServicer):
    """Partitions of one IPU each, as vipu-server shows them."""

    def __init__(self, count):
        pb = generic.pb
        self.list = pb.ListPartitionsReply(partitions=[
            pb.Partition(id=f"p{i}", ready_state=pb.PS_ACTIVE, ipuof_server_version="1.11.0", spec=pb.PartitionSpec(
                cluster_id="cl1", allocation_id="cl1", num_gcds=1, num_replicas=1, num_ipulink_segments=1,
                ipulink_routing_type=pb.IRT_DNC, sync_type=pb.ST_GS2_DEFAULT,
                ipus=[pb.PartitionIpu(ipulink_domain_topology_id=i // 64, topology_id=i % 64)]))
            for i in range(count)])
        self.size = self.list.ByteSize()

    def ListPartitions(self, request, context):
        return self.list

    def GetPartitionStatus(self, request, context):
        return generic.pb.GetPartitionStatusReply(status=generic.pb.PartitionStatus(
            partition_id=request.partition_id, ready_state=generic.pb.PS_ACTIVE, operation_state=generic.pb.POS_IDLE,
            max_auto_reset_retries=3))


def serve(count):
    answers = Answers(count)
    server = grpc.server(futures.ThreadPoolExecutor(8), options=MAX_MESSAGE)
    generic.services.add_UserServiceServicer_to_server(answers, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"serving port={port} bytes={answers.size}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(0)


def call(target, in_flight, count, kind, id=""):
    stub = generic.services.UserServiceStub(grpc.insecure_channel(target, options=MAX_MESSAGE))
    method, request = {
        "status": (stub.GetPartitionStatus, generic.pb.GetPartitionStatusRequest(partition_id=id)),
        "list": (stub.ListPartitions, generic.pb.ListPartitionsRequest()),
    }[kind]
    room, failures = threading.Semaphore(in_flight), []

    def on_done(future):
        if future.code() is not grpc.StatusCode.OK:
            failures.append(future.code())
        room.release()

    method(request, timeout=DEADLINE_S, wait_for_ready=True)  # connected before the clock starts
    begin = time.monotonic()
    for _ in range(count):
        room.acquire()
        method.future(request, timeout=DEADLINE_S).add_done_callback(on_done)
    for _ in range(in_flight):
        room.acquire()
    seconds = time.monotonic() - begin
    if failures:
        raise SystemExit(f"{len(failures)} of {count} calls failed, the first with {failures[0]}")
    print(json.dumps({"count": count, "seconds": seconds}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        serve(int(sys.argv[2]))
    else:
        call(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
