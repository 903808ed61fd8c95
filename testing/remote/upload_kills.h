// For tests: child processes that upload and are killed.

#ifndef CAIRN_TESTING_REMOTE_UPLOAD_KILLS_H_
#define CAIRN_TESTING_REMOTE_UPLOAD_KILLS_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "fleet/remote/remote_objects.h"

namespace cairn::test {

// How often by default; CAIRN_REMOTE_KILLS says otherwise.
inline int UploadKillsWanted(int count) {
  const char* const wanted = std::getenv("CAIRN_REMOTE_KILLS");
  return wanted == nullptr ? count : std::atoi(wanted);
}

// `count` times: a child process uploads `bytes` and is killed after up to `us_max` microseconds.
// Expects the object to be whole or absent, and removes it. `connect` returns objects whose
// connections no process has used yet; they stay valid until it is called again.
inline void ExpectWholeOrNoneAfterKills(const std::function<RemoteObjects*()>& connect,
                                        const Bytes& bytes, int count, uint32_t us_max) {
  std::mt19937 random(7);
  int whole = 0;
  for (int kill_number = 0; kill_number < count; ++kill_number) {
    const std::string path = "v1/kill/" + std::to_string(kill_number);
    RemoteObjects* const objects = connect();
    const pid_t child = fork();
    if (child == 0) {
      static_cast<void>(objects->Put(path, bytes, DeadlineIn(10'000)));
      pause();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % us_max));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto got = objects->Get(path, bytes.size() + 1, DeadlineIn(10'000));
    if (got) {
      EXPECT_EQ(*got, bytes) << kill_number;
      ++whole;
    } else {
      EXPECT_EQ(got.error().code, ErrorCode::kNotFound) << got.error().message;
    }
    ASSERT_TRUE(objects->Remove(path, DeadlineIn(10'000)));
  }
  testing::Test::RecordProperty("whole", whole);
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_REMOTE_UPLOAD_KILLS_H_
