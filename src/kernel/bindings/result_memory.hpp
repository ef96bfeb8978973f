#pragma once
// Memory for results, which is kept for reuse when a caller releases it. The system sets new pages to zero first, which
// costs a tenth of the fit.

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace parkf::kalman {

class ResultMemory {
 public:
  /// Return memory of this size, which begins at a cache line.
  static void* take(std::size_t bytes) {
    {
      const std::lock_guard<std::mutex> guard(shared().lock);
      auto& kept = shared().kept;
      for (auto block = kept.begin(); block != kept.end(); ++block) {
        const std::size_t size = **block;
        if (size < bytes || size / 2 > bytes) continue;
        std::size_t* found = *block;
        kept.erase(block);
        return data(found);
      }
    }
    return data(fresh(bytes));
  }

  static void give_back(void* memory) noexcept {
    auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(memory) - line);
    {
      const std::lock_guard<std::mutex> guard(shared().lock);
      auto& kept = shared().kept;
      if (kept.size() < most_blocks && *block <= most_bytes) {
        kept.push_back(block);  // within its reserved capacity
        return;
      }
    }
    ::operator delete(block, alignment(*block));
  }

 private:
  static constexpr std::size_t line = 64;  // of the cache; a block starts with its size, on a line of its own
  static constexpr std::size_t large_page = std::size_t{1} << 21;
  static constexpr std::size_t most_blocks = 4, most_bytes = std::size_t{1} << 25;

  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t(bytes < 2 * large_page ? line : large_page);
  }
  static std::size_t* fresh(std::size_t bytes) {
    auto* block = static_cast<std::size_t*>(::operator new(line + bytes, alignment(bytes)));
#if defined(__linux__)
    // Twenty quantities are written at a time, to as many pages. Large pages reduce their number.
    if (bytes >= 2 * large_page) madvise(block, line + bytes, MADV_HUGEPAGE);
#endif
    *block = bytes;
    return block;
  }

  struct Shared {
    std::mutex lock;
    std::vector<std::size_t*> kept;
    Shared() { kept.reserve(most_blocks); }
  };
  /// This is never destroyed, because Python may release results after everything else.
  static Shared& shared() {
    static Shared& instance = *new Shared;
    return instance;
  }
  static void* data(std::size_t* block) { return reinterpret_cast<char*>(block) + line; }
};

}  // namespace parkf::kalman
