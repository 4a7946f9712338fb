"""Waiting for conditions, never for a time."""

import time

DEADLINE_S = 120  # a net: no figure, and only failures take that long
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.3
SHARE = 8


def until(condition, what, seconds=DEADLINE_S, tell=None, first_pause_s=SHORTEST_PAUSE_S):
    """Polls until the condition is true, and returns its value. What takes long is looked at less and less often: tests that
    wait leave the processor to those that do not. `what` may be a function; `tell` adds to the failure what was to be seen."""
    began = time.monotonic()
    while not (value := condition()):
        waited_s = time.monotonic() - began
        if waited_s > seconds:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}" + (f"\n{tell()}" if tell else ""))
        time.sleep(max(first_pause_s, min(waited_s / SHARE, LONGEST_PAUSE_S)))
    return value
