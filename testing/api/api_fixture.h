// For the tests of the API: a chat service on FakeEngine, with its scheduler on a thread.

#ifndef CAIRN_TESTING_API_API_FIXTURE_H_
#define CAIRN_TESTING_API_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "api/service/chat_service.h"
#include "chat/template/builtin_templates.h"
#include "sched/scheduler.h"
#include "testing/engine/fake_engine.h"

namespace cairn {

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(MemoryClass memory_class = MemoryClass::kHybrid)
      : ApiTest(EngineOptions(memory_class), nullptr) {}
  // `clock`: nullptr for the machine's; it must outlive this object.
  ApiTest(const FakeEngineOptions& options, const Clock* clock)
      : engine_(options),
        cache_(CacheOptions{}, *MakePlacement("near-end,user-turns"), *MakeEviction("lru"),
               MakeRamStore()),
        scheduler_(&engine_, &cache_, clock != nullptr ? clock : &clock_, {}),
        template_(*ChatTemplate::Parse(std::string(*BuiltinTemplate("qwen")), "",
                                       engine_.info().eos_text)),
        service_(&engine_, template_.get(), &scheduler_),
        context_thread_([this] { scheduler_.Run(); }) {}
  ~ApiTest() override {
    scheduler_.Stop();
    context_thread_.join();
  }

  static FakeEngineOptions EngineOptions(MemoryClass memory_class) {
    FakeEngineOptions options;
    options.memory_class = memory_class;
    options.context_tokens = 4096;
    options.end_one_in = 0;
    return options;
  }

  static Json Body(const std::string& text) { return Json::parse(text); }

  ApiResult<StartedChat> Start(const std::string& body) {
    auto request = ParseChatRequest(Body(body), GenerationParams{});
    if (!request) return tl::unexpected(request.error());
    return service_.Start(std::move(*request), 0);
  }

  SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::unique_ptr<ChatTemplate> template_;
  ChatService service_;
  std::thread context_thread_;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_API_API_FIXTURE_H_
