#include "chat/calls/calls_learned.h"

#include <algorithm>
#include <utility>

#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr size_t kIdBytesMax = 256;
constexpr std::string_view kFunctionsAsWord = "functions_";

}  // namespace

LearnedCallReader::LearnedCallReader(const LearnedSyntax* syntax, const OfferedTools* tools,
                                     size_t start)
    : syntax_(syntax),
      tools_(tools),
      open_(syntax->starts[start].rest),
      objects_(syntax->calls.is_object()),
      mended_(syntax->starts[start].respelled) {
  at_ = syntax->starts[start].text.size();
}

LearnedCallReader::Status LearnedCallReader::Read(std::string_view text, bool finished,
                                                  std::vector<CallEvent>* events) {
  while (state_ != State::kEnded) {
    if (refused_) return Status::kBroken;
    const Scan scan = Step(text, events);
    if (refused_ || scan == Scan::kFound) continue;
    const bool broke_off = scan == Scan::kMore;
    if (broke_off && !finished) return Status::kMore;
    if (EndsWell(text, broke_off, events)) continue;
    if (broke_off && name_told_) told_ = text.size();
    return Status::kBroken;
  }
  return Status::kEnded;
}

// Handles text that ends early or is not what is expected. Once the arguments are complete, missing
// tags, or text that is not another call, do not change the call.
bool LearnedCallReader::EndsWell(std::string_view text, bool broke_off,
                                 std::vector<CallEvent>* events) {
  switch (state_) {
    case State::kIdBehind:
    case State::kClose:
      if (broke_off) at_ = text.size();
      EndCall(events);
      return true;
    case State::kObject:
      if (!HasWholeArguments(text)) return false;
      at_ = broke_off ? text.size() : arguments_end_;
      mended_ = true;
      EndCall(events);
      return true;
    case State::kNextCall:
    case State::kNextObject: {
      if (object_ends_) EndCall(events);
      const bool comma = text.substr(SkipWhiteSpace(text, at_)).starts_with(',');
      EndBlock(broke_off && !comma ? text.size() : end_of_calls_);
      return true;
    }
    default:
      return false;
  }
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
    case State::kArguments:
      return ReadArguments(text);
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
    case State::kNextObject:
      return ReadNextObject(text, events);
    case State::kEnded:
      break;
  }
  return Scan::kNotHere;
}

// Models that know several syntaxes write an object between the tags of another one.
Scan LearnedCallReader::ReadOpen(std::string_view text) {
  const Scan scan = TakeParts(text, open_, &at_);
  if (scan == Scan::kMore) return scan;
  if (scan == Scan::kNotHere) {
    if (AnyOfStandsAt(text, {"{", "["}, at_) != Scan::kFound) return scan;
    objects_ = true;
    mended_ = true;
  }
  BeginCall();
  return Scan::kFound;
}

void LearnedCallReader::BeginCall() {
  name_.clear();
  id_.clear();
  name_told_ = false;
  json_.reset();
  json_text_.clear();
  pairs_.reset();
  types_.reset();
  key_.clear();
  in_arguments_ = false;
  arguments_end_ = 0;
  other_members_ = false;
  arguments_.reset();
  state_ = State::kName;
  if (syntax_->calls.id == LearnedCalls::Id::kBeforeName) state_ = State::kId;
  if (objects_) state_ = State::kObject;
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
  const auto is_digit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  const bool holds_name = syntax_->calls.id == LearnedCalls::Id::kHoldsName;
  if ((holds_name || syntax_->calls.id_is_counter) && at < text.size()) {
    const bool numbered =
        (holds_name && text[at] == ':') ||
        ((text[at] == '_' || text[at] == '-') && (at + 1 == text.size() || is_digit(at + 1)));
    if (numbered) ++at;
    while (numbered && is_digit(at)) ++at;
  }
  *end = at;
  return AnyOfStandsAt(text, syntax_->behind_name, at);
}

// Takes the longest of the offered names that fits.
Scan LearnedCallReader::TakeAnyName(std::string_view text, size_t begin, size_t* end) {
  Scan any = Scan::kNotHere;
  for (const auto& [name, schema] : tools_->schemas) {
    if (name.size() < name_.size()) continue;
    size_t name_end = 0;
    const Scan scan = TakeName(text, name, begin, &name_end);
    if (scan == Scan::kMore) any = any == Scan::kFound ? any : scan;
    if (scan != Scan::kFound) continue;
    any = scan;
    name_ = name;
    *end = name_end;
  }
  return any;
}

