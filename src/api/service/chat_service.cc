#include "api/service/chat_service.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "api/media/placed_medium.h"
#include "api/request/adapters.h"
#include "api/request/apply_tool_choice.h"
#include "api/request/prefill.h"
#include "api/request/reasoning_request.h"
#include "api/request/settings_json.h"
#include "base/hash.h"
#include "base/text.h"
#include "chat/parse/prefilled_parser.h"
#include "chat/parse/reasoning.h"
#include "engine/embed/embedding_architectures.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

// Maximum number of finished answers queued for the prediction of their next turn.
constexpr size_t kJobsMax = 16;

std::unique_ptr<AnswerParser> ParserOf(const ChatServiceOptions& options,
                                       const AnswerFormat& format, std::string_view prefilled) {
  if (!options.parses_answers) return MakePlainParser();
  return ShowReasoning(options.shown_reasoning, format, MakePrefilledParser(format, prefilled));
}

std::vector<Token> EndTokensOf(const Engine& engine) {
  std::vector<Token> ends;
  const auto vocab_size = static_cast<Token>(engine.info().vocab_size);
  for (Token token = 0; token < vocab_size; ++token) {
    if (engine.IsEndOfGeneration(token)) ends.push_back(token);
  }
  return ends;
}

}  // namespace

ChatService::ChatService(const Engine* engine, const ChatTemplate* chat_template,
                         SchedulerClient* scheduler, const ChatServiceOptions& options)
    : engine_(engine),
      template_(chat_template),
      scheduler_(scheduler),
      options_(options),
      end_tokens_(EndTokensOf(*engine)),
      answers_(std::make_shared<AnswerTokens>(options.answer_bytes_max)),
      prompts_(engine, chat_template, answers_.get(), options.prompt),
      rolling_(std::make_unique<RollingWindows>()),
      jobs_(options.warm ? std::make_shared<JobThread>(kJobsMax) : nullptr) {}

ChatService::~ChatService() {
  if (jobs_) jobs_->Stop();
}

ApiResult<NamespaceId> ChatService::WithAdaptersOf(const AnswerOptions& options,
                                                   NamespaceId key) const {
  const auto set = FindAdapterSet(options.adapters, engine_->adapter_sets(), key);
  if (!set) return tl::unexpected(set.error());
  const NamespaceId name_space = WithAdapters(key, *set);
  if (*set != 0 && options_.on_adapters) options_.on_adapters(name_space);
  return name_space;
}

ApiResult<StartedChat> ChatService::Start(ChatRequest request, NamespaceId key) const {
  // Such a model may have no template; what its prompts would be is of no interest.
  if (IsEncoder(engine_->info().architecture)) {
    return tl::unexpected(ToApiError(WritesNoAnswers()));
  }
  const auto own = WithAdaptersOf(request.options, key);
  if (!own) return tl::unexpected(own.error());
  const NamespaceId name_space = *own;
  LogLeftOut(request.conversation);
  prompts_.Adapt(&request.conversation);
  if (request.reuse) MarkToKeep(request.options.cache, &request.conversation);
  if (IsOff(request.conversation.reasoning)) request.params.reasoning.tokens_max = 0;
  auto scripted = ScriptedGrammar(request.conversation);
  if (!scripted) return tl::unexpected(scripted.error());
  SettlePromptEnd(options_.prompt.prefill_assistant, &request.conversation);
  auto callable = ApplyToolChoice(*template_, &request, grammars());
  if (!callable) return tl::unexpected(callable.error());
  auto noted = NoteLoosened(request.loosened);
  if (!noted) return tl::unexpected(noted.error());
  AskedTurn asked = AskedOf(request, name_space);
  auto prompt = prompts_.Prepare(std::move(request.conversation),
                                 {.name_space = name_space, .reuse = request.reuse});
  if (!prompt) return tl::unexpected(prompt.error());
  auto held = SetGrammar(*std::move(scripted), *prompt, &request);
  if (!held) return tl::unexpected(held.error());

  if (auto settled = SettleBiases(&request.params); !settled) {
    return tl::unexpected(settled.error());
  }

  AnswerFormat format =
      FindAnswerFormat(*template_, prompt->generation_prompt(), *std::move(callable));
  format.stream_arguments = request.stream && request.eager_calls;
  StartedChat chat{.generation = {}, .parser = ParserOf(options_, format, prompt->prefilled())};
  for (size_t i = 1; i < request.options.answers; ++i) {
    chat.other_parsers.push_back(ParserOf(options_, format, prompt->prefilled()));
  }
  chat.marks = prompt->shape.marks;
  chat.edits = prompt->edits;
  chat.log = options_.prompt.log;
  if (request.reuse) {
    chat.on_call = [order = prompts_.key_order(), name_space](std::string_view name,
                                                              std::string_view arguments) {
      order->Remember(name_space, name, arguments);
    };
  }

  GenerationRequest generation = ToGeneration(request, name_space, format, *prompt);
  if (is_verbose(request.options)) {
    std::string read;  // with the space that some vocabularies put in front of a text
    for (const std::string& piece : TokenPieces(*engine_, prompt->tokens, prompt->media)) {
      read += piece;
    }
    chat.verbose =
        std::make_shared<const Json>(Json{{"prompt", std::move(read)},
                                          {"tokens_evaluated", prompt->tokens.size()},
                                          {"generation_settings", SettingsJson(request.params)}});
  }
  if (asked.conversation) asked.prompt = prompt->tokens;
  asked.format = std::move(format);
  generation.on_answer = WhenAnswered(std::move(asked), KeyOf(prompt->text));
  chat.explained = prompts_.Explain(*std::move(prompt));
  chat.explained.loosened.assign(request.loosened.begin(), request.loosened.end());
  chat.explained.cache_key = request.options.cache.key;
  auto submitted = Submit(std::move(generation));
  if (!submitted) return tl::unexpected(submitted.error());
  chat.generation = *std::move(submitted);
  return chat;
}

