"""Where the tests find the local cluster's modules."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "deploy" / "local"), str(REPOSITORY / "tests" / "lib"), str(Path(__file__).resolve().parent)]
