#include "api/request/reasoning_request.h"

#include <algorithm>
#include <string_view>

#include "chat/calls/calls_harmony.h"
#include "chat/template/reasoning_controls.h"

namespace cairn {
namespace {

constexpr int64_t kBudgetMax = int64_t{1} << 40;

// `shown` is the field's name in errors.
void ReadEffort(FieldReader* fields, const Json* value, const std::string& shown,
                ReasoningWish* wish) {
  if (value == nullptr || value->is_null()) return;
  const std::vector<std::string>& known = ReasoningEfforts();
  const bool is_known = value->is_string() && std::find(known.begin(), known.end(),
                                                        value->get<std::string>()) != known.end();
  if (!is_known) return fields->Fail(shown, "one of " + KnownEfforts());
  wish->effort = value->get<std::string>();
}

// Returns the object `name`. Null if it is absent or not an object; the latter is an error.
const Json* FindObject(FieldReader* fields, std::string_view name) {
  const Json* value = fields->Find(name);
  if (value == nullptr || value->is_object()) return value;
  fields->Fail(name, "an object");
  return nullptr;
}

const Json* Member(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

void ReadBudget(FieldReader* fields, const Json& value, const std::string& shown, int64_t least,
                ReasoningParams* reasoning) {
  const auto tokens = value.is_number_integer() ? value.get<int64_t>() : int64_t{0};
  const bool whole = value.is_number_integer() && tokens >= least && tokens <= kBudgetMax;
  if (!whole) {
    return fields->Fail(shown, "a whole number from " + std::to_string(least) + " to " +
                                   std::to_string(kBudgetMax));
  }
  if (tokens >= 0) reasoning->tokens_max = static_cast<size_t>(tokens);
}

}  // namespace

void ReadTemplateKwargs(FieldReader* fields, Conversation* conversation) {
  const Json* kwargs = FindObject(fields, "chat_template_kwargs");
  if (kwargs != nullptr) conversation->template_kwargs_json = ToText(*kwargs);
}

void ReadThinkingBudget(FieldReader* fields, ReasoningParams* reasoning) {
  const Json* budget = fields->Find("thinking_budget_tokens");
  if (budget != nullptr) ReadBudget(fields, *budget, "thinking_budget_tokens", -1, reasoning);
}

void ReadReasoningEffort(FieldReader* fields, ReasoningWish* wish) {
  ReadEffort(fields, fields->Find("reasoning_effort"), "reasoning_effort", wish);
}

void ReadReasoningOptions(FieldReader* fields, ReasoningWish* wish) {
  const Json* reasoning = FindObject(fields, "reasoning");
  if (reasoning != nullptr) {
    ReadEffort(fields, Member(*reasoning, "effort"), "reasoning.effort", wish);
  }
}

void ReadThinking(FieldReader* fields, ReasoningWish* wish) {
  if (const Json* config = FindObject(fields, "output_config")) {
    ReadEffort(fields, Member(*config, "effort"), "output_config.effort", wish);
  }
  const Json* thinking = FindObject(fields, "thinking");
  if (thinking == nullptr) return;
  const Json* type = Member(*thinking, "type");
  const std::string name = type != nullptr && type->is_string() ? type->get<std::string>() : "";
  // With `adaptive` and `between_tools` the model decides how much it reasons.
  const bool left_open = name == "adaptive" || name == "between_tools";
  if (name != "enabled" && name != "disabled" && !left_open) {
    return fields->Fail("thinking.type",
                        "one of 'enabled', 'disabled', 'adaptive', 'between_tools'");
  }
  if (!left_open) wish->enabled = name == "enabled";
}

void ReadThinkingBudgetTokens(FieldReader* fields, ReasoningParams* reasoning) {
  const Json* thinking = FindObject(fields, "thinking");
  if (thinking == nullptr) return;
  const Json* budget = Member(*thinking, "budget_tokens");
  if (budget == nullptr || budget->is_null()) return;
  ReadBudget(fields, *budget, "thinking.budget_tokens", 0, reasoning);
}

ReasoningParams ReasoningOf(const AnswerFormat& format, const ReasoningParams& asked) {
  ReasoningParams params;
  params.tokens_max = asked.tokens_max;
  params.message = asked.message;
  params.starts_inside = format.starts_in_reasoning;
  if (format.calls != CallFormat::kHarmony) {
    params.open = format.reasoning.open;
    params.closes = {format.reasoning.close};
    params.closing = format.reasoning.close;
    return params;
  }
  const std::string next = std::string(kAnalysisClose) + "<|start|>assistant";
  const std::string final_message = next + "<|channel|>final<|message|>";
  params.anywhere = true;
  params.open = kAnalysisOpen;
  params.closes = {std::string(kAnalysisClose), "<|start|>", "<|channel|>"};
  // After its first reasoning the model may call a tool.
  params.closing = format.tools.empty() ? final_message : next;
  params.closing_again = final_message;
  return params;
}

}  // namespace cairn
