// Every text of every API, too long: it is refused before anything is tokenized.

#include "api/prompt/prompt_limits.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/admin/cache_api.h"
#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "api/llama_server/infill.h"
#include "api/llama_server/native.h"
#include "api/llama_server/rerank.h"
#include "api/openai/completion.h"
#include "api/openai/embeddings.h"
#include "api/openai/responses_request.h"
#include "api/render/render.h"
#include "testing/api/api_fixture.h"

namespace cairn::prompt_limits_test {
namespace {

const char* const kUser = R"({"role":"user","content":"hi"})";
// Field by field: "@" stands for the text that is too long.
const std::vector<std::string>& Chats() {
  static const std::vector<std::string> bodies = [] {
    const std::string user = kUser;
    const std::string call = R"({"id":"c","type":"function","function":{"name":"f","arguments":)";
    const auto answered = [&](const std::string& answer, const std::string& result) {
      return "{\"messages\":[" + user + ",{\"role\":\"assistant\"," + answer +
             "},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"" + result + "\"}]}";
    };
    const std::string calls = "\"tool_calls\":[" + call + "\"{}\"}}]";
    return std::vector<std::string>{
        R"({"messages":[{"role":"system","content":"@"},)" + user + "]}",
        R"({"messages":[{"role":"developer","content":"@"},)" + user + "]}",
        R"({"messages":[{"role":"user","content":"@"}]})",
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"@"}]}]})",
        "{\"messages\":[" + user + R"(,{"role":"assistant","content":"@"},)" + user + "]}",
        "{\"messages\":[" + user + R"(,{"role":"assistant","content":"@"}]})",
        answered("\"reasoning_content\":\"@\"," + calls, "18"),
        answered("\"content\":\"@\"," + calls, "18"),
        answered(calls, "@"),
        answered("\"tool_calls\":[" + call + R"("{\"a\":\"@\"}"}}])", "18"),
        answered("\"tool_calls\":[" + call + R"({"a":"@"}}}])", "18"),
        answered(R"("tool_calls":[{"id":"c","function":{"name":"@","arguments":"{}"}}])", "18"),
        "{\"messages\":[" + user +
            R"(],"tools":[{"type":"function","function":{"name":"f","description":"@"}}]})",
    };
  }();
  return bodies;
}

const std::vector<std::string>& Messages() {
  static const std::vector<std::string> bodies = [] {
    const std::string end = "],\"max_tokens\":1}";
    const std::string user = kUser;
    const std::string use = R"({"type":"tool_use","id":"c","name":"f","input":)";
    const auto answered = [&](const std::string& blocks, const std::string& result) {
      return "{\"messages\":[" + user + R"(,{"role":"assistant","content":[)" + blocks +
             R"(]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":")" +
             result + "\"}]}" + end;
    };
    return std::vector<std::string>{
        R"({"system":"@","messages":[)" + user + end,
        R"({"system":[{"type":"text","text":"@"}],"messages":[)" + user + end,
        R"({"messages":[{"role":"system","content":"@"},)" + user + end,
        R"({"messages":[{"role":"user","content":"@"})" + end,
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"@"}]})" + end,
        "{\"messages\":[" + user + R"(,{"role":"assistant","content":"@"},)" + user + end,
        answered(R"({"type":"thinking","thinking":"@"},)" + use + "{}}", "18"),
        answered(R"({"type":"text","text":"@"},)" + use + "{}}", "18"),
        answered(use + R"({"a":"@"}})", "18"),
        answered(use + "{}}", "@"),
        R"({"tools":[{"name":"f","description":"@","input_schema":{}}],"messages":[)" + user + end,
    };
  }();
  return bodies;
}

const std::vector<std::string>& ResponsesBodies() {
  static const std::vector<std::string> bodies = [] {
    const std::string user = kUser;
    const auto answered = [&](const std::string& items, const std::string& arguments,
                              const std::string& output) {
      return "{\"input\":[" + user + "," + items +
             R"({"type":"function_call","call_id":"c","name":"f","arguments":")" + arguments +
             R"("},{"type":"function_call_output","call_id":"c","output":")" + output + "\"}]}";
    };
    return std::vector<std::string>{
        R"({"instructions":"@","input":"hi"})",
        R"({"input":"@"})",
        R"({"input":[{"role":"user","content":"@"}]})",
        R"({"input":[{"role":"user","content":[{"type":"input_text","text":"@"}]}]})",
        R"({"input":[{"role":"system","content":"@"},)" + user + "]}",
        R"({"input":[{"role":"developer","content":"@"},)" + user + "]}",
        "{\"input\":[" + user + R"(,{"role":"assistant","content":"@"},)" + user + "]}",
        answered(R"({"type":"reasoning","content":[{"type":"reasoning_text","text":"@"}]},)", "{}",
                 "18"),
        answered("", R"({\"a\":\"@\"})", "18"),
        answered("", "{}", "@"),
        R"({"input":"hi","tools":[{"type":"function","name":"f","description":"@"}]})",
    };
  }();
  return bodies;
}

