#include "chat/calls/call_splitter.h"

#include <algorithm>
#include <utility>

#include "chat/calls/calls_json.h"
#include "chat/text/calls_scan.h"

namespace cairn {
namespace {

// The first bytes after a beginning are parsed at every push, so that text that is not a call is
// recognized early.
constexpr size_t kTriedBytes = 256;
// A longer call is parsed again only after it has grown by a sixteenth, so that a call with many
// bytes that might end it costs no more than some sixteen times its size.
constexpr size_t kLongBytes = size_t{16} << 10U;

std::string Without(const std::vector<std::pair<size_t, size_t>>& ranges, std::string text) {
  if (ranges.empty()) return text;
  std::string kept;
  size_t at = 0;
  for (const auto& [begin, end] : ranges) {
    kept.append(text, at, begin - at);
    at = end;
  }
  return kept.append(text, at);
}

}  // namespace

CallSplitter::CallSplitter(MakeSyntax make, OfferedTools tools)
    : tools_(std::move(tools)), syntax_(make(&tools_)) {
  begins_.assign(syntax_->begins().begin(), syntax_->begins().end());
  searches_.resize(begins_.size());
}

CallSplitter::CallSplitter(const LearnedCalls& learned, OfferedTools tools, bool stream_arguments)
    : tools_(std::move(tools)),
      learned_(std::make_unique<const LearnedSyntax>(learned)),
      stream_arguments_(stream_arguments && !learned.exact) {
  for (const LearnedSyntax::Start& start : learned_->starts) begins_.push_back({start.text});
  searches_.resize(begins_.size());
}

void CallSplitter::Push(std::string_view content, std::vector<AnswerDelta>* pieces) {
  held_.Append(content);
  while (Step(false, pieces)) {
  }
}

void CallSplitter::Finish(std::vector<AnswerDelta>* pieces) {
  while (Step(true, pieces)) {
  }
  if (!behind_call_ && !space_.empty()) {
    pieces->push_back({AnswerDelta::Kind::kContent, space_});
  }
}

// Returns true if something was decided, so that there may be more to do.
bool CallSplitter::Step(bool finished, std::vector<AnswerDelta>* pieces) {
  if (reader_) return ReadOn(finished, pieces);
  const auto [at, number] = FindBegin();
  if (at == std::string::npos) {
    EmitText(finished ? held_.size() : held_.size() - BegunSize(), pieces);
    return false;
  }
  if (at > 0) EmitText(at, pieces);
  if (syntax_) return ReadWhole(begins_[number], finished, pieces);
  reader_.emplace(learned_.get(), &tools_, number);
  begin_size_ = begins_[number].text.size();
  settled_ = 0;
  return true;
}

bool CallSplitter::ReadWhole(const CallBegin& begin, bool finished,
                             std::vector<AnswerDelta>* pieces) {
  if (!finished && !MayHaveEnded()) return false;
  CallRead read = syntax_->Read(held_.view(), finished);
  if (read.kind == CallRead::Kind::kMore) {
    if (!finished) return false;
    read = CallRead::Text(begin.text.size());
  }
  const bool calls = read.kind == CallRead::Kind::kCalls &&
                     std::all_of(read.calls.begin(), read.calls.end(),
                                 [&](const FoundCall& call) { return tools_.Has(call.name); });
  if (!calls) {
    if (!begin.first_only) ++broken_calls_;
    EmitText(read.size, pieces);
    return !held_.empty();
  }
  for (FoundCall& call : read.calls) {
    EmitName(std::move(call.name), "", pieces);
    EmitArguments(std::move(call.arguments), pieces);
  }
  held_.Drop(read.size);
  return !held_.empty();
}

bool CallSplitter::ReadOn(bool finished, std::vector<AnswerDelta>* pieces) {
  std::vector<CallEvent> events;
  const LearnedCallReader::Status status = reader_->Read(held_.view(), finished, &events);
  if (!TakeEvents(&events, pieces)) {
    EndReader();
    return !held_.empty();
  }
  if (status == LearnedCallReader::Status::kMore) return false;
  const bool begun = stream_arguments_ && reader_->told() > reader_->end_of_calls();
  held_.Drop(begun ? reader_->told() : reader_->end_of_calls());
  if (status == LearnedCallReader::Status::kBroken) {
    ++broken_calls_;
    if (!begun && reader_->end_of_calls() == 0) EmitText(begin_size_, pieces);
  }
  EndReader();
  return !held_.empty();
}

void CallSplitter::EndReader() {
  mended_calls_ += reader_->mended_calls();
  reader_.reset();
}

// Returns false if a complete call turns out not to be one and is text now.
bool CallSplitter::TakeEvents(std::vector<CallEvent>* events, std::vector<AnswerDelta>* pieces) {
  for (CallEvent& event : *events) {
    switch (event.kind) {
      case CallEvent::Kind::kBegin:
        if (stream_arguments_) {
          EmitName(std::move(event.text), std::move(event.id), pieces);
          break;
        }
        name_ = std::move(event.text);
        id_ = std::move(event.id);
        arguments_.clear();
        break;
      case CallEvent::Kind::kArguments:
        if (stream_arguments_) {
          EmitArguments(std::move(event.text), pieces);
        } else {
          arguments_ += event.text;
        }
        break;
      case CallEvent::Kind::kEnd:
        if (!stream_arguments_) {
          if (!event.is_written && !IsJsonObject(arguments_)) {
            ++broken_calls_;
            held_.Drop(settled_);
            EmitText(event.end - settled_, pieces);
            return false;
          }
          EmitName(std::move(name_), std::move(id_), pieces);
          EmitArguments(Without(event.overwritten, std::move(arguments_)), pieces);
        }
        settled_ = event.end;
        break;
    }
  }
  return true;
}

// Finds the first beginning of a call.
CallSplitter::Begin CallSplitter::FindBegin() {
  Begin first;
  if (broken_calls_ >= kBrokenCallsMax) return first;
  for (size_t i = 0; i < begins_.size() && first.at != 0; ++i) {
    const CallBegin& begin = begins_[i];
    if (begin.first_only && begun_) continue;
    const size_t at = FindNext(i);
    if (at == std::string::npos || at >= first.at) continue;
    if (begin.first_only && SkipWhiteSpace(held_.view(), 0) != at) continue;
    first = {at, i};
  }
  return first;
}

// Returns the offset in held_ of the first text that is begins_[number].
size_t CallSplitter::FindNext(size_t number) {
  Search& search = searches_[number];
  const size_t base = held_.dropped();
  if (search.at != std::string::npos && search.at >= base) return search.at - base;
  const std::string_view text = begins_[number].text;
  const std::string_view held = held_.view();
  const size_t found = held.find(text, std::max(search.searched, base) - base);
  if (found != std::string::npos) {
    search.at = base + found;
  } else {
    search = {std::string::npos, base + held.size() - std::min(held.size(), text.size() - 1)};
  }
  return found;
}

// Returns the number of bytes at the end of held_ that may become a beginning.
size_t CallSplitter::BegunSize() const {
  size_t most = 0;
  for (const CallBegin& begin : begins_) {
    size_t size = std::min(held_.size(), begin.text.size() - 1);
    while (size > most && !held_.view().ends_with(begin.text.substr(0, size))) --size;
    most = std::max(most, size);
  }
  return most;
}

// Whether the bytes that arrived since the last call may complete the syntax.
bool CallSplitter::MayHaveEnded() {
  const size_t size = held_.size();
  if (size > kLongBytes && size < tried_size_ + tried_size_ / 16) return false;
  const size_t from = std::exchange(looked_at_, size);
  const bool may = size <= kTriedBytes || held_.view().find_first_of(syntax_->last_bytes(), from) !=
                                              std::string_view::npos;
  if (may) tried_size_ = size;
  return may;
}

// White space at the end of the text is held back: it is dropped if a call follows.
void CallSplitter::EmitText(size_t size, std::vector<AnswerDelta>* pieces) {
  looked_at_ = tried_size_ = 0;
  const std::string_view text = held_.view().substr(0, size);
  const size_t last = text.find_last_not_of(kCallWhiteSpace);
  const size_t end = last == std::string_view::npos ? 0 : space_.size() + last + 1;
  space_ += text;
  held_.Drop(text.size());
  if (end == 0) return;
  begun_ = true;
  behind_call_ = false;
  std::string white = space_.substr(end);
  space_.resize(end);
  pieces->push_back({AnswerDelta::Kind::kContent, std::exchange(space_, std::move(white))});
}

void CallSplitter::EmitName(std::string name, std::string id, std::vector<AnswerDelta>* pieces) {
  pieces->push_back({AnswerDelta::Kind::kCallBegin, std::move(name), calls_++, std::move(id)});
  looked_at_ = tried_size_ = 0;
  space_.clear();
  begun_ = true;
  behind_call_ = true;
}

void CallSplitter::EmitArguments(std::string text, std::vector<AnswerDelta>* pieces) {
  pieces->push_back({AnswerDelta::Kind::kCallArguments, std::move(text), calls_ - 1, {}});
}

}  // namespace cairn
