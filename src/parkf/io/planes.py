"""Numbers of the detector's layers and pieces, as LHCb counts them; tables and geometry share them."""

VELO_MODULES = 52
UT_LAYERS = 4
SCIFI_LAYERS = 12

SENSORS_PER_MODULE = 4
VELO_SENSORS = VELO_MODULES * SENSORS_PER_MODULE
UT_FIRST_SECTOR = (0, 248, 496, 772)
"""Number of the first sector of each layer."""
UT_SECTORS = 1048
MATS_PER_LAYER = 128
SCIFI_MATS = MATS_PER_LAYER * SCIFI_LAYERS
"""Length of the range of the mats' numbers; only two in three of these numbers are used."""

RICH_PLANES = (990, 2165, 9450, 11900)
"""z in mm where the fit can compute states for the RICH detectors: two before the magnet, two behind it."""

STEREO = (False, True, True, False)
"""Whether layers are stereo: those of the UT, and of each SciFi station."""
