// Compares complete requests and answers with one file of testdata/transcripts/ for each endpoint.
// The server is the real one, on an engine with scripted answers. UPDATE_GOLDEN=1 rewrites the
// files.
//
//   > POST /tokenize
//   > {"content":"ab"}
//   < 200 application/json
//   {
//     "tokens": [ …
//
// JSON is indented for readability; times, logarithms and the heap in use are replaced by the words
// TIME and NUMBER.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "routes/page.h"
#include "routes/routes.h"
#include "testing/base/golden_file.h"
#include "testing/http/transcripts.h"

namespace cairn {
namespace {

using test::kText;
using test::kThoughtAndCall;
using test::Quoted;
using test::TranscriptsTest;

const std::string kAsk = R"("messages":[{"role":"user","content":"Is it warm in Rome?"}])";
const std::string kExplain = R"("cairn":{"explain":true},)";
const std::string kTool =
    R"("tools":[{"type":"function","function":{"name":"weather","description":"Of a city.",)"
    R"("parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}])";
const std::string kAnthropicTool =
    R"("tools":[{"name":"weather","description":"Of a city.","input_schema":)"
    R"({"type":"object","properties":{"city":{"type":"string"}}}}])";
const std::string kResponsesTool =
    R"("tools":[{"type":"function","name":"weather","description":"Of a city.","parameters":)"
    R"({"type":"object","properties":{"city":{"type":"string"}}}}])";
const std::string kTooLong(1200, 'x');

TEST_F(TranscriptsTest, ChatCompletions) {
  Serve(kThoughtAndCall);
  Post("/v1/chat/completions", "{" + kAsk + "," + kTool + "}");
  Post("/v1/chat/completions",
       R"({"stream":true,"stream_options":{"include_usage":true},)" + kAsk + "," + kTool + "}");
  Serve(kText);
  Post("/v1/chat/completions", R"({"max_tokens":2,)" + kAsk + "}");
  Post("/chat/completions", R"({"stream":true,"stop":"stones",)" + kAsk + "}");
  Post("/v1/chat/completions",
       R"({"n":2,"max_tokens":1,"logprobs":true,"top_logprobs":1,)" + kAsk + "}");
  Post("/v1/chat/completions",
       R"({"stream":true,"return_progress":true,"max_tokens":1,)" + kAsk + "}");
  Post("/v1/chat/completions", R"({"messages":[]})");
  Post("/v1/chat/completions", R"({"temperature":"warm",)" + kAsk + "}");
  Post("/v1/chat/completions",
       R"({"stream":true,"messages":[{"role":"user","content":)" + Quoted(kTooLong) + "}]}");
  ExpectTranscript("chat_completions");
}

TEST_F(TranscriptsTest, Completions) {
  Serve(kText);
  Post("/v1/completions", R"({"prompt":"A cairn is"})");
  Post("/v1/completions", R"({"prompt":"A cairn is","echo":true,"max_tokens":1})");
  Post("/v1/completions",
       R"({"prompt":"A cairn is","stream":true,"stream_options":{"include_usage":true}})");
  Post("/v1/completions", R"({"prompt":["A cairn is","A pile is"]})");
  Post("/v1/completions", "{\"prompt\":" + Quoted(kTooLong) + "}");
  ExpectTranscript("completions");
}

TEST_F(TranscriptsTest, NativeCompletions) {
  Serve(kText);
  Post("/completion", R"({"prompt":"A cairn is"})");
  Post("/completion", R"({"prompt":"A cairn is","stream":true,"n_predict":2})");
  Post("/completions", R"({"prompt":[65,66],"stop":["stones"]})");
  Post("/completion", R"({"prompt":[]})");
  ExpectTranscript("native_completions");
}

TEST_F(TranscriptsTest, Responses) {
  Serve(kThoughtAndCall);
  Post("/v1/responses", R"({"input":"Is it warm in Rome?",)" + kResponsesTool + "}");
  Post("/v1/responses", R"({"stream":true,"input":"Is it warm in Rome?",)" + kResponsesTool + "}");
  Serve(kText);
  Post("/v1/responses", R"({"input":"What is a cairn?","max_output_tokens":2})");
  Post("/v1/responses", "{" + kExplain + R"("input":"What is a slot?","max_output_tokens":1})");
  Post("/v1/responses", "{" + kExplain + R"("stream":true,"input":"What is a stone?"})");
  Post("/v1/responses", "{\"input\":" + Quoted(kTooLong) + "}");
  ExpectTranscript("responses");
}

