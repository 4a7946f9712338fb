"""A V-IPU controller made with grpcio that does what the real one may do and the public record does not settle:
each trait below turns one of those facts the other way."""

import threading
import time
from concurrent import futures
from dataclasses import dataclass, field

import grpc

from vipu_side import generic, options

pb, services = generic.pb, generic.services
Code = grpc.StatusCode
TICK_S = 0.03  # how long an ordinary step takes


@dataclass
class Traits:
    missing: Code = Code.NOT_FOUND         # the answer about a partition that is not there
    remove_of_missing: Code | None = Code.NOT_FOUND  # None: succeeds
    exists: Code = Code.ALREADY_EXISTS
    create_blocks_s: float = 0             # the call is not answered before
    takes_effect_late: bool = False        # with create_blocks_s: at the end, not at once
    create_answers: list = field(default_factory=list)  # done, but answered by these errors, one each
    remove_answers: list = field(default_factory=list)
    rejections: list = field(default_factory=list)         # not done, and rejected with these, one each
    linger_s: float = 0                    # a removed partition is listed for so long...
    lingers_as: int = pb.PS_REMOVED        # ...like this
    has_attributes: bool = True
    reset_shows: int = pb.PS_PENDING       # ready state while POS_RESETTING
    first_create_fails: bool = False       # it ends in PS_ERROR and a reset heals it
    first_create_meets: str = ""           # another client creates a partition of that id just before
    foreign: tuple = ()                    # ids of foreign partitions
    total: int = 64
    cluster: str = ""                      # whose IPUs these are, as partitions tell
    places_last: bool = False              # a new one is in the last free block, whatever IPUs its request lists


@dataclass
class Part:
    spec: object
    ready: int
    operation: int
    then: tuple | None = None  # (when, ready, operation); ready None: gone
    errors: tuple = ()