void ChatService::LogLeftOut(const Conversation& conversation) const {
  if (conversation.left_out.empty() || !options_.prompt.log) return;
  std::string types;
  for (const std::string& type : conversation.left_out) types += (types.empty() ? "" : ", ") + type;
  options_.prompt.log(
      LogLevel::kInfo,
      "a conversation has parts that only the service that wrote them can use; they "
      "were left out: " +
          types);
}

ApiResult<void> ChatService::NoteLoosened(const Loosened& loosened) const {
  if (loosened.empty()) return {};
  if (options_.schema_strict) {
    return tl::unexpected(FieldError(*loosened.begin(),
                                     "a keyword that a grammar can enforce, on a server started "
                                     "with --schema-strict; leave it out"));
  }
  if (!options_.prompt.log) return {};
  options_.prompt.log(LogLevel::kInfo, "keywords of a schema are not enforced: " +
                                           ShownErrorText(JoinNames(loosened)));
  return {};
}

ApiResult<std::shared_ptr<const Grammar>> ChatService::ScriptedGrammar(
    const Conversation& conversation) const {
  if (options_.script == nullptr) return nullptr;
  auto grammar = options_.script->GrammarFor(conversation, *template_);
  if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
  return *std::move(grammar);
}

ApiResult<void> ChatService::SetGrammar(std::shared_ptr<const Grammar> scripted,
                                        const PreparedPrompt& prompt, ChatRequest* request) const {
  if (scripted != nullptr) {
    request->params.sampling.grammar = std::move(scripted);
  } else if (!request->grammar.empty()) {
    const bool may_reason = request->params.reasoning.tokens_max != size_t{0};
    auto grammar = AnswerGrammar(request->grammar, prompt, may_reason);
    if (!grammar) return tl::unexpected(ToApiError(grammar.error()));
    request->params.sampling.grammar = *std::move(grammar);
  }
  return {};
}

Result<std::shared_ptr<const Grammar>> ChatService::AnswerGrammar(const std::string& content,
                                                                  const PreparedPrompt& prompt,
                                                                  bool may_reason) const {
  const ReasoningTags& tags = template_->reasoning_tags();
  const std::string_view generation_prompt = prompt.generation_prompt();
  const std::string_view prefilled = prompt.prefilled();
  if (EndsReasoning(tags, generation_prompt, prefilled)) return grammars_->Parse(content);
  const bool inside = OpensReasoning(tags, generation_prompt) || !prefilled.empty();
  const bool harmony = DetectCallFormat(template_->source()) == CallFormat::kHarmony;
  const bool may_open = may_reason && tags.learned;
  if (harmony || (!inside && !may_open)) return grammars_->Parse(content);
  return grammars_->Parse(GrammarWithReasoning(tags, content, inside), kAnswerRule);
}

