"""The operator's engine as a function of a scenario: forecast-driver, which is started once."""
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / os.environ.get("BUILD_DIR", "build/release") / "tests/forecast/forecast-driver"


class Engine:
    def __enter__(self):
        self.process = subprocess.Popen([DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def __call__(self, scenario):
        self.process.stdin.write(json.dumps(scenario) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"forecast-driver ended with status {self.process.wait(timeout=60)} on {json.dumps(scenario)}"
        return json.loads(line)
