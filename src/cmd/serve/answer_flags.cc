#include "cmd/serve/answer_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/request/answer_format.h"
#include "api/request/chat_request.h"
#include "base/fs.h"
#include "chat/template/reasoning_controls.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

constexpr const char* kAnswerGroup = "Sampling and answers (defaults that requests override)";
constexpr std::string_view kUsualEffort = "default";

std::vector<std::string> EffortWords() {
  std::vector<std::string> words = ReasoningEfforts();
  words.emplace_back(kUsualEffort);
  return words;
}

template <typename T>
void AddAnswerFlag(CLI::App* serve, const char* names, T* target, const char* help) {
  serve->add_option(names, *target, help)->capture_default_str()->group(kAnswerGroup);
}

void AddUsual(CLI::App* serve, SamplingParams* sampling) {
  AddAnswerFlag(serve, "--temp", &sampling->temperature, "Sampling temperature (0: greedy)");
  AddAnswerFlag(serve, "--top-k", &sampling->top_k,
                "Sample from the k most likely tokens (0: off)");
  AddAnswerFlag(serve, "--top-p", &sampling->top_p,
                "Sample from the most likely tokens with total probability p (1: off)");
  AddAnswerFlag(serve, "--min-p", &sampling->min_p,
                "Minimum probability relative to the most likely token (0: off)");
  AddAnswerFlag(serve, "--repeat-penalty", &sampling->repeat_penalty,
                "Repetition penalty (1: off)");
  AddAnswerFlag(serve, "--repeat-last-n", &sampling->repeat_last_n,
                "Number of last tokens that penalties look at");
  AddAnswerFlag(serve, "--presence-penalty", &sampling->presence_penalty,
                "Presence penalty (0: off)");
  AddAnswerFlag(serve, "--frequency-penalty", &sampling->frequency_penalty,
                "Frequency penalty (0: off)");
}

void AddRarer(CLI::App* serve, SamplingParams* sampling) {
  AddAnswerFlag(serve, "--typical,--typical-p", &sampling->typical_p,
                "Locally typical sampling (1: off)");
  AddAnswerFlag(
      serve, "--top-nsigma,--top-n-sigma", &sampling->top_n_sigma,
      "Top-n-sigma: keep tokens within n standard deviations of the highest logit (-1: off)");
  AddAnswerFlag(serve, "--xtc-probability", &sampling->xtc_probability,
                "XTC: probability of removing the most likely tokens (0: off)");
  AddAnswerFlag(serve, "--xtc-threshold", &sampling->xtc_threshold,
                "XTC: minimum probability of the tokens it removes (above 0.5: off)");
  AddAnswerFlag(serve, "--dynatemp-range", &sampling->dynatemp_range,
                "Dynamic temperature: range around --temp, by entropy (0: off)");
  AddAnswerFlag(serve, "--dynatemp-exp", &sampling->dynatemp_exponent,
                "Dynamic temperature: exponent of the entropy");
  serve->add_option("--mirostat", sampling->mirostat, "Mirostat version: 1 or 2 (0: off)")
      ->capture_default_str()
      ->check(CLI::Range(0, 2))
      ->group(kAnswerGroup);
  AddAnswerFlag(serve, "--mirostat-lr", &sampling->mirostat_eta, "Mirostat learning rate, eta");
  AddAnswerFlag(serve, "--mirostat-ent", &sampling->mirostat_tau, "Mirostat target entropy, tau");
  serve
      ->add_option("--adaptive-target", sampling->adaptive_target,
                   "adaptive_p: sample tokens near this probability (negative: off); needs "
                   "adaptive_p in --samplers")
      ->capture_default_str()
      ->check(CLI::Range(-1.0, 1.0))
      ->group(kAnswerGroup);
  serve
      ->add_option("--adaptive-decay", sampling->adaptive_decay,
                   "adaptive_p: decay of the running average of sampled probabilities")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.99))
      ->group(kAnswerGroup);
}

std::vector<std::string> ReadEscapes(bool escape, std::vector<std::string> texts) {
  if (!escape) return texts;
  for (std::string& text : texts) text = Unescaped(text);
  return texts;
}

