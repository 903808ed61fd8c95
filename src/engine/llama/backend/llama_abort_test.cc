#include "engine/llama/backend/llama_abort.h"

#include <ggml.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace cairn {
namespace {

TEST(LlamaAbortDeathTest, IsToldBeforeTheProcessEnds) {
  EXPECT_EXIT(
      {
        OnLlamaAbort([](std::string_view message) {
          const bool is_it = message.find("the worker is gone") != std::string_view::npos;
          std::_Exit(is_it ? 3 : 4);
        });
        GGML_ABORT("the worker is gone");
      },
      testing::ExitedWithCode(3), "");
}

TEST(LlamaAbortDeathTest, EndsTheProcessIfTheHandlerReturns) {
  EXPECT_EXIT(
      {
        OnLlamaAbort([](std::string_view) {});
        GGML_ABORT("the worker is gone");
      },
      testing::KilledBySignal(SIGABRT), "");
}

TEST(LlamaAbortDeathTest, OfASecondThreadWaitsForTheFirst) {
  EXPECT_EXIT(
      {
        OnLlamaAbort([](std::string_view message) {
          // The second thread fails with the same handler set, and must not call it.
          if (message.find("second") != std::string_view::npos) std::_Exit(4);
          std::thread([] { GGML_ABORT("the second"); }).detach();
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          std::_Exit(3);
        });
        GGML_ABORT("the first");
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace cairn
