"""Stands in for PopTorch."""

from . import options
from .options import Options

__all__ = ["Options", "options"]