// As Codex 0.169 sends them, with our own prompts.
const std::string kCodexFields =
    R"("model":"m","tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},)"
    R"("include":["reasoning.encrypted_content"],"prompt_cache_key":"session",)"
    R"("client_metadata":{"x":"y"},)";
const std::string kCodexInput =
    R"("input":[{"type":"message","id":"msg_a","role":"developer",)"
    R"("content":[{"type":"input_text","text":"Be brief."}]},)"
    R"({"type":"message","id":"msg_b","role":"user",)"
    R"("content":[{"type":"input_text","text":"Is it warm in Rome?"}]}])";

// `codex exec --output-schema FILE`.
TEST_F(TranscriptsTest, ResponsesWithASchema) {
  const std::string schema =
      R"("text":{"format":{"type":"json_schema","strict":true,"schema":{"type":"object",)"
      R"("properties":{"warm":{"type":"boolean"}},"required":["warm"],)"
      R"("additionalProperties":false},"name":"codex_output_schema"}})";
  Serve({"{\"warm\"", ": ", "true}"});
  Post("/v1/responses",
       "{" + kCodexFields + R"("stream":true,"store":false,)" + kCodexInput + "," + schema + "}");
  Post("/v1/responses", "{" + kCodexInput + "," + schema + "}");
  Post("/v1/responses", R"({"input":"Is it warm?","text":{"format":{"type":"json_schema"}}})");
  ExpectTranscript("responses_schema");
}

TEST_F(TranscriptsTest, StoredResponses) {
  Serve(kThoughtAndCall);
  Post("/v1/responses",
       R"({"instructions":"Be brief.","metadata":{"for":"me"},"input":"Is it warm in Rome?",)" +
           kResponsesTool + "}");
  Post("/v1/responses",
       "{" + kCodexFields +
           R"("stream":true,"previous_response_id":"resp_0-1","input":[)"
           R"({"type":"function_call_output","call_id":"call_0-1-2","output":"18 degrees"}],)" +
           kResponsesTool + "}");
  Post("/v1/responses/input_tokens",
       R"({"previous_response_id":"resp_0-1","input":"Is it warm in Oslo?"})");
  Get("/v1/responses/resp_0-2");
  Get("/v1/responses/resp_0-2/input_items?order=asc");
  Get("/v1/responses/resp_0-2/input_items?limit=1");
  Get("/v1/responses/resp_0-2/input_items?limit=many");
  Record("DELETE", "/v1/responses/resp_0-1", "");
  Get("/v1/responses/resp_0-1");
  Post("/v1/responses", R"({"previous_response_id":"resp_0-1","input":"And now?"})");
  Post("/v1/responses", R"({"store":false,"input":"What is a cairn?","max_output_tokens":2})");
  Get("/v1/responses/resp_0-3");
  Get("/v1/responses/0");
  Get("/v1/responses/0/input_items");
  ExpectTranscript("stored_responses");
}

TEST_F(TranscriptsTest, Messages) {
  Serve(kThoughtAndCall);
  Post("/v1/messages", R"({"max_tokens":64,)" + kAsk + "," + kAnthropicTool + "}");
  Post("/v1/messages", R"({"max_tokens":64,"stream":true,)" + kAsk + "," + kAnthropicTool + "}");
  Serve(kText);
  Post("/v1/messages", R"({"max_tokens":2,)" + kAsk + "}");
  Post("/v1/messages", R"({"max_tokens":64,"stop_sequences":["stones"],)" + kAsk + "}");
  Post("/v1/messages", "{" + kExplain + R"("max_tokens":1,)" + kAsk + "}");
  Post("/v1/messages", "{" + kExplain + R"("max_tokens":1,"stream":true,)" + kAsk + "}");
  Post("/v1/messages", "{" + kAsk + "}");
  Post("/v1/messages",
       R"({"max_tokens":1,"messages":[{"role":"user","content":)" + Quoted(kTooLong) + "}]}");
  ExpectTranscript("messages");
}

