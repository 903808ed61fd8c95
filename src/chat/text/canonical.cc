#include "chat/text/canonical.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";
constexpr std::string_view kBlanks = " \t";
constexpr std::array<std::string_view, 3> kNotOfTools = {"cache_control", "id", "metadata"};

std::string_view WithoutFront(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

bool IsKey(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// Returns the size of the `key=value;` item at the front of `text`, or 0 if there is none. The
// semicolon may be missing at the end of the text or line.
size_t ItemBytes(std::string_view text) {
  const size_t end = std::min(text.find_first_of("; \t\r\n"), text.size());
  const size_t equals = text.substr(0, end).find('=');
  if (equals == std::string_view::npos || !IsKey(text.substr(0, equals))) return 0;
  if (end == text.size() || text[end] == '\r' || text[end] == '\n') return end;
  return text[end] == ';' ? end + 1 : 0;
}

// A header without its last semicolon would take a marker behind it as its own text.
void DropHeader(Message* message) {
  std::string& content = message->content;
  const size_t end = message->media.empty() ? content.size() : message->media.front().begin;
  const std::string_view front = std::string_view(content).substr(0, end);
  const size_t dropped = front.size() - WithoutBillingHeader(front).size();
  content.erase(0, dropped);
  for (MarkedMedium& marked : message->media) {
    marked.begin -= dropped;
    marked.end -= dropped;
  }
}

void AppendSorted(const Json& json, std::string* text) {
  if (json.is_array()) {
    char before = '[';
    for (const Json& item : json) {
      *text += std::exchange(before, ',');
      AppendSorted(item, text);
    }
    *text += json.empty() ? "[]" : "]";
  } else if (json.is_object()) {
    std::vector<std::pair<std::string_view, const Json*>> members;
    for (const auto& [key, value] : json.items()) members.emplace_back(key, &value);
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    char before = '{';
    for (const auto& [key, value] : members) {
      *text += std::exchange(before, ',');
      *text += ToText(Json(key)) + ":";
      AppendSorted(*value, text);
    }
    *text += json.empty() ? "{}" : "}";
  } else {
    *text += ToText(json);
  }
}

}  // namespace

std::string_view WithoutBillingHeader(std::string_view system_text) {
  std::string_view rest = WithoutFront(system_text, kLineSpace);
  if (!rest.starts_with(kBillingHeader)) return system_text;
  rest = WithoutFront(rest.substr(kBillingHeader.size()), kBlanks);
  for (size_t bytes = ItemBytes(rest); bytes > 0; bytes = ItemBytes(rest)) {
    rest = WithoutFront(rest.substr(bytes), kBlanks);
  }
  return WithoutFront(rest, kLineSpace);
}

void DropBillingHeader(std::vector<std::string>* system_blocks) {
  std::erase_if(*system_blocks, [](std::string& block) {
    if (block.empty()) return false;
    block = WithoutBillingHeader(block);
    return block.empty();
  });
}

void MakeCanonical(const CanonicalOptions& options, Conversation* conversation) {
  if (!options.keep_billing_header) {
    std::vector<Message> kept;
    for (Message& message : conversation->messages) {
      if (message.role == Role::kSystem || message.role == Role::kDeveloper) {
        const bool had_text = !message.content.empty();
        DropHeader(&message);
        const bool emptied = had_text && message.content.empty();
        if (emptied && conversation->messages.size() > 1) continue;
      }
      kept.push_back(std::move(message));
    }
    conversation->messages = std::move(kept);
  }
  conversation->tools = conversation->tools.WithoutMembers(kNotOfTools);
}

std::string SortedJsonText(const Json& json) {
  std::string text;
  AppendSorted(json, &text);
  return text;
}

}  // namespace cairn