const std::vector<std::string>& Completions() {
  static const std::vector<std::string> bodies = {R"({"prompt":"@"})", R"({"prompt":["@"]})",
                                                  R"({"prompt":[97,"@"]})",
                                                  R"({"prompt":{"prompt_string":"@"}})"};
  return bodies;
}

template <typename T>
ApiError ErrorOf(const ApiResult<T>& result) {
  if (!result) return result.error();
  ApiError none;
  none.status = 200;
  return none;
}

class PromptLimitsTest : public ApiTest {
 protected:
  using Ask = std::function<ApiError(const std::string& body)>;

  size_t FarTooLong() const { return limits().bytes_max(TextUse::kPrompt) + 1; }
  size_t FarTooLongToCount() const { return limits().bytes_max(TextUse::kCounted) + 1; }
  const PromptLimits& limits() const { return service_.limits(); }

  static std::string Filled(std::string body, size_t bytes) {
    return body.replace(body.find('@'), 1, std::string(bytes, 'x'));
  }

  // Each of the bodies is refused with a text of `bytes`, untokenized, and taken with a short one.
  void ExpectRefused(const std::vector<std::string>& bodies, size_t bytes, const Ask& ask) {
    for (const std::string& body : bodies) {
      const uint64_t before = engine_.tokenized_bytes();
      const ApiError error = ask(Filled(body, bytes));
      EXPECT_EQ(error.status, 400) << body;
      EXPECT_EQ(engine_.tokenized_bytes(), before) << body;
      const bool counted = bytes > FarTooLong();
      EXPECT_EQ(error.context_tokens, counted ? 0 : engine_.context_tokens()) << error.message;
      const ApiError none = ask(Filled(body, 3));
      EXPECT_EQ(none.status, 200) << body << ": " << none.message;
    }
  }

  ApiError AskChat(const std::string& body) {
    return ErrorOf(Started(ParseChatRequest(Body(body), GenerationParams{})));
  }
  ApiResult<bool> Started(ApiResult<ChatRequest> request) {
    if (!request) return tl::unexpected(request.error());
    request->params.tokens_max = 1;
    const auto started = service_.Start(*std::move(request), 0);
    if (!started) return tl::unexpected(started.error());
    return true;
  }
  ApiError AskResponses(const std::string& body) {
    auto request = ParseResponsesRequest(Body(body), GenerationParams{});
    return request ? ErrorOf(Started(std::move(request->chat))) : request.error();
  }
};

TEST_F(PromptLimitsTest, RefuseWhatNoTokenizerCouldMakeFit) {
  const auto started = Start(Filled(R"({"messages":[{"role":"user","content":"@"}]})",
                                    engine_.context_tokens() * engine_.info().token_bytes_max));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().status, 400);
  EXPECT_NE(started.error().message.find("at least 4096 tokens"), std::string::npos)
      << started.error().message;
  EXPECT_EQ(started.error().context_tokens, engine_.context_tokens());
}

TEST_F(PromptLimitsTest, CountExactlyWhatIsOnlyALittleTooLong) {
  const auto started = Start(Filled(R"({"messages":[{"role":"user","content":"@"}]})", 5000));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message.find("at least"), std::string::npos);
  EXPECT_GT(started.error().prompt_tokens, 5000u);
}

TEST_F(PromptLimitsTest, HoldForEveryTextOfAnAnswersPrompt) {
  ExpectRefused(Chats(), FarTooLong(), [&](const std::string& body) { return AskChat(body); });
  ExpectRefused(Messages(), FarTooLong(), [&](const std::string& body) {
    return ErrorOf(Started(ParseMessagesRequest(Body(body), GenerationParams{})));
  });
  ExpectRefused(ResponsesBodies(), FarTooLong(),
                [&](const std::string& body) { return AskResponses(body); });
  for (const CompletionDialect dialect : {CompletionDialect::kNative, CompletionDialect::kOpenAi}) {
    ExpectRefused(Completions(), FarTooLong(), [&](const std::string& body) {
      return ErrorOf(ParseCompletion(service_, Body(body), GenerationParams{}, dialect, 0));
    });
  }
}