TEST_F(TranscriptsTest, Ollama) {
  Serve(kThoughtAndCall);
  Post("/api/chat", R"({"model":"m",)" + kAsk + "," + kTool + "}");
  Post("/api/chat", R"({"model":"m","stream":false,)" + kAsk + "," + kTool + "}");
  Post("/api/generate", R"({"model":"m","prompt":"Is it warm in Rome?"})");
  Serve(kText);
  Post("/api/chat",
       "{" + kExplain + R"("model":"m:latest","options":{"num_predict":1},)" + kAsk + "}");
  Post("/api/chat", R"({"model":"m"})");
  Post("/api/chat", R"({"model":"llama3",)" + kAsk + "}");
  Post("/api/chat", R"({"model":"m","keep_alive":"soon",)" + kAsk + "}");
  Post("/api/chat",
       R"({"model":"m","messages":[{"role":"user","content":)" + Quoted(kTooLong) + "}]}");
  Post("/api/generate", R"({"model":"m","stream":false,"raw":true,"prompt":"A cairn is"})");
  Post("/api/generate", R"({"model":"m","keep_alive":0})");
  Post("/api/embed", R"({"model":"m","input":"A cairn"})");
  Post("/api/embeddings", R"({"model":"m","prompt":""})");
  for (const char* path : {"/api/version", "/api/tags", "/api/ps", "/api/blobs/0"}) Get(path);
  Post("/api/show", R"({"model":"m"})");
  Post("/api/show", R"({"model":"llama3"})");
  Post("/api/pull", R"({"model":"m"})");
  Post("/api/pull", R"({"model":"llama3"})");
  for (const char* path : {"/api/push", "/api/create", "/api/copy", "/api/blobs/0"}) {
    Post(path, "{}");
  }
  Record("DELETE", "/api/delete", R"({"model":"m"})");
  ExpectTranscript("ollama");
}

TEST_F(TranscriptsTest, CountTokens) {
  Serve(kText);
  Post("/v1/messages/count_tokens", "{" + kAsk + "}");
  Post("/v1/messages/count_tokens", "{" + kAsk + "," + kAnthropicTool + "}");
  Post("/v1/messages/count_tokens", R"({"messages":[{"role":"robot","content":"x"}]})");
  Post("/v1/chat/completions/input_tokens", "{" + kAsk + "," + kTool + "}");
  Post("/v1/chat/completions/input_tokens", "{}");
  Post("/v1/responses/input_tokens", R"({"input":"What is a cairn?"})");
  Post("/v1/responses/input_tokens", R"({"input":7})");
  ExpectTranscript("count_tokens");
}

TEST_F(TranscriptsTest, Render) {
  Serve(kText);
  const std::string hi = R"("messages":[{"role":"user","content":"Hi"}])";
  Post("/v1/chat/completions/render", "{" + hi + "}");
  Post("/v1/chat/completions/render", "{" + hi + R"(,"stream":true,"model":"other"})");
  Post("/v1/chat/completions/render", "{}");
  Post("/v1/messages/render", R"({"max_tokens":8,)" + hi + "}");
  Post("/v1/messages/render", R"({"max_tokens":8,"messages":[{"role":"robot","content":"x"}]})");
  Post("/v1/responses/render", R"({"input":"Hi"})");
  Post("/v1/completions/render", R"({"prompt":"Hi"})");
  Post("/v1/completions/render", R"({"prompt":[1,2,3]})");
  Post("/v1/completions/render", R"({"prompt":{}})");
  ExpectTranscript("render");
}

TEST_F(TranscriptsTest, TextsAndTokens) {
  Serve(kText);
  Post("/tokenize", R"({"content":"ab<|im_end|>"})");
  Post("/tokenize", R"({"content":"ab<|im_end|>","with_pieces":true,"parse_special":false})");
  Post("/tokenize", R"({})");
  Post("/detokenize", R"({"tokens":[97,98,258]})");
  Post("/detokenize", R"({"tokens":[97,99999]})");
  ExpectTranscript("tokens");
}

TEST_F(TranscriptsTest, ApplyTemplate) {
  Serve(kText);
  Post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})");
  Post("/apply-template", R"({"messages":"hi"})");
  Post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}],)"
                          R"("add_generation_prompt":false})");
  Post("/apply-template", R"({"messages":[{"role":"user","content":"hi"},)"
                          R"({"role":"assistant","content":"Well,"}]})");
  Post("/apply-template", R"({"messages":[{"role":"user","content":"hi"}],)"
                          R"("continue_final_message":true})");
  ExpectTranscript("apply_template");
}

