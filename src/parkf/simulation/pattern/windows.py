"""Search windows of the pattern recognition: its only settings."""

from pydantic import BaseModel, ConfigDict, Field


class Windows(BaseModel):
    """Requirements and search windows of the track finding."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    velo_hits: int = Field(default=3, ge=3, description="fewest VELO hits of a segment")
    scifi_layers: int = Field(default=9, ge=6, le=12, description="fewest SciFi layers of a segment")
    scifi: float = Field(default=0.7, gt=0, description="mm; a SciFi hit may lie this far from its segment")
    match_chi2: float = Field(
        default=30.0,
        gt=0,
        description="largest χ² of a VELO-SciFi pair from its distances in x, y and ty (3 terms)",
    )
    ut: float = Field(
        default=4.0, gt=0, description="widths; a UT hit may lie this far from the line through another one"
    )
    p_min: float = Field(
        default=1500.0, gt=0, description="MeV; smallest momentum, by the seed, of a candidate"
    )

    velo_azimuth: float = Field(
        default=0.05,
        gt=0,
        description="rad; how far a VELO segment may turn about the beam in a pair of modules",
    )
    velo_displaced: float = Field(
        default=0.5, ge=0, description="mm; over the distance to the beam, added to that angle"
    )
    velo_slope: float = Field(default=1.0, gt=0, description="largest slope of a VELO segment in x and y")
    velo_kink: float = Field(
        default=0.005,
        gt=0,
        description="rad; a VELO hit may lie this far off, times the distance to the next",
    )
    velo_offset: float = Field(default=0.1, gt=0, description="mm; added to that distance")
    velo_chi2: float = Field(
        default=20.0, gt=0, description="largest χ² of a line through a VELO segment of three hits (2 terms)"
    )
    scifi_x: int = Field(default=5, ge=4, le=6, description="fewest x layers of a found SciFi segment")
    scifi_stereo: int = Field(
        default=4, ge=2, le=6, description="fewest stereo layers of a found SciFi segment"
    )
    scifi_middle: float = Field(
        default=0.8,
        gt=0,
        description="mm; a hit of the middle station may lie this far off the curve expected",
    )
    scifi_middle_share: float = Field(
        default=0.001,
        ge=0,
        description="plus this fraction of the x where the chord of the others meets z = 0",
    )
    scifi_y: float = Field(
        default=40.0,
        gt=0,
        description="mm; how far off the beam's y a found SciFi segment may be at z = 0, apart from focusing",
    )
    scifi_y_share: float = Field(
        default=0.02, ge=0, description="plus this fraction of the x where the chord meets z = 0"
    )
    scifi_found: float = Field(
        default=0.5, gt=0, description="mm; how far from its curve the search for segments accepts SciFi hits"
    )
    scifi_error: float = Field(default=0.2, gt=0, description="mm; error of a SciFi hit in χ²")
    scifi_chi2_x: float = Field(
        default=2.0, gt=0, description="largest χ²/ndof of a found SciFi segment's x hits"
    )
    scifi_chi2: float = Field(default=2.0, gt=0, description="largest χ²/ndof of all its hits")
    scifi_shared: int = Field(
        default=2, ge=0, description="hits that a found SciFi segment may have in common with a better one"
    )