GenerationRequest ChatService::ToGeneration(const ChatRequest& request, NamespaceId name_space,
                                            const AnswerFormat& format,
                                            const PreparedPrompt& prompt) const {
  GenerationRequest generation;
  generation.name_space = name_space;
  generation.shape = prompt.shape;
  generation.prompt = prompt.tokens;
  generation.media = PiecesOf(prompt.media);
  generation.pinned_texts = prompt.pinned_texts;
  generation.dropped_messages = prompt.dropped_messages;
  if (prompt.pinned_texts > 0 && options_.prompt.log) {
    options_.prompt.log(LogLevel::kInfo, "volatile texts kept as the model has read them: " +
                                             std::to_string(prompt.pinned_texts));
  }
  generation.params = request.params;
  generation.params.control_texts = TagsOf(format);
  generation.params.reasoning = ReasoningOf(format, generation.params.reasoning);
  generation.params.sampling.grammar_tags = generation.params.control_texts;
  generation.reuse = request.reuse;
  const std::string& cache_key = request.options.cache.key;
  if (!cache_key.empty()) generation.cache_key = Hash64(cache_key, name_space);
  ApplyAnswerOptions(request.options, &generation);
  return generation;
}

ApiResult<void> ChatService::SettleBiases(GenerationParams* params) const {
  auto& biases = params->sampling.logit_bias;
  for (const auto& [text, bias] : std::exchange(params->text_biases, {})) {
    const auto tokens = limits().Tokenize(TextUse::kPrompt, text, false, true);
    if (!tokens) return tl::unexpected(tokens.error());
    for (const Token token : *tokens) biases.emplace_back(token, bias);
  }
  if (!params->ignore_end || params->sampling.grammar != nullptr) return {};
  for (const Token end : end_tokens_) {
    const std::pair<Token, float> never{end, -std::numeric_limits<float>::infinity()};
    if (std::find(biases.begin(), biases.end(), never) == biases.end()) biases.push_back(never);
  }
  return {};
}

ApiResult<std::shared_ptr<Generation>> ChatService::Submit(GenerationRequest request) const {
  if (auto settled = SettleBiases(&request.params); !settled) {
    return tl::unexpected(settled.error());
  }
  const size_t prompt_tokens = request.prompt.size();
  auto submitted = scheduler_->Submit(std::move(request));
  if (submitted) return std::move(*submitted);
  const bool too_long = submitted.error().code == ErrorCode::kTooLong;
  return tl::unexpected(too_long ? limits().TooLong(prompt_tokens) : ToApiError(submitted.error()));
}

ApiResult<size_t> ChatService::EraseSlot(size_t slot, NamespaceId name_space) const {
  const auto erased = scheduler_->EraseSlot(slot, name_space);
  if (!erased) return tl::unexpected(ToApiError(erased.error()));
  return *erased;
}

ApiResult<std::string> ChatService::Render(const Conversation& conversation) const {
  return prompts_.Render(conversation);
}

ApiResult<PreparedPrompt> ChatService::PrepareText(std::string text, MarkedMedia media,
                                                   NamespaceId name_space) const {
  return prompts_.PrepareText(std::move(text), std::move(media), name_space);
}

ApiResult<Tokens> ChatService::PromptTokens(const Conversation& conversation,
                                            NamespaceId name_space) const {
  Conversation told = conversation;
  prompts_.Adapt(&told);
  auto prompt = prompts_.Prepare(std::move(told),
                                 {.name_space = name_space, .purpose = PromptUse::Purpose::kCount});
  if (!prompt) return tl::unexpected(prompt.error());
  return std::move(prompt->tokens);
}

ApiResult<Tokens> ChatService::RequestTokens(ChatRequest request, NamespaceId name_space) const {
  prompts_.Adapt(&request.conversation);
  SettlePromptEnd(options_.prompt.prefill_assistant, &request.conversation);
  const auto callable = ApplyToolChoice(*template_, &request, grammars());
  if (!callable) return tl::unexpected(callable.error());
  // As for an answer, but without the prompt's shape.
  const PromptUse use{
      .name_space = name_space, .purpose = PromptUse::Purpose::kNextTurn, .reuse = request.reuse};
  auto prompt = prompts_.Prepare(std::move(request.conversation), use);
  if (!prompt) return tl::unexpected(prompt.error());
  return std::move(prompt->tokens);
}

std::vector<std::string> ChatService::volatile_patterns() const {
  const auto& volatile_text = options_.prompt.volatile_text;
  return volatile_text ? volatile_text->patterns() : std::vector<std::string>();
}

}  // namespace cairn