// --escape comes first: the library sets flags in the order in which they are added.
void AddTexts(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_flag("-e,--escape,!--no-escape", options->escape,
                 "Read escapes in --dry-sequence-breaker and --reverse-prompt: a backslash and n "
                 "is a line "
                 "break, and so on (on)")
      ->group(kAnswerGroup);
  serve
      ->add_option_function<std::vector<std::string>>(
          "-r,--reverse-prompt",
          [options](std::vector<std::string> texts) {
            options->defaults.stop_texts = ReadEscapes(options->escape, std::move(texts));
          },
          "Stop text of requests that name none; may be repeated")
      ->allow_extra_args(false)
      ->group(kAnswerGroup);
  serve
      ->add_flag("--special", options->defaults.shows_control,
                 "Show the control tokens of an answer (-sp), all but the one that ends it")
      ->group(kAnswerGroup);
  serve
      ->add_flag("--cache-prompt,!--no-cache-prompt", options->defaults.reuse,
                 "Reuse what was read before (on), for requests that do not say so themselves")
      ->group(kAnswerGroup);
}

void AddDry(CLI::App* serve, ServeOptions* options) {
  DryParams* const dry = &options->defaults.sampling.dry;
  AddAnswerFlag(serve, "--dry-multiplier", &dry->multiplier,
                "DRY: multiplier of the penalty for repeated sequences (0: off)");
  AddAnswerFlag(serve, "--dry-base", &dry->base,
                "DRY: base of the penalty's growth with the sequence length");
  AddAnswerFlag(serve, "--dry-allowed-length", &dry->allowed_length,
                "DRY: longest sequence in tokens that may repeat without a penalty");
  AddAnswerFlag(serve, "--dry-penalty-last-n", &dry->last_n,
                "DRY: number of last tokens to scan (-1: the context)");
  serve
      ->add_option_function<std::vector<std::string>>(
          "--dry-sequence-breaker",
          [options, dry](std::vector<std::string> breakers) {
            std::erase(breakers, "none");
            dry->breakers = ReadEscapes(options->escape, std::move(breakers));
          },
          "DRY: text that breaks a sequence; may be repeated; 'none' for none (default: newline, "
          "colon, quote, star)")
      ->group(kAnswerGroup);
}

// Parses "penalties;top_k;temperature", which a request's `samplers` has as a list.
void ReadSamplers(const std::string& names, SamplingParams* sampling) {
  std::vector<SamplingStep> order;
  for (const std::string& name : CLI::detail::split(names, ';')) {
    const std::optional<SamplingStep> step = FindSamplingStep(name);
    // A request's unknown steps are left out; on a command line they are mistakes.
    if (!step) throw CLI::ValidationError("--samplers", "there is no step '" + name + "'");
    if (std::find(order.begin(), order.end(), *step) == order.end()) order.push_back(*step);
  }
  sampling->order = std::move(order);
}

// Parses "15043+1" or "15043-1.5".
void ReadBias(const std::string& text, SamplingParams* sampling) {
  const size_t sign = text.find_first_of("+-");
  Token token = 0;
  float bias = 0;
  const char* const end = text.data() + text.size();
  const char* const middle = text.data() + std::min(sign, text.size());
  // from_chars accepts no plus sign.
  const char* const number = middle != end && *middle == '+' ? middle + 1 : middle;
  const bool read = std::from_chars(text.data(), middle, token).ptr == middle && sign > 0 &&
                    number != end && std::from_chars(number, end, bias).ptr == end;
  if (!read) {
    throw CLI::ValidationError("--logit-bias",
                               "expects TOKEN+BIAS or TOKEN-BIAS, not '" + text + "'");
  }
  sampling->logit_bias.emplace_back(token, bias);
}

