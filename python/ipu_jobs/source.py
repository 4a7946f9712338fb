"""What a job runs: a script, a folder, a function or a command, as files and the command that runs them."""

import builtins
import inspect
import json
import os
import stat
import symtable
import textwrap
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Set, Union

from .errors import IpuJobsError

FOLDER = "/job"  # where the files are mounted
SIZE_MAX = 900 * 1024  # etcd takes objects of 1.5 MiB, and binary files grow by a third
FILES_MAX = 1000
OF_EVERY_FILE = frozenset(("__name__", "__file__", "__doc__"))

Program = Union[str, "os.PathLike[str]", Sequence[str], Callable[..., Any]]


class Source(NamedTuple):
    name: str  # a word for the job's name
    command: List[str]
    files: Dict[str, bytes]  # by their path below FOLDER


# -u: the lines of a log are there when they are printed.
def read(program: Program, args: Sequence[Any], kwargs: Dict[str, Any], python: str) -> Source:
    if callable(program):
        name = getattr(program, "__name__", "function")
        return Source(name, [python, "-u", f"{FOLDER}/{name}.py"], {f"{name}.py": _function(program, args, kwargs).encode()})
    if kwargs:
        raise IpuJobsError(f"{_listed(kwargs)}: only functions have keyword arguments; check the spelling of the options of submit()")
    if isinstance(program, (str, os.PathLike)):
        return _script(os.fspath(program), _words(args), python)
    command = _words([*program, *args])
    if not command:
        raise IpuJobsError("the command is empty")
    return Source(command[0].rpartition("/")[2], command, {})


def _words(args: Sequence[Any]) -> List[str]:
    for arg in args:
        if not isinstance(arg, str):
            raise IpuJobsError(f"arguments of a program must be strings, got {arg!r}; convert it with str()")
    return list(args)


def _script(path: str, args: List[str], python: str) -> Source:
    """A folder is run as Python does it, by its __main__.py."""
    name = os.path.basename(os.path.abspath(path))
    if not os.path.isdir(path):
        return Source(name.rpartition(".")[0] or name, [python, "-u", f"{FOLDER}/{name}", *args], _within({name: _content(path)}, path))
    files = _folder(path)
    if "__main__.py" not in files:
        raise IpuJobsError(f"{path} has no __main__.py, which Python runs in a folder; create it, or submit one of the scripts")
    return Source(name, [python, "-u", FOLDER, *args], files)


def _folder(path: str) -> Dict[str, bytes]:
    files: Dict[str, bytes] = {}
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != "__pycache__")
        for name in sorted(names):
            if not name.startswith("."):
                file = os.path.join(folder, name)
                files[os.path.relpath(file, path).replace(os.sep, "/")] = _content(file)
                _within(files, path)
    return files


def _content(path: str) -> bytes:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise IpuJobsError(f"{path} is not a regular file")
            return file.read(SIZE_MAX + 1)
    except OSError as error:
        raise IpuJobsError(f"cannot read {path}: {error.strerror}") from error


def _within(files: Dict[str, bytes], path: str) -> Dict[str, bytes]:
    if len(files) > FILES_MAX or sum(map(len, files.values())) > SIZE_MAX:
        raise IpuJobsError(
            f"{path} is too large: at most {FILES_MAX} files and {SIZE_MAX // 1024} KiB are sent with a job; build an image that "
            f'contains it, and submit the command as a list: ["python3", ...]'
        )
    return files


def _function(function: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> str:
    """A script that calls the function. Only its text reaches the job, so it must not need anything around it."""
    name = getattr(function, "__name__", repr(function))
    if not inspect.isfunction(function) or name == "<lambda>":
        raise IpuJobsError(f"{name} is not a function that is defined with `def`; submit such a function, or a script")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise IpuJobsError(f"{name}() does not run when it is called, because it is a coroutine or a generator; submit a plain function")
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise IpuJobsError(f"{name}() cannot be called with these arguments: {error}") from error
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise IpuJobsError(f"the source of {name}() cannot be read; define it in a file or a notebook, or submit a script") from error
    _check_self_contained(function, name, source)
    call = f"{name}(*json.loads({_json(name, list(args))!r}), **json.loads({_json(name, kwargs)!r}))"
    return f'{source}\n\nif __name__ == "__main__":\n    import json\n\n    {call}\n'


def _json(name: str, value: Any) -> str:
    """Only what arrives as it was sent."""
    try:
        text = json.dumps(value)
        same = json.loads(text) == value
    except (TypeError, ValueError):
        same = False
    if not same:
        raise IpuJobsError(
            f"the arguments of {name}() must be of JSON's types: None, bool, int, finite float, str, list, and dict with str keys; "
            f"got {value!r}"
        )
    return text


def _check_self_contained(function: Callable[..., Any], name: str, source: str) -> None:
    try:
        table = symtable.symtable(source, name, "exec")
    except SyntaxError as error:
        raise IpuJobsError(f"the source of {name}() cannot be read alone; submit a script") from error
    known = OF_EVERY_FILE | {name} | (set(dir(builtins)) - set(function.__globals__))
    missing = _outside(table) - known
    closure = missing & set(function.__code__.co_freevars)
    if closure:
        raise IpuJobsError(
            f"{name}() uses {_listed(closure)} of the function around it, which the job does not have; pass as an argument what it needs"
        )
    if missing:
        raise IpuJobsError(
            f"{name}() uses {_listed(missing)} from outside of it, which the job does not have; import modules inside the function, "
            f"and pass values as arguments"
        )


def _outside(table: symtable.SymbolTable) -> Set[str]:
    """The names that the text takes from around it, in decorators, defaults and annotations too."""
    is_module = table.get_type() == "module"
    found = {
        symbol.get_name() for symbol in table.get_symbols()
        if (symbol.is_referenced() if is_module else symbol.is_global()) and not (is_module and symbol.is_assigned())
    }  # fmt: skip
    return found.union(*map(_outside, table.get_children()))


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))
