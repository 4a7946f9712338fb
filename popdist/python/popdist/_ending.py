"""How a program ends: all instances wait for each other, but not for one that has failed.

An instance that fails ends without finalizing; mpirun notices that and ends the others. Its threads must not keep it
alive, so their collectives fail as soon as the program is certain to end: when its exception, or SystemExit with a status
other than 0, has left the main program. Neither is certain before, since any caller may catch it.
"""

import atexit
import builtins
import os
import sys
import threading
from types import TracebackType
from typing import Any, Callable, Optional, Type

from . import _popdist

_process = 0  # the one that watches; 0: none does
_failed = False


def watch() -> None:
    """From now on, until the program ends."""
    global _process
    if _process:
        return
    _process = os.getpid()
    sys.excepthook = _watch_exceptions(sys.excepthook)
    for module, name in ((sys, "exit"), (builtins, "exit"), (builtins, "quit")):
        if hasattr(module, name):
            setattr(module, name, _watch_exit(getattr(module, name)))
    atexit.register(_finish)


def _takes_part() -> bool:
    """A child that was forked has no part in the communication of its parent."""
    return os.getpid() == _process and _popdist.isBackendInitialized()


def _finish() -> None:
    if not _failed and _takes_part():
        _popdist.finalizeBackend()


def _fail() -> None:
    global _failed
    _failed = True
    if _takes_part():
        _popdist.stop_collectives("the program of this instance ends with an error")


def _is_running(frame: Any) -> bool:
    """Whether the frame is one of those that called this function."""
    caller: Any = sys._getframe()
    while caller is not None and caller is not frame:
        caller = caller.f_back
    return caller is not None


def _watch_exceptions(before: Callable[..., Any]) -> Callable[..., Any]:
    def hook(kind: Type[BaseException], value: BaseException, trace: Optional[TracebackType]) -> None:
        before(kind, value, trace)
        # Programs call it themselves, too, to print an exception that they have caught.
        if trace is None or not _is_running(trace.tb_frame):
            _fail()

    return hook


class _Carried:
    """Part of a SystemExit: goes when that goes. If nothing of the main program runs any more then, nobody caught it."""

    def __del__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and sys._getframe().f_back is None:
            _fail()


def _watch_exit(before: Callable[..., Any]) -> Callable[..., Any]:
    def leave(*args: Any, **kwargs: Any) -> Any:
        try:
            return before(*args, **kwargs)
        except SystemExit as problem:
            if problem.code not in (None, 0):
                problem.popdist_carried = _Carried()  # type: ignore[attr-defined]
            raise

    leave.__doc__ = before.__doc__
    return leave
