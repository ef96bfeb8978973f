"""The peer that tests compare with."""

import sys
from pathlib import Path

# It is a module beside the tests that use it.
sys.path.insert(0, str(Path(__file__).parent))
