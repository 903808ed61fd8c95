#include "engine/llama/backend/llama_backend.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <gtest/gtest.h>
#include <llama.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Line = std::pair<LogLevel, std::string>;

// Logs `text` as libllama would.
void Say(ggml_log_level level, const char* text) {
  ggml_log_callback callback = nullptr;
  void* user_data = nullptr;
  llama_log_get(&callback, &user_data);
  callback(level, text, user_data);
}

LogSink CollectInto(std::vector<Line>* lines) {
  return [lines](LogLevel level, std::string_view line) {
    lines->emplace_back(level, std::string(line));
  };
}

TEST(LlamaBackend, FindsAProcessorToComputeOn) {
  InitLlamaBackend(LogSink());
  EXPECT_NE(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), nullptr);
}

TEST(LlamaBackend, LoadsBackendsOnceFromManyThreads) {
  InitLlamaBackend(LogSink());
  const size_t devices = ggml_backend_dev_count();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { InitLlamaBackend(LogSink()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ggml_backend_dev_count(), devices);
}

TEST(LlamaBackend, NamesTheLibrariesThatCompute) {
  EXPECT_EQ(LlamaVersions(), std::string("libllama ") + llama_version() + ", ggml " +
                                 ggml_version() + " (" + ggml_commit() + ")");
}

TEST(LlamaBackend, JoinsPiecesIntoLines) {
  std::vector<Line> lines;
  InitLlamaBackend(CollectInto(&lines));
  lines.clear();
  Say(GGML_LOG_LEVEL_WARN, "loading ");
  Say(GGML_LOG_LEVEL_CONT, ".");
  Say(GGML_LOG_LEVEL_CONT, ".\n");
  Say(GGML_LOG_LEVEL_ERROR, "one\ntwo\n\n");
  Say(GGML_LOG_LEVEL_DEBUG, "without an end");
  Say(GGML_LOG_LEVEL_INFO, "next\n");
  InitLlamaBackend(LogSink());
  const std::vector<Line> expected = {{LogLevel::kWarning, "loading .."},
                                      {LogLevel::kError, "one"},
                                      {LogLevel::kError, "two"},
                                      {LogLevel::kDebug, "without an end"},
                                      {LogLevel::kInfo, "next"}};
  EXPECT_EQ(lines, expected);
}

TEST(LlamaBackend, LastSinkGetsTheLines) {
  std::vector<Line> first;
  std::vector<Line> second;
  InitLlamaBackend(CollectInto(&first));
  InitLlamaBackend(CollectInto(&second));
  first.clear();
  Say(GGML_LOG_LEVEL_INFO, "hello\n");
  InitLlamaBackend(LogSink());
  Say(GGML_LOG_LEVEL_INFO, "nobody hears this\n");
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.size(), 1U);
}

}  // namespace
}  // namespace cairn
