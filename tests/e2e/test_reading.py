"""What a user reads with kubectl."""

import re

from jobs import UNTIL_TOLD, Job, job, told_as_event


def columns(printed):
    """The table's header and rows; kubectl puts at least three spaces between columns."""
    return [re.split(r" {2,}", line.strip()) for line in printed.splitlines()]


def test_get_and_a_shell_while_it_runs(stack, namespace, start):
    made = start(job("runner", UNTIL_TOLD, ipus=8))
    made.wait_for_state("Running")
    header, row = columns(namespace("get", "ij", "runner"))
    assert header == ["NAME", "STATUS", "REASON", "CURRENT", "DESIRED", "PROGRESS", "AGE", "LASTMESSAGE"]
    assert row[:5] + row[6:] == ["runner", "Running", "Running", "1", "1", "Running"]

    header, row = columns(namespace("get", "ipujobs", "-o", "wide"))
    assert header[7:] == ["PARTITION", "IPUS", "CONTROLLER", "START", "ENDS", "ETA", "LASTMESSAGE"]
    assert row[6:] == [f"p-runner-{namespace.namespace}-0", "8", "ipu-operator-vipu-server.ipu-operator.svc:8090",
                       "Running"]
    assert "runner" in namespace("get", "all")
    assert f"{namespace.namespace}   runner" in stack.kubectl("get", "ipujob.graphcore.ai", "-A")

    printed = namespace("exec", "runner-worker-0", "--", "bash", "-c", "echo $IPUOF_VIPU_API_PARTITION_ID")
    assert printed.strip() == f"p-runner-{namespace.namespace}-0"


def check_get(namespace):
    _, row = columns(namespace("get", "ipujob", "reader"))
    assert row[:5] + row[6:] == ["reader", "Completed", "Completed", "0", "2", "All instances done"]


def check_wait(namespace):
    assert namespace("wait", "--for=condition=Completed", "ipujob/reader", "--timeout=10s").strip() == \
        "ipujob.graphcore.ai/reader condition met"


def check_logs_by_label(namespace):
    lines = namespace("logs", "-l", "graphcore.ai/job-name=reader", "--prefix").splitlines()
    assert sorted(lines) == [f"[pod/reader-worker-{n}/main] one line" for n in range(2)]


def check_description(namespace):
    told_as_event(Job(namespace, "reader"), "Completed")
    reported = namespace("describe", "ipujob", "reader")
    assert re.search(r"Last Message: +All instances done", reported)
    events = re.findall(r"^ +(Normal|Warning) +(\w+) +\S+(?: \(x\d+ over \S+\))? +\S+ +(.*)$", reported.split("Events:")[1], re.M)
    reasons = [reason for _, reason, _ in events]
    assert "Completed" in reasons and "Running" in reasons
    assert all(kind == "Normal" for kind, _, _ in events)
    assert len(events) <= 6, events


def test_when_it_is_over_get_wait_logs_and_describe_show_what_happened(namespace, start):
    made = start(job("reader", f'({UNTIL_TOLD}) >/dev/null; echo one line', ipus=8, instances=2))
    made.wait_for_reason("Running")  # both instances do
    for number in range(2):
        made.let_end(number)
    made.wait_for_state("Completed")
    assert made.condition("Failed")["status"] == "False"
    for check in (check_get, check_wait, check_logs_by_label, check_description):
        check(namespace)


def test_explain_goes_down_into_containers(namespace):
    reported = namespace("explain", "ipujob.spec.workers.template.spec.containers")
    for field in ("image", "command", "args", "env", "resources", "name"):
        assert re.search(rf"^  {field}\t", reported, re.M), field
    assert "GROUP:      graphcore.ai" in reported
