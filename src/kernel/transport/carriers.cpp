// The builds of the carrier, and which of them this machine can run.

#include "numbers/instruction_sets.hpp"
#include "transport/legs.hpp"

namespace parkf::transport {

extern const Carrier carrier_plain;
#if defined(__x86_64__)
extern const Carrier carrier_v2, carrier_v3, carrier_v4;
#endif

std::vector<const Carrier*> carriers() {
  std::vector<const Carrier*> all{&carrier_plain};
#if defined(__x86_64__)
  all = {&carrier_v4, &carrier_v3, &carrier_v2, &carrier_plain};
#endif
  return {all.end() - static_cast<std::ptrdiff_t>(instruction_level()), all.end()};
}

}  // namespace parkf::transport
