// Limits of the machine, the dense baseline, and the operations that a fit takes. Loaded by machine.py.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "counted.hpp"
#include "dense.hpp"
#include "fit/fit_kind.hpp"
#include "fit/smoother.hpp"
#include "fit/trigger.hpp"

namespace {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

constexpr std::make_integer_sequence<int, 12> chains{};

// Keeps a value in a vector register and hides from the compiler what happens to it.
#if defined(__x86_64__)
#define IN_REGISTER(value) asm volatile("" : "+v"(value))
#else
#define IN_REGISTER(value) asm volatile("" : "+w"(value))
#endif

/// Independent chains of multiply-adds, enough of them to fill the pipelines.
template <class S, int... chain>
void multiply_add(long turns, std::integer_sequence<int, chain...>) {
  typedef S Vector __attribute__((vector_size(register_bytes)));
  Vector sums[] = {Vector{} + S(1 + 0.001 * chain)...};
  const Vector factor = Vector{} + S(0.999), term = Vector{} + S(0.001);
  const auto add = [&](Vector& sum) {
    sum = sum * factor + term;
    IN_REGISTER(sum);
  };
  for (long turn = 0; turn < turns; ++turn) (add(sums[chain]), ...);
}

template <class S>
double operations(long turns) {
  return 2.0 * chains.size() * register_bytes / sizeof(S) * static_cast<double>(turns);
}

/// Independent additions, as many as a core can begin. Another program on the same core slows them down.
void additions() {
  long a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  const auto add = [](auto&... sums) { (..., (++sums, [&] { asm volatile("" : "+r"(sums)); }())); };
  for (int turn = 0; turn < 100'000; ++turn) add(a, b, c, d, e, f), add(a, b, c, d, e, f);
}

/// Seconds of the slowest of several threads that begin the same work together.
template <class Work>
double seconds(int threads, const Work& work) {
  std::vector<double> taken(threads);
  std::atomic<int> missing{threads};
  const auto timed = [&](int thread) {
    --missing;
    while (missing > 0) {}
    const auto begin = std::chrono::steady_clock::now();
    work();
    taken[thread] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(timed, thread);
  timed(0);
  for (auto& other : others) other.join();
  return *std::max_element(taken.begin(), taken.end());
}

template <class S>
double multiply_adds(long turns, int threads) {
  seconds(threads, [turns] { multiply_add<S>(turns, chains); });
  return threads * operations<S>(turns);
}

template <class S>
parkf::kalman::CandidateRows<S> rows_of(long count, const S* polarity, const S* qop, const int* velo_n,
                                        const S* const* hits) {
  return {count,  polarity, qop, velo_n, {hits[0], hits[1], hits[2]}, {hits[3], hits[4], hits[5], hits[6]},
          {hits[7], hits[8], hits[9], hits[10]}};
}

template <class S>
void dense(long count, const S* polarity, const S* qop, const int* velo_n, const S* const* hits, const S* constant,
           const float* table, S variance, S* results) {
  const auto rows = rows_of(count, polarity, qop, velo_n, hits);
  for (long i = 0; i < count; ++i) {
    const auto t = baseline::fit(rows, i, constant, table, variance);
    const S values[11] = {t.s.x, t.s.y, t.s.tx, t.s.ty, t.s.k, t.z, t.c.a[0][0], t.c.a[1][1], t.c.a[2][2], t.c.a[3][3],
                          t.chi2};
    std::memcpy(results + 11 * i, values, sizeof(values));
  }
}

}  // namespace

extern "C" {

double multiply_adds_float(long turns, int threads) { return multiply_adds<float>(turns, threads); }
double multiply_adds_double(long turns, int threads) { return multiply_adds<double>(turns, threads); }
double probe(int threads) { return seconds(threads, additions); }
void copy(char* target, const char* source, long bytes) { std::memcpy(target, source, bytes); }

void dense_float(long count, const float* polarity, const float* qop, const int* velo_n, const float* const* hits,
                 const float* constant, const float* table, float variance, float* results) {
  dense(count, polarity, qop, velo_n, hits, constant, table, variance, results);
}
void dense_double(long count, const double* polarity, const double* qop, const int* velo_n, const double* const* hits,
                  const double* constant, const float* table, double variance, double* results) {
  dense(count, polarity, qop, velo_n, hits, constant, table, variance, results);
}

/// Additions, multiplications, divisions and roots of all fits of a kind besides long tracks together. `place` has z where
/// the first slice begins, the length of a slice, and the edges of the grid.
void count_kind_operations(long count, const float* polarity, const float* qop, const int* velo_n,
                           const float* const* hits, const float* constant, const float* table, float variance,
                           int kind, int slices, const double* place, const double* centre, const float* numbers,
                           long* operations) {
  using namespace parkf;
  using namespace parkf::kalman;
  using namespace parkf::kalman::PARKF_FORMS;
  const auto rows = rows_of(count, polarity, qop, velo_n, hits);
  const Detector<float> detector{constant, table, variance, 0.0F, 0.0F};
  const parkf::slices::Slices of{slices, place[0], place[1], place[2], place[3], centre, numbers, 0, nullptr};
  const Counted loss(0.0F);
  std::memset(Counted::done, 0, sizeof(Counted::done));
  for (long i = 0; i < count; ++i) {
    Tile<float> tile;
    fill(rows, i, tile);
    if (kinds[kind].velo) {
      fit_upstream<Counted>(tile.candidates(), 0, detector);
    } else if (kinds[kind].ut) {
      fit_downstream<Counted>(tile.candidates(), 0, detector, of, loss);
    } else {
      fit_scifi<Counted>(tile.candidates(), 0, detector, loss);
    }
  }
  std::memcpy(operations, Counted::done, sizeof(Counted::done));
}

/// Additions, multiplications, divisions and roots of all fits together.
void count_operations(long count, const float* polarity, const float* qop, const int* velo_n,
                      const float* const* hits, const float* constant, const float* table, float variance,
                      int smoother, long* operations) {
  using namespace parkf;
  using namespace parkf::kalman;
  using namespace parkf::kalman::PARKF_FORMS;
  const auto rows = rows_of(count, polarity, qop, velo_n, hits);
  const Detector<float> detector{constant, table, variance, 0.0F, 0.0F};
  std::memset(Counted::done, 0, sizeof(Counted::done));
  for (long i = 0; i < count; ++i) {
    Tile<float> tile;
    fill(rows, i, tile);
    if (smoother) {
      fit_smoother<Counted>(tile.candidates(), 0, detector);
    } else {
      fit_trigger<Counted>(tile.candidates(), 0, detector);
    }
  }
  std::memcpy(operations, Counted::done, sizeof(Counted::done));
}
}
