// Tests that nothing crosses a namespace, cache hits included. Many clients with several keys call
// the whole API of a complete server, driven by seeds, and a naive model of what each key sent
// checks every answer. Keys are added and removed, and the server is stopped and restarted on its
// folder.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/anthropic/anthropic_request.h"
#include "api/ollama/ollama_request.h"
#include "api/openai/completion.h"
#include "api/openai/responses_request.h"
#include "api/request/chat_request.h"
#include "http/http_client.h"
#include "sched/scheduler.h"
#include "testing/http/played_keys.h"
#include "testing/http/whole_server.h"

namespace cairn {
namespace {

using test::Crossing;
using test::HeardReply;
using test::PlayedKeys;
using test::WholeServer;

constexpr size_t kKeys = 4;
constexpr size_t kStayingKeys = 2;  // the others are added and removed
constexpr size_t kPlayers = 5;
constexpr size_t kLives = 3;
constexpr size_t kQuestionsInALife = 40;  // per player

std::string KeyText(size_t key) {
  return "sk-test-" + std::to_string(key);
}

std::vector<std::string> KeyTexts(size_t count) {
  std::vector<std::string> texts;
  for (size_t key = 0; key < count; ++key) texts.push_back(KeyText(key));
  return texts;
}

enum class Api : uint8_t { kChat, kMessages, kResponses, kOllama, kCompletion };
constexpr size_t kApis = 5;

// Roles and contents; the first message is the system's.
using Talk = std::vector<std::pair<std::string, std::string>>;

struct Question {
  Api api = Api::kChat;
  std::string path;
  Json body;
};

Json MessagesOf(const Talk& talk, size_t from) {
  Json messages = Json::array();
  for (size_t i = from; i < talk.size(); ++i) {
    messages.push_back({{"role", talk[i].first}, {"content", talk[i].second}});
  }
  return messages;
}

Question Ask(Api api, const Talk& talk, size_t tokens_max) {
  switch (api) {
    case Api::kChat:
      return {api,
              "/v1/chat/completions",
              {{"messages", MessagesOf(talk, 0)},
               {"max_tokens", tokens_max},
               {"temperature", 0},
               {"cairn", {{"explain", true}}}}};
    case Api::kMessages:
      return {api,
              "/v1/messages",
              {{"model", "m"},
               {"system", talk[0].second},
               {"messages", MessagesOf(talk, 1)},
               {"max_tokens", std::max<size_t>(tokens_max, 1)},
               {"temperature", 0},
               {"cairn", {{"explain", true}}}}};
    case Api::kResponses:
      return {api,
              "/v1/responses",
              {{"input", MessagesOf(talk, 0)},
               {"max_output_tokens", std::max<size_t>(tokens_max, 1)},
               {"temperature", 0},
               {"cairn", {{"explain", true}}}}};
    case Api::kOllama:
      return {api,
              "/api/chat",
              {{"model", "m"},
               {"messages", MessagesOf(talk, 0)},
               {"stream", false},
               {"options", {{"num_predict", tokens_max}, {"temperature", 0}}},
               {"cairn", {{"explain", true}}}}};
    case Api::kCompletion:
      break;
  }
  std::string prompt;
  for (const auto& [role, content] : talk) prompt += content + "\n";
  return {api,
          "/completion",
          {{"prompt", prompt},
           {"n_predict", tokens_max},
           {"temperature", 0},
           {"cairn", {{"explain", true}}}}};
}

// Computes which tokens the server makes of a question, on an engine of its own.
class Oracle {
 public:
  explicit Oracle(MemoryClass memory_class)
      : engine_(WholeServer::EngineOptions(memory_class)),
        template_(WholeServer::ParseTemplate()),
        cache_({}, *MakePlacement("none"), *MakeEviction("value"), MakeNoneStore()),
        scheduler_(&engine_, &cache_, &clock_, {}),
        service_(&engine_, template_.get(), &scheduler_) {}