TEST_F(TranscriptsTest, State) {
  Serve(kText);
  Post("/v1/completions", R"({"prompt":"A cairn is"})");
  Post("/lora-adapters", R"([{"id":1,"scale":0.5}])");
  Post("/lora-adapters", R"([{"id":2,"scale":1}])");
  for (const char* path : {"/health", "/v1/health", "/v1/models", "/models", "/v1/models/0",
                           "/v1/models/0/0", "/props", "/slots", "/lora-adapters", "/metrics"}) {
    Get(path);
  }
  ExpectTranscript("state");
}

TEST_F(TranscriptsTest, Slots) {
  Serve(kText);
  Post("/completion", R"({"prompt":"A cairn is","id_slot":0,"n_predict":1})");
  Post("/slots/0?action=erase", "");
  Post("/slots/9?action=erase", "");
  Post("/slots/0?action=save", R"({"filename":"f"})");
  Post("/slots/0", "");
  slot_files_ = true;
  Serve(kText);
  Post("/completion", R"({"prompt":"A cairn is","id_slot":0,"n_predict":1})");
  Post("/slots/0?action=save", R"({"filename":"f"})");
  Post("/slots/1?action=restore", R"({"filename":"f"})");
  Post("/slots/1?action=restore", R"({"filename":"g"})");
  Post("/slots/1?action=save", R"({"filename":"../f"})");
  ExpectTranscript("slots");
}

TEST_F(TranscriptsTest, TheCache) {
  Serve(kText);
  Post("/cairn/cache/prefetch",
       R"({"messages":[{"role":"user","content":"What is a cairn, and where do they stand?"}]})");
  Post("/cairn/cache/prefetch", R"({"prompt":"A cairn is"})");
  Get("/cairn/cache");
  Get("/cairn/cache/tree?limit=1");
  Get("/cairn/cache/tree?limit=0");
  Get("/cairn/cache/checkpoints/1");
  Post("/cairn/cache/checkpoints/1", R"({"pinned":true})");
  Post("/cairn/cache/checkpoints/1", R"({})");
  Post("/cairn/cache/prefetch", R"({"checkpoint":"1"})");
  Post("/cairn/cache/prefetch", R"({"checkpoint":1})");
  Post("/cairn/cache/prefetch", R"({"checkpoint":"1","prompt":"A cairn is"})");
  Post("/cairn/cache/prefetch", R"({"checkpoint":"0"})");
  Record("DELETE", "/cairn/cache/checkpoints/1", "");
  Get("/cairn/cache/checkpoints/0");
  Post("/cairn/cache/checkpoints/0", R"({"pinned":false})");
  Record("DELETE", "/cairn/cache/checkpoints/0", "");
  Post("/cairn/cache/flush", "");
  ExpectTranscript("cache");
}

TEST_F(TranscriptsTest, ADrain) {
  Serve(kText);
  Get("/cairn/drain");
  Post("/cairn/drain", "");
  Get("/health");
  Post("/v1/completions", R"({"prompt":"A cairn is"})");
  Post("/v1/messages", R"({"max_tokens":1,"messages":[{"role":"user","content":"Cairn?"}]})");
  Record("DELETE", "/cairn/drain", "");
  Get("/health");
  ExpectTranscript("drain");
}

TEST_F(TranscriptsTest, WhatBecameOfRequests) {
  Serve(kText);
  Get("/cairn/requests");
  const std::string asked =
      R"("max_tokens":1,"cairn":{"explain":true},"messages":[{"role":"system",)"
      R"("content":"Short answers to all that people may ask, please."},)"
      R"({"role":"user","content":"What is a )";
  Post("/v1/chat/completions", "{" + asked + R"(cairn?"}]})");
  Post("/v1/chat/completions", "{" + asked + R"(slot?"}]})");
  Get("/cairn/requests?limit=1");
  Get("/cairn/requests?limit=none");
  Get("/cairn/requests/0");
  Get("/cairn/requests/chatcmpl-0-2");
  Get("/cairn/requests/0/thumbnails/0");
  Get("/cairn/requests/chatcmpl-0-2/thumbnails/0");
  Get("/cairn/doctor");
  Get("/cairn/doctor?hours=none");
  ExpectTranscript("requests");
}

