#pragma once
// Kinds of tracks by their names.

#include <stdexcept>
#include <string>

#include "fit/kind.hpp"

namespace parkf::kalman {

inline const Kind& kind_named(const std::string& name) {
  for (const Kind& kind : kinds) {
    if (name == kind.name) return kind;
  }
  throw std::invalid_argument("kind '" + name + "' is unknown");
}

}  // namespace parkf::kalman
