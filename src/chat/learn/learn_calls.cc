#include "chat/learn/learn_calls.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/learn/call_probes.h"
#include "chat/learn/rendering_cuts.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

using Strings = LearnedCalls::Strings;

// Stands for an id in the texts around it.
constexpr char kIdMark = '\x01';

// The positions of a call's parts in a rendering.
struct Spot {
  size_t name_begin = 0;
  size_t name_end = 0;
  size_t arguments_begin = 0;
  size_t arguments_end = 0;
};

std::string WithIdMarks(std::string_view text) {
  std::string marked(text);
  for (const probe::ProbeCall* call : {&probe::CallA(), &probe::CallB()}) {
    for (size_t at = marked.find(call->id); at != std::string::npos; at = marked.find(call->id)) {
      marked.replace(at, call->id.size(), 1, kIdMark);
    }
  }
  return marked;
}

std::string WithoutSpace(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (kCallWhiteSpace.find(c) == std::string_view::npos) kept += c;
  }
  return kept;
}

void TrimEnd(std::string* text) {
  text->erase(text->find_last_not_of(kCallWhiteSpace) + 1);
}

// Whether a text can distinguish calls from prose.
bool IsTagMark(const std::string& part) {
  return part.size() >= 4 && (part[0] == '<' || (part[0] == '[' && part.back() == ']'));
}

class Learner {
 public:
  explicit Learner(const RenderConversation& render) : render_(render) {}

  std::shared_ptr<const LearnedCalls> Learn() {
    const bool learned = FindNames() && FindArguments() && FindAround() && FindIds() &&
                         FindObject() && IsTold() && IsWrittenAgain();
    return learned ? std::make_shared<const LearnedCalls>(std::move(learned_)) : nullptr;
  }

 private:
  // Returns the rendering after the user's text, and before the next user's if there is one;
  // nullopt if the template refuses, or does not show that text exactly once.
  std::optional<std::string> Render(std::string_view text, std::string_view reasoning,
                                    const std::vector<probe::ProbeCall>& calls) const {
    Conversation conversation;
    conversation.messages.push_back({.role = Role::kUser, .content = std::string(probe::kUser)});
    Message answer{.role = Role::kAssistant,
                   .content = std::string(text),
                   .reasoning = std::string(reasoning)};
    for (const probe::ProbeCall& call : calls) {
      answer.tool_calls.push_back({call.id, call.name, call.arguments.dump()});
    }
    conversation.messages.push_back(std::move(answer));
    if (followed_) {
      conversation.messages.push_back({.role = Role::kUser, .content = std::string(probe::kNext)});
    }
    conversation.tools = tools_;
    conversation.now_unix_s = 1;
    const auto rendered = render_(conversation, false);
    if (!rendered) return std::nullopt;
    const size_t user = rendered->rfind(probe::kUser);
    if (user == std::string::npos) return std::nullopt;
    const size_t begin = user + probe::kUser.size();
    if (!followed_) return rendered->substr(begin);
    const size_t next = rendered->rfind(probe::kNext);
    if (next == std::string::npos || next < begin) return std::nullopt;
    return rendered->substr(begin, next - begin);
  }

  // Returns the rendering after the user's text.
  std::string GenerationPrompt() const {
    Conversation conversation;
    conversation.messages.push_back({.role = Role::kUser, .content = std::string(probe::kUser)});
    conversation.tools = tools_;
    conversation.now_unix_s = 1;
    const std::string prompt = render_(conversation, true).value_or("");
    const size_t user = prompt.rfind(probe::kUser);
    return user == std::string::npos ? "" : prompt.substr(user + probe::kUser.size());
  }

  std::optional<std::string> RenderOne(const Json& arguments) const {
    probe::ProbeCall call = probe::CallA();
    call.arguments = arguments;
    return Render("", "", {call});
  }

  // Returns a call's name in a rendering: its id if that takes the name's place.
  const std::string& NameOf(const probe::ProbeCall& call) const {
    return learned_.id == LearnedCalls::Id::kHoldsName ? call.id : call.name;
  }

  // Finds the call's parts, in this order, from `from` on.
  std::optional<Spot> Find(std::string_view text, const probe::ProbeCall& call,
                           std::string_view key, std::string_view value, size_t from) const {
    const std::string& name = NameOf(call);
    Spot spot;
    spot.name_begin = text.find(name, from);
    if (spot.name_begin == std::string_view::npos) return std::nullopt;
    spot.name_end = spot.name_begin + name.size();
    const size_t key_begin = text.find(key, spot.name_end);
    if (key_begin == std::string_view::npos) return std::nullopt;
    const size_t value_begin = text.find(value, key_begin + key.size());
    if (value_begin == std::string_view::npos) return std::nullopt;
    spot.arguments_begin = key_begin;
    spot.arguments_end = value_begin + value.size();
    if (learned_.arguments == LearnedCalls::Arguments::kPairs) return spot;
    spot.arguments_begin = text.rfind('{', key_begin);
    if (spot.arguments_begin == std::string_view::npos || spot.arguments_begin < spot.name_end) {
      return std::nullopt;
    }
    spot.arguments_end = spot.arguments_begin;
    if (SkipJson(text, &spot.arguments_end) != Scan::kFound) return std::nullopt;
    return spot;
  }
  std::optional<Spot> FindA(std::string_view text, size_t from = 0) const {
    return Find(text, probe::CallA(), probe::kKeyA, probe::kValueA, from);
  }
  std::optional<Spot> FindB(std::string_view text, size_t from) const {
    return Find(text, probe::CallB(), probe::kKeyB, probe::kValueB, from);
  }

  bool Shows(const std::optional<std::string>& text, const std::string& name) const {
    return text && text->find(name) != std::string::npos &&
           text->find(probe::kKeyA) != std::string::npos;
  }

  // Some templates write only calls of offered tools, and some treat an answer that is the last
  // message as one to be continued.
  bool FindNames() {
    for (const bool by_id : {false, true}) {
      learned_.id = by_id ? LearnedCalls::Id::kHoldsName : LearnedCalls::Id::kNone;
      for (const bool followed : {false, true}) {
        followed_ = followed;
        for (const bool offered : {false, true}) {
          tools_ = offered ? probe::ProbeTools() : Tools();
          auto one = Render("", "", {probe::CallA()});
          if (!Shows(one, NameOf(probe::CallA()))) continue;
          one_ = *std::move(one);
          return true;
        }
      }
    }
    return false;
  }

  bool FindArguments() {
    learned_.arguments = LearnedCalls::Arguments::kJson;
    if (const auto spot = FindA(one_)) {
      const std::string_view json = std::string_view(one_).substr(
          spot->arguments_begin, spot->arguments_end - spot->arguments_begin);
      const auto parsed = ParseLimitedJson(json, "probe");
      if (parsed && *parsed == probe::CallA().arguments) {
        learned_.name_end =
            WithIdMarks(one_.substr(spot->name_end, spot->arguments_begin - spot->name_end));
        return true;
      }
    }
    learned_.arguments = LearnedCalls::Arguments::kPairs;
    return FindPairs() && FindOtherValues() && FindNestedValues();
  }

  // Renders two pairs: NAME name_end key_open KEY string_open VALUE [string_close pair_between
  // key_open] …
  bool FindPairs() {
    const auto two = RenderOne({{probe::kKeyA, probe::kValueA}, {probe::kKeyB, probe::kValueB}});
    if (!two) return false;
    const std::string_view text = *two;
    const auto first = FindA(text);
    if (!first) return false;
    const size_t key = text.find(probe::kKeyB, first->arguments_end);
    if (key == std::string_view::npos) return false;
    const size_t value = text.find(probe::kValueB, key);
    if (value == std::string_view::npos) return false;
    const size_t open = first->arguments_begin + probe::kKeyA.size();
    learned_.string_open = text.substr(open, first->arguments_end - probe::kValueA.size() - open);
    const size_t second_open = key + probe::kKeyB.size();
    if (text.substr(second_open, value - second_open) != learned_.string_open) return false;
    const std::string_view before =
        text.substr(first->name_end, first->arguments_begin - first->name_end);
    const std::string_view middle = text.substr(first->arguments_end, key - first->arguments_end);
    const size_t key_open = CommonEnd(before, middle);
    learned_.key_open = before.substr(before.size() - key_open);
    learned_.name_end = WithIdMarks(before.substr(0, before.size() - key_open));
    const std::string_view rest = middle.substr(0, middle.size() - key_open);
    behind_pairs_ = text.substr(value + probe::kValueB.size());
    const size_t close = CommonBegin(rest, behind_pairs_);
    learned_.string_close = rest.substr(0, close);
    learned_.pair_between = rest.substr(close);
    behind_pairs_.erase(0, close);
    return !learned_.string_open.empty() && !learned_.string_close.empty();
  }

