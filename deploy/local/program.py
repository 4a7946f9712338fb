"""The beginning and the end of a program that people run: its words, its exit status, what it inherits from who started
it, and what happens when nobody reads its output any more, as after `deploy/cluster status | head -1`."""

import os
import select
import signal
import sys


def _is_unread(stream):
    """Whether it is a pipe without a reader."""
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _keep_ignoring():
    """Who starts a program has it ignore signals, as nohup does and a shell without job control. It goes on to; but the
    programs that it starts itself would inherit that, unless the signals are caught."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def run(main):
    """main(words) returns the exit status. Without a reader the program ends as others do that SIGPIPE ends."""
    _keep_ignoring()
    try:
        try:
            status = main(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_unread(sys.stdout):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is for nobody
        status = 128 + signal.SIGPIPE
    sys.exit(status)
