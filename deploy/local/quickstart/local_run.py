"""The example job without a cluster, by ipu-run: a first result while Kubernetes is still being built."""

import io
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path

from local_cluster.errors import UserError
from local_cluster.paths import REPOSITORY

from . import example
from .progress import LOGS, run_checked
from .target_cluster import CLUSTER

BUILD = REPOSITORY / "build" / "release"
TARGETS = ["ipu-run", "mpi-ring"]
EXAMPLES = REPOSITORY / "deploy" / "examples"
# What the examples' image has at /examples.
FILES = REPOSITORY / "build" / "quickstart-examples"
RUN = REPOSITORY / "build" / "quickstart-run"
DATA_PACKAGE, DATA = "python3-sklearn", "./usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
# The image's: Debian's Python has NumPy, another one may not have it.
ENVIRONMENT = ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONUNBUFFERED=1"]


def run() -> None:
    prepare(BUILD)
    run_checked("ipu-run", "env", *ENVIRONMENT, BUILD / "local" / "ipu-run", "--run-dir", RUN, "--bind", f"{FILES}:/examples", example.FILE,
                echo=True)


@contextmanager
def kubernetes_being_built():
    """Builds what the local cluster needs beside what is done meanwhile; does nothing if it is in the cache."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "cluster-build.log").open("wb") as log:
        process = subprocess.Popen([CLUSTER, "build"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def prepare(build: Path) -> None:
    """Puts the files together; the first time, the data is downloaded."""
    FILES.mkdir(parents=True, exist_ok=True)
    for program in (*(EXAMPLES / "digits").glob("*.py"), EXAMPLES / "hello_poprun.py"):
        shutil.copy(program, FILES)
    shutil.copy(build / "deploy" / "examples" / "mpi-ring", FILES / "ring")
    data = FILES / Path(DATA).name
    if data.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", DATA_PACKAGE], cwd=folder, check=False,
                       stdin=subprocess.DEVNULL, capture_output=True)
        archive = next(Path(folder).glob("*.deb"), None)
        if not archive:
            raise UserError(f"apt-get cannot download {DATA_PACKAGE}, which has the example's data; run `apt-get update`.")
        contents = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(contents)) as files:
        data.write_bytes(files.extractfile(DATA).read())
