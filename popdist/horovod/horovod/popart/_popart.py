"""PopART, or a plain word about its absence."""

try:
    import popart
except ImportError as problem:
    raise ImportError(
        f"horovod.popart needs PopART, which cannot be imported: {problem}. Install the wheel of the Poplar SDK into "
        f"this Python environment, and enable the SDK."
    ) from problem

__all__ = ["popart"]