TEST_F(TranscriptsTest, EndingAnAnswerThatIsNotOnItsWay) {
  Serve(kText);
  for (const char* path :
       {"/v1/chat/completions/0", "/v1/completions/0", "/v1/responses/0", "/v1/messages/0"}) {
    Record("DELETE", path, "");
  }
  Post("/v1/responses/0/cancel", "");
  ExpectTranscript("ending");
}

TEST_F(TranscriptsTest, ThePage) {
  Serve(kText);
  Record("GET", "/", "", "Accept: text/html");
  for (const char* path : {"/", "/assets/0", "/assets/nothing"}) Get(path);
  for (const char* path : {"/sw.js", "/_app/version.json", "/manifest.webmanifest"}) Get(path);
  ExpectTranscript("page");
}

// FakeEngine makes no vectors; their format is tested in api/openai/embeddings_test.cc.
TEST_F(TranscriptsTest, EmbeddingsThatNobodyAskedFor) {
  Serve(kText);
  const std::string body = R"({"input":"A cairn"})";
  for (const char* path : {"/v1/embeddings", "/embeddings", "/embedding"}) Post(path, body);
  ExpectTranscript("embeddings");
}

// Ranks documents by their size; FakeEngine ranks none.
class LengthReranker final : public Reranker {
 public:
  const RerankLayout& layout() const override { return layout_; }
  size_t tokens_max() const override { return 4096; }
  Result<float> Score(TokenSpan tokens) override { return static_cast<float>(tokens.size()); }

 private:
  const RerankLayout layout_;
};

TEST_F(TranscriptsTest, RankingDocuments) {
  const FakeEngine engine{FakeEngineOptions{}};
  LengthReranker reranker;
  const Rerank rerank(&engine, &reranker);
  Serve(kText);
  const std::string q = R"({"query":"Cairn?","documents":["A fish","A pile of stones"]})";
  Post("/v1/rerank", q);
  UseReranker(&rerank);
  for (const char* path : {"/v1/rerank", "/v2/rerank", "/rerank", "/v1/reranking"}) Post(path, q);
  Post("/reranking", q);
  Post("/rerank", R"({"query":"Cairn?","texts":["A fish","Stones"],"return_text":true})");
  Post("/rerank", R"({"query":"Cairn?","documents":["A fish",7]})");
  ExpectTranscript("rerank");
}

TEST_F(TranscriptsTest, FillingIn) {
  Serve(kText);
  const std::string gap = R"("input_prefix":"int f() {","input_suffix":"}")";
  Post("/infill", "{" + gap + "}");
  UseInfillTokens({1, 2, 3, 4, 5});
  Post("/infill", "{" + gap + R"(,"input_extra":[{"filename":"a.c","text":"int a;"}],)" +
                      R"("n_predict":4,"response_fields":["content","timings/prompt_n"]})");
  Post("/infill", "{" + gap + R"(,"input_extra":[{"filename":"a.c"}]})");
  ExpectTranscript("infill");
}

TEST_F(TranscriptsTest, WhatTheServerRefuses) {
  Serve(kText, /*loaded=*/true, {"right"});
  Get("/nowhere");
  Get("/v1/chat/completions");
  Get("/slots");
  Record("GET", "/slots", "", "x-api-key: wrong");
  Record("GET", "/health", "");
  Record("POST", "/tokenize", R"({"content":)", "Authorization: Bearer right");
  Record("POST", "/tokenize", "[]", "Authorization: Bearer right");
  Serve(kText, /*loaded=*/false);
  Get("/health");
  Post("/v1/chat/completions", "{}");
  Post("/v1/messages", "{}");
  ExpectTranscript("refusals");
}

TEST(Transcripts, ThereIsOneOfEveryRoute) {
  HttpServer server({.port = 0, .error_body = HttpErrorBody, .log = {}});
  Served served;
  AddRoutes(&server, &served);
  AddPageRoutes(&server, {});
  std::string all;
  const std::filesystem::path folder(std::string(CAIRN_SOURCE_DIR) + "/testdata/transcripts");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    all += ReadSourceFile("testdata/transcripts/" + entry.path().filename().string());
  }
  static const std::regex captures(":[a-z]+");
  for (const std::string& name : server.RouteNames()) {
    const std::string route = std::regex_replace(name, captures, "0");
    const bool there = all.find("> " + route + "\n") != std::string::npos ||
                       all.find("> " + route + "?") != std::string::npos;
    EXPECT_TRUE(there) << "no transcript of " << route;
  }
}

}  // namespace
}  // namespace cairn
