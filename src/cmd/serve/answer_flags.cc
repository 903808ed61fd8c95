#include "cmd/serve/answer_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <vector>

#include "api/json.h"
#include "api/openai/chat_request.h"
#include "base/read_file.h"
#include "chat/parse/limited_json.h"
#include "chat/template/reasoning_controls.h"

namespace cairn {
namespace {

constexpr const char* kGroup = "Answers (what a request leaves open)";

template <typename T>
void Add(CLI::App* serve, const char* names, T* target, const char* help) {
  serve->add_option(names, *target, help)->capture_default_str()->group(kGroup);
}

void AddUsual(CLI::App* serve, SamplingParams* sampling) {
  Add(serve, "--temp", &sampling->temperature, "Temperature (0: the likeliest token)");
  Add(serve, "--top-k", &sampling->top_k, "Of the k likeliest (0: off)");
  Add(serve, "--top-p", &sampling->top_p, "Of the likeliest that add up to p (1: off)");
  Add(serve, "--min-p", &sampling->min_p, "At least p times the likeliest (0: off)");
  Add(serve, "--repeat-penalty", &sampling->repeat_penalty, "Against repetition (1: off)");
  Add(serve, "--repeat-last-n", &sampling->repeat_last_n, "Tokens it looks back");
  Add(serve, "--presence-penalty", &sampling->presence_penalty, "0: off");
  Add(serve, "--frequency-penalty", &sampling->frequency_penalty, "0: off");
}

void AddRarer(CLI::App* serve, SamplingParams* sampling) {
  Add(serve, "--typical,--typical-p", &sampling->typical_p, "Locally typical sampling (1: off)");
  Add(serve, "--top-nsigma,--top-n-sigma", &sampling->top_n_sigma,
      "Within n standard deviations of the likeliest (-1: off)");
  Add(serve, "--xtc-probability", &sampling->xtc_probability,
      "How often the likeliest are left out (0: off)");
  Add(serve, "--xtc-threshold", &sampling->xtc_threshold, "Which those are (above 0.5: off)");
  Add(serve, "--dynatemp-range", &sampling->dynatemp_range,
      "The temperature moves by so much with what is to choose from (0: off)");
  Add(serve, "--dynatemp-exp", &sampling->dynatemp_exponent, "How it moves");
  serve->add_option("--mirostat", sampling->mirostat, "Mirostat 1 or 2 (0: off)")
      ->capture_default_str()
      ->check(CLI::Range(0, 2))
      ->group(kGroup);
  Add(serve, "--mirostat-lr", &sampling->mirostat_eta, "Its learning rate, eta");
  Add(serve, "--mirostat-ent", &sampling->mirostat_tau, "Its target entropy, tau");
  serve
      ->add_option("--adaptive-target", sampling->adaptive_target,
                   "With adaptive_p among --samplers: draw tokens near this probability (negative: "
                   "off)")
      ->capture_default_str()
      ->check(CLI::Range(-1.0, 1.0))
      ->group(kGroup);
  serve
      ->add_option("--adaptive-decay", sampling->adaptive_decay,
                   "How slowly it adapts to the tokens drawn so far")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.99))
      ->group(kGroup);
}

void AddDry(CLI::App* serve, DryParams* dry) {
  Add(serve, "--dry-multiplier", &dry->multiplier, "Against repeating whole sequences (0: off)");
  Add(serve, "--dry-base", &dry->base, "How fast that grows with the sequence");
  Add(serve, "--dry-allowed-length", &dry->allowed_length, "Tokens that may repeat unpunished");
  Add(serve, "--dry-penalty-last-n", &dry->last_n, "Tokens it looks back (-1: the context)");
  serve
      ->add_option_function<std::vector<std::string>>(
          "--dry-sequence-breaker",
          [dry](std::vector<std::string> breakers) {
            std::erase(breakers, "none");
            dry->breakers = std::move(breakers);
          },
          "Text that ends a sequence; may be given again; 'none' for none (default: newline, "
          "colon, "
          "quote, star)")
      ->group(kGroup);
}

// "penalties;top_k;temperature", as a request's `samplers` has them in a list.
void ReadSamplers(const std::string& names, SamplingParams* sampling) {
  Json list = Json::array();
  for (const std::string& name : CLI::detail::split(names, ';')) list.push_back(name);
  const auto read = ParseGenerationParams({{"samplers", list}}, {});
  if (!read) throw CLI::ValidationError("--samplers", read.error().message);
  sampling->order = read->sampling.order;
}

