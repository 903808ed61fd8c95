#include "chat/learn/calls_learned.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/parse/limited_json.h"

namespace cairn {
namespace {

constexpr size_t kIdBytesMax = 256;
constexpr std::string_view kFunctions = "functions.";

std::optional<std::string> TextOf(std::string_view json) {
  if (!json.starts_with('"')) return std::nullopt;
  const auto value = ParseLimitedJson(json, "a call");
  if (!value || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

}  // namespace

LearnedCallReader::LearnedCallReader(const LearnedSyntax* syntax, const OfferedTools* tools,
                                     size_t start)
    : syntax_(syntax), tools_(tools), open_(syntax->starts[start].rest) {
  at_ = syntax->starts[start].text.size();
}

LearnedCallReader::Status LearnedCallReader::Read(std::string_view text, bool finished,
                                                  std::vector<CallEvent>* events) {
  while (state_ != State::kEnded) {
    const Scan scan = Step(text, events);
    if (scan == Scan::kFound) continue;
    if (scan == Scan::kMore && !finished) return Status::kMore;
    // The arguments are complete: missing tags, or text that is not another call, do not change the
    // call.
    const bool broke_off = scan == Scan::kMore;
    if (state_ == State::kIdBehind || state_ == State::kClose) {
      if (broke_off) at_ = text.size();
      EndCall(events);
    } else if (state_ == State::kNextCall) {
      if (broke_off) end_of_calls_ = told_ = text.size();
      state_ = State::kEnded;
    } else {
      if (broke_off && name_told_) told_ = text.size();
      return Status::kBroken;
    }
  }
  return Status::kEnded;
}

Scan LearnedCallReader::Step(std::string_view text, std::vector<CallEvent>* events) {
  switch (state_) {
    case State::kOpen:
      return ReadOpen(text);
    case State::kObject:
      return ReadObject(text, events);
    case State::kId:
      return ReadId(text);
    case State::kName:
      return ReadName(text);
    case State::kNameEnd:
      return ReadNameEnd(text);
    case State::kJson:
      return ReadJson(text, events);
    case State::kPairs:
      return ReadPairs(text, events);
    case State::kIdBehind:
      return ReadIdBehind(text);
    case State::kClose:
      return ReadClose(text, events);
    case State::kNextCall:
      return ReadNextCall(text);
    case State::kEnded:
      break;
  }
  return Scan::kNotHere;
}

Scan LearnedCallReader::ReadOpen(std::string_view text) {
  const Scan scan = TakeParts(text, open_, &at_);
  if (scan == Scan::kFound) BeginCall();
  return scan;
}

void LearnedCallReader::BeginCall() {
  name_.clear();
  id_.clear();
  name_told_ = false;
  json_.reset();
  pairs_.reset();
  types_.reset();
  key_.clear();
  in_arguments_ = false;
  arguments_.reset();
  state_ = State::kName;
  if (syntax_->calls.id == LearnedCalls::Id::kBeforeName) state_ = State::kId;
  if (syntax_->calls.is_object()) state_ = State::kObject;
}

// Reads {"name": …, "arguments": {…}}, with its members in any order and possibly others.
Scan LearnedCallReader::ReadObject(std::string_view text, std::vector<CallEvent>* events) {
  if (!json_) {
    const size_t begin = SkipWhiteSpace(text, at_);
    if (begin == text.size()) return Scan::kMore;
    if (text[begin] != '{') return Scan::kNotHere;
    at_ = begin;
    json_.emplace();
  }
  while (at_ < text.size()) {
    const JsonScanner::Status status = json_->Push(text[at_]);
    if (status == JsonScanner::Status::kInvalid) {
      if (in_arguments_) TellUpTo(text, at_, events);
      return Scan::kNotHere;
    }
    const Scan member = TakeMember(text, events);
    if (member != Scan::kFound) return member;
    ++at_;
    if (status == JsonScanner::Status::kEnd) return EndObject(events);
  }
  if (in_arguments_) TellUpTo(text, at_, events);
  return Scan::kMore;
}

// Handles the byte at at_ if it begins or ends a part of a member.
Scan LearnedCallReader::TakeMember(std::string_view text, std::vector<CallEvent>* events) {
  using Member = JsonScanner::Member;
  const LearnedCalls& calls = syntax_->calls;
  const auto token = [&] { return text.substr(token_begin_, at_ + 1 - token_begin_); };
  switch (json_->member()) {
    case Member::kNone:
      break;
    case Member::kKeyBegin:
      token_begin_ = at_;
      break;
    case Member::kKeyEnd:
      key_ = TextOf(token()).value_or("");
      break;
    case Member::kValueBegin:
      token_begin_ = at_;
      if (key_ != calls.arguments_key || text[at_] != '{') break;
      if (name_told_) return Scan::kNotHere;  // a second name
      if (name_.empty()) break;
      in_arguments_ = true;
      told_ = at_;
      TellName(events);
      break;
    case Member::kValueEnd:
      if (key_ == calls.name_key) {
        name_ = TextOf(token()).value_or("");
        if (name_told_ || !tools_->Has(name_)) return Scan::kNotHere;
      } else if (key_ == calls.id_key) {
        id_ = TextOf(token()).value_or("");
      } else if (in_arguments_ && key_ == calls.arguments_key) {
        TellUpTo(text, at_ + 1, events);
        in_arguments_ = false;
      } else if (key_ == calls.arguments_key) {
        // Some models write the object's text as a string.
        arguments_ = text[token_begin_] == '"' ? TextOf(token()) : std::string(token());
        if (!arguments_ || !IsJsonObject(*arguments_)) return Scan::kNotHere;
      }
      break;
  }
  return Scan::kFound;
}

Scan LearnedCallReader::EndObject(std::vector<CallEvent>* events) {
  if (name_.empty() || name_told_ == arguments_.has_value()) return Scan::kNotHere;
  if (arguments_) {
    TellName(events);
    TellArguments(*std::move(arguments_), events);
  }
  told_ = at_;
  state_ = State::kClose;
  return Scan::kFound;
}

Scan LearnedCallReader::ReadId(std::string_view text) {
  const Scan scan = TakeUntilParts(text, syntax_->id_delimiter, kIdBytesMax, &at_, &id_);
  if (scan == Scan::kFound) state_ = State::kName;
  return scan;
}

// Whether that name is at `at`, followed by a text that ends it.
Scan LearnedCallReader::TakeName(std::string_view text, const std::string& name, size_t at,
                                 size_t* end) const {
  const Scan scan = TakeWord(text, name, &at);
  if (scan != Scan::kFound) return scan;
  if (syntax_->calls.id == LearnedCalls::Id::kHoldsName && at < text.size() && text[at] == ':') {
    at = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
  }
  *end = at;
  return AnyOfStandsAt(text, syntax_->behind_name, at);
}

Scan LearnedCallReader::ReadName(std::string_view text) {
  size_t begin = SkipWhiteSpace(text, at_);
  if (begin == text.size()) return Scan::kMore;
  const size_t id_begin = begin;
  const bool holds_name = syntax_->calls.id == LearnedCalls::Id::kHoldsName;
  if (holds_name && TakeWord(text, kFunctions, &begin) == Scan::kMore) return Scan::kMore;
  Scan any = Scan::kNotHere;
  size_t end = 0;
  for (const auto& [name, schema] : tools_->schemas) {
    if (name.size() < name_.size()) continue;
    size_t name_end = 0;
    const Scan scan = TakeName(text, name, begin, &name_end);
    if (scan == Scan::kMore) any = any == Scan::kFound ? any : scan;
    if (scan != Scan::kFound) continue;
    any = scan;
    name_ = name;
    end = name_end;
  }
  if (any != Scan::kFound) return any;
  if (holds_name) id_ = text.substr(id_begin, end - id_begin);
  at_ = end;
  state_ = State::kNameEnd;
  return any;
}

Scan LearnedCallReader::ReadNameEnd(std::string_view text) {
  size_t at = at_;
  if (syntax_->calls.id == LearnedCalls::Id::kBehindName && id_.empty()) {
    size_t behind = at;
    const Scan delimiter = TakeParts(text, syntax_->id_delimiter, &behind);
    if (delimiter == Scan::kMore) return delimiter;
    // Some models omit the delimiter.
    if (delimiter == Scan::kFound) {
      const Scan id = TakeUntilParts(text, syntax_->name_end, kIdBytesMax, &behind, &id_);
      if (id != Scan::kFound) return id;
      at = behind;
    }
  }
  if (at == at_) {
    const Scan scan = TakeParts(text, syntax_->name_end, &at);
    if (scan != Scan::kFound) return scan;
  }
  at_ = at;
  const bool json = syntax_->calls.arguments == LearnedCalls::Arguments::kJson;
  state_ = json ? State::kJson : State::kPairs;
  if (!json) {
    types_.emplace(tools_->schemas.find(name_)->second);
    pairs_.emplace(syntax_, &*types_);
  }
  return Scan::kFound;
}

Scan LearnedCallReader::ReadJson(std::string_view text, std::vector<CallEvent>* events) {
  if (!json_) {
    const size_t begin = SkipWhiteSpace(text, at_);
    if (begin == text.size()) return Scan::kMore;
    if (text[begin] != '{') return Scan::kNotHere;
    at_ = told_ = begin;
    json_.emplace();
    TellName(events);
  }
  JsonScanner::Status status = JsonScanner::Status::kMore;
  while (at_ < text.size() && status == JsonScanner::Status::kMore) {
    status = json_->Push(text[at_]);
    if (status != JsonScanner::Status::kInvalid) ++at_;
  }
  TellUpTo(text, at_, events);
  if (status == JsonScanner::Status::kMore) return Scan::kMore;
  if (status == JsonScanner::Status::kInvalid) return Scan::kNotHere;
  state_ = AfterArguments();
  return Scan::kFound;
}

Scan LearnedCallReader::ReadPairs(std::string_view text, std::vector<CallEvent>* events) {
  std::string json;
  const Scan scan = pairs_->Read(text, &at_, &json);
  if (!json.empty()) {
    TellName(events);
    TellArguments(std::move(json), events);
    told_ = at_;
  }
  if (scan == Scan::kFound) state_ = AfterArguments();
  return scan;
}

LearnedCallReader::State LearnedCallReader::AfterArguments() const {
  return syntax_->calls.id == LearnedCalls::Id::kBehindArguments ? State::kIdBehind : State::kClose;
}

Scan LearnedCallReader::ReadIdBehind(std::string_view text) {
  size_t at = at_;
  Scan scan = TakeParts(text, syntax_->id_delimiter, &at);
  std::string id;
  if (scan == Scan::kFound && !syntax_->close.empty()) {
    const size_t close = at;
    scan = TakeUntilParts(text, {syntax_->close[0]}, kIdBytesMax, &at, &id);
    if (scan == Scan::kFound) at = close + id.size();
  }
  if (scan == Scan::kMore) return scan;
  if (scan == Scan::kFound) at_ = at;
  state_ = State::kClose;
  return Scan::kFound;
}

// Skips as many of the parts as are present.
Scan LearnedCallReader::ReadClose(std::string_view text, std::vector<CallEvent>* events) {
  size_t at = at_;
  for (const std::string& part : syntax_->close) {
    const Scan scan = TakeParts(text, {part}, &at);
    if (scan == Scan::kMore) return scan;
    if (scan == Scan::kNotHere) break;
  }
  at_ = at;
  EndCall(events);
  return Scan::kFound;
}

Scan LearnedCallReader::ReadNextCall(std::string_view text) {
  if (syntax_->calls.block_open.empty()) {
    state_ = State::kEnded;
    return Scan::kFound;
  }
  size_t at = at_;
  const Scan close = TakeParts(text, syntax_->block_close, &at);
  if (close == Scan::kFound) {
    end_of_calls_ = told_ = at_ = at;
    state_ = State::kEnded;
    return close;
  }
  at = at_;
  Scan next = TakeParts(text, syntax_->next, &at);
  // If the syntax has nothing between two objects, the next brace decides.
  if (next == Scan::kFound && syntax_->next.empty()) next = AnyOfStandsAt(text, {"{"}, at);
  if (next == Scan::kFound) {
    at_ = at;
    BeginCall();
    return next;
  }
  return close == Scan::kMore ? close : next;
}

void LearnedCallReader::TellName(std::vector<CallEvent>* events) {
  if (std::exchange(name_told_, true)) return;
  // A number that counts calls is not an id.
  events->push_back({CallEvent::Kind::kBegin, name_, syntax_->calls.id_is_counter ? "" : id_, 0});
}

void LearnedCallReader::TellArguments(std::string text, std::vector<CallEvent>* events) {
  if (text.empty()) return;
  events->push_back({CallEvent::Kind::kArguments, std::move(text), {}, 0});
}

void LearnedCallReader::TellUpTo(std::string_view text, size_t end,
                                 std::vector<CallEvent>* events) {
  TellArguments(std::string(text.substr(told_, end - told_)), events);
  told_ = end;
}

void LearnedCallReader::EndCall(std::vector<CallEvent>* events) {
  events->push_back({CallEvent::Kind::kEnd, {}, {}, at_});
  end_of_calls_ = told_ = at_;
  name_told_ = false;
  state_ = State::kNextCall;
}

}  // namespace cairn