  Tokens PromptOf(const Question& question) const {
    if (question.api == Api::kCompletion) {
      return ParseCompletion(service_, question.body, {}, CompletionDialect::kNative, 0)->prompt;
    }
    return *service_.PromptTokens(ConversationOf(question), 0);
  }
  // Returns all sequences that may be stored after `answer`.
  std::vector<Tokens> KnownAfter(const Question& question, const std::string& answer) const {
    Tokens tokens = PromptOf(question);
    const Tokens said = *engine_.Tokenize(answer, false, false);
    tokens.insert(tokens.end(), said.begin(), said.end());
    std::vector<Tokens> known = {std::move(tokens)};
    if (question.api == Api::kCompletion) return known;
    // The forms that are prefetched: up to the next message, complete or without the oldest turns,
    // as clients with a message window send it.
    const Conversation asked = ConversationOf(question);
    for (size_t from = 1; from <= asked.messages.size(); ++from) {
      Conversation next = asked;
      next.messages.erase(next.messages.begin() + 1,
                          next.messages.begin() + static_cast<std::ptrdiff_t>(from));
      next.messages.push_back({.role = Role::kAssistant, .content = answer});
      next.messages.push_back({.role = Role::kUser, .content = "\x01"});
      known.push_back(*service_.PromptTokens(next, 0));
    }
    return known;
  }

 private:
  static Conversation ConversationOf(const Question& question) {
    switch (question.api) {
      case Api::kMessages:
        return ParseMessagesRequest(question.body, {})->conversation;
      case Api::kResponses:
        return ParseResponsesRequest(question.body, {})->chat.conversation;
      case Api::kOllama:
        return ParseOllamaChat(question.body, {})->chat.conversation;
      default:
        return ParseChatRequest(question.body, {})->conversation;
    }
  }

  SteadyClock clock_;
  FakeEngine engine_;
  const std::unique_ptr<ChatTemplate> template_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  ChatService service_;
};

// State shared by all players of one server life.
struct Stage {
  WholeServer* server = nullptr;
  PlayedKeys* played = nullptr;
  const Oracle* oracle = nullptr;
  // All players send the same key, as if there were one namespace.
  bool collapsed = false;
};

// Returns the text of a complete answer, or of all its events.
std::string TextOf(const std::string& body) {
  std::string text;
  for (const Json& json : test::JsonsOf(body)) {
    for (const char* place :
         {"/choices/0/message/content", "/content/0/text", "/output/0/content/0/text", "/content",
          "/message/content", "/choices/0/delta/content", "/delta/text", "/delta"}) {
      const Json* found = FindPointer(json, place);
      if (found == nullptr || !found->is_string()) continue;
      text += found->text();
      break;
    }
  }
  return text;
}

// A client that has all keys and uses one at a time.
class Player {
 public:
  Player(const Stage& stage, uint64_t seed) : stage_(stage), random_(seed), talks_(kKeys) {}

  void Flush() const { SendAndHear(0, "POST", "/cairn/cache/flush"); }

  void Play() {
    for (size_t i = 0; i < kQuestionsInALife; ++i) {
      const size_t key = Below(kKeys);
      switch (Below(10)) {
        case 0:
          Look(key);
          break;
        case 1:
          ReachForOthers(key);
          break;
        case 2:
          UseSlots(key);
          break;
        case 3:
          AskAtOnce(key);
          break;
        case 4:
          DoOther(key);
          break;
        default:
          AskNext(key);
      }
    }
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  bool OneIn(size_t count) { return Below(count) == 0; }

  HttpClient ClientOf(size_t key) const {
    const std::string shown = KeyText(stage_.collapsed ? 0 : key);
    return HttpClient(stage_.server->url(), {.headers = {{"x-api-key", shown}}});
  }
  HeardReply Send(size_t key, const char* method, const std::string& path,
                  const std::string& body = "") const {
    const HttpClient client = ClientOf(key);
    const std::string_view name = method;
    const auto reply = name == "GET"    ? client.Get(path)
                       : name == "POST" ? client.Post(path, body)
                                        : client.Delete(path);
    EXPECT_TRUE(reply.has_value()) << path << ": " << reply.error().message;
    if (!reply) return {};
    return {reply->status, reply->body, reply->headers};
  }
  HeardReply SendAndHear(size_t key, const char* method, const std::string& path,
                         const std::string& body = "") const {
    HeardReply reply = Send(key, method, path, body);
    stage_.played->Hear(key, std::string(method) + " " + path + " " + body, reply, std::nullopt);
    return reply;
  }

  // Few system texts and questions, so that the keys often share prefixes. Includes a secret now
  // and then.
  Talk NewTalk(size_t key) {
    std::string system = "You are number " + std::to_string(Below(2)) + ". ";
    while (system.size() < 220) system += "Be brief and kind. ";
    Talk talk = {{"system", system}};
    AddUser(key, &talk);
    return talk;
  }
  void AddUser(size_t key, Talk* talk) {
    std::string text = "Question " + std::to_string(Below(3)) + ": what is a cairn, and why";
    if (OneIn(2)) {
      text += "? It is mine: ";
      while (text.size() < 150) text += PlayedKeys::Secret(key);
    }
    talk->emplace_back("user", text + "?");
  }
  Talk& TalkOf(size_t key) {
    Talk& talk = talks_[key];
    if (talk.empty() || talk.size() > 8 || OneIn(4)) talk = NewTalk(key);
    if (talk.back().first == "assistant") AddUser(key, &talk);
    return talk;
  }

  static void Hear(const Stage& stage, size_t key, const Question& question, size_t prompt,
                   const HeardReply& reply, std::string* answer) {
    stage.played->Hear(key, question.path + " " + question.body.dump(), reply, prompt);
    if (reply.status != 200) return;
    *answer = TextOf(reply.body);
    stage.played->Answered(key, prompt, stage.oracle->KnownAfter(question, *answer));
  }

  void AskNext(size_t key) {
    Talk& talk = TalkOf(key);
    const auto api = static_cast<Api>(Below(kApis));
    if (OneIn(9)) return Vanish(key, api, talk);
    Question question = Ask(api, talk, 1 + Below(30));
    if (OneIn(4) && api == Api::kChat) question.body["id_slot"] = Below(3);
    if (OneIn(3)) question.body["stream"] = true;
    const size_t prompt = stage_.played->Send(key, stage_.oracle->PromptOf(question));
    std::string answer;
    Hear(stage_, key, question, prompt, Send(key, "POST", question.path, question.body.dump()),
         &answer);
    if (!answer.empty()) talk.emplace_back("assistant", answer);
  }

  // Disconnects in the middle of an answer. The rest of that answer is unknown, so the question is
  // never used again.
  void Vanish(size_t key, Api api, Talk talk) {
    talk.back().second += " " + std::to_string(random_());
    Question question = Ask(api, talk, 1 + Below(30));
    question.body["stream"] = true;
    stage_.played->Send(key, stage_.oracle->PromptOf(question));
    HeardReply heard;
    size_t chunks = 0;
    const Status asked = ClientOf(key).PostStream(
        question.path, question.body.dump(),
        [&](std::string_view chunk) {
          heard.body += chunk;
          return ++chunks < 3;
        },
        &heard.status, &heard.body);
    EXPECT_TRUE(asked.has_value()) << asked.error().message;
    stage_.played->Hear(key, question.path, heard, std::nullopt);
  }

  // Sends the same question from two keys, and twice from one, where the second request may join
  // the first.
  void AskAtOnce(size_t key) {
    Talk talk = TalkOf(key);
    const size_t other = (key + 1 + Below(kKeys - 1)) % kKeys;
    // A question that both keys may send.
    talk = NewTalk(key);
    talk[1].second = "Question 1: what is a cairn, and why?" + std::string(Below(300), '?');
    const auto api = static_cast<Api>(Below(kApis));
    std::vector<std::thread> clients;
    for (const size_t client : {key, other, key}) {
      const Question question = Ask(api, talk, 3);
      const size_t prompt = stage_.played->Send(client, stage_.oracle->PromptOf(question));
      clients.emplace_back([this, client, question, prompt] {
        std::string answer;
        Hear(stage_, client, question, prompt,
             Send(client, "POST", question.path, question.body.dump()), &answer);
      });
    }
    for (std::thread& client : clients) client.join();
  }

  void Look(size_t key) {
    static const std::vector<std::string> paths = {
        "/cairn/requests", "/cairn/doctor", "/cairn/cache", "/cairn/cache/tree",
        "/slots",          "/metrics",      "/props",       "/v1/models",
        "/health",         "/nowhere",      "/api/tags",    "/api/ps"};
    SendAndHear(key, "GET", paths[Below(paths.size())]);
    const std::string own = stage_.played->CheckpointOf(key, random_());
    if (!own.empty()) SendAndHear(key, "GET", "/cairn/cache/checkpoints/" + own);
    const std::string id = stage_.played->RequestOf(key, random_());
    if (id.starts_with("resp")) SendAndHear(key, "GET", "/v1/responses/" + id + "/input_items");
  }

  void ReachForOthers(size_t key) {
    const size_t other = (key + 1 + Below(kKeys - 1)) % kKeys;
    const auto reach = [&](const char* method, const std::string& path, const std::string& id,
                           const std::string& body = "") {
      const HeardReply reply = Send(key, method, path, body);
      stage_.played->MustBeMissing(key, path, reply);
      stage_.played->Hear(key, path, reply, std::nullopt, id);
    };
    if (const std::string id = stage_.played->RequestOf(other, random_()); !id.empty()) {
      reach("GET", "/cairn/requests/" + id, id);
      const bool is_chat = id.starts_with("chatcmpl");
      const bool is_message = id.starts_with("msg");
      const std::string path = is_chat                  ? "/v1/chat/completions/"
                               : is_message             ? "/v1/messages/"
                               : id.starts_with("resp") ? "/v1/responses/"
                                                        : "/v1/completions/";
      if (id.starts_with("resp")) {
        reach("GET", path + id, id);
        reach("GET", path + id + "/input_items", id);
        reach("POST", "/v1/responses", id,
              R"({"input": "What was said?", "previous_response_id": ")" + id + R"("})");
      }
      reach("DELETE", path + id, id);
    }
    if (const std::string id = stage_.played->CheckpointOf(other, random_()); !id.empty()) {
      const std::string path = "/cairn/cache/checkpoints/" + id;
      reach("GET", path, id);
      reach("POST", path, id, R"({"pinned": true})");
      reach("POST", "/cairn/cache/prefetch", id, R"({"checkpoint": ")" + id + R"("})");
      reach("DELETE", path, id);
    }
  }

  void UseSlots(size_t key) {
    const std::string slot = "/slots/" + std::to_string(Below(3));
    const size_t whose = OneIn(3) ? Below(kKeys) : key;
    const std::string file = R"({"filename": "key)" + std::to_string(whose) + R"("})";
    switch (Below(5)) {
      case 0:
        SendAndHear(key, "POST", slot + "?action=erase");
        break;
      case 1:
      case 2:
        SendAndHear(key, "POST", slot + "?action=save", file);
        break;
      default:
        SendAndHear(key, "POST", slot + "?action=restore", file);
    }
  }

  void DoOther(size_t key) {
    const Talk talk = TalkOf(key);
    const Question question = Ask(Api::kChat, talk, 1);
    const std::string body = question.body.dump();
    switch (Below(8)) {
      case 6:
        SendAndHear(key, "POST", "/api/embed",
                    Json{{"model", "m"}, {"input", talk.back().second}}.dump());
        break;
      case 0:
        stage_.played->Send(key, stage_.oracle->PromptOf(question));
        SendAndHear(key, "POST", "/cairn/cache/prefetch", body);
        break;
      case 2:
        SendAndHear(key, "POST", "/v1/embeddings", Json{{"input", talk.back().second}}.dump());
        break;
      case 3:
        SendAndHear(key, "POST", "/v1/chat/completions/input_tokens", body);
        break;
      case 4:
        SendAndHear(key, "POST", "/apply-template", body);
        break;
      case 5:
        SendAndHear(key, "POST", "/v1/chat/completions", body.substr(0, body.size() / 2));
        break;
      default:
        if (const std::string id = stage_.played->RequestOf(key, random_()); !id.empty()) {
          SendAndHear(key, "GET", "/cairn/requests/" + id);
        }
    }
  }

  const Stage stage_;
  std::mt19937_64 random_;
  std::vector<Talk> talks_;  // by key
};

struct Told {
  size_t reused = 0;
  size_t from_disk = 0;
  size_t waited_for_prefix = 0;
  size_t asked_for_others = 0;
  std::map<Crossing, std::vector<std::string>> crossings;
};

Told PlayLives(uint64_t seed, MemoryClass memory_class, bool collapsed) {
  Told told;
  MemoryFs fs;
  PlayedKeys played(kKeys);
  const Oracle oracle(memory_class);
  std::mt19937_64 random(seed);
  for (size_t life = 0; life < kLives; ++life) {
    std::vector<std::string> keys = KeyTexts(kKeys);
    std::shuffle(keys.begin(), keys.end(), random);
    WholeServer::Options options{memory_class, keys, life};
    options.admins = {KeyTexts(1)};
    WholeServer server(&fs, options);
    const Stage stage{&server, &played, &oracle, collapsed};
    std::vector<std::thread> players;
    for (size_t i = 0; i < kPlayers; ++i) {
      players.emplace_back([&stage, seed = random()] { Player(stage, seed).Play(); });
    }
    for (size_t count : {kStayingKeys, kKeys, kStayingKeys + 1, kStayingKeys, kKeys}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      server.ReplaceKeys(KeyTexts(count));
    }
    // It waits until no other client adds work to save, so once is enough.
    Player(stage, seed).Flush();
    for (std::thread& player : players) player.join();
    played.SeeLog(server.log());
    played.EndLife();
    const SchedulerStats stats = server.stats();
    told.from_disk += stats.prompt_sources.disk;
    told.waited_for_prefix += stats.waited_for_prefix;
  }
  told.reused = played.reused();
  told.asked_for_others = played.asked_for_others();
  told.crossings = played.crossings();
  return told;
}

constexpr MemoryClass kPlayedClasses[] = {MemoryClass::kHybrid, MemoryClass::kAttention,
                                          MemoryClass::kRecurrent, MemoryClass::kSlidingWindow};

TEST(Namespaces, NoHitCrossesOneWhateverIsAsked) {
  Told all;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const MemoryClass memory_class = kPlayedClasses[seed % std::size(kPlayedClasses)];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " +
                 std::string(MemoryClassName(memory_class)));
    const Told told = PlayLives(seed, memory_class, false);
    for (const auto& [crossing, examples] : told.crossings) {
      ADD_FAILURE() << examples.size() << " crossings of kind " << static_cast<int>(crossing)
                    << ", the first: " << examples.front();
    }
    all.reused += told.reused;
    all.from_disk += told.from_disk;
    all.waited_for_prefix += told.waited_for_prefix;
    all.asked_for_others += told.asked_for_others;
  }
  // The run did have reuse that could have crossed.
  EXPECT_GT(all.reused, 100'000u);
  EXPECT_GT(all.from_disk, 0u);
  EXPECT_GT(all.waited_for_prefix, 0u);
  EXPECT_GT(all.asked_for_others, 50u);
}

TEST(Namespaces, PlayingThemAsOneShowsEveryKindOfCrossing) {
  const Told told = PlayLives(1, MemoryClass::kHybrid, true);
  for (const Crossing crossing :
       {Crossing::kReused, Crossing::kSecret, Crossing::kListed, Crossing::kReached}) {
    EXPECT_TRUE(told.crossings.contains(crossing)) << static_cast<int>(crossing);
  }
}

}  // namespace
}  // namespace cairn
