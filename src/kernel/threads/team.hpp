#pragma once
// Threads that stay for the next call, because starting a thread takes as long as hundreds of fits.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace parkf {

class Team {
 public:
  /// Run `work` in this thread and, as they become free, in up to `helpers` other threads. Return when all runs have
  /// ended. After the run in this thread no other run starts, so all work must then be done or begun.
  template <class Work>
  static void run(int helpers, const Work& work) {
    Job job([](const void* w) { (*static_cast<const Work*>(w))(); }, &work, helpers);
    work();
  }

 private:
  /// A call of `run`, from its posting to its end.
  class Job {
   public:
    Job(void (*call)(const void*), const void* work, int helpers) : call(call), work(work), wanted(helpers) {
      if (wanted > 0) team.post(*this);
    }
    ~Job() { team.finish(*this); }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    void (*const call)(const void*);
    const void* const work;
    int wanted;                // helpers that have not begun
    std::atomic<int> busy{0};  // those that have, and have not ended

   private:
    Team& team = *shared();
  };

  /// About the time that a sleeping thread needs to wake up.
  static constexpr std::chrono::microseconds patience{50};

  std::mutex lock;
  std::condition_variable posted, done;
  std::vector<Job*> jobs;  // those that want helpers
  std::atomic<unsigned> postings{0};
  int members = 0;

  void post(Job& job) {
    {
      const std::lock_guard<std::mutex> guard(lock);
      for (; members < job.wanted; ++members) std::thread([this] { serve(); }).detach();
      jobs.push_back(&job);
      ++postings;
    }
    posted.notify_all();
  }

  void finish(Job& job) {
    std::unique_lock<std::mutex> guard(lock);
    jobs.erase(std::remove(jobs.begin(), jobs.end(), &job), jobs.end());
    await(guard, done, [&job] { return job.busy == 0; });
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> guard(lock);
    while (true) {
      const unsigned seen = postings;
      if (jobs.empty()) await(guard, posted, [this, seen] { return postings != seen; });
      if (jobs.empty()) continue;  // others took it
      Job& job = *jobs.front();
      ++job.busy;
      if (--job.wanted == 0) jobs.erase(jobs.begin());
      guard.unlock();
      job.call(job.work);
      guard.lock();
      if (--job.busy == 0) done.notify_all();
    }
  }

  /// Spin without the lock at first, then sleep. `fulfilled` may read only atomic numbers.
  template <class Condition>
  static void await(std::unique_lock<std::mutex>& guard, std::condition_variable& changed, const Condition& fulfilled) {
    guard.unlock();
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!fulfilled() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    guard.lock();
    changed.wait(guard, fulfilled);
  }

  /// The team is never destroyed, because its threads may outlive everything else. A forked child has none of these
  /// threads and gets a new team.
  static Team*& shared() {
    static Team* team = [] {
#if __has_include(<pthread.h>)
      pthread_atfork(nullptr, nullptr, [] { shared() = new Team; });
#endif
      return new Team;
    }();
    return team;
  }
};

}  // namespace parkf