void AddShape(CLI::App* serve, ServeOptions* options) {
  SamplingParams* sampling = &options->defaults.sampling;
  serve
      ->add_option_function<std::string>(
          "--samplers", [sampling](const std::string& names) { ReadSamplers(names, sampling); },
          "Samplers in order, separated by semicolons, such as penalties;dry;top_k;temperature; "
          "infill and adaptive_p are used only if named")
      ->group(kAnswerGroup);
  serve
      ->add_option_function<std::vector<std::string>>(
          "-l,--logit-bias",
          [sampling](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) ReadBias(text, sampling);
          },
          "Change the logit of a token, such as 15043+1 or 15043-1; may be repeated")
      ->group(kAnswerGroup);
  serve
      ->add_flag("--ignore-eos", options->defaults.ignore_end,
                 "Ignore end-of-generation tokens and continue")
      ->group(kAnswerGroup);
  serve->add_option("--grammar", options->grammar, "GBNF grammar that answers must match")
      ->group(kAnswerGroup);
  serve->add_option("--grammar-file", options->grammar_file, "File with a GBNF grammar")
      ->group(kAnswerGroup);
  serve->add_option("-j,--json-schema", options->json_schema, "JSON schema that answers must match")
      ->group(kAnswerGroup);
  serve
      ->add_option("--json-schema-file", options->json_schema_file, "File with a JSON schema (-jf)")
      ->group(kAnswerGroup);
  serve
      ->add_flag("--schema-strict", options->schema_strict,
                 "Refuse a schema with a keyword that no grammar enforces, instead of leaving that "
                 "keyword out")
      ->group(kAnswerGroup);
}

void AddReasoningShape(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--reasoning", options->reasoning,
                   "Reasoning in chats (-rea): on, off, or auto, which is on where the template's "
                   "switch decides it")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str()
      ->group(kAnswerGroup);
  serve
      ->add_option_function<std::string>(
          "--reasoning-effort",
          [options](const std::string& effort) {
            options->reasoning_effort = effort == kUsualEffort ? "" : effort;
          },
          "Reasoning effort: none, minimal, low, medium, high, xhigh, max, or default, which is "
          "the template's own, with reasoning on")
      ->check(CLI::IsMember(EffortWords()))
      ->group(kAnswerGroup);
  serve
      ->add_option("--reasoning-format", options->reasoning_format,
                   "Where an answer has its reasoning: apart from the content (auto, deepseek), in "
                   "the content with its tags (none), or both (deepseek-legacy)")
      ->check(CLI::IsMember({"auto", "deepseek", "none", "deepseek-legacy"}))
      ->capture_default_str()
      ->group(kAnswerGroup);
  serve
      ->add_flag(
          "--reasoning-preserve,!--no-reasoning-preserve", options->reasoning_preserve,
          "Keep the reasoning of earlier turns in the prompt, where the template can (default: "
          "the template's own way)")
      ->group(kAnswerGroup);
  serve
      ->add_flag("--skip-chat-parsing,!--no-skip-chat-parsing", options->skip_chat_parsing,
                 "Return all of an answer as content, its reasoning and its tool calls too")
      ->group(kAnswerGroup);
}

void AddReasoning(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option_function<int64_t>(
          "--reasoning-budget",
          [options](int64_t tokens) {
            std::optional<size_t>* target = &options->defaults.reasoning.tokens_max;
            target->reset();
            if (tokens >= 0) *target = static_cast<size_t>(tokens);
          },
          "Maximum reasoning tokens per answer, after which reasoning is closed (0: no reasoning; "
          "-1: no limit)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->type_name("N")
      ->default_str("-1")
      ->group(kAnswerGroup);
  serve
      ->add_option("--reasoning-budget-message", options->defaults.reasoning.message,
                   "Text to insert before the closing tag when the reasoning budget is used up")
      ->group(kAnswerGroup);
  serve
      ->add_option_function<std::string>(
          "--chat-template-kwargs",
          [options](const std::string& text) {
            const auto kwargs = ParseLimitedJson(text, "--chat-template-kwargs");
            if (!kwargs || !kwargs->is_object()) {
              throw CLI::ValidationError(
                  "--chat-template-kwargs",
                  "expects a JSON object such as '{\"enable_thinking\":false}', not '" + text +
                      "'");
            }
            options->template_kwargs_json = text;
          },
          "JSON object of variables for the chat template; a request's chat_template_kwargs "
          "override it")
      ->group(kAnswerGroup);
}

Result<std::string> TextOrFile(const std::string& text, const std::string& file,
                               const std::string& flag) {
  if (file.empty()) return text;
  auto read = ReadFile(file);
  if (!read) return Fail(read.error().code, flag + "-file " + read.error().message);
  return read;
}

}  // namespace

