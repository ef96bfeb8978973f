#pragma once
// Kinds of tracks. Only this file lists them; Python reads the list.

namespace parkf::kalman {

/// A kind is the detectors that its tracks have hits in. Its fit crosses these detectors, and the magnet between UT and
/// SciFi where it has both.
struct Kind {
  const char *name, *meaning;
  bool velo, ut, scifi;
};

constexpr Kind kinds[] = {
    {"long", "VELO and SciFi, and UT where it was hit", true, true, true},
    {"upstream", "VELO and UT: the magnet bends these tracks out before the SciFi", true, true, false},
    {"downstream", "UT and SciFi: born behind the VELO, as products of decays of K0s and Lambda", false, true, true},
    {"scifi", "SciFi alone: born in the magnet, or without hits before it", false, false, true},
};

/// Further numbers of a fit that begins behind the VELO, behind those of `Fitted`: the elements of the covariance that
/// `Fitted` lacks, xy, ytx, xty, txty, and those of q/p with x, y, tx, ty.
constexpr int more_covariances = 8;

}  // namespace parkf::kalman
