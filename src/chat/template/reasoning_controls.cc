#include "chat/template/reasoning_controls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json.h"

namespace cairn {
namespace {

constexpr char kUnknownEffort[] = "effort_needle";
constexpr char kQuestion[] = "UserNeedle";

struct Switch {
  const char* name;
  const char* on;
  const char* off;
};
constexpr std::array<Switch, 4> kSwitches = {{{"enable_thinking", "true", "false"},
                                              {"thinking", "true", "false"},
                                              {"thinking_mode", "\"enabled\"", "\"disabled\""},
                                              {"reasoning", "true", "false"}}};
constexpr std::array<const char*, 2> kEffortNames = {"reasoning_effort", "thinking_effort"};

class Prober {
 public:
  explicit Prober(const ChatTemplate& chat_template) : template_(chat_template) {}

  // Returns nullopt if the template refuses.
  std::optional<std::string> With(const Json& kwargs) const {
    Conversation conversation{.messages = {{.role = Role::kUser, .content = kQuestion}}};
    if (!kwargs.empty()) conversation.template_kwargs_json = kwargs.dump();
    conversation.now_unix_s = 1;
    auto text = template_.Render(conversation, true);
    if (!text) return std::nullopt;
    return std::move(*text);
  }

  // Whether the template's text has it in quotes.
  bool Names(const std::string& effort) const {
    const std::string& source = template_.source();
    return source.find("'" + effort + "'") != std::string::npos ||
           source.find("\"" + effort + "\"") != std::string::npos;
  }