TEST_F(PromptLimitsTest, HoldForPromptsThatAreTokens) {
  std::string ids = "97";
  for (size_t i = 1; i < engine_.context_tokens(); ++i) ids += ",97";
  const auto error_of = [&](const std::string& prompt) {
    return ErrorOf(ParseCompletion(service_, Body("{\"prompt\":[" + prompt + "]}"), {},
                                   CompletionDialect::kNative, 0));
  };
  EXPECT_EQ(error_of("97").status, 200);
  for (const std::string& prompt : {ids, "\"ab\"," + ids, ids + ",\"ab\""}) {
    const ApiError error = error_of(prompt);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.context_tokens, engine_.context_tokens());
  }
  const uint64_t before = engine_.tokenized_bytes();
  EXPECT_EQ(error_of(ids + ",\"ab\"").status, 400);
  EXPECT_EQ(engine_.tokenized_bytes(), before) << "nothing is made of what comes behind";
}

TEST_F(PromptLimitsTest, HoldForPromptsThatArePrefetchedOrRendered) {
  const auto gone = [] { return false; };
  const auto prefetch = [&](const std::string& body) {
    return ErrorOf(PrefetchBody(service_, body, 0, gone));
  };
  ExpectRefused(Chats(), FarTooLong(), prefetch);
  ExpectRefused(Completions(), FarTooLong(), prefetch);
  const GenerationParams defaults;
  const TokenIds plain;
  const RenderContext context{&defaults, &plain, nullptr, "m"};
  const auto rendered = [&](auto render) {
    return [&, render](const std::string& body) {
      return ErrorOf(render(service_, context, {body, 0, "id"}));
    };
  };
  ExpectRefused(Chats(), FarTooLong(), rendered(RenderChatBody));
  ExpectRefused(Messages(), FarTooLong(), rendered(RenderMessagesBody));
  ExpectRefused(ResponsesBodies(), FarTooLong(), rendered(RenderResponsesBody));
  ExpectRefused(Completions(), FarTooLong(), rendered(RenderCompletionBody));
}

TEST_F(PromptLimitsTest, HoldForEveryTextThatIsOnlyCounted) {
  const size_t bytes = FarTooLongToCount();
  ASSERT_GT(bytes, FarTooLong());
  ExpectRefused({R"({"content":"@"})", R"({"content":"@","with_pieces":true})"}, bytes,
                [&](const std::string& body) { return ErrorOf(TokenizeBody(service_, body)); });
  ExpectRefused(Chats(), bytes, [&](const std::string& body) {
    return ErrorOf(ChatInputTokensBody(service_, body, 0));
  });
  ExpectRefused(Chats(), bytes, [&](const std::string& body) {
    return ErrorOf(ApplyTemplateBody(service_, body));
  });
  ExpectRefused(Messages(), bytes, [&](const std::string& body) {
    return ErrorOf(CountTokensBody(service_, body, 0));
  });
  ExpectRefused(ResponsesBodies(), bytes, [&](const std::string& body) {
    return ErrorOf(ResponsesInputTokensBody(service_, body, 0, nullptr));
  });
}

TEST_F(PromptLimitsTest, CountWhatIsLongerThanTheContext) {
  const std::string body = Filled(Chats()[0], FarTooLong());
  const auto counted = ChatInputTokensBody(service_, body, 0);
  ASSERT_TRUE(counted.has_value()) << counted.error().message;
  EXPECT_GT(Json::parse(*counted)["input_tokens"].get<size_t>(), FarTooLong());
}

TEST_F(PromptLimitsTest, HoldForGapsInCode) {
  const InfillOptions options{.tokens = {1, 2, 3, 4, 5}, .batch_tokens = 400};
  const std::vector<std::string> bodies = {
      R"({"input_prefix":"@","input_suffix":""})", R"({"input_prefix":"","input_suffix":"@"})",
      R"({"input_prefix":"","input_suffix":"","prompt":"@"})",
      R"({"input_prefix":"","input_suffix":"","input_extra":[{"text":"@"}]})",
      R"({"input_prefix":"","input_suffix":"","input_extra":[{"text":"a","filename":"@"}]})"};
  ExpectRefused(bodies, FarTooLongToCount(), [&](const std::string& body) {
    return ErrorOf(ParseInfill(service_, Body(body), GenerationParams{}, options));
  });
}

// Texts of embeddings and rerankings have a limit of their own.
class OnesEmbedder final : public Embedder {
 public:
  size_t size() const override { return 1; }
  size_t tokens_max() const override { return 64; }
  Result<TextVectors> Embed(TokenSpan) override { return TextVectors{{1}}; }
};
class OnesReranker final : public Reranker {
 public:
  const RerankLayout& layout() const override { return layout_; }
  size_t tokens_max() const override { return 64; }
  Result<float> Score(TokenSpan) override { return 1.0F; }

 private:
  const RerankLayout layout_ = {};
};