  // Returns a value that is not a string, with the text around it: everything between the key and
  // the end.
  std::optional<std::string> Written(const Json& value) const {
    const auto text = RenderOne({{probe::kKeyA, value}});
    if (!text || !text->ends_with(behind_pairs_)) return std::nullopt;
    const size_t key = text->find(probe::kKeyA);
    if (key == std::string::npos) return std::nullopt;
    const size_t begin = key + probe::kKeyA.size();
    const size_t end = text->size() - behind_pairs_.size();
    return end < begin ? std::nullopt : std::optional(text->substr(begin, end - begin));
  }

  bool FindOtherValues() {
    const std::string number = "7531";
    const auto written = Written(7531);
    if (!written) return false;
    const size_t at = written->find(number);
    if (at == std::string::npos) return false;
    learned_.other_open = written->substr(0, at);
    learned_.other_close = written->substr(at + number.size());
    FindType();
    std::string& open = learned_.string_open;
    std::string& close = learned_.string_close;
    const auto odd = Written(probe::kOddRaw);
    if (!odd) return false;
    // The quotes, if any, are what strings have in addition to the text around other values.
    if (learned_.other_type_end.empty() && open != learned_.other_open &&
        open.starts_with(learned_.other_open) && close.ends_with(learned_.other_close)) {
      const std::string quote = open.substr(learned_.other_open.size());
      if (close != quote + learned_.other_close) return false;
      if (quote == "\"" && odd->find(probe::kOddJson) != std::string::npos) {
        learned_.strings = Strings::kJson;
        open = learned_.other_open;
        close = learned_.other_close;
        return true;
      }
      learned_.strings = Strings::kQuoted;
      learned_.quote = quote;
    } else if (close != learned_.other_close) {
      return false;
    }
    return *odd == open + std::string(probe::kOddRaw) + close;
  }

  // Finds out whether a value's type precedes it: then a boolean has another one.
  void FindType() {
    const std::string word = "number";
    const std::string open = learned_.other_open;
    const size_t at = open.find(word);
    const auto boolean = Written(true);
    if (at == std::string::npos || !boolean) return;
    const std::string end = open.substr(at + word.size());
    if (!boolean->starts_with(open.substr(0, at) + "boolean" + end)) return;
    learned_.other_open = open.substr(0, at);
    learned_.other_type_end = end;
  }

  // Returns the text that opens a value that is not a string.
  std::string OpenOf(const Json& value) const {
    const bool typed = !learned_.other_type_end.empty();
    return learned_.other_open + (typed ? value.type_name() : "") + learned_.other_type_end;
  }

  bool FindNestedValues() const {
    for (const Json& value :
         {Json{{"zqo", "zqp"}, {"zqq", 7}}, Json::array({"zqr", true}), Json(true), Json(0.25)}) {
      const auto written = Written(value);
      const std::string open = OpenOf(value);
      const size_t around = open.size() + learned_.other_close.size();
      if (!written || written->size() < around || !written->starts_with(open) ||
          !written->ends_with(learned_.other_close)) {
        return false;
      }
      const std::string text = written->substr(open.size(), written->size() - around);
      if (!Means(text, value)) return false;
    }
    return true;
  }

