#include "chat/template/caps_probe.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kUser = "UserNeedle";
constexpr std::string_view kSystem = "SystemNeedle";
constexpr std::string_view kTool = "tool_needle";
constexpr std::string_view kAnswer = "AnswerNeedle";
constexpr std::string_view kNoRole = "no_role";
// For the order in which a conversation's texts show.
constexpr std::string_view kReply = "ReplyNeedle";
constexpr std::string_view kLate = "LateNeedle";
constexpr std::string_view kLast = "LastNeedle";
constexpr std::string_view kThought = "ThoughtNeedle";
// For a text in two parts.
constexpr std::string_view kFirstPart = "FirstPartNeedle";
constexpr std::string_view kSecondPart = "SecondPartNeedle";
// An id as the template of Mistral wants it, and one as clients have them.
constexpr const char* kShortId = "call00001";
constexpr const char* kLongId = "call_0123456789";

Tools CapsProbeTools() {
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
    caps_.tools = Contains(Text(Json::array({User()}), CapsProbeTools()), kTool);
    caps_.tools_move = caps_.tools && MovesTools();
    FindCallShape();
    caps_.results_beside_calls = Contains(source, "tool_responses") && TakesResultsBesideCalls();
    caps_.tool_responses = caps_.tool_responses || caps_.results_beside_calls;
    caps_.reasoning_field = FindReasoningField(source);
    FindPartSeparators();
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
  std::string Text(const Json& messages, const Tools& tools = Tools()) const {
    return render_(messages, tools, Json::object());
  }

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
    const std::string text = Text(
        Json::array({User(), Said("assistant", kReply), Said("user", kLast)}), CapsProbeTools());
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
    const Json reply = Said("assistant", kReply);
    const auto shows = [&](const Json& with_call, const Json& without_call) {
      const std::string text = Text(with_call);
      return (Contains(text, kTool) || Contains(text, kShortId)) && Contains(text, "key_needle") &&
             !Contains(text, "key_needle\\\"") && Nones(text) <= Nones(Text(without_call));
    };
    // Some write the last message of a conversation in another way.
    return shows(Json::array({User(), call}), Json::array({User(), reply})) ||
           shows(Json::array({User(), call, reply}), Json::array({User(), reply, reply}));
  }

  // Returns how often "None" occurs: a template that prints it whatever is said may do so.
  static size_t Nones(std::string_view text) {
    constexpr std::string_view kNone = "None";
    size_t found = 0;
    for (size_t at = text.find(kNone); at != std::string_view::npos; ++found) {
      at = text.find(kNone, at + kNone.size());
    }
    return found;
  }

  // Whether an object of arguments shows as JSON, or as Python's text of it, which no model wants.
  // Some templates show calls only beside an empty text, some only beside none.
  bool ShowsAsOneText(const Json& arguments) const {
    const Json empty = "";
    for (const Json& content : {empty, Json()}) {
      const Json call = Call(content, arguments);
      const std::string text = Text(Json::array({User(), call, Said("assistant", kReply)})) +
                               Text(Json::array({User(), call}));
      if (Contains(text, "\"key_needle\":") || Contains(text, "'key_needle':")) return true;
    }
    return false;
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

  // Whether results show beside their calls, while a message of role "tool" shows as one of a role
  // that no template knows.
  bool TakesResultsBesideCalls() const {
    Json call = Call();
    call["tool_responses"] = Json::array({{{"name", kTool}, {"response", kAnswer}}});
    if (!Contains(Text(Json::array({User(), call})), kAnswer)) return false;
    Json unknown = Answer();
    unknown["role"] = kNoRole;
    std::string as_unknown = Text(Json::array({User(), Call(), unknown}));
    for (size_t at = as_unknown.find(kNoRole); at != std::string::npos;
         at = as_unknown.find(kNoRole, at)) {
      as_unknown.replace(at, kNoRole.size(), "tool");
    }
    return Text(Json::array({User(), Call(), Answer()})) == as_unknown;
  }

  void FindRulesOfTools() {
    if (!caps_.tool_calls || !caps_.tool_responses) return;
    Json two_calls = Call();
    two_calls["tool_calls"].push_back(two_calls["tool_calls"][0]);
    Json talkative = Call();
    talkative["content"] = Said("assistant", kReply)["content"];
    const Json thoughtful = Thoughtful(talkative, caps_.reasoning_field);
    caps_.no_text_beside_thinking = Refuses(Json::array({User(), thoughtful, Answer()})) &&
                                    !Refuses(Json::array({User(), talkative, Answer()}));
    caps_.single_calls = Refuses(Json::array({User(), two_calls, Answer(), Answer()}));
    caps_.short_call_ids = Refuses(Json::array({User(), Call(kLongId), Answer(kLongId)}));
    caps_.no_user_after_tool =
        Refuses(Json::array({User(), Call(), Answer(), Said("user", kLast)}));
  }

  // --- Reasoning and parts ----------------------------------------------------------------------

  // `message`, an assistant's, with reasoning in `field`.
  static Json Thoughtful(Json message, ReasoningField field) {
    if (field == ReasoningField::kReasoningContent) message["reasoning_content"] = kThought;
    if (field == ReasoningField::kThinking) message["thinking"] = kThought;
    if (field != ReasoningField::kThinkingPart) return message;
    Json parts = Json::array({{{"type", "thinking"}, {"thinking", kThought}}});
    const Json content = message["content"];
    if (content.is_array()) {
      for (const Json& part : content) parts.push_back(part);
    } else if (content.is_string() && !content.text().empty()) {
      parts.push_back({{"type", "text"}, {"text", content}});
    }
    message["content"] = std::move(parts);
    return message;
  }

  // Reasoning may be shown only between a call and its result, or only while it is turned on.
  bool ShowsReasoning(ReasoningField field) const {
    const Json on = {{"enable_thinking", true}, {"thinking", true}, {"thinking_mode", "enabled"}};
    const Json reply = Thoughtful(Said("assistant", kReply), field);
    std::vector<Json> talks = {Json::array({User(), reply}),
                               Json::array({User(), reply, Said("user", kLast)})};
    if (caps_.tool_calls && caps_.tool_responses) {
      talks.push_back(Json::array({User(), Thoughtful(Call(), field), Answer()}));
    }
    return std::any_of(talks.begin(), talks.end(), [&](const Json& talk) {
      const std::string text = render_(talk, Tools(), on);
      const size_t at = text.find(kThought);
      // A quote before it: a template that takes no parts prints the list of them.
      return at != std::string::npos && at > 0 && text[at - 1] != '"' && text[at - 1] != '\'';
    });
  }

  ReasoningField FindReasoningField(const std::string& source) const {
    for (const ReasoningField field : {ReasoningField::kReasoningContent, ReasoningField::kThinking,
                                       ReasoningField::kThinkingPart}) {
      if (ShowsReasoning(field)) return field;
    }
    const bool named = !Contains(source, "reasoning_content") && Contains(source, ".thinking");
    return named ? ReasoningField::kThinking : ReasoningField::kReasoningContent;
  }

  static Json InParts(Json message) {
    message["content"] = Json::array(
        {{{"type", "text"}, {"text", kFirstPart}}, {{"type", "text"}, {"text", kSecondPart}}});
    return message;
  }

  // Returns the text between the two parts if it is no more than white space. Otherwise the
  // template prints the list, makes two messages of it, or loses a part, and is taken to know no
  // parts.
  static std::string SeparatorIn(std::string_view text) {
    std::string usual = PartSeparators().user;
    const size_t first = text.find(kFirstPart);
    const size_t second = text.find(kSecondPart);
    if (first == std::string_view::npos || second == std::string_view::npos || second < first) {
      return usual;
    }
    const size_t begin = first + kFirstPart.size();
    const std::string_view between = text.substr(begin, second - begin);
    return Trimmed(between).empty() ? std::string(between) : usual;
  }

  void FindPartSeparators() {
    PartSeparators& found = caps_.part_separators;
    const Json last = Said("user", kLast);
    found.system = SeparatorIn(Text(Json::array({InParts(Said("system", kSystem)), User()})));
    found.user = SeparatorIn(Text(Json::array({InParts(User())})));
    found.assistant =
        SeparatorIn(Text(Json::array({User(), InParts(Said("assistant", kReply)), last})));
    if (!caps_.tool_calls || !caps_.tool_responses || caps_.results_beside_calls) return;
    found.tool = SeparatorIn(Text(Json::array({User(), Call(), InParts(Answer())})));
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
