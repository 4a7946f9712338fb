"""Commands of the documentation that change the machine or the tree where they are typed. Here a layer lies over both, in a mount
namespace of the test's own, and all that is written goes with it."""

import subprocess

import pytest

from conftest import ROOT
from pages import blocks_at, pages_of

LAYERED = f"""
mount -t tmpfs none "$1"
for folder in /etc /usr '{ROOT}'; do
    mkdir -p "$1$folder/over" "$1$folder/work"
    mount -t overlay none -o "lowerdir=$folder,upperdir=$1$folder/over,workdir=$1$folder/work" "$folder"
done
cd '{ROOT}'
export SYSTEMD_OFFLINE=1  # no init process is needed to start and stop services; units are enabled all the same
"""
# What is so when all commands of a page have succeeded.
THEN = {
    "CONTRIBUTING.md": "",
    "docs/ipu-run.md": 'test "$(command -v ipu-run)" = "$PWD/build/release/local/ipu-run"; ipu-run --version',
    "docs/queue.md": "",
    "docs/popdist.md": "pkg-config --cflags --libs popdist",
    "docs/vipu.md": """
        test "$(command -v vipu-server)" = /usr/bin/vipu-server
        vipu-server --check /etc/vipu/vipu-server.yaml
        test "$(systemctl is-enabled vipu-server)" = enabled""",
}


@pytest.mark.parametrize("page", pages_of("machine"))
def test_what_a_page_says_works(tmp_path, page):
    script = "\n".join([LAYERED, *(block.script for block in blocks_at(page, "machine") if not block.file), THEN[page]])
    done = subprocess.run(["unshare", "--mount", "bash", "-eu", "-o", "pipefail", "-c", script, page, tmp_path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout
