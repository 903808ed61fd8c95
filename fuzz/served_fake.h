// ServedFake: all routes of the server over a FakeEngine, without a socket. It is made anew for
// each run of a target, so that a case fails in the same way when it is played alone.
//
// One thread calls; the context has its own.

#ifndef CAIRN_FUZZ_SERVED_FAKE_H_
#define CAIRN_FUZZ_SERVED_FAKE_H_

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/service/chat_service.h"
#include "chat/template/builtin_templates.h"
#include "policy/eviction.h"
#include "policy/placement.h"
#include "routes/routes.h"
#include "sched/scheduler.h"
#include "sched/slot_files.h"
#include "testing/base/memory_fs.h"
#include "testing/engine/fake_engine.h"

namespace cairn::fuzz {

class CountingEmbedder final : public Embedder {
 public:
  size_t size() const override { return 4; }
  size_t tokens_max() const override { return 64; }
  Result<TextVectors> Embed(TokenSpan tokens) override {
    if (tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "there are no tokens");
    if (tokens.size() > tokens_max()) return Fail(ErrorCode::kTooLong, "there are too many tokens");
    return TextVectors{{1, 0, 0, 0}};
  }
};

class ServedFake {
 public:
  struct Options {
    MemoryClass memory_class = MemoryClass::kHybrid;
    std::string template_name = "qwen";
    size_t slots = 1;
    bool warm = false;
    bool cuts_overflow = false;
  };

  explicit ServedFake(const Options& options)
      : engine_(EngineOptions(options)),
        cache_(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {}),
        service_(&engine_, &TemplateOf(options.template_name), &scheduler_,
                 ServiceOptions(options)),
        server_(HttpOptions()) {
    CHECK(fs_.MakeFolders("/slots").has_value());
    SlotFilesOptions files;
    files.folder = "/slots";
    files.saved_as.name_spaces = {{0, 0}};
    files.needs_snapshots = engine_.traits().NeedsSnapshots();
    slot_files_ = std::make_unique<SlotFiles>(&fs_, &scheduler_.slots(), &clock_, std::move(files));
    served_.slot_files = slot_files_.get();
    served_.embedder = &embedder_;
    served_.model.alias = "m";
    served_.service.store(&service_);
    AddRoutes(&server_, &served_);
    context_thread_ = std::thread([this] { scheduler_.Run(); });
  }
  ~ServedFake() {
    scheduler_.Stop();
    context_thread_.join();
  }
  ServedFake(const ServedFake&) = delete;
  ServedFake& operator=(const ServedFake&) = delete;

  struct Answer {
    int status = 0;
    std::string content_type;
    std::string body;  // of a stream: all of it
  };
  Answer Post(std::string_view path, std::string_view body) {
    HttpRequest request;
    request.method = "POST";
    const size_t query = path.find('?');
    request.path = path.substr(0, query);
    if (query != std::string_view::npos)
      request.params = {{"action", std::string(path.substr(path.find('=') + 1))}};
    request.body = body;
    request.gone = [] { return false; };
    HttpResponse response = server_.Call(std::move(request));
    Answer answer{response.status, response.content_type, std::move(response.body)};
    while (response.stream) {
      std::string chunk;
      const bool more = response.stream.next(&chunk);
      answer.body += chunk;
      if (!more) break;
    }
    return answer;
  }

 private:
  static FakeEngineOptions EngineOptions(const Options& options) {
    FakeEngineOptions engine;
    engine.memory_class = options.memory_class;
    engine.context_tokens = 768;
    engine.slots = options.slots;
    return engine;
  }
  static ChatServiceOptions ServiceOptions(const Options& options) {
    ChatServiceOptions service;
    service.warm = options.warm;
    service.prompt.cuts_overflow = options.cuts_overflow;
    return service;
  }
  static HttpServerOptions HttpOptions() {
    HttpServerOptions http;
    http.error_body = HttpErrorBody;
    return http;
  }
  // Templates are cached because they take longest to make.
  static const ChatTemplate& TemplateOf(const std::string& name) {
    static auto* const templates = new std::map<std::string, std::unique_ptr<ChatTemplate>>();
    std::unique_ptr<ChatTemplate>& found = (*templates)[name];
    if (found == nullptr) {
      found = *ChatTemplate::Parse(std::string(*BuiltinTemplate(name)), "", "<|endoftext|>");
    }
    return *found;
  }

  MemoryFs fs_;
  SteadyClock clock_;
  FakeEngine engine_;
  CountingEmbedder embedder_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  ChatService service_;
  std::unique_ptr<SlotFiles> slot_files_;
  Served served_;
  HttpServer server_;
  std::thread context_thread_;
};

}  // namespace cairn::fuzz

#endif  // CAIRN_FUZZ_SERVED_FAKE_H_
