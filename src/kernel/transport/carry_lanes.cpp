// This file is compiled once for every instruction set, which PARKF_BUILD names. Only the Build may have external
// linkage, because the linker would use other symbols on other machines, too.

#include "numbers/build_names.hpp"
#include "transport/field_lanes.hpp"
#include "transport/legs.hpp"
#include "transport/traverse.hpp"

namespace parkf::transport {
namespace {

// Legs that are carried together: as many as a register has numbers, since GCC 12 takes wider vectors apart. Every
// processor has registers of two.
constexpr int lanes = PARKF_LANE_BYTES > 16 ? PARKF_LANE_BYTES / 8 : 2;
// Travellers that are under way together: some in the lanes, some that have arrived, and some that are ready to go on.
constexpr int company = 4 * lanes;
using T = Lanes<double, lanes>;
using M = T::Mask;

struct Planes {
  T z0, dzdx, dzdy;
};

class Company {
 public:
  KERNEL_FUNCTION Company(const FieldGrid& grid, double tolerance, Legs& legs)
      : grid_(grid), tolerance_(tolerance), legs_(legs), ready_count_(legs.begin(ready_, company)) {
    for (int i = 0; i < lanes; ++i) start(i, {{0.0, 0.0, 0.0, 0.0, 0.0, grid.origin[2]}, {grid.origin[2], 0.0, 0.0}});
  }

  KERNEL_FUNCTION void run() {
    while (fill()) step();
  }

 private:
  const FieldGrid& grid_;
  const double tolerance_;
  Legs& legs_;
  Journey ready_[company], ended_[company];
  int ready_count_, ended_count_ = 0;
  int busy_ = 0;
  bool under_way_[lanes] = {};
  int traveller_[lanes];
  State<T> state_;
  Planes goal_;
  T rest_;      // distance to the goal
  T proposal_;  // of the next step's length
  T length_;    // of the step that is tried
  M again_{};   // tried before, and too long
  M shortened_{};
  T taken_;  // steps

  /// Give legs to lanes without one. Return false if there is none any more.
  KERNEL_FUNCTION bool fill() {
    // Journeys that have ended wait for others, because layers are traversed in lanes, too.
    if (ended_count_ >= lanes) turn_over();
    if (busy_ == lanes) return true;
    for (int i = 0; i < lanes; ++i) {
      while (!under_way_[i] && (ready_count_ > 0 || ended_count_ > 0)) {
        if (ready_count_ == 0) {
          turn_over();
          continue;
        }
        const Journey& journey = ready_[--ready_count_];
        start(i, journey.leg);
        traveller_[i] = journey.traveller;
        under_way_[i] = true;
        ++busy_;
        if (!(std::fabs(rest_.v[i]) > arrived)) end(i, true);
      }
    }
    return busy_ > 0;
  }

  KERNEL_FUNCTION void turn_over() {
    const int count = legs_.go_on(ended_, ended_count_);
    std::copy(ended_, ended_ + count, ready_ + ready_count_);
    ready_count_ += count;
    ended_count_ = 0;
  }

  KERNEL_FUNCTION void start(int i, const Leg& leg) {
    state_.x.v[i] = leg.state.x;
    state_.y.v[i] = leg.state.y;
    state_.tx.v[i] = leg.state.tx;
    state_.ty.v[i] = leg.state.ty;
    state_.qop.v[i] = leg.state.qop;
    state_.z.v[i] = leg.state.z;
    goal_.z0.v[i] = leg.goal.z0;
    goal_.dzdx.v[i] = leg.goal.dzdx;
    goal_.dzdy.v[i] = leg.goal.dzdy;
    rest_.v[i] = distance_to(leg.goal, leg.state);
    proposal_.v[i] = grid_.spacing[2];
    taken_.v[i] = 0.0;
    again_.bits[i] = 0;
  }

  /// End the leg of a lane, which has arrived or is lost.
  KERNEL_FUNCTION void end(int i, bool arrives) {
    Journey& journey = ended_[ended_count_++];
    journey = {traveller_[i],
               {{state_.x.v[i], state_.y.v[i], state_.tx.v[i], state_.ty.v[i], state_.qop.v[i], state_.z.v[i]},
                {goal_.z0.v[i], goal_.dzdx.v[i], goal_.dzdy.v[i]}},
               false};
    journey.there = arrives && settle(grid_, static_cast<double>(rest_.v[i]), journey.leg.state);
    under_way_[i] = false;
    --busy_;
  }

  KERNEL_FUNCTION void step() {
    const T distance = magnitude(rest_), direction = select(rest_ < T(0.0), T(-1.0), T(1.0));
    T fresh = smaller(proposal_, distance);
    if (!grid_.cubic) fresh = smaller(step_within_cell(grid_, state_, direction), fresh);
    length_ = select(again_, length_, fresh);
    shortened_ = {again_.bits ? shortened_.bits : (length_ < proposal_).bits};
    State<T> next = state_;
    T error(0.0);
    const M inside = try_step(grid_, state_, select(length_ < distance, direction * length_, rest_), next, error);
    const M least = !(length_ > T(shortest_step));
    const M good = inside & ((error < T(tolerance_)) | (error == T(tolerance_)) | least);
    const T root_of_ratio = T(0.9) * root(root(T(tolerance_) / larger(error, T(1e-30))));

    const T advised = length_ * smaller(T(5.0), root_of_ratio);
    const M keeps = shortened_ & !again_;
    const T proposal = select(keeps, larger(proposal_, advised), advised);
    proposal_ = select(good, proposal, proposal_);
    state_.x = select(good, next.x, state_.x);
    state_.y = select(good, next.y, state_.y);
    state_.tx = select(good, next.tx, state_.tx);
    state_.ty = select(good, next.ty, state_.ty);
    state_.z = select(good, next.z, state_.z);
    taken_ = taken_ + select(good, T(1.0), T(0.0));
    // A long trial step may leave the map although the path does not.
    const T cut = select(inside, smaller(T(0.9), larger(T(0.1), root_of_ratio)), T(0.5));
    length_ = select(good, length_, length_ * cut);
    again_ = !good;

    const M steep = good & !((magnitude(state_.tx) < T(steepest_path)) & (magnitude(state_.ty) < T(steepest_path)));
    const M lost = ((!good) & least) | steep | !(taken_ < T(most_steps));
    rest_ = distance_to(goal_, state_);
    const M ended = lost | (good & !(magnitude(rest_) > T(arrived)));
    if (!any(ended)) return;
    for (int i = 0; i < lanes; ++i) {
      if (ended.bits[i] && under_way_[i]) end(i, !lost.bits[i]);
    }
  }
};

void carry(const FieldGrid& grid, double tolerance, Legs& legs) { Company(grid, tolerance, legs).run(); }

void traverse(const Detector& detector, std::uint64_t seed, Passage* const* passages, int count) {
  for (int i = 0; i < count; i += lanes)
    transport::traverse(seed, Passages<T>(detector, passages + i, std::min(count - i, lanes)));
}

}  // namespace

extern const Build PARKF_NAME(build_, PARKF_BUILD);
const Build PARKF_NAME(build_, PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), carry, traverse};

}  // namespace parkf::transport
