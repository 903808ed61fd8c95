#include "sched/answer/reasoning_meter.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// Returns how many bytes at the end of `text` begin `tag` without completing it.
size_t TagBegun(std::string_view text, std::string_view tag) {
  if (tag.empty()) return 0;
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.ends_with(tag.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

ReasoningMeter::ReasoningMeter(ReasoningParams params, const Model* model)
    : params_(std::move(params)), model_(model) {
  if (params_.open.empty() || params_.closes.empty()) return;
  state_ = params_.starts_inside ? State::kInside
           : params_.anywhere    ? State::kBetween
                                 : State::kStart;
}

std::optional<Token> ReasoningMeter::Forced() {
  const bool spent =
      state_ == State::kInside && params_.tokens_max && forces_ && tokens_ >= *params_.tokens_max;
  if (forced_.empty() && spent) QueueClosing();
  if (forced_.empty()) return std::nullopt;
  return forced_.front();
}

void ReasoningMeter::StopForcing() {
  forced_.clear();
  forces_ = false;
}

std::optional<Token> ReasoningMeter::ForceOn(Sampler* sampler) {
  const auto forced = Forced();
  if (!forced || sampler->Accept(*forced)) return forced;
  StopForcing();
  return std::nullopt;
}

void ReasoningMeter::Add(std::string_view text) {
  const bool last_forced = forced_.size() == 1;
  if (!forced_.empty()) forced_.pop_front();
  if (state_ == State::kDone) return;
  if (state_ == State::kInside) {
    begins_.push_back(held_.size());
    ++tokens_;
  }
  held_ += text;
  while (Step()) {
  }
  // The reasoning is closed now, whatever the tokens' texts are.
  if (last_forced && state_ == State::kInside) {
    state_ = params_.anywhere ? State::kBetween : State::kDone;
    DropHeld(held_.size());
  }
}

bool ReasoningMeter::Step() {
  switch (state_) {
    case State::kStart:
      return StepStart();
    case State::kInside:
      return StepInside();
    case State::kBetween:
      return StepBetween();
    case State::kDone:
      return false;
  }
  return false;
}

bool ReasoningMeter::StepStart() {
  DropHeld(std::min(held_.find_first_not_of(" \t\r\n"), held_.size()));
  if (held_.starts_with(params_.open)) {
    DropHeld(params_.open.size());
    state_ = State::kInside;
    return true;
  }
  if (!params_.open.starts_with(held_)) state_ = State::kDone;
  return false;
}

bool ReasoningMeter::StepInside() {
  size_t at = std::string::npos;
  size_t size = 0;
  size_t begun = 0;
  for (const std::string& close : params_.closes) {
    const size_t found = held_.find(close);
    begun = std::max(begun, TagBegun(held_, close));
    if (found >= at) continue;
    at = found;
    size = close.size();
  }
  if (at == std::string::npos) {
    DropHeld(held_.size() - begun);
    return false;
  }
  tokens_ -= static_cast<size_t>(
      std::count_if(begins_.begin(), begins_.end(), [&](size_t begin) { return begin >= at; }));
  DropHeld(at + size);
  begins_.clear();
  state_ = params_.anywhere ? State::kBetween : State::kDone;
  return state_ == State::kBetween;
}

bool ReasoningMeter::StepBetween() {
  const size_t at = held_.find(params_.open);
  if (at == std::string::npos) {
    DropHeld(held_.size() - TagBegun(held_, params_.open));
    return false;
  }
  DropHeld(at + params_.open.size());
  state_ = State::kInside;
  return true;
}

// Drops the first bytes of the held text, and the tokens that began there.
void ReasoningMeter::DropHeld(size_t size) {
  held_.erase(0, size);
  if (held_.empty()) begins_.clear();
  std::erase_if(begins_, [&](size_t begin) { return begin < size; });
  for (size_t& begin : begins_) begin -= size;
}

void ReasoningMeter::QueueClosing() {
  std::string_view closing =
      closed_before_ && !params_.closing_again.empty() ? params_.closing_again : params_.closing;
  closed_before_ = true;
  // If the model has begun the closing tag, only the rest of it is forced.
  if (params_.message.empty()) closing.remove_prefix(TagBegun(held_, params_.closes.front()));
  const auto add = [&](std::string_view text, bool parse_special) {
    const auto tokens = model_->Tokenize(text, false, parse_special);
    if (tokens) forced_.insert(forced_.end(), tokens->begin(), tokens->end());
  };
  if (!params_.message.empty()) add(params_.message, false);
  add(closing, true);
  if (forced_.empty()) StopForcing();
}

}  // namespace cairn
