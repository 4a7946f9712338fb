"""What of a program is sent with a job: functions that need nothing around them, scripts, folders, commands."""

import json
import os
import subprocess
import sys

import functions
import pytest
from ipu_jobs import IpuJobsError
from ipu_jobs.source import FILES_MAX, SIZE_MAX, read


def run(source, folder):
    """The program's output, as its container would write it."""
    for path, content in source.files.items():
        (folder / path).write_bytes(content)
    command = [word.replace("/job", str(folder), 1) if word.startswith("/job") else word for word in source.command]
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rejection(*program, **kwargs):
    with pytest.raises(IpuJobsError) as caught:
        read(program[0], program[1:], kwargs, "python3")
    return str(caught.value)


def test_a_function_runs_alone(tmp_path):
    source = read(functions.train, (2,), {"lr": 0.5, "name": 'a "quoted" \\ näme'}, "python3.8")
    assert source.name == "train" and source.command == ["python3.8", "-u", "/job/train.py"]
    assert json.loads(run(source, tmp_path)) == {"name": 'a "quoted" \\ näme', "rates": [0.5, 0.25], "here": "__main__"}


def test_a_function_may_call_itself_and_use_names_of_its_own(tmp_path):
    assert run(read(functions.recursive, (2,), {}, "python3"), tmp_path) == "0\n1\n2\n"
    assert read(functions.shadows_a_builtin, ([1],), {}, "python3").files


def test_a_function_of_another_function_is_dedented(tmp_path):
    def nested(text):
        print(text)

    assert run(read(nested, ("deep",), {}, "python3"), tmp_path) == "deep\n"


@pytest.mark.parametrize("function,args,names", [
    (functions.uses_a_module, (4,), "math"),
    (functions.uses_a_value, (1,), "LIMIT"),
    (functions.has_a_default, (), "LIMIT"),
    (functions.has_an_annotation, (1,), "math"),
    (functions.writes_a_global, (), "LIMIT"),
])  # fmt: skip
def test_a_function_with_globals_is_rejected(function, args, names):
    assert rejection(function, *args) == (
        f"{function.__name__}() uses {names} from outside of it, which the job does not have; import modules inside the function, "
        f"and pass values as arguments")


def test_a_function_whose_module_replaces_a_builtin_is_rejected(monkeypatch):
    monkeypatch.setattr(functions, "print", functions.print_twice, raising=False)
    assert "uses print from outside" in rejection(functions.recursive, 1)


def test_a_function_with_a_closure_is_rejected():
    assert rejection(functions.within(2), 1) == (
        "uses_a_closure() uses scale of the function around it, which the job does not have; pass as an argument what it needs")


@pytest.mark.parametrize("program,part", [
    (lambda: None, "<lambda> is not a function that is defined with `def`"),
    (functions.Model().fit, "fit is not a function that is defined with `def`"),
    (functions.Model, "Model is not a function"),
    (len, "len is not a function"),
    (functions.is_decorated, "is_decorated is not a function"),
    (functions.is_a_coroutine, "is_a_coroutine() does not run when it is called"),
    (functions.is_a_generator, "is_a_generator() does not run when it is called"),
])  # fmt: skip
def test_what_is_no_plain_function_is_rejected(program, part):
    assert part in rejection(program)


def test_a_function_without_source_is_rejected():
    space = {}
    exec("def typed():\n    pass\n", space)
    assert rejection(space["typed"]) == "the source of typed() cannot be read; define it in a file or a notebook, or submit a script"


@pytest.mark.parametrize("value", [(1, 2), {1: "a"}, float("nan"), {"deep": [{1, 2}]}, b"bytes", object()])
def test_arguments_that_would_arrive_changed_are_rejected(value):
    assert "the arguments of train() must be of JSON's types" in rejection(functions.train, value)


def test_arguments_that_do_not_fit_are_rejected_before_anything_is_sent():
    assert rejection(functions.train) == "train() cannot be called with these arguments: missing a required argument: 'epochs'"


def test_a_script_is_sent_alone(tmp_path):
    (tmp_path / "other.py").write_text("")
    (tmp_path / "train.v2.py").write_text("import sys; print(sys.argv[1:])")
    source = read(tmp_path / "train.v2.py", ("--lr", "1e-3"), {}, "python3")
    assert source.name == "train.v2" and list(source.files) == ["train.v2.py"]
    (tmp_path / "there").mkdir()
    assert run(source, tmp_path / "there") == "['--lr', '1e-3']\n"


def test_a_folder_is_sent_without_what_is_hidden_or_made(tmp_path):
    for path in ("__main__.py", "net/layers.py", "net/__pycache__/layers.pyc", ".git/config", ".secret"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    source = read(str(tmp_path), (), {}, "python3")
    assert source.files == {"__main__.py": b"__main__.py", "net/layers.py": b"net/layers.py"}
    assert source.command == ["python3", "-u", "/job"] and source.name == tmp_path.name


def test_a_folder_without_main_is_rejected(tmp_path):
    assert "has no __main__.py, which Python runs in a folder" in rejection(tmp_path)


def test_a_missing_script_is_rejected(tmp_path):
    assert rejection(tmp_path / "none.py") == f"cannot read {tmp_path}/none.py: No such file or directory"


def test_a_pipe_is_rejected_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    assert "is not a regular file" in rejection(tmp_path / "pipe.py")


def test_limits_of_what_is_sent(tmp_path):
    (tmp_path / "__main__.py").write_bytes(b"#" * SIZE_MAX)
    assert read(tmp_path / "__main__.py", (), {}, "python3").files
    (tmp_path / "more.py").write_text("#")
    assert "is too large: at most 1000 files and 900 KiB are sent with a job; build an image" in rejection(tmp_path)
    (tmp_path / "__main__.py").write_text("")
    for number in range(FILES_MAX):
        (tmp_path / f"{number}.py").write_text("")
    assert "is too large" in rejection(tmp_path)


def test_a_command_is_taken_as_it_is():
    assert read(["/usr/bin/poprun", "--num-replicas", "4"], ("$(NAME)",), {}, "python3") == (
        "poprun", ["/usr/bin/poprun", "--num-replicas", "4", "$(NAME)"], {})


def test_arguments_of_programs_are_strings():
    assert rejection(["train"], 3) == "arguments of a program must be strings, got 3; convert it with str()"
    assert rejection([]) == "the command is empty"
    assert rejection(["train"], ipu=3) == (
        "ipu: only functions have keyword arguments; check the spelling of the options of submit()")
