"""Helpers of these tests are importable by name, as are the random systems of the analysis tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
