"""Requests to the cluster's API server, as its administrator."""

import datetime
import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path

from .certificates import Pair
from .errors import UserError

MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Api:
    host: str
    port: int
    authority: Path
    client: Pair

    def request(self, method: str, path: str, body: dict | None = None) -> tuple[int, bytes]:
        """HTTP status and body; status 0 if the API server does not respond."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.load_cert_chain(self.client.certificate, self.client.key)
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=5, context=context)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read(MOST_BYTES)
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.request("GET", "/readyz")[0] == 200

    def exists(self, path: str) -> bool:
        return self.request("GET", path)[0] == 200

    def create(self, path: str, body: dict) -> None:
        """Creates the object; one that is already there is as good."""
        status, answer = self.request("POST", path, body)
        if status not in (201, 409):
            raise UserError(f"The API server rejected {path}/{body['metadata']['name']} "
                          f"(status {status}): {answer.decode(errors='replace')[:400]}")

    def node_is_ready(self, name: str, since: float = 0) -> bool:
        """Whether the node's kubelet has reported Ready since that time (a dead node stays Ready for a while)."""
        status, answer = self.request("GET", f"/api/v1/nodes/{name}")
        if status != 200:
            return False
        conditions = json.loads(answer)["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" and _seconds(one["lastHeartbeatTime"]) >= since
                   for one in conditions)


def _seconds(time: str) -> float:
    """An API time, which has whole seconds, since the epoch."""
    return datetime.datetime.fromisoformat(time).timestamp()
