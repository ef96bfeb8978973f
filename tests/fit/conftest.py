import sys
from pathlib import Path

# The toy and the reference fit are modules in the folder of the tests that use them.
sys.path.insert(0, str(Path(__file__).parent))
