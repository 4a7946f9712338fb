"""Entry point of the command-line programs: arguments, exit status, inherited signal dispositions, and a closed standard
output, as after `deploy/cluster status | head -1`."""

import os
import select
import signal
import sys


def _is_unread(stream):
    """Whether the stream is a pipe without a reader."""
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _keep_ignoring():
    """Signals that the parent ignores, as nohup and a shell without job control do, stay without effect. They are caught
    rather than ignored, because child processes would inherit the ignored state."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def run(main):
    """Exits with what main(arguments) returns, or as if killed by SIGPIPE if standard output has lost its reader."""
    _keep_ignoring()
    try:
        try:
            status = main(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_unread(sys.stdout):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is buffered
        status = 128 + signal.SIGPIPE
    sys.exit(status)
