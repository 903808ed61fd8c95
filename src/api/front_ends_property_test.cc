// Bodies that were right, changed at random, given to every front end: an answer, or an error of
// the client's that names a field of the body or says what is missing. Never an exception, never a
// CHECK, never a 5xx. What fails is shrunk to a few changes.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/answer/answer_reader.h"
#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "api/json.h"
#include "api/llama_server/native.h"
#include "api/ollama/ollama_answer.h"
#include "api/openai/completion.h"
#include "api/openai/responses_request.h"
#include "api/service/chat_service.h"
#include "base/utf8.h"
#include "chat/template/builtin_templates.h"
#include "sched/scheduler.h"
#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

enum class Kind { kReplace, kRemove, kAdd, kWrap, kRepeat, kMove, kByte, kCut };
constexpr std::array kKinds = {Kind::kReplace, Kind::kRemove, Kind::kAdd,  Kind::kWrap,
                               Kind::kRepeat,  Kind::kMove,   Kind::kByte, Kind::kCut};

// One change of a body; the numbers are taken modulo what there is.
struct Change {
  Kind kind = Kind::kReplace;
  size_t place = 0;
  size_t pick = 0;
};

std::ostream& operator<<(std::ostream& out, const Change& change) {
  static constexpr std::array kNames = {"replace", "remove", "add",  "wrap",
                                        "repeat",  "move",   "byte", "cut"};
  return out << kNames[static_cast<size_t>(change.kind)] << " " << change.place << " "
             << change.pick;
}

std::string Nested(size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += open;
  text += "0";
  for (size_t i = 0; i < depth; ++i) text += close;
  return text;
}

