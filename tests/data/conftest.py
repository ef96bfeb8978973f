import sys
from pathlib import Path

# The toy of the fit's tests scatters and measures exactly as its set assumes.
sys.path.insert(0, str(Path(__file__).parents[1] / "fit"))
