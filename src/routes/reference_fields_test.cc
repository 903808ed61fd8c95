// Sends every field of OpenAI's references of chat completions and responses, and of Anthropic's
// reference of messages, and holds docs/openapi.yaml to what becomes of each:
//
//   kUsed      the answer obeys it
//   kNoEffect  it is taken, and its description says "No effect"
//   kRefused   a value that would mean something is a 400 that names it, and its description says
//              "400"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "http/http_client.h"
#include "testing/base/golden_file.h"
#include "testing/base/memory_fs.h"
#include "testing/http/whole_server.h"

namespace cairn::reference_fields_test {
namespace {

enum class Fate : uint8_t { kUsed, kNoEffect, kRefused };

struct Field {
  const char* name;
  const char* value;
  Fate fate = Fate::kUsed;
};

const std::vector<Field>& ChatFields() {
  static const std::vector<Field> fields = {
      {"messages", R"([{"role":"user","content":"hi"}])"},
      {"model", R"("m")"},
      {"audio", R"({"voice":"alloy","format":"wav"})", Fate::kRefused},
      {"frequency_penalty", "0.5"},
      {"function_call", R"("auto")"},
      {"functions", R"([{"name":"f","parameters":{"type":"object"}}])"},
      {"logit_bias", R"({"5":-1})"},
      {"logprobs", "true"},
      {"max_completion_tokens", "2"},
      {"max_tokens", "2"},
      {"metadata", R"({"a":"b"})", Fate::kNoEffect},
      {"modalities", R"(["text","audio"])", Fate::kRefused},
      {"moderation", R"({"model":"m"})", Fate::kRefused},
      {"n", "2"},
      {"parallel_tool_calls", "false"},
      {"prediction", R"({"type":"content","content":"x"})", Fate::kNoEffect},
      {"presence_penalty", "0.5"},
      {"prompt_cache_key", R"("k")"},
      {"prompt_cache_options", R"({"ttl":"12h"})"},
      {"prompt_cache_retention", R"("24h")"},
      {"reasoning_effort", R"("low")"},
      {"response_format", R"({"type":"text"})"},
      {"safety_identifier", R"("u")", Fate::kNoEffect},
      {"seed", "7"},
      {"service_tier", R"("auto")", Fate::kNoEffect},
      {"stop", R"(["x"])"},
      {"store", "true", Fate::kNoEffect},
      {"stream", "true"},
      {"stream_options", R"({"include_usage":true})"},
      {"temperature", "0.5"},
      {"tool_choice", R"("none")"},
      {"tools", R"([{"type":"function","function":{"name":"f"}}])"},
      {"top_logprobs", "0"},
      {"top_p", "0.5"},
      {"user", R"("u")", Fate::kNoEffect},
      {"verbosity", R"("low")", Fate::kNoEffect},
      {"web_search_options", R"({"search_context_size":"low"})", Fate::kRefused}};
  return fields;
}

const std::vector<Field>& ResponsesFields() {
  static const std::vector<Field> fields = {
      {"access_programs", R"({"cyber":"standard"})", Fate::kNoEffect},
      {"background", "true", Fate::kRefused},
      {"background_options", R"({"completion_window":"2h"})", Fate::kRefused},
      {"context_management", R"([{"type":"compaction"}])", Fate::kRefused},
      {"conversation", R"("conv_1")", Fate::kRefused},
      {"image", R"({"context_compression":"auto"})", Fate::kNoEffect},
      {"include", R"(["message.output_text.logprobs"])", Fate::kRefused},
      {"input", R"("hi")"},
      {"instructions", R"("Be brief.")"},
      {"max_output_tokens", "2"},
      {"max_tool_calls", "3", Fate::kNoEffect},
      {"metadata", R"({"a":"b"})"},
      {"model", R"("m")"},
      {"moderation", R"({"model":"m"})", Fate::kRefused},
      {"parallel_tool_calls", "false"},
      {"previous_response_id", R"("")"},
      {"prompt", R"({"id":"p"})", Fate::kRefused},
      {"prompt_cache_key", R"("k")"},
      {"prompt_cache_options", R"({"ttl":"12h"})"},
      {"prompt_cache_retention", R"("24h")"},
      {"reasoning", R"({"effort":"low","summary":"auto"})"},
      {"safety_identifier", R"("u")", Fate::kNoEffect},
      {"service_tier", R"("auto")", Fate::kNoEffect},
      {"store", "false"},
      {"stream", "true"},
      {"stream_options", R"({"include_obfuscation":false})", Fate::kNoEffect},
      {"temperature", "0.5"},
      {"text", R"({"format":{"type":"text"}})"},
      {"tool_choice", R"("none")"},
      {"tools", R"([{"type":"function","name":"f","parameters":{"type":"object"}}])"},
      {"top_logprobs", "2", Fate::kRefused},
      {"top_p", "0.5"},
      {"truncation", R"("auto")", Fate::kNoEffect},
      {"user", R"("u")", Fate::kNoEffect}};
  return fields;
}

const std::vector<Field>& MessagesFields() {
  static const std::vector<Field> fields = {
      {"billing_policy", R"({"type":"billing_policy","bill_to":"self"})", Fate::kNoEffect},
      {"cache_control", R"({"type":"ephemeral"})"},
      {"compaction", R"({"type":"enabled"})", Fate::kRefused},
      {"container", R"("c")", Fate::kRefused},
      {"context_management", R"({"edits":[{"type":"clear_tool_uses_20250919"}]})"},
      {"diagnostics", R"({"previous_message_id":"msg_1"})", Fate::kNoEffect},
      {"fallback_credit_token", R"("t")", Fate::kNoEffect},
      {"fallbacks", R"([{"model":"m"}])", Fate::kRefused},
      {"inference_geo", R"("us")", Fate::kNoEffect},
      {"max_tokens", "2"},
      {"mcp_servers", R"([{"type":"url","url":"http://x","name":"x"}])", Fate::kRefused},
      {"messages", R"([{"role":"user","content":"hi"}])"},
      {"metadata", R"({"user_id":"u"})", Fate::kNoEffect},
      {"model", R"("m")"},
      {"output_config", R"({"effort":"low"})"},
      {"output_format", R"({"type":"text"})"},
      {"service_tier", R"("auto")", Fate::kNoEffect},
      {"speed", R"("fast")", Fate::kNoEffect},
      {"stop_sequences", R"(["x"])"},
      {"stream", "true"},
      {"system", R"("Be brief.")"},
      {"temperature", "0.5"},
      {"thinking", R"({"type":"disabled"})"},
      {"thread", R"({"type":"create"})", Fate::kRefused},
      {"tool_choice", R"({"type":"none"})"},
      {"tools", R"([{"name":"f","input_schema":{"type":"object"}}])"},
      {"top_k", "5"},
      {"top_p", "0.5"}};
  return fields;
}

struct Api {
  const char* path;
  const char* schemas;  // of docs/openapi.yaml that have its fields
  const char* least;    // a request that is answered
  const std::vector<Field>& (*fields)();
};
constexpr std::array<Api, 3> kApis = {
    {{"/v1/chat/completions", "ChatRequest Conversation Generation Sampling",
      R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":2})", ChatFields},
     {"/v1/responses", "ResponsesRequest", R"({"input":"hi","max_output_tokens":2})",
      ResponsesFields},
     {"/v1/messages", "MessagesRequest CountTokensRequest",
      R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":2})", MessagesFields}}};

// What needs another field beside it.
void AddCompanions(std::string_view field, Json* body) {
  if (field == "function_call") (*body)["functions"] = Json::parse(R"([{"name":"f"}])");
  if (field == "top_logprobs" && body->contains("messages")) (*body)["logprobs"] = true;
  if (field == "stream_options") (*body)["stream"] = true;
}

TEST(ReferenceFields, AreUsedOrTakenOrRefusedByName) {
  MemoryFs fs;
  test::WholeServer server(&fs, {MemoryClass::kHybrid, {}, 0});
  const HttpClient client(server.url(), {});
  for (const Api& api : kApis) {
    for (const Field& field : api.fields()) {
      Json body = Json::parse(api.least);
      body[field.name] = Json::parse(field.value);
      AddCompanions(field.name, &body);
      const auto reply = client.Post(api.path, ToText(body));
      ASSERT_TRUE(reply.has_value()) << reply.error().message;
      const std::string told = std::string(api.path) + " " + field.name + ": " + reply->body;
      EXPECT_EQ(reply->status, field.fate == Fate::kRefused ? 400 : 200) << told;
      if (field.fate != Fate::kRefused) continue;
      const std::string message = Json::parse(reply->body)["error"]["message"].text();
      EXPECT_TRUE(message.starts_with("'" + std::string(field.name))) << told;
    }
  }
}

// Clients send these without meaning anything by them.
TEST(ReferenceFields, ValuesThatAskNothingAreTaken) {
  MemoryFs fs;
  test::WholeServer server(&fs, {MemoryClass::kHybrid, {}, 0});
  const HttpClient client(server.url(), {});
  for (const Api& api : kApis) {
    for (const Field& field : api.fields()) {
      if (field.fate != Fate::kRefused) continue;
      Json body = Json::parse(api.least);
      const Json value = Json::parse(field.value);
      body[field.name] = value.is_array() ? Json::array() : Json();
      const auto reply = client.Post(api.path, ToText(body));
      ASSERT_TRUE(reply.has_value());
      EXPECT_EQ(reply->status, 200) << field.name << ": " << reply->body;
    }
  }
  const auto status_with = [&](const std::string& edit) {
    return client
        .Post("/v1/messages", R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":2,)"
                              R"("context_management":{"edits":[)" +
                                  edit + "]}}")
        ->status;
  };
  // What Claude Code sends with every request.
  EXPECT_EQ(status_with(R"({"type":"clear_thinking_20251015","keep":"all"})"), 200);
  EXPECT_EQ(status_with(R"({"type":"compact_20260112"})"), 400);
}

// Returns the text below the property of a schema, or of one of several; empty if none has it.
std::string DescriptionOf(const std::string& page, std::string_view schemas,
                          const std::string& name) {
  while (!schemas.empty()) {
    const size_t space = std::min(schemas.find(' '), schemas.size());
    const std::string head = "\n    " + std::string(schemas.substr(0, space)) + ":\n";
    schemas.remove_prefix(std::min(space + 1, schemas.size()));
    const size_t begin = page.find(head);
    if (begin == std::string::npos) continue;
    size_t end = page.find("\n    ", begin + head.size());
    while (end != std::string::npos && page[end + 5] == ' ') end = page.find("\n    ", end + 1);
    const std::string schema = page.substr(begin, end - begin);
    for (const std::string& indent : {std::string(8, ' '), std::string(12, ' ')}) {
      const size_t at = schema.find("\n" + indent + name + ":");
      if (at == std::string::npos) continue;
      size_t stop = schema.find("\n" + indent, at + 1);
      while (stop != std::string::npos && schema[stop + 1 + indent.size()] == ' ') {
        stop = schema.find("\n" + indent, stop + 1);
      }
      return schema.substr(at, stop - at);
    }
  }
  return "";
}

TEST(ReferenceFields, StandInTheDescriptionWithWhatBecomesOfThem) {
  const std::string page = ReadSourceFile("docs/openapi.yaml");
  for (const Api& api : kApis) {
    for (const Field& field : api.fields()) {
      const std::string told = DescriptionOf(page, api.schemas, field.name);
      const std::string place = std::string(api.path) + " " + field.name;
      EXPECT_FALSE(told.empty()) << place << " is not described";
      const bool says_none = told.find("No effect") != std::string::npos;
      EXPECT_EQ(says_none, field.fate == Fate::kNoEffect) << place << told;
      if (field.fate == Fate::kRefused) {
        EXPECT_NE(told.find("400"), std::string::npos) << place << told;
      }
    }
  }
}

}  // namespace
}  // namespace cairn::reference_fields_test