// Values that a field does not expect, or expects elsewhere.
const std::vector<Json>& OddValues() {
  static const std::vector<Json> values = [] {
    std::vector<Json> odd;
    for (const char* text : {"null",
                             "true",
                             "false",
                             "0",
                             "-1",
                             "1",
                             "1.5",
                             "-0.0",
                             "1e308",
                             "-1e308",
                             "5e-324",
                             "2147483648",
                             "4294967296",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "18446744073709551615",
                             "1e40",
                             R"("")",
                             R"(" ")",
                             R"("text")",
                             R"("auto")",
                             R"("tool")",
                             R"("\u0000")",
                             R"("\ud83d\ude00")",
                             R"("<|im_start|>system")",
                             R"("{")",
                             R"("{\"a\":1}")",
                             "[]",
                             "[[]]",
                             "[null]",
                             "[1]",
                             R"(["a","b"])",
                             R"([[1,-1]])",
                             "{}",
                             R"({"":null})",
                             R"({"type":"text"})",
                             R"({"type":"text","text":"x"})",
                             R"({"type":"tool_use"})",
                             R"({"type":"object","properties":{"a":{"$ref":"#"}}})",
                             R"({"type":7})",
                             R"({"pattern":"(((((a{1,9}){1,9}){1,9}"})",
                             R"({"role":"user","content":"x"})",
                             R"({"1":1e308,"99999999999":1})",
                             R"({"include_usage":1})"}) {
      odd.push_back(Json::parse(text));
    }
    odd.push_back(Json::parse(Nested(40, "[", "]")));
    odd.push_back(Json::parse(Nested(80, "{\"a\":", "}")));
    odd.emplace_back(std::string(3000, 'x'));
    odd.push_back(Json(std::vector<int>(300, 7)));
    return odd;
  }();
  return values;
}

// Fields that some front end knows.
constexpr std::array kFields = {"messages",
                                "role",
                                "content",
                                "type",
                                "text",
                                "tool_calls",
                                "function",
                                "arguments",
                                "name",
                                "id",
                                "tools",
                                "parameters",
                                "input_schema",
                                "defer_loading",
                                "execution",
                                "context_management",
                                "edits",
                                "trigger",
                                "keep",
                                "value",
                                "exclude_tools",
                                "prompt_cache_options",
                                "prompt_cache_breakpoint",
                                "ttl",
                                "tool_choice",
                                "chat_template_kwargs",
                                "response_format",
                                "output_config",
                                "keep_alive",
                                "options",
                                "think",
                                "format",
                                "context",
                                "raw",
                                "suffix",
                                "output_format",
                                "format",
                                "json_schema",
                                "schema",
                                "grammar",
                                "stop",
                                "logit_bias",
                                "samplers",
                                "n_predict",
                                "max_tokens",
                                "seed",
                                "temperature",
                                "top_k",
                                "stream",
                                "stream_options",
                                "prompt",
                                "prompt_string",
                                "multimodal_data",
                                "echo",
                                "input",
                                "instructions",
                                "output",
                                "call_id",
                                "summary",
                                "namespace",
                                "system",
                                "thinking",
                                "cache_control",
                                "stop_sequences",
                                "tokens",
                                "with_pieces",
                                "add_special",
                                "tool_use_id",
                                "max_output_tokens",
                                "dry_sequence_breakers",
                                "previous_response_id",
                                "metadata",
                                "store",
                                "continue_final_message",
                                "add_generation_prompt",
                                "logprobs",
                                "n"};

// Every value in `json`, itself first.
void CollectValues(Json* json, std::vector<Json*>* values) {
  values->push_back(json);
  if (!json->is_structured()) return;
  for (Json& inner : *json) CollectValues(&inner, values);
}

void Remove(Json* parent, size_t pick) {
  if (!parent->is_structured() || parent->empty()) return;
  parent->erase(std::next(parent->begin(), static_cast<ptrdiff_t>(pick % parent->size())));
}

void Add(Json* parent, size_t pick, const Json& value) {
  if (parent->is_array()) parent->push_back(value);
  if (parent->is_object()) (*parent)[kFields[pick % kFields.size()]] = value;
}

void ChangeValues(const Change& change, Json* body) {
  std::vector<Json*> values;
  CollectValues(body, &values);
  Json* const value = values[change.place % values.size()];
  const std::vector<Json>& odd = OddValues();
  switch (change.kind) {
    case Kind::kReplace:
      *value = odd[change.pick % odd.size()];
      break;
    case Kind::kRemove:
      Remove(value, change.pick);
      break;
    case Kind::kAdd:
      Add(value, change.pick, odd[(change.pick / kFields.size()) % odd.size()]);
      break;
    case Kind::kWrap:
      *value = change.pick % 2 == 0 ? Json::array({*value}) : Json{{"type", *value}};
      break;
    case Kind::kRepeat:
      if (value->is_array() && !value->empty()) value->push_back((*value)[0]);
      break;
    case Kind::kMove:
      *value = Json(*values[change.pick % values.size()]);
      break;
    case Kind::kByte:
    case Kind::kCut:
      break;  // ChangeText's
  }
}

void ChangeText(const Change& change, std::string* body) {
  static constexpr std::array kBytes = {'\xff', '\x80', '\0', '"', '{', ']', ',', 'e', '9', '\\'};
  if (body->empty()) return;
  const size_t place = change.place % body->size();
  if (change.kind == Kind::kByte) (*body)[place] = kBytes[change.pick % kBytes.size()];
  if (change.kind == Kind::kCut) body->resize(place);
}

std::string Changed(Json body, const std::vector<Change>& changes) {
  for (const Change& change : changes) ChangeValues(change, &body);
  std::string text = ToText(body);
  for (const Change& change : changes) ChangeText(change, &text);
  return text;
}

// Any number below a million, whatever size of case is drawn: RapidCheck narrows ranges in small
// ones.
rc::Gen<size_t> AnyNumber() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<size_t>(0, 1'000'000));
}

rc::Gen<std::vector<Change>> AnyChanges() {
  constexpr int kChangesMax = 6;
  const auto change = rc::gen::build<Change>(
      rc::gen::set(&Change::kind, rc::gen::elementOf(kKinds)),
      rc::gen::set(&Change::place, AnyNumber()), rc::gen::set(&Change::pick, AnyNumber()));
  return rc::gen::resize(kChangesMax, rc::gen::container<std::vector<Change>>(change));
}

// A service on a FakeEngine. What can be read is answered, with few tokens.
class FrontEnds {
 public:
  FrontEnds()
      : cache_(CacheOptions{}, *MakePlacement("user-turns"), *MakeEviction("lru"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {}),
        template_(*ChatTemplate::Parse(std::string(*BuiltinTemplate("qwen")), "",
                                       engine_.info().eos_text)),
        service_(&engine_, template_.get(), &scheduler_),
        context_thread_([this] { scheduler_.Run(); }) {}
  ~FrontEnds() {
    scheduler_.Stop();
    context_thread_.join();
  }
  FrontEnds(const FrontEnds&) = delete;
  FrontEnds& operator=(const FrontEnds&) = delete;

  const ChatService& service() const { return service_; }

  ApiResult<void> Chat(std::string_view text) const {
    return With(text, [](const Json& body) { return ParseChatRequest(body, {}); });
  }
  ApiResult<void> Messages(std::string_view text) const {
    return With(text, [](const Json& body) { return ParseMessagesRequest(body, {}); });
  }
  ApiResult<void> Responses(std::string_view text) const {
    return With(text, [](const Json& body) -> ApiResult<ChatRequest> {
      auto request = ParseResponsesRequest(body, {});
      if (!request) return tl::unexpected(request.error());
      return std::move(request->chat);
    });
  }
  ApiResult<void> Ollama(std::string_view text, bool is_chat) const {
    const auto body = ParseBody(text);
    if (!body) return tl::unexpected(body.error());
    auto request = is_chat ? ParseOllamaChat(*body, {}) : ParseOllamaGenerate(*body, {});
    if (!request) return tl::unexpected(request.error());
    if (request->is_empty) return {};
    GenerationParams* const params = &request->chat.params;
    params->tokens_max = std::min(params->tokens_max, kTokensMax);
    const OllamaForm form = FormOf(*request, is_chat);
    auto chat = StartOllama(service_, *std::move(request), {}, 0);
    if (!chat) return tl::unexpected(chat.error());
    return Nothing(CollectOllama(*std::move(chat), form, [] { return false; }));
  }
  ApiResult<void> Completion(std::string_view text, CompletionDialect dialect) const {
    const auto body = ParseBody(text);
    if (!body) return tl::unexpected(body.error());
    auto request = ParseCompletion(service_, *body, {}, dialect, 0);
    if (!request) return tl::unexpected(request.error());
    request->params.tokens_max = std::min(request->params.tokens_max, kTokensMax);
    const auto started = StartCompletion(service_, std::move(*request), dialect, {}, 0);
    if (!started) return tl::unexpected(started.error());
    return Nothing(CollectCompletion(*started, [] { return false; }));
  }

 private:
  static constexpr size_t kTokensMax = 2;

  template <typename Parse>
  ApiResult<void> With(std::string_view text, const Parse& parse) const {
    const auto body = ParseBody(text);
    if (!body) return tl::unexpected(body.error());
    auto request = parse(*body);
    if (!request) return tl::unexpected(request.error());
    request->params.tokens_max = std::min(request->params.tokens_max, kTokensMax);
    auto chat = service_.Start(std::move(*request), 0);
    if (!chat) return tl::unexpected(chat.error());
    return Nothing(CollectAnswer(std::move(*chat), [] { return false; }));
  }

  template <typename T>
  static ApiResult<void> Nothing(const ApiResult<T>& result) {
    if (!result) return tl::unexpected(result.error());
    return {};
  }

  SteadyClock clock_;
  FakeEngine engine_{FakeEngineOptions{}};
  CheckpointCache cache_;
  Scheduler scheduler_;
  std::unique_ptr<ChatTemplate> template_;
  ChatService service_;
  std::thread context_thread_;
};

const FrontEnds& Fronts() {
  static const FrontEnds fronts;
  return fronts;
}

bool LeadsInto(const Json& json, std::string_view path);

// `path` goes on behind a value: at its end, with ".name" or with "[3]".
bool GoesOn(const Json& json, std::string_view path) {
  if (path.empty()) return true;
  if (path.front() == '.') path.remove_prefix(1);
  return LeadsInto(json, path);
}

// Whether all of "messages[3].content" but its last name is there: what is missing may be named.
// Names may hold dots and brackets, so every way to read the path is tried.
bool LeadsInto(const Json& json, std::string_view path) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (!path.starts_with(name)) continue;
      const std::string_view rest = path.substr(name.size());
      const bool ends = rest.empty() || rest.front() == '.' || rest.front() == '[';
      if (ends && GoesOn(value, rest)) return true;
    }
  }
  if (json.is_array() && path.starts_with('[')) {
    const size_t end = path.find(']');
    const size_t index = std::stoul(std::string(path.substr(1)));
    return end != std::string_view::npos && index < json.size() &&
           GoesOn(json[index], path.substr(end + 1));
  }
  return path.find_first_of(".[") == std::string_view::npos;
}

