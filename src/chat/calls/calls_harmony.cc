#include "chat/calls/calls_harmony.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "chat/text/calls_scan.h"
#include "chat/text/held_text.h"
#include "chat/text/json_mender.h"

namespace cairn {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kRecipient = " to=";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::array<std::string_view, 7> kTags = {kStart,    kChannel,   kMessage,    kConstrain,
                                                   "<|end|>", "<|call|>", "<|return|>"};

bool BeginsHeader(std::string_view tag) {
  return tag == kStart || tag == kChannel;
}
bool EndsMessage(std::string_view tag) {
  return tag != kMessage && tag != kConstrain;
}

struct FoundTag {
  size_t at = std::string_view::npos;
  std::string_view tag;
};

FoundTag FindTag(std::string_view text, size_t from) {
  for (size_t at = text.find("<|", from); at != std::string_view::npos;
       at = text.find("<|", at + 1)) {
    for (const std::string_view tag : kTags) {
      if (text.substr(at).starts_with(tag)) return {at, tag};
    }
  }
  return {};
}

// Returns the position of an incomplete tag at the end of `text`, or the text's size if there is
// none.
size_t HarmonyTagBegun(std::string_view text) {
  const size_t at = text.rfind('<');
  if (at == std::string_view::npos) return text.size();
  const std::string_view rest = text.substr(at);
  const bool begun = std::any_of(kTags.begin(), kTags.end(),
                                 [&](std::string_view tag) { return tag.starts_with(rest); });
  return begun ? at : text.size();
}

std::string_view WordBehind(std::string_view header, std::string_view mark) {
  const size_t at = header.find(mark);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = header.substr(at + mark.size());
  return rest.substr(0, rest.find_first_of(" \t\r\n<"));
}

class HarmonyParser final : public AnswerParser {
 public:
  HarmonyParser(OfferedTools tools, bool starts_in_reasoning, bool stream_arguments)
      : tools_(std::move(tools)),
        stream_arguments_(stream_arguments),
        state_(starts_in_reasoning ? State::kText : State::kBetween),
        kind_(starts_in_reasoning ? AnswerDelta::Kind::kReasoning : AnswerDelta::Kind::kContent) {}

  std::vector<AnswerDelta> Push(std::string_view text) override {
    held_.Append(text);
    return Steps(false);
  }
  std::vector<AnswerDelta> Finish() override { return Steps(true); }
  size_t broken_calls() const override { return broken_calls_; }
  size_t mended_calls() const override { return mended_calls_; }

 private:
  enum class State : uint8_t {
    kBetween,    // before the first header, or after the end of a message
    kHeader,     // up to <|message|>
    kText,       // a message without recipient, emitted as it arrives
    kCall,       // a message to a recipient, held from its header on
    kArguments,  // arguments of a call, emitted as they arrive
  };

  std::vector<AnswerDelta> Steps(bool finished) {
    std::vector<AnswerDelta> pieces;
    while (Step(finished, &pieces)) {
    }
    return pieces;
  }

  // Returns true if the state has changed, so that there may be more to do.
  bool Step(bool finished, std::vector<AnswerDelta>* pieces) {
    switch (state_) {
      case State::kBetween:
        return StepBetween(finished, pieces);
      case State::kHeader:
        return StepHeader(finished, pieces);
      case State::kText:
        return StepText(finished, pieces);
      case State::kCall:
        return StepCall(finished, pieces);
      case State::kArguments:
        return StepArguments(finished, pieces);
    }
    return false;
  }

