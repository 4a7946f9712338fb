"""As much of PopART as PopDist meets."""

import enum

MACHINE = {0, 1, 24, 27}  # devices that can be acquired


class DeviceConnectionType(enum.Enum):
    Always = 0
    OnDemand = 1


class SessionOptions:
    """Like the real one, it has its options and no others."""

    __slots__ = ("enableReplicatedGraphs", "replicatedGraphCount", "enableDistributedReplicatedGraphs",
                 "globalReplicaOffset", "globalReplicationFactor", "enableEngineCaching", "cachePath")  # fmt: skip


class DeviceInfo:
    def __init__(self, device_id, connection):
        self.id, self.connection = device_id, connection


class DeviceManager:
    def acquireDeviceById(self, id, connectionType=DeviceConnectionType.Always):
        return DeviceInfo(id, connectionType) if id in MACHINE else None