// What a schema refers to is named as the reference is, behind a "#"; there the schema itself must
// be there.
bool IsInBody(const std::string& field, const std::string& text) {
  const Json body = Json::parse(text, nullptr, false);
  return LeadsInto(body, std::string_view(field).substr(0, field.find('#')));
}

void ExpectsClientsError(const ApiError& error, const std::string& text) {
  const std::string body = ErrorBody(error);
  RC_LOG() << "body:  " << ToValidUtf8(text) << "\nerror: " << body << "\n";
  RC_ASSERT(error.status >= 400);
  RC_ASSERT(error.status < 500);
  RC_ASSERT(!error.message.empty());
  RC_ASSERT(ToValidUtf8(body) == body);
  RC_ASSERT(!Json::parse(MessagesErrorBody(error))["error"]["message"].empty());
  if (error.field.empty()) return;
  RC_ASSERT(error.message.find("'" + error.field + "'") != std::string::npos ||
            error.message.starts_with(error.field + ": "));
  RC_ASSERT(IsInBody(error.field, text));
}

// Every beginning of the list of changes is played too.
template <typename Ask>
void Play(const std::vector<std::string>& bodies, const Ask& ask) {
  const std::vector<Change> changes = *AnyChanges().as("changes");
  for (const std::string& body : bodies) {
    for (size_t n = 0; n <= changes.size(); ++n) {
      const std::vector<Change> first(changes.begin(), changes.begin() + static_cast<ptrdiff_t>(n));
      const std::string text = Changed(Json::parse(body), first);
      const auto answer = ask(text);
      if (n == 0) RC_ASSERT(answer.has_value());
      if (!answer) ExpectsClientsError(answer.error(), text);
    }
  }
}

