#include "chat/spans/late_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "chat/spans/volatile_matcher.h"
#include "chat/spans/volatile_patterns.h"
#include "chat/template/template_turns.h"

namespace cairn {
namespace {

constexpr std::string_view kValuesBegin = "Current values of what is said above: ";
constexpr std::string_view kBetweenValues = "; ";
constexpr std::string_view kBeforeReminder = "\n\n";
// Bytes of the line in front of a value that no words announce, which say what it is.
constexpr size_t kLeadBytesMax = 48;
constexpr size_t kHexBytesMin = 16;
// Approximate overhead of a value and a reminder in addition to their texts.
constexpr size_t kItemBytes = 96;

// The message and the number of the value in it.
using ValuePlace = std::pair<size_t, size_t>;

bool IsFromClient(const Message& message) {
  return message.role != Role::kAssistant;
}

// Long numbers and words are no ids, though all their characters are hexadecimal digits.
bool IsPlainWord(std::string_view text) {
  const auto is_figure = [](char c) { return '0' <= c && c <= '9'; };
  const auto is_hex = [&](char c) {
    return is_figure(c) || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F');
  };
  if (text.starts_with('_')) text.remove_prefix(1);
  if (text.size() < kHexBytesMin || !std::all_of(text.begin(), text.end(), is_hex)) return false;
  const auto figures = std::count_if(text.begin(), text.end(), is_figure);
  return figures == 0 || static_cast<size_t>(figures) == text.size();
}

// Returns the text on one line.
std::string OnOneLine(std::string_view text) {
  std::string line = ToValidUtf8(Trimmed(text));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return Contains(kWhiteSpace, {&c, 1}); }, ' ');
  return line;
}

// Returns the end of the text in front of the value on its line.
std::string_view LeadOf(std::string_view text, size_t begin) {
  std::string_view before = text.substr(0, begin);
  const size_t line = before.rfind('\n');
  if (line != std::string_view::npos) before.remove_prefix(line + 1);
  if (before.size() > kLeadBytesMax) before.remove_prefix(before.size() - kLeadBytesMax);
  while (!before.empty() && IsContinuationByte(before.front())) before.remove_prefix(1);
  return Trimmed(before).empty() ? std::string_view() : before;
}

}  // namespace

// A prompt up to its newest message, as it was rendered.
struct LateValues::KnownPrompt {
  // A value as the model has read it at its place.
  struct Value {
    std::string text = {};
    bool changed = false;  // a change of it was rendered as it was sent
  };
  struct Reminder {
    size_t message = 0;  // index
    std::string text = {};
    std::map<ValuePlace, std::string> values = {};
  };

  std::map<ValuePlace, Value> values;
  std::vector<Reminder> reminders;

  size_t bytes() const {
    size_t bytes = 0;
    for (const auto& [place, value] : values) bytes += kItemBytes + value.text.size();
    for (const Reminder& reminder : reminders) {
      bytes += kItemBytes + reminder.text.size();
      for (const auto& [place, value] : reminder.values) bytes += kItemBytes + value.size();
    }
    return bytes;
  }
};

struct LateValues::FoundValue {
  TextRange range;
  bool announced = false;
};

class LateValues::Patterns {
 public:
  Patterns()
      : announced_(Any(BuiltinVolatilePatterns())),
        unannounced_(Any(UnannouncedVolatilePatterns())) {}