// "15043+1" or "15043-1.5".
void ReadBias(const std::string& text, SamplingParams* sampling) {
  const size_t sign = text.find_first_of("+-");
  Token token = 0;
  float bias = 0;
  const char* const end = text.data() + text.size();
  const char* const middle = text.data() + std::min(sign, text.size());
  // from_chars takes no plus.
  const char* const number = middle != end && *middle == '+' ? middle + 1 : middle;
  const bool read = std::from_chars(text.data(), middle, token).ptr == middle && sign > 0 &&
                    number != end && std::from_chars(number, end, bias).ptr == end;
  if (!read) throw CLI::ValidationError("--logit-bias", "takes TOKEN+BIAS, not '" + text + "'");
  sampling->logit_bias.emplace_back(token, bias);
}

void AddShape(CLI::App* serve, ServeOptions* options) {
  SamplingParams* sampling = &options->defaults.sampling;
  serve
      ->add_option_function<std::string>(
          "--samplers", [sampling](const std::string& names) { ReadSamplers(names, sampling); },
          "The steps and their order, with semicolons: penalties;dry;top_k;temperature; "
          "infill and adaptive_p are taken only where they are named")
      ->group(kGroup);
  serve
      ->add_option_function<std::vector<std::string>>(
          "-l,--logit-bias",
          [sampling](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) ReadBias(text, sampling);
          },
          "Make a token likelier or less: 15043+1, 15043-1; may be given again")
      ->group(kGroup);
  serve->add_flag("--ignore-eos", options->defaults.ignore_end, "Go on past the answer's own end")
      ->group(kGroup);
  serve->add_option("--grammar", options->grammar, "GBNF that answers must follow")->group(kGroup);
  serve->add_option("--grammar-file", options->grammar_file, "File with such a grammar")
      ->group(kGroup);
  serve->add_option("-j,--json-schema", options->json_schema, "JSON schema answers must follow")
      ->group(kGroup);
  serve->add_option("--json-schema-file", options->json_schema_file, "File with one (-jf)")
      ->group(kGroup);
}

void AddReasoning(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--reasoning-effort", options->reasoning_effort,
                   "How much reasoning: none, minimal, low, medium, high, xhigh, max (default: the "
                   "template's own)")
      ->check(CLI::IsMember(ReasoningEfforts()))
      ->group(kGroup);
  serve
      ->add_option_function<int64_t>(
          "--reasoning-budget",
          [options](int64_t tokens) {
            std::optional<size_t>* target = &options->defaults.reasoning.tokens_max;
            target->reset();
            if (tokens >= 0) *target = static_cast<size_t>(tokens);
          },
          "Most tokens of reasoning in an answer, which is closed then (0: at once; -1: no limit)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->type_name("N")
      ->default_str("-1")
      ->group(kGroup);
  serve
      ->add_option("--reasoning-budget-message", options->defaults.reasoning.message,
                   "Text put before the closing tag when the budget is spent")
      ->group(kGroup);
  serve
      ->add_option_function<std::string>(
          "--chat-template-kwargs",
          [options](const std::string& text) {
            const auto kwargs = ParseLimitedJson(text, "--chat-template-kwargs");
            if (!kwargs || !kwargs->is_object()) {
              throw CLI::ValidationError(
                  "--chat-template-kwargs",
                  "takes a JSON object such as '{\"enable_thinking\":false}', not '" + text + "'");
            }
            options->template_kwargs_json = text;
          },
          "JSON object of variables for the chat template; a request's own win")
      ->group(kGroup);
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
  serve->add_option("-n,--predict", options->predict, "Most tokens of an answer (-1: no limit)")
      ->group(kGroup);
  serve
      ->add_option("-s,--seed", options->defaults.sampling.seed,
                   "Seed (default: another for every request)")
      ->group(kGroup);
  AddUsual(serve, &options->defaults.sampling);
  AddRarer(serve, &options->defaults.sampling);
  AddDry(serve, &options->defaults.sampling.dry);
  AddShape(serve, options);
  AddReasoning(serve, options);
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
    return Fail(ErrorCode::kInvalidArgument, "--json-schema is no JSON text");
  }
  auto parsed = ParseAnswerGrammar(body);
  if (parsed) return std::move(*parsed);
  return Fail(ErrorCode::kInvalidArgument,
              "--grammar or --json-schema cannot be used: " + parsed.error().message);
}

}  // namespace cairn
