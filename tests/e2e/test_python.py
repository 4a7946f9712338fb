"""The Python package against the real cluster: docs/python.md and the example notebook, in a Jupyter kernel, and TorchX."""

import os
import sys
from pathlib import Path

import kube
import nbformat
import pytest
from nbclient import NotebookClient
from pages import blocks_at, missing_from, pages_of
from stack import SYSTEM
from torchx_program import torchx  # noqa: F401

NOTEBOOK = kube.ROOT / "deploy" / "examples" / "training.ipynb"
CELL_S = 300


@pytest.fixture
def types(reader, namespace, torchx):  # noqa: F811
    """Somebody who has installed the packages, with a shell and a Jupyter kernel."""
    reads = reader(namespace.namespace, SYSTEM)
    programs = [Path(sys.executable).parent, torchx.programs, kube.ROOT / os.environ.get("BUILD_DIR", "build/release") / "local"]
    reads.environment.update(PYTHONPATH=str(torchx.site), HOME=str(reads.folder), XDG_STATE_HOME=str(reads.folder / "state"),
                              PATH=":".join([*map(str, programs), reads.environment["PATH"]]))
    return reads


def client_of(types, notebook):
    return NotebookClient(notebook, timeout=CELL_S, resources={"metadata": {"path": str(types.folder)}})


def printed(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.parametrize("page", pages_of("python"))
def test_what_a_page_says_to_who_uses_python_works(types, page):
    blocks = blocks_at(page, "python")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block.text) for block in blocks])
    client = client_of(types, notebook)
    told = ""
    with client.setup_kernel(env=types.environment):
        for number, block in enumerate(blocks):
            if block.is_shown:
                missing = missing_from(told, block.text)
                assert not missing, f"{block.where}: not printed: {missing}\n{told}"
            elif block.language == "python" and not block.file:
                told = printed(client.execute_cell(notebook.cells[number], number))
            elif block.file:
                types(block)
            else:
                done = types.types(block.script)
                told = done.stdout + done.stderr
                assert done.returncode == 0, f"{block.where}:\n{told}"


def test_the_notebook_trains(types, namespace):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    client = client_of(types, notebook)
    with client.setup_kernel(env=types.environment):
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
    told = "".join(printed(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert told.count("epoch ") == 30 and "All instances done: loss 2" in told
    kube.wait_for("the notebook's job is deleted", lambda: not namespace.items("ipujobs"))
