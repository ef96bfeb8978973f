// The builds of the carrier, and which of them this machine can run.

#include <builds.hpp>

#include "numbers/instruction_sets.hpp"
#include "transport/legs.hpp"

namespace parkf::transport {

#define PARKF_DECLARED(build) extern const Carrier carrier_##build;
#define PARKF_ADDRESS(build) &carrier_##build,

PARKF_EACH_BUILD(PARKF_DECLARED)

std::vector<const Carrier*> carriers() {
  return runnable(std::vector<const Carrier*>{PARKF_EACH_BUILD(PARKF_ADDRESS)});
}

}  // namespace parkf::transport
