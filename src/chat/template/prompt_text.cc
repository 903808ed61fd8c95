#include "chat/template/prompt_text.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "chat/parse/call_arguments.h"
#include "chat/parse/limited_json.h"

namespace cairn {
namespace {

// Characters of a private use area: neither white space nor letters, and JSON leaves them as they
// are. Sixteen digits, one that ends a stand-in, and one at both edges of the stem.
constexpr size_t kPrivateDigits = 16;
constexpr size_t kStemEdge = 17;
constexpr size_t kCharacterBytes = 4;

// U+10FE00 + `value`.
std::string PrivateCharacter(size_t value) {
  return {'\xF4', '\x8F', static_cast<char>(0xB8U + (value >> 6U)),
          static_cast<char>(0x80U + (value & 0x3FU))};
}

std::string Digits(uint64_t value) {
  std::string digits;
  do {
    digits += PrivateCharacter(value % kPrivateDigits);
    value /= kPrivateDigits;
  } while (value != 0);
  return digits;
}

// Calls `visit` with every text of a JSON value, names too, and puts what it makes of them in.
template <typename Visit>
void VisitTexts(Json* value, const Visit& visit) {
  if (value->is_string()) {
    std::string text = value->get<std::string>();
    visit(&text);
    *value = std::move(text);
  } else if (value->is_array()) {
    for (Json& item : *value) VisitTexts(&item, visit);
  } else if (value->is_object()) {
    Json visited = Json::object();
    for (const auto& [name, item] : value->items()) {
      std::string key = name;
      visit(&key);
      VisitTexts(&item, visit);
      visited[key] = std::move(item);
    }
    *value = std::move(visited);
  }
}

// Calls `visit` with every text of a conversation that may show in a prompt.
template <typename Visit>
class TextVisitor {
 public:
  TextVisitor(const TemplateCaps& caps, const SpecialTexts& specials, const Visit& visit)
      : caps_(caps), specials_(specials), visit_(visit) {}

  void Run(Conversation* conversation) const {
    for (Message& message : conversation->messages) {
      visit_(&message.content);
      visit_(&message.reasoning);
      visit_(&message.tool_call_id);
      visit_(&message.name);
      for (ToolCall& call : message.tool_calls) {
        visit_(&call.id);
        visit_(&call.name);
        if (caps_.object_arguments) {
          VisitArguments(&call.arguments);
        } else {
          visit_(&call.arguments);
        }
      }
    }
    VisitTools(&conversation->tools);
    VisitJson(&conversation->template_kwargs_json);
  }

 private:
  bool MayHoldSpecial(const std::string& json_text) const {
    return json_text.find('\\') != std::string::npos || specials_.AnyIn(json_text);
  }

  void VisitTools(Tools* tools) const {
    if (!MayHoldSpecial(tools->text())) return;
    *tools = tools->Changed([this](Json* list) { VisitTexts(list, visit_); });
  }

  // As the template gets them, so that no special text of broken arguments is missed.
  void VisitArguments(std::string* text) const {
    if (!MayHoldSpecial(*text)) return;
    Json object = ArgumentsObject(*text);
    VisitTexts(&object, visit_);
    *text = ToText(object);
  }

  // Invalid JSON stays: rendering reports it.
  void VisitJson(std::string* text) const {
    if (!MayHoldSpecial(*text)) return;
    auto json = ParseLimitedJson(*text, "");
    if (!json) return;
    VisitTexts(&*json, visit_);
    *text = ToText(*json);
  }

  const TemplateCaps& caps_;
  const SpecialTexts& specials_;
  const Visit& visit_;
};

template <typename Visit>
void VisitConversation(const TemplateCaps& caps, const SpecialTexts& specials, const Visit& visit,
                       Conversation* conversation) {
  TextVisitor<Visit>(caps, specials, visit).Run(conversation);
}

// Calls `look` with every text as the client sent it, JSON undecoded.
template <typename Look>
void LookAtRawTexts(const Conversation& conversation, const Look& look) {
  for (const Message& message : conversation.messages) {
    for (const std::string* text :
         {&message.content, &message.reasoning, &message.tool_call_id, &message.name}) {
      look(*text);
    }
    for (const ToolCall& call : message.tool_calls) {
      for (const std::string* text : {&call.id, &call.name, &call.arguments}) look(*text);
    }
  }
  look(conversation.tools.text());
  look(conversation.template_kwargs_json);
}

// A stand-in: a stem that no one has written, the number of what it stands for, an end.
class StandIns {
 public:
  explicit StandIns(const SpecialTexts& specials) : specials_(specials) {}

