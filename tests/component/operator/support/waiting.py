"""Waiting for conditions, never for a time."""

import time

DEADLINE_S = 120  # a net: no figure, and only failures take that long
PAUSE_S = 0.02


def until(condition, what, seconds=DEADLINE_S, tell=None):
    """Polls until the condition is true, and returns its value; `tell` adds to the failure what was to be seen."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}" + (f"\n{tell()}" if tell else ""))
        time.sleep(PAUSE_S)