  // Whether the text is a valid notation of the value: JSON, Python, or quoted.
  bool Means(const std::string& text, const Json& value) const {
    if (learned_.strings == Strings::kQuoted && value.is_structured()) {
      std::string quoted = value.dump();
      const std::string& quote = learned_.quote;
      for (const auto& [name, bare] :
           std::vector<std::pair<std::string, std::string>>{{"\"zqo\"", "zqo"},
                                                            {"\"zqq\"", "zqq"},
                                                            {"\"zqp\"", quote + "zqp" + quote},
                                                            {"\"zqr\"", quote + "zqr" + quote}}) {
        if (const size_t at = quoted.find(name); at != std::string::npos) {
          quoted.replace(at, name.size(), bare);
        }
      }
      return WithoutSpace(text) == quoted;
    }
    for (const auto& json : {std::optional<std::string>(text), JsonOfPython(text)}) {
      if (!json) continue;
      const auto parsed = ParseLimitedJson(*json, "probe");
      if (parsed && *parsed == value) return true;
    }
    return false;
  }

  // Finds the texts around the calls, from one call and from two.
  bool FindAround() {
    const auto one = FindA(one_);
    const auto opening = FindOpening();
    const auto plain = Render(probe::kText, "", {});
    if (!one || !opening || !plain) return false;
    const size_t plain_text = plain->rfind(probe::kText);
    if (plain_text == std::string::npos) return false;
    const std::string_view turn_end =
        std::string_view(*plain).substr(plain_text + probe::kText.size());
    const auto two = Render("", "", {probe::CallA(), probe::CallB()});
    const auto first = two ? FindA(*two) : std::nullopt;
    const auto second = first ? FindB(*two, first->arguments_end) : std::nullopt;
    if (!second) return FindAroundOne(*opening, *one, turn_end);
    learned_.several = true;
    auto between = Behind(*two, first->arguments_end, second->name_begin);
    auto tail = Behind(*two, second->arguments_end, std::string::npos);
    if (!between || !tail) return false;
    CountCalls(&*opening_, &*between);
    if (!CountNames(*two, *second)) return false;
    const size_t call_open = CommonEnd(*opening_, *between);
    learned_.call_open = opening_->substr(opening_->size() - call_open);
    learned_.block_open = opening_->substr(0, opening_->size() - call_open);
    between->resize(between->size() - call_open);
    const size_t close = CommonBegin(*between, *tail);
    learned_.call_close = between->substr(0, close);
    learned_.between = between->substr(close);
    learned_.block_close = tail->substr(close);
    return EndBlock(turn_end);
  }

  bool FindAroundOne(const std::string& opening, const Spot& one, std::string_view turn_end) {
    auto tail = Behind(one_, one.arguments_end, std::string::npos);
    if (!tail || !tail->ends_with(turn_end)) return false;
    learned_.call_open = opening;
    learned_.call_close = tail->substr(0, tail->size() - turn_end.size());
    TrimEnd(&learned_.call_close);
    return true;
  }

  // The end of the turn is not part of the end of the block.
  bool EndBlock(std::string_view turn_end) {
    std::string& close = learned_.block_close;
    if (learned_.block_open.empty()) {
      close.clear();
      const size_t end = learned_.call_close.find_last_not_of(kCallWhiteSpace) + 1;
      learned_.between.insert(0, learned_.call_close.substr(end));
      learned_.call_close.resize(end);
      return true;
    }
    const size_t common = CommonEnd(close, turn_end);
    if (common == 0 && !turn_end.empty()) return false;
    close.resize(close.size() - common);
    TrimEnd(&close);
    return true;
  }

  // Returns the text after the arguments, without the end of the last value.
  std::optional<std::string> Behind(const std::string& text, size_t begin, size_t end) const {
    std::string behind =
        WithIdMarks(text.substr(begin, end == std::string::npos ? std::string::npos : end - begin));
    if (learned_.arguments == LearnedCalls::Arguments::kJson) return behind;
    if (!behind.starts_with(learned_.string_close)) return std::nullopt;
    return behind.substr(learned_.string_close.size());
  }