  // False: there is nothing to replace, and `conversation` is what it was.
  bool Replace(const TemplateCaps& caps, Conversation* conversation) {
    std::vector<std::string> with_private;
    const auto note_private = [&](const std::string& text) {
      if (text.find("\xF4\x8F") != std::string::npos) with_private.push_back(text);
    };
    const Medium* const medium = FirstMedium(*conversation);
    bool any = medium != nullptr;
    uint64_t hash = any ? medium->content.low : 0;
    const auto look = [&](const std::string* text) {
      if (!any && specials_.AnyIn(*text)) {
        any = true;
        hash = Hash64(*text);
      }
      note_private(*text);
    };
    Conversation looked_at = *conversation;
    VisitConversation(caps, specials_, look, &looked_at);
    if (!any) return false;
    // Not all JSON is decoded for the visit.
    LookAtRawTexts(*conversation, note_private);
    // The hash of the first medium, or of the first text with a special one, is in it, so that it
    // stays the same while a conversation grows, and what is known of the beginning of its prompt
    // still holds. Who writes it into a text, knowing that, gets one that hangs on that text too,
    // so nobody can write a list of those that come next.
    stem_ = StemOf(hash);
    while (std::any_of(with_private.begin(), with_private.end(), [&](const std::string& text) {
      return text.find(stem_) != std::string::npos;
    })) {
      for (const std::string& text : with_private) hash = Hash64(text, hash);
      stem_ = StemOf(hash);
    }
    for (Message& message : conversation->messages) ReplaceMedia(&message);
    const auto replace = [&](std::string* text) { *text = Replaced(*text); };
    VisitConversation(caps, specials_, replace, conversation);
    return true;
  }

  // The texts back in their places; positions in `rendered.shape` follow.
  PromptText PutBack(const PromptText& rendered) const {
    PromptText prompt{.shape = rendered.shape};
    const std::string_view from = rendered.text;
    std::vector<size_t*> positions = Positions(&prompt.shape);
    auto position = positions.begin();
    size_t at = 0;
    // Those before `end` in `rendered`, which move with the text they stand in.
    const auto move_positions = [&](size_t end) {
      for (; position != positions.end() && **position < end; ++position) {
        **position += prompt.text.size() - at;
      }
    };
    while (at < from.size()) {
      const size_t found = std::min(from.find(stem_, at), from.size());
      move_positions(found);
      prompt.text += from.substr(at, found - at);
      at = found;
      if (at == from.size()) break;
      const auto [bytes, stands_for] = Read(from.substr(at));
      const size_t begin = prompt.text.size();
      // A position inside a stand-in maps to the beginning of its text.
      for (; position != positions.end() && **position < at + bytes; ++position) **position = begin;
      if (stands_for == nullptr) {
        prompt.text += from.substr(at, bytes);
      } else if (stands_for->medium != nullptr) {
        AppendMarker(stands_for->medium, &prompt.text, &prompt.media);
      } else {
        prompt.text += stands_for->text;
        prompt.literals.push_back({begin, prompt.text.size()});
      }
      at += bytes;
    }
    for (; position != positions.end(); ++position) **position = prompt.text.size();
    return prompt;
  }

 private:
  // A special text or a medium, for which a stand-in is rendered.
  struct Original {
    std::string text;
    std::shared_ptr<const Medium> medium = {};
  };

  static std::string StemOf(uint64_t hash) {
    return PrivateCharacter(kStemEdge) + Digits(hash) + PrivateCharacter(kStemEdge);
  }

  static const Medium* FirstMedium(const Conversation& conversation) {
    for (const Message& message : conversation.messages) {
      if (!message.media.empty()) return message.media.front().medium.get();
    }
    return nullptr;
  }

  void ReplaceMedia(Message* message) {
    if (message->media.empty()) return;
    const std::string_view content = message->content;
    std::string replaced;
    size_t at = 0;
    for (const MarkedMedium& marked : message->media) {
      replaced += content.substr(at, marked.begin - at);
      replaced += StandInFor({MarkerOf(*marked.medium), marked.medium});
      at = marked.end;
    }
    replaced += content.substr(at);
    message->content = std::move(replaced);
    message->media.clear();
  }

  std::string Replaced(std::string_view text) {
    std::string replaced;
    size_t at = 0;
    for (TextRange found = specials_.Find(text, 0); found.begin < text.size();
         found = specials_.Find(text, at)) {
      replaced += text.substr(at, found.begin - at);
      replaced += StandInFor({std::string(text.substr(found.begin, found.end - found.begin))});
      at = found.end;
    }
    replaced += text.substr(at);
    return replaced;
  }

  // No special text is a marker, so the texts tell them all apart.
  std::string StandInFor(Original original) {
    const auto [known, is_new] = numbers_.emplace(original.text, originals_.size());
    if (is_new) originals_.push_back(std::move(original));
    return stem_ + Digits(known->second) + PrivateCharacter(kPrivateDigits);
  }