// A name may be in a name space: functions.NAME.
Scan LearnedCallReader::ReadName(std::string_view text) {
  constexpr std::string_view kNameBytes =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const size_t begin = SkipWhiteSpace(text, at_);
  if (begin == text.size()) return Scan::kMore;
  if (text[begin] == '{' || text[begin] == '[') {
    objects_ = true;
    mended_ = true;
    state_ = State::kObject;
    return Scan::kFound;
  }
  const bool holds_name = syntax_->calls.id == LearnedCalls::Id::kHoldsName;
  size_t end = 0;
  Scan scan = TakeAnyName(text, begin, &end);
  if (scan == Scan::kNotHere && holds_name && text.substr(begin).starts_with(kFunctionsAsWord)) {
    scan = TakeAnyName(text, begin + kFunctionsAsWord.size(), &end);
    mended_ = true;
  }
  if (scan == Scan::kNotHere) {
    const size_t separator = text.find_first_not_of(kNameBytes, begin);
    if (separator == std::string_view::npos) {
      return text.size() - begin <= kCallNameBytesMax ? Scan::kMore : scan;
    }
    if (text[separator] != '.' && text[separator] != ':') return scan;
    if (separator + 1 == text.size()) return Scan::kMore;
    scan = TakeAnyName(text, separator + 1, &end);
    mended_ = mended_ || text.substr(begin, separator + 1 - begin) != kFunctionsPrefix;
  }
  if (scan != Scan::kFound) return scan;
  if (holds_name) id_ = text.substr(begin, end - begin);
  at_ = end;
  state_ = State::kNameEnd;
  return scan;
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
    if (scan == Scan::kMore) return scan;
    if (scan == Scan::kNotHere && AnyOfStandsAt(text, {"{"}, at) != Scan::kFound) return scan;
    mended_ = mended_ || scan == Scan::kNotHere;
  }
  at_ = at;
  state_ = State::kArguments;
  return Scan::kFound;
}

// Finds out in which form the arguments are: some models write JSON instead of pairs.
Scan LearnedCallReader::ReadArguments(std::string_view text) {
  state_ = State::kJson;
  if (syntax_->calls.arguments == LearnedCalls::Arguments::kJson || syntax_->braces) {
    return Scan::kFound;
  }
  const size_t begin = SkipWhiteSpace(text, at_);
  if (begin == text.size()) {
    state_ = State::kArguments;
    return Scan::kMore;
  }
  if (text[begin] == '{' && !syntax_->key_open.empty()) {
    mended_ = true;
    return Scan::kFound;
  }
  state_ = State::kPairs;
  types_.emplace(tools_->schemas.find(name_)->second);
  pairs_.emplace(syntax_, &*types_);
  return Scan::kFound;
}

Scan LearnedCallReader::ReadJson(std::string_view text, std::vector<CallEvent>* events) {
  if (!json_) {
    const size_t begin = SkipWhiteSpace(text, at_);
    if (begin == text.size()) return Scan::kMore;
    if (text[begin] != '{') {
      // Nothing between the tags is no arguments.
      if (syntax_->close.empty()) return Scan::kNotHere;
      const Scan close = AnyOfStandsAt(text, {syntax_->close[0]}, begin);
      if (close != Scan::kFound) return close;
      TellName(events);
      TellArguments("{}", events);
      mended_ = true;
      told_ = at_;
      state_ = AfterArguments();
      return close;
    }
    at_ = told_ = begin;
    json_.emplace(syntax_->braces ? syntax_->calls.quote : "");
    TellName(events);
  }
  JsonMender::Status status = JsonMender::Status::kMore;
  while (at_ < text.size() && status == JsonMender::Status::kMore) {
    status = json_->Push(text[at_], &json_text_);
    if (status != JsonMender::Status::kInvalid) ++at_;
  }
  TellArguments(std::exchange(json_text_, {}), events);
  const size_t invalid = status == JsonMender::Status::kInvalid ? 1 : 0;
  told_ = at_ + invalid - json_->unwritten_bytes();
  if (status == JsonMender::Status::kMore) return Scan::kMore;
  if (invalid > 0) return Scan::kNotHere;
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
    if (TakeParts(text, {part}, &at) == Scan::kMore) return Scan::kMore;
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
  Scan close = TakeParts(text, syntax_->block_close, &at);
  if (close == Scan::kNotHere && !syntax_->respelled_block_close.empty()) {
    close = TakeParts(text, syntax_->respelled_block_close, &at);
  }
  if (close == Scan::kFound) {
    EndBlock(at);
    return close;
  }
  at = at_;
  const Scan next = TakeParts(text, syntax_->next, &at);
  if (next == Scan::kFound) {
    at_ = at;
    BeginCall();
    return next;
  }
  return close == Scan::kMore ? close : next;
}

void LearnedCallReader::EndBlock(size_t end) {
  if (refused_) return;
  at_ = end_of_calls_ = told_ = end;
  state_ = State::kEnded;
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

void LearnedCallReader::EndCall(std::vector<CallEvent>* events) {
  const bool mended = std::exchange(mended_, false) || (json_ && json_->mended());
  refused_ = mended && syntax_->calls.exact;
  if (refused_) return;
  if (mended) ++mended_calls_;
  CallEvent end{CallEvent::Kind::kEnd, {}, {}, at_};
  if (pairs_) {
    end.is_written = syntax_->calls.strings != LearnedCalls::Strings::kQuoted;
    end.overwritten = pairs_->Overwritten();
  }
  events->push_back(std::move(end));
  end_of_calls_ = told_ = at_;
  name_told_ = object_ends_ = false;
  state_ = objects_ ? State::kNextObject : State::kNextCall;
}

}  // namespace cairn