const std::vector<std::string> kChats = {
    R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],
        "temperature":0.5,"top_p":0.9,"top_k":5,"seed":7,"stop":["a","b"],"max_tokens":4,
        "logit_bias":{"5":-100},"samplers":["top_k","min_p"],"stream":true,
        "stream_options":{"include_usage":true}})",
    R"({"messages":[{"role":"user","content":[{"type":"text","text":"weather?"}]},
        {"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"c1",
        "type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"sunny"}],
        "tools":[{"type":"function","function":{"name":"weather","description":"d","parameters":
        {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}],
        "tool_choice":"auto","chat_template_kwargs":{"enable_thinking":false}})",
    R"({"messages":[{"role":"user","content":"json"}],"response_format":{"type":"json_schema",
        "json_schema":{"name":"n","schema":{"type":"object","properties":{"a":{"type":"integer",
        "minimum":0},"b":{"enum":[1,"x",null]},"c":{"type":"array","items":{"$ref":"#/$defs/d"},
        "maxItems":3}},"$defs":{"d":{"type":"string","pattern":"^[a-z]+$"}},
        "required":["a"]}}}})",
    R"({"messages":[{"role":"user","content":"gbnf"}],"grammar":"root ::= \"yes\" | [a-z]{1,3}",
        "dry_sequence_breakers":["\n"],"logit_bias":[[5,false]]})"};

const std::vector<std::string> kMessages = {
    R"({"max_tokens":4,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
        "messages":[{"role":"user","content":"hi"}],"temperature":1,"top_k":3,
        "stop_sequences":["x"],"stream":true,"thinking":{"type":"disabled"},"output_config":
        {"effort":"low","format":{"type":"json_schema","schema":{"type":"integer"}}}})",
    R"({"max_tokens":4,"messages":[{"role":"user","content":[{"type":"text","text":"t"}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"th","signature":""},
        {"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":
        "text","text":"r"}],"is_error":false}]}],"tools":[{"name":"f","description":"d",
        "input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}],
        "tool_choice":{"type":"auto"}})",
    R"({"max_tokens":4,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[
        {"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},{"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":
        "g"},{"type":"text","text":"a result that is longer than what is put in its place"}]}]}],
        "tools":[{"name":"f","input_schema":{}},{"name":"g","input_schema":{},"defer_loading":true},
        {"type":"web_search_20250305","name":"w"}],"context_management":{"edits":[{"type":
        "clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}},{"type":
        "clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":
        "tool_uses","value":0},"clear_at_least":{"type":"input_tokens","value":1},"exclude_tools":[
        "x"],"clear_tool_inputs":true}]}})"};

const std::vector<std::string> kResponses = {
    R"({"input":"hi","instructions":"i","max_output_tokens":4,"temperature":1,"stream":true,
        "text":{"format":{"type":"text"}}})",
    R"({"input":[{"role":"user","content":[{"type":"input_text","text":"q"}]},{"type":"reasoning",
        "summary":[],"content":[{"type":"reasoning_text","text":"r"}]},{"type":"function_call",
        "call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c",
        "output":"o"}],"tools":[{"type":"function","name":"f","description":"d","parameters":
        {"type":"object"}},{"type":"namespace","name":"n","tools":[{"type":"function","name":
        "g"}]}],"tool_choice":"auto"})",
    R"({"input":[{"role":"user","content":[{"type":"input_text","text":"q",
        "prompt_cache_breakpoint":{"mode":"explicit","ttl":"30m"}}]},
        {"type":"tool_search_call","call_id":"s","execution":"client","arguments":{"a":1}},
        {"type":"tool_search_output","call_id":"s","execution":"client",
        "tools":[{"type":"function","name":"h","defer_loading":true}]},{"type":
        "custom_tool_call","call_id":"c","name":"p","input":"x"},{"type":"custom_tool_call_output",
        "call_id":"c","output":"o"}],"tools":[{"type":"tool_search","execution":"client",
        "parameters":{}},{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark",
        "definition":"d"}},{"type":"web_search"}],"prompt_cache_key":"k","prompt_cache_options":
        {"mode":"implicit","ttl":"12h"},"prompt_cache_retention":"24h"})"};

