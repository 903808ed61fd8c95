#include "api/service/job_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cairn::job_thread_test {
namespace {

// Keeps the thread at work until it is let go.
class Gate {
 public:
  void Hold(JobThread* jobs) {
    std::promise<void> at_work;
    std::future<void> begun = at_work.get_future();
    jobs->Push([this, &at_work] {
      at_work.set_value();
      open_.get_future().wait();
    });
    begun.wait();
  }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> open_;
};

TEST(JobThread, DoesJobsInTheirOrderAndDropsTheOldestOfTooMany) {
  std::vector<int> done;
  std::promise<void> last;
  JobThread jobs(2);
  Gate gate;
  gate.Hold(&jobs);
  for (const int i : {1, 2}) jobs.Push([&done, i] { done.push_back(i); });
  jobs.Push([&] {
    done.push_back(3);
    last.set_value();
  });
  gate.Open();
  last.get_future().wait();
  EXPECT_EQ(done, (std::vector<int>{2, 3}));
}

TEST(JobThread, GoesOnAfterAJobThatThrows) {
  std::promise<void> last;
  JobThread jobs(2);
  jobs.Push([] { throw std::length_error("a text that is too long"); });
  jobs.Push([&] { last.set_value(); });
  last.get_future().wait();
}

TEST(JobThread, DropsWhatWaitsWhenItIsStopped) {
  bool done = false;
  JobThread jobs(2);
  Gate gate;
  gate.Hold(&jobs);
  jobs.Push([&done] { done = true; });
  std::thread stopper([&jobs] { jobs.Stop(); });
  // Stop waits for the job at work; what comes after it began is not done.
  while (!jobs.stopping()) std::this_thread::yield();
  gate.Open();
  stopper.join();
  jobs.Push([&done] { done = true; });
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace cairn::job_thread_test