void AddAnswerFlags(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("-n,--predict", options->predict,
                   "Maximum number of tokens to generate per answer (-1: no limit)")
      ->group(kAnswerGroup);
  serve
      ->add_option_function<int64_t>(
          "-s,--seed",
          [options](int64_t seed) {
            options->defaults.sampling.seed = static_cast<uint32_t>(seed);
          },
          "Sampling seed (-1, the default: a new one for every request)")
      ->check(CLI::Range(int64_t{-1}, int64_t{UINT32_MAX}))
      ->type_name("N")
      ->group(kAnswerGroup);
  AddUsual(serve, &options->defaults.sampling);
  AddRarer(serve, &options->defaults.sampling);
  AddTexts(serve, options);
  AddDry(serve, options);
  AddShape(serve, options);
  AddReasoningShape(serve, options);
  AddReasoning(serve, options);
}

std::string TemplateKwargsOf(const ServeOptions& options) {
  Json kwargs = Json::object();
  if (options.reasoning == "on") {
    kwargs = {{"enable_thinking", true}, {"thinking", true}, {"thinking_mode", "enabled"}};
  }
  if (options.reasoning_preserve) {
    // The names that templates have for it.
    const bool keeps = *options.reasoning_preserve;
    for (const char* name : {"preserve_thinking", "keep_past_thinking"}) kwargs[name] = keeps;
    for (const char* name : {"clear_thinking", "drop_thinking", "truncate_history_thinking"}) {
      kwargs[name] = !keeps;
    }
  }
  if (kwargs.empty()) return options.template_kwargs_json;
  if (!options.template_kwargs_json.empty()) {
    kwargs.update(Json::parse(options.template_kwargs_json));  // it was parsed as a flag
  }
  return ToText(kwargs);
}

std::string Unescaped(const std::string& text) {
  constexpr std::array<std::pair<char, char>, 6> kLetters = {
      {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\'', '\''}, {'"', '"'}, {'\\', '\\'}}};
  std::string read;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const auto* const known = std::find_if(kLetters.begin(), kLetters.end(),
                                           [next](const auto& pair) { return pair.first == next; });
    uint8_t byte = 0;
    const char* const digits = text.data() + std::min(i + 2, text.size());
    const char* const end = text.data() + std::min(i + 4, text.size());
    if (text[i] == '\\' && known != kLetters.end()) {
      read += known->second;
      ++i;
    } else if (text[i] == '\\' && next == 'x' && digits + 2 == end &&
               std::from_chars(digits, end, byte, 16).ptr == end) {
      read += static_cast<char>(byte);
      i += 3;
    } else {
      read += text[i];
    }
  }
  return read;
}

Result<std::string> AnswerGrammarOf(const ServeOptions& options) {
  auto grammar = TextOrFile(options.grammar, options.grammar_file, "--grammar");
  if (!grammar) return grammar;
  auto schema = TextOrFile(options.json_schema, options.json_schema_file, "--json-schema");
  if (!schema) return schema;
  Json body = Json::object();
  if (!grammar->empty()) body["grammar"] = *grammar;
  if (!schema->empty()) body["json_schema"] = Json::parse(*schema, nullptr, false);
  if (body.contains("json_schema") && body["json_schema"].is_discarded()) {
    return Fail(ErrorCode::kInvalidArgument, "--json-schema is not valid JSON");
  }
  auto parsed = ParseAnswerGrammar(body);
  if (parsed) return std::move(*parsed);
  return Fail(ErrorCode::kInvalidArgument,
              "--grammar or --json-schema cannot be used: " + parsed.error().message);
}

}  // namespace cairn