TEST_F(PromptLimitsTest, HoldForEncodedTexts) {
  OnesEmbedder embedder;
  OnesReranker reranker;
  const Rerank rerank(&engine_, &reranker);
  const auto gone = [] { return false; };
  const auto expect = [&](const std::vector<std::string>& bodies, const Ask& ask) {
    for (const std::string& body : bodies) {
      EXPECT_EQ(ask(Filled(body, 3)).status, 200) << body;
      const uint64_t before = engine_.tokenized_bytes();
      EXPECT_EQ(ask(Filled(body, PromptLimits::kEncodedBytes + 1)).status, 400) << body;
      EXPECT_EQ(engine_.tokenized_bytes(), before) << body;
      // A text that may be tokenized is refused at its first token too many.
      EXPECT_EQ(ask(Filled(body, 100)).status, 400) << body;
    }
  };
  expect({R"({"input":"@"})", R"({"input":["@"]})", R"({"content":"@"})"},
         [&](const std::string& body) {
           return ErrorOf(EmbeddingsBody(engine_, &embedder, "m", body, gone));
         });
  expect({R"({"query":"@","documents":["a"]})", R"({"query":"q","documents":["@"]})",
          R"({"query":"q","texts":["@"]})", R"({"query":"q","documents":[{"text":"@"}]})"},
         [&](const std::string& body) { return ErrorOf(RerankBody(&rerank, "m", body, gone)); });
}

// A query is read again for each document.
TEST_F(PromptLimitsTest, HoldForAQueryWithManyDocuments) {
  OnesReranker reranker;
  const Rerank rerank(&engine_, &reranker);
  std::string documents = "\"a\"";
  for (int i = 1; i < 2048; ++i) documents += ",\"a\"";
  const uint64_t before = engine_.tokenized_bytes();
  const auto refused = RerankBody(&rerank, "m",
                                  "{\"query\":\"" + std::string(size_t{40} << 10, 'x') +
                                      "\",\"documents\":[" + documents + "]}",
                                  [] { return false; });
  EXPECT_EQ(ErrorOf(refused).field, "query");
  EXPECT_EQ(engine_.tokenized_bytes(), before);
}

TEST_F(PromptLimitsTest, HoldForConversationsThatAreCut) {
  ChatServiceOptions options;
  options.prompt.cuts_overflow = true;
  const ChatService cutting(&engine_, template_.get(), &scheduler_, options);
  const auto error_of = [&](const std::string& body) {
    auto request = ParseChatRequest(Body(body), GenerationParams{});
    request->params.tokens_max = 1;
    return ErrorOf(cutting.Start(*std::move(request), 0));
  };
  const std::string answered =
      R"({"role":"user","content":"@"},{"role":"assistant","content":"a"},)";
  const std::string body = "{\"messages\":[" + answered + kUser + "]}";
  const uint64_t before = engine_.tokenized_bytes();
  EXPECT_EQ(error_of(Filled(body, FarTooLongToCount())).status, 400);
  EXPECT_EQ(engine_.tokenized_bytes(), before);
  // An old message that no context holds is dropped unread.
  EXPECT_EQ(error_of(Filled(body, FarTooLong())).status, 200);
  EXPECT_LT(engine_.tokenized_bytes(), before + FarTooLong());
}

TEST_F(PromptLimitsTest, LetOneLongTextAtATimeHaveItsTurn) {
  constexpr size_t kLong = PromptLimits::kLongBytes + 1;
  auto turn = limits().WaitForTurn(kLong);
  EXPECT_EQ(limits().WaitForTurn(kLong - 1), nullptr) << "a short one does not wait";
  std::atomic<bool> had_turn = false;
  std::thread other([&] {
    const auto its_turn = limits().WaitForTurn(kLong);
    had_turn = true;
  });
  EXPECT_FALSE(had_turn);
  turn.reset();
  other.join();
  EXPECT_TRUE(had_turn);
}

TEST_F(PromptLimitsTest, KnowWhatEveryTemplateKeepsAndWhatItMayPrint) {
  const auto medium = MakeMedium(MediumKind::kImage, {1, 2, 3}, "");
  Conversation conversation;
  conversation.messages.push_back({.role = Role::kSystem, .content = "1"});
  conversation.messages.push_back({.role = Role::kUser, .content = "22"});
  conversation.messages.push_back(
      {.role = Role::kAssistant, .content = "333", .reasoning = "55555"});
  conversation.messages.push_back({.role = Role::kTool, .content = "4444"});
  EXPECT_EQ(LeastBytes(conversation), 6u);
  EXPECT_EQ(BytesOf(conversation), 15u);
  Message& user = conversation.messages[1];
  AppendMarker(medium, &user.content, &user.media);
  EXPECT_EQ(LeastBytes(conversation), 6u) << "a medium may be fewer tokens than its marker";
  EXPECT_EQ(BytesOf(conversation), 15u);
  user.content += MarkerOf(*medium);
  EXPECT_EQ(LeastBytes(conversation), 6u + MarkerOf(*medium).size()) << "a text like one";
}

}  // namespace
}  // namespace cairn::prompt_limits_test
