"""Cleaning up after a process that was killed."""

import subprocess


class Guard:
    """Runs a command when this process ends without having called release()."""

    def __init__(self, *command):
        # It reads the end of the pipe when nothing holds the other side any more, however that came about.
        self._process = subprocess.Popen(["sh", "-c", 'read -r _ || exec "$@"', "guard", *map(str, command)],
                                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         start_new_session=True)

    def release(self):
        self._process.communicate(b"\n")