 private:
  const ChatTemplate& template_;
};

void FindSwitch(const Prober& prober, ReasoningControls* controls) {
  for (const Switch& known : kSwitches) {
    const auto on = prober.With({{known.name, Json::parse(known.on)}});
    const auto off = prober.With({{known.name, Json::parse(known.off)}});
    if (!on || !off || *on == *off) continue;
    controls->switch_name = known.name;
    controls->switch_on = known.on;
    controls->switch_off = known.off;
    return;
  }
}

// Returns the part of a prompt that begins with the question.
std::string BehindQuestion(const std::string& prompt) {
  const size_t question = prompt.rfind(kQuestion);
  return question == std::string::npos ? prompt : prompt.substr(question);
}

void FindUnasked(const Prober& prober, ReasoningControls* controls) {
  if (controls->switch_name.empty()) return;
  const Json on = {{controls->switch_name, Json::parse(controls->switch_on)}};
  const auto usual = prober.With(Json::object());
  const auto reasons = prober.With(on);
  const auto answers = prober.With({{controls->switch_name, Json::parse(controls->switch_off)}});
  if (!usual || !reasons || !answers) return;
  // A mode may have a third value that leaves it to the model. A truth value has none: there the
  // prompt without it has only forgotten to open the reasoning.
  const std::string begun = BehindQuestion(*usual);
  const bool may_be_third = !Json::parse(controls->switch_on).is_boolean();
  const bool is_off = begun == BehindQuestion(*answers) || !may_be_third;
  if (is_off && begun != BehindQuestion(*reasons)) controls->unasked = on.dump();
}

// Whether variables turn reasoning on or off, by whatever name a template has for it.
std::optional<bool> OnByAnyName(const Json& kwargs) {
  for (const Switch& known : kSwitches) {
    const auto value = kwargs.find(known.name);
    if (value == kwargs.end()) continue;
    if (*value == Json::parse(known.on)) return true;
    if (*value == Json::parse(known.off)) return false;
  }
  for (const char* name : kEffortNames) {
    const auto value = kwargs.find(name);
    if (value != kwargs.end() && *value == "none") return false;
  }
  return std::nullopt;
}

// The nearest effort that is taken; of two equally near the greater.
size_t Nearest(const std::vector<bool>& taken, size_t wanted) {
  for (size_t distance = 0; distance < taken.size(); ++distance) {
    if (wanted + distance < taken.size() && taken[wanted + distance]) return wanted + distance;
    if (distance <= wanted && taken[wanted - distance]) return wanted - distance;
  }
  return taken.size();
}

void FindEfforts(const Prober& prober, const std::string& name, ReasoningControls* controls) {
  Json kwargs = Json::object();
  if (!controls->switch_name.empty()) {
    kwargs[controls->switch_name] = Json::parse(controls->switch_on);
  }
  const auto plain = prober.With(kwargs);
  kwargs[name] = kUnknownEffort;
  const auto unknown = prober.With(kwargs);
  // Such a template says whatever it is given; the model knows no more than these.
  const bool echoes = unknown && unknown->find(kUnknownEffort) != std::string::npos;
  const std::vector<std::string>& efforts = ReasoningEfforts();
  std::vector<bool> taken(efforts.size());
  bool any_effect = false;
  for (size_t i = 0; i < efforts.size(); ++i) {
    kwargs[name] = efforts[i];
    const auto text = prober.With(kwargs);
    const bool usual = efforts[i] == "low" || efforts[i] == "medium" || efforts[i] == "high";
    const bool named = prober.Names(efforts[i]);
    taken[i] = text && (efforts[i] == "none" ? named : !echoes || usual || named);
    any_effect = any_effect || (taken[i] && text != plain);
  }
  if (!any_effect) return;
  controls->effort_name = name;
  if (taken[0]) controls->efforts["none"] = "none";
  taken[0] = false;
  for (size_t i = 1; i < efforts.size(); ++i) {
    const size_t nearest = Nearest(taken, i);
    if (nearest < efforts.size()) controls->efforts[efforts[i]] = efforts[nearest];
  }
}

}  // namespace

const std::vector<std::string>& ReasoningEfforts() {
  static const std::vector<std::string> efforts = {"none", "minimal", "low", "medium",
                                                   "high", "xhigh",   "max"};
  return efforts;
}

std::string KnownEfforts() {
  std::string known;
  for (const std::string& effort : ReasoningEfforts()) {
    known += (known.empty() ? "'" : ", '") + effort + "'";
  }
  return known;
}

ReasoningControls FindReasoningControls(const ChatTemplate& chat_template) {
  const Prober prober(chat_template);
  ReasoningControls controls;
  FindSwitch(prober, &controls);
  FindUnasked(prober, &controls);
  for (const char* name : kEffortNames) {
    if (controls.effort_name.empty()) FindEfforts(prober, name, &controls);
  }
  return controls;
}

std::string KwargsFor(const ReasoningControls& controls, const ReasoningWish& wish) {
  const bool off = IsOff(wish);
  if (!off && wish.effort.empty() && !wish.enabled) return "";
  Json kwargs = Json::object();
  if (!controls.switch_name.empty()) {
    kwargs[controls.switch_name] = Json::parse(off ? controls.switch_off : controls.switch_on);
  }
  const auto effort = controls.efforts.find(off ? "none" : wish.effort);
  if (effort != controls.efforts.end()) kwargs[controls.effort_name] = effort->second;
  return kwargs.empty() ? "" : kwargs.dump();
}

bool SetsSwitch(const ReasoningControls& controls, const std::string& kwargs_json) {
  return !controls.switch_name.empty() && !kwargs_json.empty() &&
         Json::parse(kwargs_json).contains(controls.switch_name);
}

std::string WithOwnSwitch(const ReasoningControls& controls, const std::string& kwargs_json) {
  if (controls.switch_name.empty() || kwargs_json.empty()) return kwargs_json;
  Json kwargs = Json::parse(kwargs_json);
  if (kwargs.contains(controls.switch_name)) return kwargs_json;
  const std::optional<bool> on = OnByAnyName(kwargs);
  if (!on) return kwargs_json;
  kwargs[controls.switch_name] = Json::parse(*on ? controls.switch_on : controls.switch_off);
  return ToText(kwargs);
}

bool TurnsOff(const ReasoningControls& controls, const std::string& kwargs_json) {
  if (!SetsSwitch(controls, kwargs_json)) return false;
  return Json::parse(kwargs_json)[controls.switch_name] == Json::parse(controls.switch_off);
}

std::string EffortNote(const ReasoningControls& controls, std::string_view effort) {
  if (effort.empty()) return "";
  const auto given = controls.efforts.find(std::string(effort));
  if (given != controls.efforts.end()) {
    if (given->second == effort) return "";
    return "the chat template is given the nearest effort that it takes, '" + given->second + "'";
  }
  if (effort == "none") {
    return controls.switch_name.empty()
               ? "the chat template cannot turn reasoning off, so it is closed where it opens"
               : "";
  }
  return controls.switch_name.empty()
             ? "the chat template knows no efforts, so this one changes nothing"
             : "the chat template knows no efforts, so reasoning is turned on and no more";
}

std::string MergedKwargs(const std::vector<std::string>& kwargs_json) {
  Json merged = Json::object();
  for (const std::string& text : kwargs_json) {
    if (!text.empty()) merged.update(Json::parse(text));
  }
  return merged.empty() ? "" : ToText(merged);
}

}  // namespace cairn