  // Returns the text before the first call's name, provided that it is also there after a text.
  const std::optional<std::string>& FindOpening() {
    const auto one = FindA(one_);
    if (!one) return opening_;
    const std::string before = WithIdMarks(one_.substr(0, one->name_begin));
    const auto told = Render(probe::kText, "", {probe::CallA()});
    const size_t text = told ? told->find(probe::kText) : std::string::npos;
    const auto call = told ? FindA(*told) : std::nullopt;
    std::string opening;
    if (call && text != std::string::npos && text < call->name_begin) {
      const size_t begin = text + probe::kText.size();
      const std::string behind = WithIdMarks(told->substr(begin, call->name_begin - begin));
      opening = behind.substr(behind.size() - CommonEnd(before, behind));
    } else {
      // The template omits the text or writes it after the calls.
      const auto plain = Render(probe::kText, "", {});
      if (!plain) return opening_;
      opening = before.substr(
          std::max(CommonBegin(before, *plain), CommonBegin(before, GenerationPrompt())));
    }
    opening.erase(0, std::min(opening.find_first_not_of(kCallWhiteSpace), opening.size()));
    if (!opening.empty()) opening_ = opening;
    return opening_;
  }

  // Some templates number the calls, in an object's first member: both numbers are replaced by the
  // id's mark.
  static void CountCalls(std::string* opening, std::string* between) {
    const auto number = [](const std::string& text) -> std::pair<size_t, size_t> {
      const size_t key = text.find("_id\"");
      const size_t begin = key == std::string::npos ? key : text.find_first_of("0123456789", key);
      if (begin == std::string::npos) return {std::string::npos, 0};
      return {begin, text.find_first_not_of("0123456789", begin) - begin};
    };
    const auto [a, a_size] = number(*opening);
    const auto [b, b_size] = number(*between);
    if (a == std::string::npos || b == std::string::npos) return;
    if (opening->substr(a, a_size) == between->substr(b, b_size)) return;
    opening->replace(a, a_size, 1, kIdMark);
    between->replace(b, b_size, 1, kIdMark);
  }

  // Others number them after the name.
  bool CountNames(const std::string& two, const Spot& second) {
    constexpr std::string_view kDigits = "0123456789";
    const std::string first_end = learned_.name_end + learned_.key_open;
    const std::string end =
        WithIdMarks(two.substr(second.name_end, second.arguments_begin - second.name_end));
    if (end == first_end) return true;
    const auto at = static_cast<size_t>(
        std::mismatch(end.begin(), end.end(), first_end.begin(), first_end.end()).first -
        end.begin());
    if (at >= learned_.name_end.size() || kDigits.find(first_end[at]) == std::string::npos) {
      return false;
    }
    learned_.name_end[at] = kIdMark;
    learned_.id_is_counter = true;
    return end.size() == first_end.size() && end.substr(at + 1) == first_end.substr(at + 1);
  }

  // Turns an id's mark in one of the texts into the id's position.
  bool FindIds() {
    using Id = LearnedCalls::Id;
    const auto split = [&](std::string* text, Id place, bool id_first) {
      const size_t at = text->find(kIdMark);
      if (at == std::string::npos) return true;
      if (learned_.id != Id::kNone || text->find(kIdMark, at + 1) != std::string::npos) {
        return false;
      }
      learned_.id = place;
      learned_.id_delimiter = id_first ? text->substr(at + 1) : text->substr(0, at);
      *text = id_first ? text->substr(0, at) : text->substr(at + 1);
      return true;
    };
    for (const std::string* text :
         {&learned_.block_open, &learned_.between, &learned_.block_close}) {
      if (text->find(kIdMark) != std::string::npos) return false;
    }
    return split(&learned_.call_open, Id::kBeforeName, true) &&
           split(&learned_.name_end, Id::kBehindName, false) &&
           split(&learned_.call_close, Id::kBehindArguments, false);
  }