  bool StepBetween(bool finished, std::vector<AnswerDelta>* pieces) {
    // After `<|start|>assistant` a call may begin with its recipient.
    if (!seen_tag_ && held_.view().starts_with(kRecipient)) {
      seen_tag_ = true;
      state_ = State::kHeader;
      return true;
    }
    if (!seen_tag_ && !finished && kRecipient.starts_with(held_.view())) return false;
    const size_t begin = SkipWhiteSpace(held_.view(), 0);
    const bool tag_begun = begin < held_.size() && HarmonyTagBegun(held_.view()) == begin;
    if (!finished && (begin == held_.size() || tag_begun)) return false;
    if (begin == held_.size()) {
      // An answer of only white space is still an answer.
      if (!seen_tag_) Emit(AnswerDelta::Kind::kContent, held_.size(), pieces);
      return false;
    }
    const FoundTag found = FindTag(held_.view(), begin);
    if (found.at != begin) {
      kind_ = AnswerDelta::Kind::kContent;
      state_ = State::kText;
      return true;
    }
    seen_tag_ = true;
    const bool header = BeginsHeader(found.tag) || found.tag == kMessage;
    Drop(header ? begin : begin + found.tag.size());
    if (header) state_ = State::kHeader;
    return true;
  }

  bool StepHeader(bool finished, std::vector<AnswerDelta>* pieces) {
    FoundTag found = FindTag(held_.view(), searched_);
    while (found.at != std::string_view::npos && found.tag != kMessage &&
           (BeginsHeader(found.tag) || found.tag == kConstrain)) {
      found = FindTag(held_.view(), found.at + 1);
    }
    if (found.at == std::string_view::npos && !finished) return WaitForTag();
    const std::string_view header = held_.view().substr(0, found.at);
    const bool to_somebody = header.find(kRecipient) != std::string_view::npos;
    if (found.tag == kMessage) {
      header_ = header;
      kind_ = WordBehind(header, kChannel) == "analysis" ? AnswerDelta::Kind::kReasoning
                                                         : AnswerDelta::Kind::kContent;
      body_ = found.at + kMessage.size();
      state_ = to_somebody ? State::kCall : State::kText;
      searched_ = body_;
      if (!to_somebody) Drop(body_);
      return true;
    }
    // It ends without a message: the beginning of a call becomes text; anything else is dropped.
    if (to_somebody) {
      ++broken_calls_;
      Emit(AnswerDelta::Kind::kContent, header.size(), pieces);
    } else {
      Drop(header.size());
    }
    state_ = State::kBetween;
    return !held_.empty();
  }

  bool StepText(bool finished, std::vector<AnswerDelta>* pieces) {
    const FoundTag found = FindTag(held_.view(), 0);
    if (found.at == std::string_view::npos) {
      Emit(kind_, finished ? held_.size() : HarmonyTagBegun(held_.view()), pieces);
      return false;
    }
    Emit(kind_, found.at, pieces);
    if (EndsMessage(found.tag)) {
      state_ = State::kBetween;
    } else {
      Drop(found.tag.size());
    }
    return true;
  }

  // Finds the first tag from `from` on that ends a message.
  FoundTag FindEnd(size_t from) const {
    FoundTag found = FindTag(held_.view(), from);
    while (found.at != std::string_view::npos && !EndsMessage(found.tag)) {
      found = FindTag(held_.view(), found.at + 1);
    }
    return found;
  }

  void BeginCall(std::string_view name, std::vector<AnswerDelta>* pieces) {
    pieces->push_back({AnswerDelta::Kind::kCallBegin, std::string(name), calls_++, {}});
  }

  bool StepCall(bool finished, std::vector<AnswerDelta>* pieces) {
    std::string_view name = WordBehind(header_, " to=");
    if (name.starts_with("functions.")) name.remove_prefix(std::string_view("functions.").size());
    if (stream_arguments_ && tools_.Has(name)) {
      const size_t begin = SkipWhiteSpace(held_.view(), body_);
      if (begin == held_.size() && !finished) return false;
      if (begin < held_.size() && held_.view()[begin] == '{') {
        BeginCall(name, pieces);
        Drop(begin);
        json_.emplace();
        state_ = State::kArguments;
        return true;
      }
    }
    FoundTag found = FindEnd(searched_);
    if (found.at == std::string_view::npos) {
      if (!finished) return WaitForTag();
      found.at = held_.size();  // the end token <|call|> is not part of the answer's text
    }
    const std::string_view body = held_.view().substr(body_, found.at - body_);
    bool mended = false;
    auto object = tools_.Has(name) ? MendJsonObject(body, &mended) : std::nullopt;
    if (object) {
      mended_calls_ += mended ? 1 : 0;
      BeginCall(name, pieces);
      pieces->push_back({AnswerDelta::Kind::kCallArguments, *std::move(object), calls_ - 1, {}});
      Drop(found.at);
    } else {
      ++broken_calls_;
      const bool ended = !found.tag.empty() && !BeginsHeader(found.tag);
      Emit(AnswerDelta::Kind::kContent, found.at + (ended ? found.tag.size() : 0), pieces);
    }
    state_ = State::kBetween;
    return !held_.empty();
  }

