"""The names of popdist under the name of the original's extension module, as programs use it."""

import popdist
from popdist import *  # noqa: F403

__all__ = []
__all__ += popdist.__all__
