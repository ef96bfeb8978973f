// The builds of what carries particles in lanes, and which of them this machine can run.

#include <builds.hpp>

#include "numbers/instruction_sets.hpp"
#include "transport/legs.hpp"

namespace parkf::transport {

PARKF_DECLARE_BUILDS

std::vector<const Build*> builds() {
  return runnable(std::vector<const Build*>PARKF_ALL_BUILDS);
}

}  // namespace parkf::transport
