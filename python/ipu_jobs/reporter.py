"""How far the program is that runs here, in a job: ipu-launch, which is in every job's PATH, tells the operator."""

import os
import subprocess
import threading
import time
from typing import Optional, Sequence

PERIOD_S = 5
TIMEOUT_S = 30  # ipu-launch has shorter ones of its own

_lock = threading.Lock()
_child: "Optional[subprocess.Popen[bytes]]" = None
_begun_at: Optional[float] = None


def progress(percent: float, *, eta: Optional[float] = None, **metrics: object) -> bool:
    """Reports how far this program is, so that the job's status shows it: the percentage, the remaining seconds and metrics such
    as loss=0.23. Does not wait, and sends at most one report in 5 s; that of 100 is always sent and waited for. Only rank 0
    reports, and outside of a job nobody. False: the last report has not arrived."""
    if not 0 <= percent <= 100:
        raise ValueError(f"the progress must be from 0 to 100 percent, got {percent}")
    if os.environ.get("RANK", "0") != "0" or not os.environ.get("KUBEFLOW_TRAINER_SERVER_URL"):
        return True
    words = ["ipu-launch", "progress", str(int(percent)), *([] if eta is None else ["--eta", str(int(eta))])]
    with _lock:
        return _report([*words, *(f"{name}={value}" for name, value in metrics.items())], is_last=percent == 100)


def _report(words: Sequence[str], is_last: bool) -> bool:
    global _child, _begun_at
    if _child and is_last:
        _wait(_child)
    is_busy = _child is not None and _child.poll() is None
    if is_last or not is_busy and (_begun_at is None or time.monotonic() >= _begun_at + PERIOD_S):
        _begun_at = time.monotonic()
        try:
            _child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            _child = None
            return False
    if _child and is_last:
        _wait(_child)
    return not (_child and _child.poll())


def _wait(child: "subprocess.Popen[bytes]") -> None:
    try:
        child.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