  // Finds out whether a call is one object, and the keys in it.
  bool FindObject() {
    if (learned_.arguments != LearnedCalls::Arguments::kJson) return true;
    const auto spot = FindA(one_);
    for (size_t begin = one_.find('{'); begin < spot->name_begin;
         begin = one_.find('{', begin + 1)) {
      size_t end = begin;
      if (SkipJson(one_, &end) != Scan::kFound || end <= spot->arguments_end) continue;
      const auto object = ParseLimitedJson(one_.substr(begin, end - begin), "probe");
      if (!object || !object->is_object()) continue;
      for (const auto& [key, value] : object->items()) {
        if (value == Json(probe::CallA().name)) learned_.name_key = key;
        if (value == probe::CallA().arguments) learned_.arguments_key = key;
        if (value == Json(probe::CallA().id)) learned_.id_key = key;
      }
      if (!learned_.name_key.empty() && !learned_.arguments_key.empty()) break;
      learned_.name_key.clear();
      learned_.arguments_key.clear();
      learned_.id_key.clear();
    }
    if (learned_.name_key.empty()) return true;
    learned_.id_is_counter =
        learned_.id == LearnedCalls::Id::kBeforeName && learned_.id_key.empty();
    const bool in_open = learned_.call_open.find('{') != std::string::npos;
    return in_open && learned_.call_close.find('}') != std::string::npos;
  }

  // Whether the beginning of a call distinguishes it from prose, and the closing texts delimit
  // pairs.
  bool IsTold() const {
    const std::string& open =
        learned_.block_open.empty() ? learned_.call_open : learned_.block_open;
    const std::vector<std::string> parts = SyntaxParts(open);
    if (parts.empty() || !IsTagMark(parts[0])) return false;
    return learned_.arguments == LearnedCalls::Arguments::kJson ||
           (!SyntaxParts(learned_.call_close).empty() &&
            !SyntaxParts(learned_.string_open).empty());
  }

  // Returns a probe's call in the learned notation; for JSON, copies the form from `text`.
  WrittenCall Write(const probe::ProbeCall& call, std::string_view text, const Spot& spot,
                    size_t number) const {
    WrittenCall written{.id = learned_.id_is_counter ? std::to_string(number) : call.id,
                        .name = call.name};
    if (learned_.arguments == LearnedCalls::Arguments::kJson) {
      written.json = text.substr(spot.arguments_begin, spot.arguments_end - spot.arguments_begin);
      return written;
    }
    const bool quoted = learned_.strings == Strings::kJson;
    for (const auto& [key, value] : call.arguments.items()) {
      written.pairs.push_back(
          {key, quoted ? value.dump() : value.get<std::string>(), /*is_string=*/true});
    }
    return written;
  }

  bool IsIn(const std::optional<std::string>& text,
            const std::vector<probe::ProbeCall>& calls) const {
    if (!text) return false;
    std::vector<WrittenCall> written;
    size_t from = 0;
    for (const probe::ProbeCall& call : calls) {
      const auto spot = &call == &calls[0] ? FindA(*text, from) : FindB(*text, from);
      if (!spot) return false;
      from = spot->arguments_end;
      // A template may count from zero or from one.
      written.push_back(Write(call, *text, *spot, written.size()));
    }
    if (text->find(WriteCalls(learned_, written)) != std::string::npos) return true;
    if (!learned_.id_is_counter) return false;
    for (size_t i = 0; i < written.size(); ++i) written[i].id = std::to_string(i + 1);
    return text->find(WriteCalls(learned_, written)) != std::string::npos;
  }

  // A template that omits a text or reasoning beside calls is not rejected for that.
  bool IsWrittenAgain() const {
    if (!IsIn(one_, {probe::CallA()})) return false;
    if (learned_.several &&
        !IsIn(Render("", "", {probe::CallA(), probe::CallB()}), {probe::CallA(), probe::CallB()})) {
      return false;
    }
    for (const auto& [text, reasoning] : std::vector<std::pair<std::string_view, std::string_view>>{
             {probe::kText, ""}, {"", probe::kReasoning}, {probe::kText, probe::kReasoning}}) {
      const auto rendered = Render(text, reasoning, {probe::CallA()});
      if (rendered && !IsIn(rendered, {probe::CallA()})) return false;
    }
    return true;
  }

  const RenderConversation& render_;
  LearnedCalls learned_;
  Tools tools_;
  bool followed_ = false;
  std::string one_;  // probe::CallA alone
  std::optional<std::string> opening_;
  std::string behind_pairs_;  // the text after the last value and its end
};

}  // namespace

std::shared_ptr<const LearnedCalls> LearnCalls(const RenderConversation& render) {
  return Learner(render).Learn();
}

}  // namespace cairn
