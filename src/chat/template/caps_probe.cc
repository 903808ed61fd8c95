#include "chat/template/caps_probe.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace cairn {
namespace {

constexpr std::string_view kUser = "UserNeedle";
constexpr std::string_view kSystem = "SystemNeedle";
constexpr std::string_view kTool = "tool_needle";
constexpr std::string_view kAnswer = "AnswerNeedle";
// For the order in which a conversation's texts show.
constexpr std::string_view kReply = "ReplyNeedle";
constexpr std::string_view kLate = "LateNeedle";
constexpr std::string_view kLast = "LastNeedle";
// An id as the template of Mistral wants it, and one as clients have them.
constexpr const char* kShortId = "call00001";
constexpr const char* kLongId = "call_0123456789";

bool Contains(std::string_view text, std::string_view needle) {
  return text.find(needle) != std::string_view::npos;
}

Tools ProbeTools() {
  const Json parameters = {{"type", "object"},
                           {"properties", {{"arg", {{"type", "string"}}}}},
                           {"required", Json::array({"arg"})}};
  const Json function = {{"name", kTool}, {"description", "A tool."}, {"parameters", parameters}};
  return Tools(Json::array({{{"type", "function"}, {"function", function}}}));
}

class CapsProbe {
 public:
  explicit CapsProbe(const ProbeRender& render) : render_(render) {}

  TemplateCaps Find(const std::string& source) {
    caps_.typed_content = !Contains(Text(Json::array({Said("user", kUser)})), kUser);
    if (caps_.typed_content) {
      caps_.typed_content = Contains(Text(Json::array({Said("user", kUser)})), kUser);
    }
    caps_.system_role = ShowsLeading("system");
    caps_.developer_role = Contains(source, "developer") && ShowsLeading("developer");
    caps_.thinking_field = !Contains(source, "reasoning_content") && Contains(source, ".thinking");
    caps_.tools = Contains(render_(Json::array({User()}), ProbeTools()), kTool);
    caps_.tools_move = caps_.tools && MovesTools();
    FindCallShape();
    FindRulesOfTools();
    caps_.no_empty_answers = Refuses(Json::array({User(), Said("assistant", ""), User()})) &&
                             !Refuses(Json::array({User(), Said("assistant", kReply), User()}));
    caps_.late_system = FindLateSystem();
    return caps_;
  }

 private:
  Json Said(std::string_view role, std::string_view text) const {
    if (!caps_.typed_content) return {{"role", role}, {"content", text}};
    return {{"role", role}, {"content", Json::array({{{"type", "text"}, {"text", text}}})}};
  }
  Json User() const { return Said("user", kUser); }
  std::string Text(const Json& messages) const { return render_(messages, Tools()); }

  bool Refuses(const Json& messages) const { return Text(messages).empty(); }

  bool ShowsLeading(std::string_view role) const {
    const Json leading = Said(role, kSystem);
    if (!Contains(Text(Json::array({leading, User()})), kSystem)) return false;
    const std::string later =
        Text(Json::array({leading, User(), Said("assistant", kReply), Said("user", kLast)}));
    return later.empty() || later.find(kSystem) < later.find(kUser);
  }

  // Whether a second question takes the tools away from the first.
  bool MovesTools() const {
    const std::string text = render_(
        Json::array({User(), Said("assistant", kReply), Said("user", kLast)}), ProbeTools());
    return !text.empty() && text.find(kTool) > text.find(kReply);
  }

  // --- Tools ------------------------------------------------------------------------------------

  static Json Call(const Json& content, const Json& arguments, const char* id = kShortId) {
    const Json function = {{"name", kTool}, {"arguments", arguments}};
    const Json calls = Json::array({{{"id", id}, {"type", "function"}, {"function", function}}});
    return {{"role", "assistant"}, {"content", content}, {"tool_calls", calls}};
  }

  // A call in the shape that was found.
  Json Call(const char* id = kShortId) const {
    const Json object = {{"key_needle", "value"}};
    const Json content = caps_.null_content ? Json() : Json("");
    return Call(content, caps_.object_arguments ? object : Json(object.dump()), id);
  }

  Json Answer(const char* id = kShortId) const {
    Json answer = Said("tool", kAnswer);
    answer["tool_call_id"] = id;
    answer["name"] = kTool;
    return answer;
  }

  // Whether the call comes through, and not as an escaped text inside a text. Some templates name
  // the tool by the call's id alone.
  bool ShowsCall(const Json& content, const Json& arguments) const {
    const Json call = Call(content, arguments);
    const auto shows = [](const std::string& text) {
      return (Contains(text, kTool) || Contains(text, kShortId)) && Contains(text, "key_needle") &&
             !Contains(text, "key_needle\\\"") && !Contains(text, "None");
    };
    // Some write the last message of a conversation in another way.
    return shows(Text(Json::array({User(), call}))) ||
           shows(Text(Json::array({User(), call, Said("assistant", kReply)})));
  }

