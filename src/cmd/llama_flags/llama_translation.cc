#include "cmd/llama_flags/llama_translation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/nearest_word.h"
#include "engine/engine.h"
#include "engine/llama/model/llama_options.h"

namespace cairn {
namespace {

using Words = std::vector<std::string>;

// Reads all of `text` as a number; nullopt if it is none, or out of range.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename Number>
bool IsNumber(std::string_view text) {
  // from_chars accepts no plus sign.
  return ReadNumber<Number>(text.substr(text.starts_with('+') ? 1 : 0)).has_value();
}

tl::unexpected<Error> WrongValue(const LlamaUse& use, const std::string& expected,
                                 const std::string& value) {
  return Fail(ErrorCode::kInvalidArgument,
              use.spelling + " takes " + expected + ", not '" + value + "'");
}

bool Has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string ListOf(const Words& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

// Checks a value of allowed words and brings it into the form of one of them: llama-server's 1,
// true and enabled are its "on".
Status Choose(const LlamaUse& use, const std::string& rule, std::string* value) {
  const Words allowed = SplitWords(rule, "|");
  if (Has(allowed, *value)) return {};
  const auto is = ParseSwitchWord(*value);
  if (is && Has(allowed, "on")) {
    *value = *is ? "on" : "off";
    return {};
  }
  if (*value == "-1" && Has(allowed, "auto")) {
    *value = "auto";
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument, use.spelling + " takes " + ListOf(allowed) + ", not '" +
                                               *value + "'" + DidYouMean(*value, allowed));
}

// The command line checks the numbers of flags that work here; nobody else checks the others'.
Status CheckValues(LlamaUse* use) {
  for (size_t i = 0; i < use->values.size(); ++i) {
    const std::string& rule = use->flag->values[i];
    std::string& value = use->values[i];
    if (rule.find('|') != std::string::npos) {
      if (Status chosen = Choose(*use, rule, &value); !chosen) return chosen;
    } else if (!use->flag->works() && rule == "N" && !IsNumber<int64_t>(value)) {
      return WrongValue(*use, "a whole number", value);
    } else if (!use->flag->works() && rule == "F" && !IsNumber<double>(value)) {
      return WrongValue(*use, "a number", value);
    }
  }
  return {};
}

// "--flag=VALUE", or two words where an equals sign with nothing behind it would take the next one.
void AddArgument(const std::string& flag, const std::string& value, Words* arguments) {
  if (value.empty()) {
    arguments->insert(arguments->end(), {flag, value});
  } else {
    arguments->push_back(flag + "=" + value);
  }
}

Result<LlamaMeaning> LoadMode(const LlamaUse& use) {
  LlamaMeaning meaning;
  const std::string& mode = use.values.front();
  if (mode == "auto") return meaning;
  const bool maps = mode == "mmap" || mode == "mmap+mlock";
  meaning.arguments.emplace_back(maps ? "--mmap" : "--mmap=false");
  if (mode == "mlock" || mode == "mmap+mlock") meaning.arguments.emplace_back("--mlock");
  if (mode == "dio") meaning.note = use.spelling + " dio: the file is read without direct I/O";
  return meaning;
}

Result<LlamaMeaning> CpuFfn(const LlamaUse& use) {
  LlamaMeaning meaning;
  const std::string& text = use.values.front();
  constexpr int32_t kLayersMax = 1024;  // more than any model has
  const auto layers = ReadNumber<int32_t>(text);
  if (!layers || *layers < 0) return WrongValue(use, "a number of layers", text);
  if (*layers == 0) return meaning;
  std::string numbers;
  for (int32_t layer = 0; layer < std::min(*layers, kLayersMax); ++layer) {
    numbers += (numbers.empty() ? "" : "|") + std::to_string(layer);
  }
  // llama.cpp's names of the tensors of a dense layer's feed-forward part.
  meaning.arguments.push_back("--override-tensor=blk\\.(" + numbers +
                              ")\\.ffn_(up|down|gate|gate_up)\\.weight=CPU");
  return meaning;
}

Result<LlamaMeaning> TensorSplit(const LlamaUse& use) {
  std::string shares = use.values.front();
  std::replace(shares.begin(), shares.end(), '/', ',');
  LlamaMeaning meaning;
  AddArgument("--tensor-split", shares, &meaning.arguments);
  return meaning;
}

Result<LlamaMeaning> LogJsonl(const LlamaUse& use) {
  LlamaMeaning meaning;
  meaning.arguments.emplace_back(use.negates ? "--log-format=human" : "--log-format=json");
  return meaning;
}

Result<LlamaMeaning> Verbosity(const LlamaUse& use) {
  const std::string& text = use.values.front();
  const auto level = ReadNumber<int32_t>(text);
  if (!level) return WrongValue(use, "a number, such as 3", text);
  constexpr std::array<const char*, 5> kLevels = {"error", "error", "warning", "info", "debug"};
  constexpr auto kLast = static_cast<int32_t>(kLevels.size()) - 1;
  LlamaMeaning meaning;
  AddArgument("--log-level", kLevels.at(static_cast<size_t>(std::clamp(*level, 0, kLast))),
              &meaning.arguments);
  return meaning;
}

// "edkypmxt": a letter for each sampler. llama-server passes over letters that it does not know.
Result<LlamaMeaning> SamplerSequence(const LlamaUse& use) {
  std::string names;
  for (const char letter : use.values.front()) {
    const std::optional<SamplingStep> step = SamplingStepOfLetter(letter);
    if (!step) {
      return WrongValue(use, "letters of samplers, of '" + std::string(kSamplingLetters) + "'",
                        use.values.front());
    }
    names += (names.empty() ? "" : ";") + std::string(SamplingStepName(*step));
  }
  LlamaMeaning meaning;
  AddArgument("--samplers", names, &meaning.arguments);
  return meaning;
}

Result<LlamaMeaning> SpecType(const LlamaUse& use) {
  static const Words kNotHere = {"draft-eagle3", "draft-dflash", "draft-dspark"};
  LlamaMeaning meaning;
  std::string kept;
  std::string left_out;
  for (const std::string& kind : SplitWords(use.values.front(), ",")) {
    std::string* const list = Has(kNotHere, kind) ? &left_out : &kept;
    *list += (list->empty() ? "" : ",") + kind;
  }
  if (!left_out.empty()) {
    meaning.note = use.spelling + " " + left_out +
                   " has no effect: there are no drafts of that kind here, and answers are the "
                   "same without";
  }
  AddArgument("--spec-type", kept.empty() ? "none" : kept, &meaning.arguments);
  return meaning;
}

Result<LlamaMeaning> PerSlot(const LlamaUse& use) {
  const std::string& text = use.values.front();
  const auto tokens = ReadNumber<int64_t>(text);
  if (!tokens || *tokens < 1) return WrongValue(use, "a number of tokens", text);
  LlamaMeaning meaning;
  // The number of slots is known when the line is read to its end.
  meaning.defaults.push_back("--ctx-size*slots=" + text);
  meaning.note = use.spelling +
                 ": without --ctx-size it sets the context of all slots together; "
                 "no slot is limited to its part";
  return meaning;
}

Result<LlamaMeaning> ProjectorDevice(const LlamaUse& use) {
  LlamaMeaning meaning;
  if (use.values.front() == "none") {
    meaning.arguments.emplace_back("--mmproj-offload=false");
  } else {
    meaning.note = use.spelling +
                   " has no effect: the projector is on the first GPU, or with none "
                   "on the CPU";
  }
  return meaning;
}

// A batch only tunes, so one that is too small for a start here is no error.
Result<LlamaMeaning> Batch(const LlamaUse& use) {
  constexpr auto kLeast = static_cast<int64_t>(kUbatchTokensMin);
  std::string text = use.values.front();
  const auto tokens = ReadNumber<int64_t>(text);
  LlamaMeaning meaning;
  if (tokens && *tokens > 0 && *tokens < kLeast) {
    meaning.note = use.spelling + " " + text + " is raised to " + std::to_string(kLeast) +
                   ", the least batch of a start";
    text = std::to_string(kLeast);
  }
  AddArgument("--" + use.flag->here.substr(1), text, &meaning.arguments);
  return meaning;
}

Result<LlamaMeaning> EmbeddingNorm(const LlamaUse& use) {
  if (use.values.front() != "2") {
    return Fail(ErrorCode::kInvalidArgument, use.spelling + " " + use.values.front() +
                                                 ": embeddings always have the Euclidean length 1, "
                                                 "which is 2; leave it out");
  }
  LlamaMeaning meaning;
  meaning.is_always_so = true;
  return meaning;
}

using Translator = Result<LlamaMeaning> (*)(const LlamaUse& use);

Translator TranslatorOf(std::string_view name) {
  static const std::map<std::string_view, Translator> kTranslators = {
      {"@load-mode", LoadMode}, {"@n-cpu-ffn", CpuFfn},    {"@tensor-split", TensorSplit},
      {"@log-jsonl", LogJsonl}, {"@verbosity", Verbosity}, {"@sampler-seq", SamplerSequence},
      {"@spec-type", SpecType}, {"@per-slot", PerSlot},    {"@mmproj-device", ProjectorDevice},
      {"@batch-size", Batch},   {"@ubatch-size", Batch},   {"@embd-normalize", EmbeddingNorm}};
  const auto found = kTranslators.find(name);
  return found == kTranslators.end() ? nullptr : found->second;
}

LlamaMeaning WithoutEffect(const LlamaUse& use) {
  LlamaMeaning meaning;
  const bool always = use.flag->fate == LlamaFate::kAlways && !use.negates;
  // Not to have what is refused is always so.
  meaning.is_always_so = always || use.flag->fate == LlamaFate::kRefused;
  if (!meaning.is_always_so) meaning.note = use.spelling + " has no effect: " + use.flag->note;
  return meaning;
}

}  // namespace

std::optional<bool> ParseSwitchWord(std::string_view word) {
  constexpr std::array<std::string_view, 5> kTrue = {"1", "true", "on", "yes", "enabled"};
  constexpr std::array<std::string_view, 5> kFalse = {"0", "false", "off", "no", "disabled"};
  const auto is_one_of = [word](std::span<const std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (is_one_of(kTrue)) return true;
  if (is_one_of(kFalse)) return false;
  return std::nullopt;
}

Result<LlamaMeaning> TranslateLlamaFlag(const LlamaUse& given) {
  LlamaUse use = given;
  const LlamaFlag& flag = *use.flag;
  if (flag.fate == LlamaFate::kRefused && !use.negates) {
    return Fail(ErrorCode::kInvalidArgument, use.spelling + " is refused: " + flag.note);
  }
  if (Status checked = CheckValues(&use); !checked) return tl::unexpected(checked.error());
  if (!flag.works()) return WithoutEffect(use);
  if (const Translator translate = TranslatorOf(flag.here)) return translate(use);
  LlamaMeaning meaning;
  if (flag.here == "@help") {
    meaning.arguments.emplace_back("--help");
  } else if (flag.here.starts_with('@')) {
    meaning.instead = flag.here.substr(1);
  } else if (!flag.is_plain()) {
    meaning.defaults = SplitWords(flag.here, " ");
  } else if (flag.values.empty()) {
    meaning.arguments.push_back(flag.here + (use.negates ? "=false" : ""));
  } else {
    std::string values;
    for (const std::string& value : use.values) values += (values.empty() ? "" : ",") + value;
    AddArgument(flag.here, values, &meaning.arguments);
  }
  return meaning;
}

}  // namespace cairn
