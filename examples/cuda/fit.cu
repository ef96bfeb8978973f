// Fits tracks on a GPU with a published parameter set, one track per thread, with the header that the C++ example
// uses. The candidates here are copies of one straight track; a trigger would pass its own.
//
//     nvcc -std=c++17 -O3 --fmad=true -diag-suppress=177 -I <folder of parkf.hpp> fit.cu -o fit
//     fit SET SHA256 [TRACKS]

#include <cstdio>
#include <cstdlib>

#include "parkf.hpp"

namespace {

// The set of forms is chosen when this is compiled. There is one kernel, with its constants in constant memory.
namespace forms = parkf::kalman::production;

__constant__ float constants[forms::layout::count];

constexpr int threads = 32;

__global__ void __launch_bounds__(threads)
    fit(long count, parkf::kalman::Candidates<float> tracks, parkf::kalman::Detector<float> detector, float* numbers,
        int* integers) {
  // All threads of a block read the magnet table together, so threads without a track fit the last track again.
  using Coefficients = forms::BlockCoefficients<float, threads>;
  __shared__ float room[Coefficients::room];
  __shared__ forms::BinOrder<float> orders[threads];
  forms::MagnetCoefficients<float, Coefficients> m;
  m.c = {room, orders, static_cast<int>(threadIdx.x)};
  const long mine = static_cast<long>(blockIdx.x) * threads + threadIdx.x, i = mine < count ? mine : count - 1;
  detector.constant = constants;
  const auto track = forms::fit_smoother<float>(tracks, i, detector, m);
  if (mine < count) parkf::kalman::store(track, tracks.stride, i, numbers, integers);
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw parkf::Error(std::string("CUDA: ") + cudaGetErrorString(status));
}

/// An array on the GPU.
template <class T>
class Device {
 public:
  explicit Device(std::size_t size) { check(cudaMalloc(&data_, sizeof(T) * size)); }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    check(cudaMemcpy(data_, values.data(), sizeof(T) * values.size(), cudaMemcpyHostToDevice));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cudaFree(data_); }
  T* data() const { return data_; }
  std::vector<T> copy(std::size_t size) const {
    std::vector<T> values(size);
    check(cudaMemcpy(values.data(), data_, sizeof(T) * size, cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
};

parkf::Tracks<float> straight_tracks(std::size_t count) {
  parkf::Tracks<float> tracks(count);
  const float tx = 0.05F, ty = 0.02F;
  for (std::size_t i = 0; i < count; ++i) {
    tracks.qop[i] = 1e-5F;
    tracks.velo_n[i] = 8;
    for (int slot = 0; slot < 8; ++slot) {
      const float z = 100.0F + 25.0F * static_cast<float>(slot);
      tracks.velo[(0 * 26 + slot) * tracks.stride + i] = tx * z;
      tracks.velo[(1 * 26 + slot) * tracks.stride + i] = ty * z;
      tracks.velo[(2 * 26 + slot) * tracks.stride + i] = z;
    }
  }
  return tracks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: fit SET SHA256 [TRACKS]\n");
    return 2;
  }
  try {
    const auto set = parkf::ParameterSet::load(argv[1], argv[2]);
    if (set.formulas() != forms::formulas_hash) {
      throw parkf::Error(std::string("parameter set: forms '") + set.forms->name + "', this example is for 'production'");
    }
    const auto tracks = straight_tracks(argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 100000);
    check(cudaMemcpyToSymbol(constants, set.constant.data(), sizeof(float) * set.constant.size()));
    const Device<float> table(set.table), polarity(tracks.polarity), qop(tracks.qop), velo(tracks.velo),
        ut(tracks.ut), scifi(tracks.scifi);
    const Device<int> velo_n(tracks.velo_n);
    const Device<float> numbers(parkf::kalman::fitted_numbers * tracks.stride);
    const Device<int> integers(parkf::kalman::fitted_integers * tracks.stride);
    const auto velo_variance = static_cast<float>(set.velo_sigma * set.velo_sigma);
    const parkf::kalman::Detector<float> detector{nullptr, table.data(), velo_variance,
                                                  static_cast<float>(set.beam_x), static_cast<float>(set.beam_y),
                                                  static_cast<float>(set.velo_loss)};
    const long count = static_cast<long>(tracks.count);
    const auto on_device = parkf::candidates<float>(tracks.stride, polarity.data(), qop.data(), velo_n.data(),
                                                    velo.data(), ut.data(), scifi.data());
    fit<<<static_cast<unsigned>((count + threads - 1) / threads), threads>>>(count, on_device, detector, numbers.data(),
                                                             integers.data());
    check(cudaGetLastError());
    const auto z = numbers.copy(1);
    std::printf("%ld tracks fitted; the first meets the beam line at z = %.3f mm\n", count, z[0]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
