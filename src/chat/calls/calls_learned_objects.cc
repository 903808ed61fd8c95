// The part of LearnedCallReader that reads calls which are objects, {"name": …, "arguments": …},
// one by one or in a list.

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_learned.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// These names are common for the members of an object that is a call. The syntax's own are accepted
// too.
constexpr std::array<std::string_view, 4> kNameKeys = {"name", "function", "tool_name", "tool"};
constexpr std::array<std::string_view, 4> kArgumentsKeys = {"arguments", "parameters", "args",
                                                            "input"};
constexpr std::array<std::string_view, 4> kIdleKeys = {"id", "type", "tool_call_id", "index"};

template <size_t n>
bool IsIn(const std::array<std::string_view, n>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<std::string> TextOf(std::string_view json) {
  if (!json.starts_with('"')) return std::nullopt;
  const auto value = ParseLimitedJson(json, "a call");
  if (!value || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

bool IsBlank(std::string_view text) {
  return SkipWhiteSpace(text, 0) == text.size();
}

}  // namespace

// Reads {"name": …, "arguments": {…}}, with its members in any order and possibly others.
Scan LearnedCallReader::ReadObject(std::string_view text, std::vector<CallEvent>* events) {
  if (!json_) {
    const size_t begin = SkipWhiteSpace(text, at_);
    if (begin == text.size()) return Scan::kMore;
    if (text[begin] == '[' && !in_list_) {
      in_list_ = true;
      at_ = begin + 1;
      return Scan::kFound;
    }
    if (text[begin] != '{') return Scan::kNotHere;
    at_ = begin;
    json_.emplace();
  }
  while (at_ < text.size()) {
    const JsonMender::Status status = json_->Push(text[at_], &json_text_);
    if (status == JsonMender::Status::kInvalid) {
      if (in_arguments_) {
        TellObject(json_text_.size(), events);
        told_ = at_ + 1 - json_->unwritten_bytes();
      }
      return Scan::kNotHere;
    }
    const Scan member = TakeMember(text[at_], events);
    if (member != Scan::kFound) return member;
    ++at_;
    if (status == JsonMender::Status::kEnd) return EndObject(events);
  }
  if (in_arguments_) {
    TellObject(json_text_.size(), events);
    told_ = at_ - json_->unwritten_bytes();
  }
  return Scan::kMore;
}

// Handles the byte at at_, which is `c`, if it begins or ends a part of a member.
Scan LearnedCallReader::TakeMember(char c, std::vector<CallEvent>* events) {
  using Member = JsonMender::Member;
  switch (json_->member()) {
    case Member::kNone:
    case Member::kKeyBegin:
      break;
    case Member::kKeyEnd:
      key_ =
          TextOf(json_text_.substr(json_->token_begin(), json_->token_end() - json_->token_begin()))
              .value_or("");
      break;
    case Member::kValueBegin:
      return BeginValue(c, events);
    case Member::kValueEnd:
      return EndValue(events);
  }
  return Scan::kFound;
}

bool LearnedCallReader::IsName(const std::string& key) const {
  return key == (syntax_->calls.is_object() ? syntax_->calls.name_key : "name");
}

Scan LearnedCallReader::BeginValue(char c, std::vector<CallEvent>* events) {
  const bool own =
      key_ == (syntax_->calls.is_object() ? syntax_->calls.arguments_key : "arguments");
  if (!own && !IsIn(kArgumentsKeys, key_)) {
    const bool known = IsName(key_) || key_ == syntax_->calls.id_key || IsIn(kNameKeys, key_) ||
                       IsIn(kIdleKeys, key_);
    other_members_ = other_members_ || !known;
    return Scan::kFound;
  }
  if (name_told_ || arguments_) return Scan::kNotHere;  // a second call in one object
  mended_ = mended_ || !own;
  if (c == 'n' || c == 'N') {
    // It is null, or not JSON.
    arguments_ = "{}";
    mended_ = true;
  } else if (c != '{' && c != '"' && c != '\'') {
    return Scan::kNotHere;
  } else if (c == '{' && !name_.empty()) {
    in_arguments_ = true;
    told_ = at_;
    told_json_ = json_->token_begin();
    TellName(events);
  }
  return Scan::kFound;
}

Scan LearnedCallReader::EndValue(std::vector<CallEvent>* events) {
  const size_t begin = json_->token_begin();
  if (in_arguments_) {
    TellObject(json_->token_end(), events);
    told_ = arguments_end_ = at_ + 1;
    in_arguments_ = false;
    return Scan::kFound;
  }
  const std::string value = json_text_.substr(begin, json_->token_end() - begin);
  if (IsName(key_)) {
    name_ = OfferedName(TextOf(value).value_or(""));
    return name_.empty() || name_told_ ? Scan::kNotHere : Scan::kFound;
  }
  if (!syntax_->calls.id_key.empty() && key_ == syntax_->calls.id_key) {
    id_ = TextOf(value).value_or("");
    return Scan::kFound;
  }
  if (key_ == syntax_->calls.arguments_key || IsIn(kArgumentsKeys, key_)) {
    return TakeOtherArguments(value);
  }
  if (!IsIn(kNameKeys, key_) || !name_.empty()) return Scan::kFound;
  if (value[0] == '{') return TakeNestedCall(value);
  name_ = OfferedName(TextOf(value).value_or(""));
  mended_ = mended_ || !name_.empty();
  return Scan::kFound;
}

// Takes arguments that came before the name, or as a string: some models write the object's text as
// one, and nothing where there are none.
Scan LearnedCallReader::TakeOtherArguments(const std::string& value) {
  const auto text = TextOf(value);
  if (!text) {
    arguments_ = value;
  } else if (IsBlank(*text)) {
    arguments_ = "{}";
    mended_ = true;
  } else {
    arguments_ = MendJsonObject(*text, &mended_);
  }
  return arguments_ ? Scan::kFound : Scan::kNotHere;
}

// Takes {"function": {"name": …, "arguments": …}}, the form of OpenAI's API.
Scan LearnedCallReader::TakeNestedCall(const std::string& value) {
  if (name_told_ || arguments_ || !IsJsonObject(value)) return Scan::kNotHere;
  auto call = CallOfObject(value);
  if (!call) return Scan::kNotHere;
  name_ = OfferedName(call->name);
  arguments_ = std::move(call->arguments);
  mended_ = true;
  return name_.empty() ? Scan::kNotHere : Scan::kFound;
}

Scan LearnedCallReader::EndObject(std::vector<CallEvent>* events) {
  if (name_.empty()) return Scan::kNotHere;
  if (!name_told_) {
    if (!arguments_) {
      if (other_members_) return Scan::kNotHere;  // they may be meant as arguments
      arguments_ = "{}";
      mended_ = true;
    }
    TellName(events);
    TellArguments(*std::move(arguments_), events);
  }
  object_ends_ = true;
  state_ = State::kNextObject;
  return Scan::kFound;
}

// Whether only the object's own end is missing.
bool LearnedCallReader::HasWholeArguments(std::string_view text) const {
  return name_told_ && !in_arguments_ && arguments_end_ > 0 &&
         IsBlank(text.substr(arguments_end_, at_ - arguments_end_));
}

// Returns the tool of that name, which may be in a name space; empty if it is not offered.
std::string LearnedCallReader::OfferedName(const std::string& name) {
  if (tools_->Has(name)) return name;
  const size_t separator = name.find_first_of(".:");
  std::string inside = separator == std::string::npos ? "" : name.substr(separator + 1);
  if (!tools_->Has(inside)) return "";
  mended_ = true;
  return inside;
}

// Reads what follows an object: another one, with or without a comma, or the end of the list and
// the closing tags, as many as are present. The call ends with them.
Scan LearnedCallReader::ReadNextObject(std::string_view text, std::vector<CallEvent>* events) {
  size_t at = SkipWhiteSpace(text, at_);
  const bool comma = at < text.size() && text[at] == ',';
  if (comma) at = SkipWhiteSpace(text, at + 1);
  if (at == text.size()) return Scan::kMore;
  if (text[at] == '{') {
    if (object_ends_) EndCall(events);
    at_ = at;
    mended_ = !comma || !in_list_;
    BeginCall();
    return Scan::kFound;
  }
  if (in_list_ && text[at] == ']') {
    in_list_ = false;
    at_ = at + 1;
    EndCall(events);
    if (syntax_->behind_objects.empty()) EndBlock(at_);
    return Scan::kFound;
  }
  if (comma) return Scan::kNotHere;
  at = at_;
  if (TakePresent(text, syntax_->behind_objects, &at) == Scan::kMore) return Scan::kMore;
  // An exact syntax wants the tag that closes a call.
  if (at == at_ && !syntax_->close.empty()) mended_ = mended_ || syntax_->calls.exact;
  if (object_ends_) EndCall(events);
  EndBlock(at);
  return Scan::kFound;
}

// Tells the arguments in json_text_ up to `end`.
void LearnedCallReader::TellObject(size_t end, std::vector<CallEvent>* events) {
  TellArguments(json_text_.substr(told_json_, end - told_json_), events);
  told_json_ = end;
}

}  // namespace cairn
