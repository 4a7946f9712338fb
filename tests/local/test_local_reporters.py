"""Progress from the unmodified wheels of transformers and kubeflow, in a job of ipu-run.

torch is several gigabytes. In its place a loop calls what transformers' Trainer calls: the callbacks that the wheel itself
selects by the job's environment, through the wheel's own handler, with its own state."""

import json
import os
import subprocess

import pytest
from conftest import BUILD, ROOT

DEADLINE_S = 300  # reached only when something is wrong, however busy the machine

TRAIN = """
from transformers.integrations import get_available_reporting_integrations, get_reporting_integration_callbacks
from transformers.trainer_callback import CallbackHandler, TrainerControl, TrainerState

chosen = [one() for one in get_reporting_integration_callbacks(get_available_reporting_integrations())]
handler = CallbackHandler(chosen, model=None, processing_class=None, optimizer=None, lr_scheduler=None)
state, control = TrainerState(max_steps=4, epoch=0.0), TrainerControl()
handler.on_train_begin(None, state, control)
for step in range(1, 5):
    state.global_step, state.epoch = step, step / 4
    handler.on_log(None, state, control, {"loss": 1 / step, "grad_norm": float("nan"), "note": "no number"})
    handler.on_step_end(None, state, control)
handler.on_train_end(None, state, control)
"""

UPDATE = """
from kubeflow.trainer.backends.kubernetes.utils import update_trainjob_status

print(update_trainjob_status(progress_percent=42, estimated_remaining_seconds=900, metrics={"loss": 0.23}))
"""


@pytest.fixture(scope="module")
def python():
    done = subprocess.run([ROOT / "deploy" / "prerequisites", "reporters"], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return f"{done.stdout.strip()}/bin/python"


@pytest.fixture
def status_after(python, tmp_path):
    """The job's status at its end, and what its program printed."""

    def of(program):
        container = {"name": "main", "image": "none", "command": [python, "-c", program]}
        job = {"apiVersion": "graphcore.ai/v1alpha1", "kind": "IPUJob", "metadata": {"name": "wheel"}, "spec": {
            "jobInstances": 1, "ipusPerJobInstance": "4", "workers": {"template": {"spec": {"containers": [container]}}}}}
        (tmp_path / "job.json").write_text(json.dumps(job))
        done = subprocess.run([BUILD / "local" / "ipu-run", "--run-dir", tmp_path / "run", "-o", "json", tmp_path / "job.json"],
                              env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["status"], (tmp_path / "run" / "logs" / "wheel-worker-0.main.log").read_text()

    return of


def test_transformers_reports_without_a_line_of_code(status_after):
    status, log = status_after(TRAIN)
    assert status["progress"]["summary"] == "100%" and status["trainerStatus"]["estimatedRemainingSeconds"] == 0, log
    assert {each["name"]: each["value"] for each in status["trainerStatus"]["metrics"]} == {"loss": "0.25", "grad_norm": "nan"}


def test_the_kubeflow_sdk_reports(status_after):
    status, log = status_after(UPDATE)
    assert log == "True\n"
    assert status["progress"]["summary"] == "42%" and status["trainerStatus"]["estimatedRemainingSeconds"] == 900
    assert status["trainerStatus"]["metrics"] == [{"name": "loss", "value": "0.23"}]
