import sys
from pathlib import Path

# The made-up samples are a module beside the tests that use them.
sys.path.insert(0, str(Path(__file__).parent))
