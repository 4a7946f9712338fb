"""What can go wrong. Each error is a sentence that says what to do."""

from typing import Any, Dict


class IpuJobsError(Exception):
    """All errors of this package."""


class ApiError(IpuJobsError):
    """The API server rejected a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(IpuJobsError):
    """No API server answered."""


class JobFailed(IpuJobsError):
    """The job has ended without success. `failure` is the newest of status.failures: pod, container, exitCode, message and others."""

    def __init__(self, message: str, failure: Dict[str, Any]) -> None:
        super().__init__(message)
        self.failure = failure


class JobDeleted(IpuJobsError):
    """The job no longer exists."""
