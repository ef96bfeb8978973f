"""How far the pattern recognition searches: its only settings."""

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