  // Returns the values of a text, in order; those that words announce take precedence.
  std::vector<FoundValue> Find(std::string_view text, const MarkedMedia& media) const {
    std::vector<FoundValue> found;
    if (text.empty()) return found;
    for (const TextRange& range : announced_.Find(text, media)) found.push_back({range, true});
    const auto announced = static_cast<std::ptrdiff_t>(found.size());
    size_t next = 0;
    for (const TextRange& range : unannounced_.Find(text, media)) {
      while (next < static_cast<size_t>(announced) && found[next].range.end <= range.begin) ++next;
      if (next < static_cast<size_t>(announced) && found[next].range.begin < range.end) continue;
      if (IsPlainWord(text.substr(range.begin, range.end - range.begin))) continue;
      found.push_back({range, false});
    }
    std::inplace_merge(found.begin(), found.begin() + announced, found.end(),
                       [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
    std::erase_if(found, [](const FoundValue& value) {
      return value.range.end - value.range.begin > kValueBytesMax;
    });
    return found;
  }

 private:
  static VolatileMatcher Any(const std::vector<std::string>& patterns) {
    std::string any;
    for (const std::string& pattern : patterns)
      any += (any.empty() ? "(?:" : "|(?:") + pattern + ")";
    return *VolatileMatcher::Make(any);
  }

  const VolatileMatcher announced_;
  const VolatileMatcher unannounced_;
};

// One request's conversation.
class LateValues::Request {
 public:
  Request(uint64_t name_space, const Patterns& patterns, Conversation* conversation)
      : messages_(conversation->messages) {
    ListHash prompt;
    prompt.AddNumber(name_space);
    prompt.AddText(conversation->tools.text());
    std::string key = prompt.Key();
    size_t values = 0;
    for (size_t i = 0; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      found_.emplace_back();
      if (IsFromClient(message) && values < kValuesMax) {
        found_[i] = patterns.Find(message.content, message.media);
        found_[i].resize(std::min(found_[i].size(), kValuesMax - values));
        values += found_[i].size();
      }
      if (IsFromClient(message)) newest_ = i;
      key = KeyWith(key, i);
      keys_.push_back(key);
      if (message.role == Role::kUser) last_user_ = i;
    }
    has_values_ = values > 0;
    // An answer behind which nothing comes is the beginning of the one that is asked for.
    for (size_t i = 0; newest_ && i < *newest_; ++i) {
      if (!IsFromClient(messages_[i])) answered_ = i;
    }
  }

  bool HasValues() const { return has_values_ && newest_.has_value(); }
  // The key of the prompt up to its newest message.
  const std::string& newest_key() const { return keys_[*newest_]; }

  // Finds the longest known prompt that this one continues.
  void Continue(KeptByKey<KnownPrompt>* known) {
    for (size_t i = answered_.value_or(0); i-- > 0 && !base_;) {
      if (!IsFromClient(messages_[i])) continue;
      base_ = known->Find(keys_[i]);
      if (base_) known_end_ = i + 1;
    }
  }

  std::vector<LateValue> Apply() {
    if (base_) Keep();
    if (base_) Tell();
    Render();
    return std::move(moved_);
  }

  KnownPrompt Take() { return std::move(rendered_); }

 private:
  using Reminder = KnownPrompt::Reminder;
  std::string_view Sent(ValuePlace place) const {
    const TextRange& range = found_[place.first][place.second].range;
    return std::string_view(messages_[place.first].content)
        .substr(range.begin, range.end - range.begin);
  }

  // The key of the messages up to `index`, whatever values they have; `key`: of those before it.
  // Equal keys are equal prompts, so they have 128 bits.
  std::string KeyWith(const std::string& key, size_t index) const {
    const Message& message = messages_[index];
    ListHash prompt;
    prompt.AddText(key);
    prompt.AddNumber(static_cast<uint64_t>(message.role));
    prompt.AddNumber(found_[index].size());
    size_t at = 0;
    const std::string_view text = message.content;
    for (const FoundValue& value : found_[index]) {
      prompt.AddText(text.substr(at, value.range.begin - at));
      at = value.range.end;
    }
    prompt.AddText(text.substr(at));
    for (const ToolCall& call : message.tool_calls) {
      prompt.AddText(call.name);
      prompt.AddText(call.arguments);
    }
    return prompt.Key();
  }

  // Decides which values are kept.
  void Keep() {
    for (size_t i = 0; i < known_end_; ++i) {
      if (i == last_user_) continue;
      for (size_t n = 0; n < found_[i].size(); ++n) {
        const auto known = base_->values.find({i, n});
        if (known == base_->values.end() || known->second.text == Sent({i, n})) continue;
        if (!found_[i][n].announced && !known->second.changed) continue;
        kept_.emplace(ValuePlace{i, n}, known->second.text);
      }
    }
  }

  // Returns a value as a reminder names it.
  std::string Named(ValuePlace place) const {
    const FoundValue& value = found_[place.first][place.second];
    std::string sent = OnOneLine(Sent(place));
    if (value.announced) return sent;
    const std::string_view lead = LeadOf(messages_[place.first].content, value.range.begin);
    if (!lead.empty()) return OnOneLine(std::string(lead) + std::string(Sent(place)));
    return OnOneLine(kept_.contains(place) ? kept_.at(place) : Sent(place)) + " is now " + sent;
  }

  // Adds the reminder of what the model has not been told yet. A kept value that is back is told as
  // well.
  void Tell() {
    std::map<ValuePlace, std::string> told;
    std::map<ValuePlace, size_t> told_at;
    for (const Reminder& reminder : base_->reminders) {
      for (const auto& [place, value] : reminder.values) {
        told[place] = value;
        told_at[place] = reminder.message;
      }
    }
    Reminder news{.message = *newest_};
    for (const auto& [place, text] : kept_) {
      if (const auto found = told.find(place);
          found == told.end() || found->second != Sent(place)) {
        news.values.emplace(place, Sent(place));
      }
    }
    for (const auto& [place, value] : told) {
      const bool is_back = !kept_.contains(place) && place.first < known_end_ &&
                           place.first != last_user_ && place.second < found_[place.first].size() &&
                           value != Sent(place);
      if (is_back) news.values.emplace(place, Sent(place));
    }
    std::set<std::string> texts;
    for (const auto& [place, value] : news.values) texts.insert(Named(place));
    if (texts.size() > kToldMax) {
      kept_.clear();
      return;
    }
    for (const std::string& text : texts) {
      news.text += std::string(news.text.empty() ? kValuesBegin : kBetweenValues) + text;
    }
    for (const auto& [place, text] : kept_) {
      const bool is_news = news.values.contains(place);
      moved_.push_back(
          {place.first, text, std::string(Sent(place)), is_news ? *newest_ : told_at.at(place)});
    }
    if (!news.text.empty()) news_ = std::move(news);
  }

  // Writes the kept values and the reminders into the messages, and notes what the model reads.
  void Render() {
    for (size_t i = 0; i <= *newest_; ++i) {
      std::vector<TextRange> ranges;
      std::vector<std::string> values;
      for (size_t n = 0; n < found_[i].size(); ++n) {
        const ValuePlace place{i, n};
        KnownPrompt::Value value{std::string(Sent(place))};
        if (i < known_end_) {
          const auto known = base_->values.find(place);
          const bool is_known = known != base_->values.end();
          value.changed = is_known && (known->second.changed || known->second.text != value.text);
        }
        if (const auto kept = kept_.find(place); kept != kept_.end()) {
          value.text = kept->second;
          ranges.push_back(found_[i][n].range);
          values.push_back(kept->second);
        }
        rendered_.values.emplace(place, std::move(value));
      }
      if (!ranges.empty()) {
        ReplaceRanges(ranges, values, &messages_[i].content, &messages_[i].media);
      }
    }
    if (base_) rendered_.reminders = base_->reminders;
    if (news_) rendered_.reminders.push_back(*std::move(news_));
    for (const Reminder& reminder : rendered_.reminders) {
      std::string& content = messages_[reminder.message].content;
      if (!content.empty()) content += kBeforeReminder;
      content += SystemReminder(reminder.text);
    }
  }

  std::vector<Message>& messages_;
  std::vector<std::vector<FoundValue>> found_;  // by message
  std::vector<std::string> keys_;               // of the messages up to each
  bool has_values_ = false;
  std::optional<size_t> newest_;  // the last message that is no answer
  std::optional<size_t> last_user_;
  std::optional<size_t> answered_;           // the last answer before the newest message
  std::shared_ptr<const KnownPrompt> base_;  // null: nothing is known
  size_t known_end_ = 0;                     // messages of base_
  std::map<ValuePlace, std::string> kept_;
  std::optional<Reminder> news_;
  std::vector<LateValue> moved_;
  KnownPrompt rendered_;
};

LateValues::LateValues(size_t bytes_max)
    : patterns_(std::make_unique<const Patterns>()),
      known_(std::make_unique<KeptByKey<KnownPrompt>>(bytes_max)) {}
LateValues::~LateValues() = default;

std::vector<LateValue> LateValues::Apply(uint64_t name_space, bool remember,
                                         Conversation* conversation) {
  Request request(name_space, *patterns_, conversation);
  if (!request.HasValues()) return {};
  request.Continue(known_.get());
  std::string key = request.newest_key();
  std::vector<LateValue> moved = request.Apply();
  if (remember) {
    KnownPrompt prompt = request.Take();
    const size_t bytes = prompt.bytes();
    known_->Keep(std::move(key), std::move(prompt), bytes);
  }
  return moved;
}

size_t LateValues::bytes() const {
  return known_->bytes();
}

}  // namespace cairn