  // Whether an object of arguments shows as JSON, or as Python's text of it, which no model wants.
  bool ShowsAsOneText(const Json& arguments) const {
    const Json call = Call("", arguments);
    const std::string text = Text(Json::array({User(), call, Said("assistant", kReply)})) +
                             Text(Json::array({User(), call}));
    return Contains(text, "\"key_needle\":") || Contains(text, "'key_needle':");
  }

  void FindCallShape() {
    const Json object = {{"key_needle", "value"}};
    const Json text = object.dump();
    const Json empty = "";
    const bool with_text = ShowsCall(nullptr, text) || ShowsCall(empty, text);
    const bool with_object = ShowsCall(nullptr, object) || ShowsCall(empty, object);
    caps_.tool_calls = with_text || with_object;
    // A text that goes into the prompt as it came keeps the model's own bytes. It may do so only
    // where an object would be JSON too: Gemma 4 has a notation of its own.
    caps_.object_arguments = with_object && !(with_text && ShowsAsOneText(object));
    const Json arguments = caps_.object_arguments ? object : text;
    // Text that is always there is the safer of the two: null prints as "None" in some places.
    caps_.null_content = !ShowsCall(empty, arguments) && ShowsCall(nullptr, arguments);
    caps_.tool_responses = Contains(Text(Json::array({User(), Call(), Answer()})), kAnswer);
  }

  void FindRulesOfTools() {
    if (!caps_.tool_calls || !caps_.tool_responses) return;
    Json two_calls = Call();
    two_calls["tool_calls"].push_back(two_calls["tool_calls"][0]);
    Json talkative = Call();
    talkative["content"] = Said("assistant", kReply)["content"];
    Json thoughtful = talkative;
    thoughtful[caps_.thinking_field ? "thinking" : "reasoning_content"] = kLate;
    caps_.no_text_beside_thinking = Refuses(Json::array({User(), thoughtful, Answer()})) &&
                                    !Refuses(Json::array({User(), talkative, Answer()}));
    caps_.single_calls = Refuses(Json::array({User(), two_calls, Answer(), Answer()}));
    caps_.short_call_ids = Refuses(Json::array({User(), Call(kLongId), Answer(kLongId)}));
    caps_.no_user_after_tool =
        Refuses(Json::array({User(), Call(), Answer(), Said("user", kLast)}));
  }

  // --- Late system messages ---------------------------------------------------------------------

  LateSystem FindLateSystem() const {
    const Json reply = Said("assistant", kReply);
    const Json last = Said("user", kLast);
    const bool strict =
        Refuses(Json::array({User(), last})) && !Refuses(Json::array({User(), reply, last}));
    if (strict) return LateSystem::kStrictTurns;
    const Json system = Said("system", kSystem);
    const Json late = Said("system", kLate);
    // As clients send them: between an answer and the next question, right behind a question, and
    // behind a tool's result.
    std::vector<std::pair<Json, std::vector<std::string_view>>> probes = {
        {Json::array({system, User(), reply, late, last}), {kUser, kReply, kLate, kLast}},
        {Json::array({system, User(), late, reply, last}), {kUser, kLate, kReply, kLast}}};
    if (caps_.tool_calls && caps_.tool_responses) {
      probes.push_back({Json::array({system, User(), Call(), Answer(), late, reply, last}),
                        {kUser, kAnswer, kLate, kReply, kLast}});
    }
    for (const auto& [messages, order] : probes) {
      const LateSystem found = Classify(Text(messages), order);
      if (found != LateSystem::kInPlace) return found;
    }
    return LateSystem::kInPlace;
  }

  static LateSystem Classify(const std::string& text, const std::vector<std::string_view>& order) {
    if (text.empty()) return LateSystem::kRefused;
    if (!Contains(text, kLate)) return LateSystem::kDropped;
    size_t at = 0;
    for (const std::string_view needle : order) {
      const size_t found = text.find(needle);
      if (found == std::string::npos) continue;  // some templates leave out what others show
      if (found < at) return LateSystem::kHoisted;
      at = found;
    }
    return LateSystem::kInPlace;
  }

  const ProbeRender& render_;
  TemplateCaps caps_;
};

}  // namespace

TemplateCaps FindTemplateCaps(const std::string& source, const ProbeRender& render) {
  return CapsProbe(render).Find(source);
}

}  // namespace cairn