  // The size of the stand-in that `text` begins with and what it stands for; null when a template
  // has cut it.
  std::pair<size_t, const Original*> Read(std::string_view text) const {
    uint64_t number = 0;
    uint64_t weight = 1;
    for (size_t at = stem_.size(); at + kCharacterBytes <= text.size(); at += kCharacterBytes) {
      const size_t value = static_cast<unsigned char>(text[at + kCharacterBytes - 1]) - 0x80U;
      if (text.substr(at, kCharacterBytes) != PrivateCharacter(value)) break;
      if (value == kPrivateDigits && number < originals_.size()) {
        return {at + kCharacterBytes, &originals_[number]};
      }
      if (value >= kPrivateDigits || weight > originals_.size()) break;
      number += value * weight;
      weight *= kPrivateDigits;
    }
    return {stem_.size(), nullptr};
  }

  // All of a shape's positions, in their order.
  static std::vector<size_t*> Positions(TextShape* shape) {
    std::vector<size_t*> positions = {&shape->header_end, &shape->last_message_end};
    for (TextSpan& span : shape->spans) {
      positions.push_back(&span.begin);
      positions.push_back(&span.end);
    }
    std::stable_sort(positions.begin(), positions.end(),
                     [](const size_t* a, const size_t* b) { return *a < *b; });
    return positions;
  }

  const SpecialTexts& specials_;
  std::string stem_;
  std::vector<Original> originals_;
  std::map<std::string, size_t> numbers_;  // of the originals, by their texts
};

Result<PromptText> RenderAndFindShape(const ChatTemplate& chat_template,
                                      const Conversation& conversation, ClientSpans spans) {
  auto text = chat_template.Render(conversation, true);
  if (!text) return tl::unexpected(text.error());
  if (text->size() > spans.bytes_max) return PromptText{.text = std::move(*text)};
  auto shape = spans.cache != nullptr
                   ? spans.cache->Find(chat_template, conversation, *text, spans.client)
                   : FindTextShape(chat_template, conversation, *text);
  if (!shape) return tl::unexpected(shape.error());
  return PromptText{.text = std::move(*text), .shape = std::move(*shape)};
}

}  // namespace

Result<PromptText> RenderPrompt(const ChatTemplate& chat_template, const SpecialTexts& specials,
                                const Conversation& conversation, ClientSpans spans) {
  Conversation replaced = conversation;
  StandIns stand_ins(specials);
  if (!stand_ins.Replace(chat_template.caps(), &replaced)) {
    return RenderAndFindShape(chat_template, conversation, spans);
  }
  const auto rendered = RenderAndFindShape(chat_template, replaced, spans);
  if (!rendered) return tl::unexpected(rendered.error());
  return stand_ins.PutBack(*rendered);
}

Result<PromptText> RenderText(const ChatTemplate& chat_template, const SpecialTexts& specials,
                              const Conversation& conversation, bool add_generation_prompt) {
  Conversation replaced = conversation;
  StandIns stand_ins(specials);
  const bool any = stand_ins.Replace(chat_template.caps(), &replaced);
  auto text = chat_template.Render(replaced, add_generation_prompt);
  if (!text) return tl::unexpected(text.error());
  PromptText rendered{.text = std::move(*text)};
  return any ? stand_ins.PutBack(rendered) : rendered;
}

std::vector<PromptPiece> CutAtLiterals(const PromptText& prompt, const SpecialTexts& specials,
                                       TextRange range) {
  if (range.begin >= range.end) return {};
  std::vector<PromptPiece> pieces;
  const auto add = [&](size_t begin, size_t end, bool parse_special) {
    if (begin < end) pieces.push_back({{begin, end}, parse_special});
  };
  auto literal = std::lower_bound(
      prompt.literals.begin(), prompt.literals.end(), range.begin,
      [](const TextRange& candidate, size_t begin) { return candidate.end <= begin; });
  if (literal == prompt.literals.end() || literal->begin >= range.end) {
    return {{range, true}};
  }
  const std::string_view text = std::string_view(prompt.text).substr(0, range.end);
  size_t begin = range.begin;  // of the piece that is growing
  size_t plain = range.begin;  // after the last special text of the template
  size_t at = range.begin;
  bool holds_literal = false;
  while (at < range.end) {
    // The template's next special text, which must not reach into a literal.
    const bool more = literal != prompt.literals.end() && literal->begin < range.end;
    const size_t stop = more ? std::max(literal->begin, at) : range.end;
    const TextRange special = specials.Find(text.substr(0, stop), at);
    if (special.begin < stop) {
      if (holds_literal) {
        add(begin, special.begin, false);
        begin = special.begin;
        holds_literal = false;
      }
      plain = at = special.end;
      continue;
    }
    if (!more) break;
    if (!holds_literal) {
      add(begin, plain, true);
      begin = plain;
      holds_literal = true;
    }
    at = std::min(literal->end, range.end);
    ++literal;
  }
  add(begin, range.end, !holds_literal);
  return pieces;
}

}  // namespace cairn