const std::vector<std::string> kOllamaChats = {
    R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi",
        "images":[]}],"stream":true,"keep_alive":"5m","format":{"type":"object","properties":{"a":
        {"type":"integer"}}},"options":{"num_predict":4,"temperature":0.5,"top_k":5,"seed":7,"stop":
        ["a"],"num_ctx":4096,"use_mmap":true}})",
    R"({"model":"m","messages":[{"role":"user","content":"weather?"},{"role":"assistant","content":
        "","thinking":"t","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Rome"}}}
        ]},{"role":"tool","tool_name":"weather","content":"sunny"}],"tools":[{"type":"function",
        "function":{"name":"weather","description":"d","parameters":{"type":"object","properties":
        {"city":{"type":"string"}}}}}],"think":false,"logprobs":true,"top_logprobs":2})"};

const std::vector<std::string> kOllamaPrompts = {
    R"({"model":"m","prompt":"text","system":"s","stream":false,"think":"low","format":"json",
        "keep_alive":-1,"options":{"num_predict":4}})",
    R"({"model":"m","prompt":"text","raw":true,"template":"","suffix":"","images":[]})",
    R"({"model":"m","prompt":"text","context":[1,2,255],"options":null})"};

const std::vector<std::string> kCompletions = {
    R"({"prompt":"text","max_tokens":4,"echo":true,"stream":true,"seed":-1,"stop":"x",
        "stream_options":{"include_usage":true}})",
    R"({"prompt":[1,"text",2],"n_predict":4,"json_schema":{"type":"object"},"mirostat":1,
        "cache_prompt":false})",
    R"({"prompt":[{"prompt_string":"text","multimodal_data":[]}],"n_predict":4})"};

RC_GTEST_PROP(FrontEndsProperty, ChatsAreReadOrRefused, ()) {
  Play(kChats, [](const std::string& text) { return Fronts().Chat(text); });
}

RC_GTEST_PROP(FrontEndsProperty, MessagesAreReadOrRefused, ()) {
  Play(kMessages, [](const std::string& text) { return Fronts().Messages(text); });
}

RC_GTEST_PROP(FrontEndsProperty, MessagesAreCountedOrRefused, ()) {
  Play(kMessages,
       [](const std::string& text) { return CountTokensBody(Fronts().service(), text, 0); });
}

RC_GTEST_PROP(FrontEndsProperty, ResponsesAreReadOrRefused, ()) {
  Play(kResponses, [](const std::string& text) { return Fronts().Responses(text); });
}

RC_GTEST_PROP(FrontEndsProperty, CompletionsAreReadOrRefused, ()) {
  Play(kCompletions, [](const std::string& text) {
    return Fronts().Completion(text, CompletionDialect::kOpenAi);
  });
  Play(kCompletions, [](const std::string& text) {
    return Fronts().Completion(text, CompletionDialect::kNative);
  });
}

RC_GTEST_PROP(FrontEndsProperty, OllamasRequestsAreReadOrRefused, ()) {
  Play(kOllamaChats, [](const std::string& text) { return Fronts().Ollama(text, true); });
  Play(kOllamaPrompts, [](const std::string& text) { return Fronts().Ollama(text, false); });
}

RC_GTEST_PROP(FrontEndsProperty, TextsAreTokenizedOrRefused, ()) {
  Play({R"({"content":"text \u20ac","add_special":true,"parse_special":true,"with_pieces":true})"},
       [](const std::string& text) { return TokenizeBody(Fronts().service(), text); });
}

RC_GTEST_PROP(FrontEndsProperty, TokensAreDetokenizedOrRefused, ()) {
  Play({R"({"tokens":[1,2,255]})"},
       [](const std::string& text) { return DetokenizeBody(Fronts().service(), text); });
}

RC_GTEST_PROP(FrontEndsProperty, ConversationsAreRenderedOrRefused, ()) {
  Play(kChats, [](const std::string& text) { return ApplyTemplateBody(Fronts().service(), text); });
}

}  // namespace
}  // namespace cairn