  // held_ begins with arguments that were not emitted yet.
  bool StepArguments(bool finished, std::vector<AnswerDelta>* pieces) {
    using Status = JsonMender::Status;
    const FoundTag found = FindEnd(0);
    const bool ended = found.at != std::string_view::npos;
    const size_t end = ended ? found.at : finished ? held_.size() : HarmonyTagBegun(held_.view());
    const std::string_view held = held_.view();
    Status status = Status::kMore;
    std::string json;
    size_t at = std::exchange(read_, 0);
    while (at < end && status == Status::kMore) status = json_->Push(held[at++], &json);
    if (!json.empty()) {
      pieces->push_back({AnswerDelta::Kind::kCallArguments, std::move(json), calls_ - 1, {}});
    }
    Drop(at - json_->unwritten_bytes());
    if (status == Status::kMore) read_ = json_->unwritten_bytes();
    if (status == Status::kMore && !ended && !finished) return false;
    read_ = 0;
    if (status != Status::kEnd) ++broken_calls_;
    if (status == Status::kEnd && json_->mended()) ++mended_calls_;
    // If the arguments stop being valid, the rest is content.
    kind_ = AnswerDelta::Kind::kContent;
    state_ = status == Status::kInvalid ? State::kText : State::kBetween;
    return !held_.empty();
  }

  void Emit(AnswerDelta::Kind kind, size_t size, std::vector<AnswerDelta>* pieces) {
    if (size == 0) return;
    pieces->push_back({kind, std::string(held_.view().substr(0, size)), 0, {}});
    Drop(size);
  }

  void Drop(size_t size) {
    held_.Drop(size);
    searched_ = 0;
  }

  // The tag that decides is not there yet, but may have begun. Returns false.
  bool WaitForTag() {
    searched_ = std::max(searched_, held_.size() - std::min(held_.size(), kConstrain.size()));
    return false;
  }

  const OfferedTools tools_;
  const bool stream_arguments_;
  State state_;
  AnswerDelta::Kind kind_;  // kText: the kind of the message
  HeldText held_;
  size_t searched_ = 0;             // kHeader and kCall: bytes of held_ without a tag that decides
  std::string header_;              // kCall: the header of the message
  size_t body_ = 0;                 // offset in held_ of that message's text
  std::optional<JsonMender> json_;  // kArguments: reads the call's arguments
  size_t read_ = 0;                 // kArguments: bytes of held_ that json_ has read
  size_t calls_ = 0;
  size_t broken_calls_ = 0;
  size_t mended_calls_ = 0;
  bool seen_tag_ = false;
};

}  // namespace

std::span<const std::string_view> HarmonyTags() {
  return kTags;
}

bool OpensAnalysis(std::string_view generation_prompt) {
  const size_t channel = generation_prompt.rfind(kChannel);
  if (channel == std::string_view::npos) return false;
  const std::string_view header = generation_prompt.substr(channel);
  return WordBehind(header, kChannel) == "analysis" && header.ends_with(kMessage);
}

std::unique_ptr<AnswerParser> MakeHarmonyParser(OfferedTools tools, bool starts_in_reasoning,
                                                bool stream_arguments) {
  return std::make_unique<HarmonyParser>(std::move(tools), starts_in_reasoning, stream_arguments);
}

}  // namespace cairn
