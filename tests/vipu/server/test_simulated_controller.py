"""The simulator's V-IPU controller answers as vipu-server does over gRPC: the same random script, the same answers."""

import os
import subprocess

import pytest

from faults import set_faults
from programs import DEADLINE_S, ROOT

PROGRAMS = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "tests/sim"
STEPS = 200
HEAD = "admin-listen: 127.0.0.1:0\nclusters: [{id: cl1, agents: 16}]\n"
AT_ONCE = HEAD + "create-ms: 0\nremove-ms: 0\nreset-ms: 0\nauto-reset-ms: 0\nauto-reset-retries: 2\n"
# Whatever is begun does not end while the script runs: what is rejected meanwhile?
NEVER = HEAD + "create-ms: 600000\nremove-ms: 600000\nreset-ms: 600000\nauto-reset-ms: 600000\n"
# Partitions are in error, and some resets move them elsewhere.
BROKEN = "{hardware: [{agent: ag1, error: its fans stand still}, {agent: ag4, error: it is too hot}]}"


def on_memory(seed, config, faults):
    words = ["vipu-script-on-memory", seed, STEPS, config, faults]
    done = subprocess.run([PROGRAMS / words[0], *map(str, words[1:])], capture_output=True, text=True,
                          timeout=2 * DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def on_server(seed, server, faults):
    words = ["vipu-script-on-server", seed, STEPS, server.port]
    with subprocess.Popen([PROGRAMS / words[0], *map(str, words[1:])], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as script:
        first = list(iter(script.stdout.readline, "half way\n"))
        set_faults(server, faults)
        rest, _ = script.communicate("\n", timeout=2 * DEADLINE_S)
    assert script.returncode == 0
    return [line.rstrip("\n") for line in first] + rest.splitlines()


@pytest.mark.parametrize("config, faults", ((AT_ONCE, "{}"), (AT_ONCE, BROKEN), (NEVER, BROKEN)),
                         ids=("quick", "broken", "slow"))
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_script_gets_the_same_answers(serve, seed, config, faults):
    server = serve(config)
    real = on_server(seed, server, faults)
    assert on_memory(seed, server.folder / "config.yaml", faults) == real
