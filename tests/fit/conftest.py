import sys
from pathlib import Path

# The toy and the reference fit are modules beside the tests that use them.
sys.path.insert(0, str(Path(__file__).parent))
