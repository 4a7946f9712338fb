"""The example job: apply it, follow it to its end, and show why it failed."""

import selectors
import subprocess
import time

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from .images import EXAMPLES
from .installation import NAMESPACE, RELEASE, operator_log
from .target_cluster import TargetCluster

FILE = REPOSITORY / "deploy" / "examples" / "digits.yaml"
NAME = "digits"
WHERE = ["--namespace", "default"]
LIMIT_S = 300
SIGN_OF_LIFE_S = 15
# Not a tab: kubectl buffers tab-separated output to align it.
FIELDS = '{.status.launcherStatus}|{.status.lastMessage}{"\\n"}'


def apply(target: TargetCluster, registry: str | None) -> None:
    """Starts the job; the job of an earlier run is deleted first."""
    if target.exists("ipujob", NAME, *WHERE):
        print(f"      deleting the {NAME} job of an earlier run", flush=True)
        delete(target)
    text = FILE.read_text()
    if registry:
        text = text.replace(f"image: {EXAMPLES}:", f"image: {registry.rstrip('/')}/{EXAMPLES}:")
    target.kubectl("apply", *WHERE, "--filename", "-", stdin=text)


def delete(target: TargetCluster) -> None:
    target.kubectl("delete", "ipujob", NAME, *WHERE, "--ignore-not-found", "--timeout=120s")


def follow(target: TargetCluster) -> None:
    """Prints the job's state as it changes; returns when it completed."""
    begun = time.monotonic()
    watch = subprocess.Popen(
        target.kubectl_command("get", "ipujob", NAME, *WHERE, "--watch", "--output", f"jsonpath={FIELDS}"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        state = _follow(watch, begun)
    finally:
        watch.kill()
        watch.wait()
    if state != "Completed":
        raise UserError(f"The job {NAME} {_ending(state)}.\n\n{_evidence(target)}")


def _follow(watch: subprocess.Popen, begun: float) -> str:
    assert watch.stdout
    lines = selectors.DefaultSelector()
    lines.register(watch.stdout, selectors.EVENT_READ)
    shown, state, rest = "", "", b""
    while time.monotonic() < begun + LIMIT_S and state not in ("Completed", "Failed"):
        if not lines.select(SIGN_OF_LIFE_S):
            print(f"      {_clock(begun)}  {f'still {state}' if state else 'no status yet'}", flush=True)
            continue
        read = watch.stdout.read1(65536)
        if not read:
            raise UserError(f"The watch of job {NAME} ended: {rest.decode(errors='replace')}")
        *whole, rest = (rest + read).split(b"\n")
        for line in whole:
            state, _, message = line.decode(errors="replace").partition("|")
            if state and (line_shown := f"{state:<10} {message}") != shown:
                shown = line_shown
                print(f"      {_clock(begun)}  {shown}", flush=True)
    return state


def _clock(begun: float) -> str:
    return f"{time.monotonic() - begun:5.1f} s"


def _ending(state: str) -> str:
    if state == "Failed":
        return "failed"
    status = f"status is {state}" if state else "no operator has picked it up"
    return f"did not complete within {LIMIT_S} seconds; {status}"


def _evidence(target: TargetCluster) -> str:
    return "\n\n".join([
        target.report("describe", "ipujob", NAME, *WHERE),
        target.report("get", "pods", *WHERE, "-l", f"graphcore.ai/job-name={NAME}", "-o", "wide"),
        target.report("logs", *WHERE, f"{NAME}-worker-0", "--tail=30"),
        f"Last lines of the operator's log (deployment/{RELEASE} in namespace {NAMESPACE}):",
        operator_log(target),
    ])


def log(target: TargetCluster) -> str:
    return target.kubectl("logs", *WHERE, f"{NAME}-worker-0")
