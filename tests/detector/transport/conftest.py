"""The independent propagator that tests compare with."""

import sys
from pathlib import Path

# It is a module beside its tests.
sys.path.insert(0, str(Path(__file__).parent))
