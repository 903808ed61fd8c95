// Cuts the characters of every field out of the prompts of random conversations, on all templates
// of testdata/templates/: they are what the client sent, or the operation that changed them has a
// name. The table of the operations is a golden file.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "chat/text/call_arguments.h"
#include "testing/base/golden_file.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::origins_families_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr std::array<const char*, 6> kOperations = {"whole",   "trimmed", "escaped",
                                                    "without", "twice",   "hidden"};

// Bytes of a field that a prompt shows.
struct Piece {
  size_t offset = 0;
  std::string bytes;
  bool changed = false;
};

std::vector<Piece> PiecesOf(const RenderedText& rendered, int32_t source) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < rendered.runs.size(); ++i) {
    const jinja::Run& run = rendered.runs[i];
    const size_t end = rendered.EndOf(i);
    if (run.source != source || run.begin == end) continue;
    pieces.push_back({run.offset, rendered.text.substr(run.begin, end - run.begin), run.changed});
  }
  return pieces;
}

// The escapes of JSON, or of Python's texts in single quotes, undone; `text` itself if they are
// none.
std::string Unescaped(std::string text) {
  const Json json = Json::parse('"' + text + '"', nullptr, false);
  if (json.is_string()) return json.text();
  std::string quoted;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted += '\\';
    if (text[i] == '\\' && text.substr(i + 1).starts_with('\'')) continue;
    quoted += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) quoted += text[++i];
  }
  const Json python = Json::parse('"' + quoted + '"', nullptr, false);
  return python.is_string() ? python.text() : text;
}

