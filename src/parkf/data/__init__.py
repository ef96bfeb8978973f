"""The detector by its data: monitor, alignment, calibration and field, from residuals of fitted tracks.

Four questions share one least squares fit (:mod:`parkf.data.equations`), one way to move hits
(:mod:`parkf.data.moving`), and one reader of candidates. What is found has an error, and combinations that
the data do not determine are named. No other room but the commands and stages needs this one.
"""

CALIBRATION_FILES = ("calibration.json", "alignment.yaml", "geometry.yaml", "field.npz")
"""Files that a calibration writes into its folder."""