class QuirkyVipu(services.UserServiceServicer, services.VersionServiceServicer):
    def __init__(self, traits):
        self.traits = traits
        self.made = []   # ids, in the order in which they came to be
        self.calls = []  # (method, id)
        self.failures = []  # what must never happen
        self._parts = {}
        self._lock = threading.RLock()
        self._ends = threading.Event()
        for name in traits.foreign:
            self._parts[name] = Part(pb.PartitionSpec(cluster_id=traits.cluster, num_gcds=1, ipus=self._place(1)), pb.PS_ACTIVE,
                                     pb.POS_IDLE)
        self._server = grpc.server(futures.ThreadPoolExecutor(32), options=options())
        services.add_UserServiceServicer_to_server(self, self._server)
        services.add_VersionServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self):
        self._ends.set()
        self._server.stop(None).wait()

    # Its state.

    def ids(self):
        with self._lock:
            self._settle()
            return sorted(self._parts)

    def _settle(self):
        for name, part in list(self._parts.items()):
            if part.then and time.monotonic() >= part.then[0]:
                _, part.ready, part.operation = part.then
                part.then = None
                if part.ready is None:
                    del self._parts[name]

    def _place(self, size, last=False):
        taken = {ipu.topology_id for part in self._parts.values() for ipu in part.spec.ipus}
        free = [start for start in range(0, self.traits.total, size) if not taken & set(range(start, start + size))]
        if not free:
            return None
        start = free[-1 if last else 0]
        return [pb.PartitionIpu(topology_id=start + n, routing_id=n) for n in range(size)]

    def _see(self, method, name):
        self.calls.append((method, name))
        self._settle()

    def _find(self, name, context, code):
        if name not in self._parts:
            context.abort(code, f"there is nothing called {name}")
        return self._parts[name]

    def _block(self, context):
        """As long as the trait says; the peer may have left."""
        self._ends.wait(self.traits.create_blocks_s)

    # The user API.

    def GetVersion(self, request, context):
        return pb.VersionReply(version="1.18.0")

    def ListPartitions(self, request, context):
        with self._lock:
            self._settle()
            return pb.ListPartitionsReply(partitions=[
                pb.Partition(id=name, spec=part.spec, ready_state=part.ready) for name, part in self._parts.items()])

    def ListIPUAttributes(self, request, context):
        if not self.traits.has_attributes:
            context.abort(Code.UNIMPLEMENTED, "not in this version")
        reply = pb.ListIPUAttributesReply()
        for agent in range(self.traits.total // 4):
            entry = reply.entries.add(agent=f"ag{agent + 1}")
            for ipu in range(4):
                entry.ipu_attributes[ipu].attributes["board ipu index"] = str(ipu)
        return reply

    def _make(self, want):
        first = not self.made
        ipus = self._place(want.size, last=self.traits.places_last)
        self.made.append(want.id)
        spec = pb.PartitionSpec(cluster_id=self.traits.cluster, num_gcds=want.num_gcds or 1, num_replicas=want.num_replicas or want.num_gcds or 1,
                                num_ipulink_segments=1, reconfigurable=want.reconfigurable, ipus=ipus)
        fails = self.traits.first_create_fails and first
        outcome = (pb.PS_ERROR, pb.POS_FAILED) if fails else (pb.PS_ACTIVE, pb.POS_IDLE)
        self._parts[want.id] = Part(spec, pb.PS_PENDING, pb.POS_CREATING, (time.monotonic() + TICK_S, *outcome),
                                    ("agent ag1 does not answer",) if fails else ())

    def CreatePartition(self, request, context):
        want, traits = request.requirements, self.traits
        with self._lock:
            self._see("create", want.id)
            if traits.first_create_meets == want.id and want.id not in self._parts:
                self._parts[want.id] = Part(pb.PartitionSpec(num_gcds=1, ipus=self._place(1)), pb.PS_ACTIVE,
                                            pb.POS_IDLE)
            if want.id in self._parts:
                context.abort(traits.exists, f"{want.id} is there already")
            if traits.rejections:
                context.abort(traits.rejections.pop(0), "no room for it")
            if self._place(want.size) is None:
                context.abort(Code.RESOURCE_EXHAUSTED, "no room for it")
            if not (traits.create_blocks_s and traits.takes_effect_late):
                self._make(want)
        if traits.create_blocks_s:
            self._block(context)
        with self._lock:
            if traits.create_blocks_s and traits.takes_effect_late and want.id not in self._parts:
                self._make(want)
            if traits.create_answers:
                context.abort(traits.create_answers.pop(0), "something went wrong")
        return pb.CreatePartitionReply(partition_id=want.id)

    def RemovePartition(self, request, context):
        name, traits = request.partition_id, self.traits
        with self._lock:
            self._see("remove", name)
            if name in traits.foreign or name == traits.first_create_meets:
                self.failures.append(f"remove of {name}, which is foreign")
            if name not in self._parts and traits.remove_of_missing is None:
                return pb.RemovePartitionReply()
            part = self._find(name, context, traits.remove_of_missing or Code.NOT_FOUND)
            if part.operation != pb.POS_REMOVING:
                if traits.linger_s:
                    part.ready = traits.lingers_as
                part.operation = pb.POS_REMOVING
                part.then = (time.monotonic() + max(TICK_S, traits.linger_s), None, None)
            if traits.remove_answers:
                context.abort(traits.remove_answers.pop(0), "something went wrong")
        return pb.RemovePartitionReply()

    def ResetPartition(self, request, context):
        name, traits = request.partition_id, self.traits
        with self._lock:
            self._see("reset", name)
            if name in traits.foreign or name == traits.first_create_meets:
                self.failures.append(f"reset of {name}, which is foreign")
            part = self._find(name, context, traits.missing)
            part.ready, part.operation, part.errors = traits.reset_shows, pb.POS_RESETTING, ()
            part.then = (time.monotonic() + 10 * TICK_S, pb.PS_ACTIVE, pb.POS_IDLE)
        return pb.ResetPartitionReply()

    def GetPartitionStatus(self, request, context):
        with self._lock:
            self._see("status", request.partition_id)
            part = self._find(request.partition_id, context, self.traits.missing)
            return pb.GetPartitionStatusReply(status=pb.PartitionStatus(
                partition_id=request.partition_id, ready_state=part.ready, operation_state=part.operation,
                errors=part.errors))

    def is_usable(self, name):
        """May a program use it?"""
        with self._lock:
            self._settle()
            part = self._parts.get(name)
            return part is not None and (part.ready, part.operation) == (pb.PS_ACTIVE, pb.POS_IDLE)