// What some templates take out of a message: tags of reasoning with what is between them, switches.
bool MayBeTakenOut(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords = {"<think>",     "</think>",   "/no_think",
                                                      "/think",      "<|channel>", "<channel|>",
                                                      "</mm:think>", "<mm:think>"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Returns the name of what a template did to a field, or what is wrong with the field's origins.
std::string Operation(const std::string& field, const std::vector<Piece>& pieces) {
  if (Trimmed(field).empty() && pieces.empty()) return "whole";
  if (pieces.empty()) return "hidden";
  std::string all;
  bool changed = false;
  bool back = false;  // a byte comes again
  size_t at = 0;
  for (const Piece& piece : pieces) {
    if (!piece.changed && field.compare(piece.offset, piece.bytes.size(), piece.bytes) != 0) {
      return "'" + piece.bytes + "' is not at " + std::to_string(piece.offset) + " of '" + field +
             "'";
    }
    back = back || piece.offset < at;
    at = piece.offset + (piece.changed ? 1 : piece.bytes.size());
    changed = changed || piece.changed;
    all += piece.bytes;
  }
  if (all == field) return "whole";
  if (back) return "twice";
  if (!changed && Trimmed(field) == Trimmed(all)) return "trimmed";
  if (changed && Trimmed(Unescaped(all)) == Trimmed(field)) return "escaped";
  if (MayBeTakenOut(field)) return "without";
  return "'" + all + "' was '" + field + "'";
}

class RandomTalk {
 public:
  explicit RandomTalk(std::mt19937* random) : random_(*random) {}

  Conversation Make() {
    Conversation talk{.tools = Tools::Parse(kWeatherTool).value(), .now_unix_s = 1'700'049'600};
    if (Chance(2)) talk.messages.push_back(System(Text()));
    for (size_t n = 1 + random_() % 4; n > 0; --n) {
      talk.messages.push_back(User(Text()));
      if (Chance(3)) AddCall(&talk);
      if (Chance(6)) talk.messages.push_back(System(Text()));
      if (n > 1) talk.messages.push_back(Assistant(Text(), Chance(2) ? Text() : ""));
    }
    return talk;
  }

 private:
  bool Chance(size_t of) { return random_() % of == 0; }

  std::string Text() {
    static const auto* const texts = new std::vector<std::string>{"Hi",
                                                                  " ",
                                                                  "\n\n",
                                                                  "<|im_end|>\n<|im_start|>user\n",
                                                                  "</think>\n\n",
                                                                  "<think>",
                                                                  "/no_think",
                                                                  "\"it's\"",
                                                                  "\xE6\x97\xA5\xE6\x9C\xAC",
                                                                  "\\n{\"a\": [1]}",
                                                                  "<b>&amp;</b>",
                                                                  "[INST] ",
                                                                  "\t",
                                                                  "\xF0\x9F\x98\x80",
                                                                  "a b",
                                                                  "{{ messages }}"};
    std::string text;
    for (size_t n = random_() % 5; n > 0; --n) text += (*texts)[random_() % texts->size()];
    return text;
  }

  void AddCall(Conversation* talk) {
    const Json arguments = {{"city", Text()}, {"more", {{"of", Json::array({Text()})}}}};
    talk->messages.push_back(Call("weather", ToText(arguments), Chance(2) ? Text() : ""));
    talk->messages.push_back(ToolAnswer(Text()));
    talk->messages.back().name = "weather";
    if (Chance(2)) talk->messages.push_back(Assistant(Text()));
  }

  std::mt19937& random_;
};

void AddTexts(const Json& json, std::vector<std::string>* texts) {
  if (json.is_string()) texts->push_back(json.text());
  if (!json.is_object() && !json.is_array()) return;
  for (const auto& [name, item] : json.items()) AddTexts(item, texts);
}

// The texts of a field of a message, in the order in which they got the numbers of their sources.
std::vector<std::string> TextsOf(const Message& message, TextField field, bool as_objects) {
  if (field == TextField::kContent) return {message.content};
  if (field == TextField::kReasoning) return {message.reasoning};
  std::vector<std::string> texts;
  for (const ToolCall& call : message.tool_calls) {
    if (as_objects) {
      AddTexts(ArgumentsObject(call.arguments), &texts);
    } else {
      texts.push_back(call.arguments);
    }
  }
  return texts;
}

// Counts the operations on the fields of a prompt; every field of every message must have one.
void Judge(const ChatTemplate& family, const Conversation& talk, const RenderedText& rendered,
           std::array<size_t, kOperations.size()>* counts) {
  const bool as_objects = family.caps().object_arguments && family.caps().knows_tools();
  for (size_t i = 0; i < talk.messages.size(); ++i) {
    for (const TextField field :
         {TextField::kContent, TextField::kReasoning, TextField::kArguments}) {
      std::vector<int32_t> sources;
      for (size_t number = 0; number < rendered.sources.size(); ++number) {
        const TextSource& source = rendered.sources[number];
        if (source.field == field && source.message == i) {
          sources.push_back(static_cast<int32_t>(number));
        }
      }
      const auto texts = TextsOf(talk.messages[i], field, as_objects);
      for (size_t n = 0; n < texts.size(); ++n) {
        const auto pieces =
            n < sources.size() ? PiecesOf(rendered, sources[n]) : std::vector<Piece>();
        const std::string operation = Operation(texts[n], pieces);
        const auto* const known = std::find(kOperations.begin(), kOperations.end(), operation);
        ASSERT_NE(known, kOperations.end()) << operation << " in message " << i << " of:\n"
                                            << rendered.text;
        ++(*counts)[static_cast<size_t>(known - kOperations.begin())];
      }
    }
  }
}

TEST(OriginsOfFamilies, GiveBackWhatTheClientSentOrNameWhatChangedIt) {
  std::ostringstream table;
  table << std::left << std::setw(18) << "template";
  for (const char* const operation : kOperations) table << std::right << std::setw(9) << operation;
  table << "\n";
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    ASSERT_NE(family, nullptr);
    std::mt19937 random(53);
    std::array<size_t, kOperations.size()> counts{};
    size_t rendered = 0;
    for (int round = 0; round < 100; ++round) {
      const Conversation talk = RandomTalk(&random).Make();
      const auto text = family->RenderWithOrigins(talk, true);
      if (!text) continue;  // not every family supports these turns
      ++rendered;
      ASSERT_NO_FATAL_FAILURE(Judge(*family, talk, *text, &counts)) << name;
    }
    EXPECT_GT(rendered, 50U) << name;
    table << std::left << std::setw(18) << name << std::right;
    for (const size_t count : counts) table << std::setw(9) << count;
    table << "\n";
  }
  ExpectGolden("origins_of_families.txt", table.str());
}

}  // namespace
}  // namespace cairn::origins_families_test
