// Tests the format of existing files: today's bytes are those that were written when the format was
// settled, and docs/format.md describes every one of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "testing/base/golden_file.h"
#include "testing/store/object_sample.h"

namespace cairn {
namespace {

constexpr size_t kFixedBytes = 256;

// Rows of sixteen bytes, without those that are all zero; the last line is the size.
std::string Dump(ByteSpan bytes) {
  std::string text;
  std::array<char, 32> number = {};
  const auto add = [&](const char* form, size_t value) {
    (void)std::snprintf(number.data(), number.size(), form, value);
    text += number.data();
  };
  for (size_t row = 0; row < bytes.size(); row += 16) {
    const ByteSpan shown = bytes.subspan(row, std::min<size_t>(16, bytes.size() - row));
    if (std::all_of(shown.begin(), shown.end(), [](uint8_t byte) { return byte == 0; })) continue;
    add("%04zx:", row);
    for (const uint8_t byte : shown) add(" %02zx", byte);
    text += "\n";
  }
  add("%04zx\n", bytes.size());
  return text;
}

Bytes ReadDump(const std::string& text) {
  std::map<size_t, uint8_t> bytes;
  size_t size = 0;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    words >> std::hex >> size;
    words.get();  // the colon
    size_t at = size;
    for (unsigned byte = 0; words >> byte;) bytes[at++] = static_cast<uint8_t>(byte);
  }
  Bytes all(size, 0);
  for (const auto& [at, byte] : bytes) all.at(at) = byte;
  return all;
}

TEST(ObjectFormat, WritesTheBytesThatItAlwaysWrote) {
  ExpectGolden("object_front.txt", Dump(EncodeHeader(test::SampleObject())));
}

TEST(ObjectFormat, ReadsTheBytesThatWereAlwaysWritten) {
  const auto header = DecodeHeader(ReadDump(ReadSourceFile("testdata/golden/object_front.txt")));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_TRUE(*header == test::SampleObject());
}

// The page up to the form that objects have in a remote store.
std::string Page() {
  const std::string page = ReadSourceFile("docs/format.md");
  return page.substr(0, page.find("\n## Sealed objects\n"));
}

// A row of the page's table of the fixed header.
struct Row {
  size_t offset = 0;
  size_t bytes = 0;
  std::string field;
};

// Returns the rows that begin like "| 8 | 4 | `format` |".
std::vector<Row> Rows() {
  std::vector<Row> rows;
  std::istringstream page(Page());
  std::string line;
  while (std::getline(page, line)) {
    std::istringstream words(line);
    Row row;
    std::string bar;
    if (!(words >> bar >> row.offset >> bar >> row.bytes >> bar >> row.field)) continue;
    if (row.field.size() < 2 || row.field.front() != '`') continue;
    row.field = row.field.substr(1, row.field.size() - 2);
    rows.push_back(row);
  }
  return rows;
}

ObjectHeader Plain() {
  ObjectHeader header;
  header.kind = ObjectKind::kSegment;
  header.tokens = {1, 2, 3};
  header.codec = Codec::kLossless;
  header.raw_bytes = 10;
  header.stored_bytes = 10;
  return header;
}

using Change = std::function<void(ObjectHeader*)>;
// Fields of the fixed header, each with a change that alters its lowest byte and no other field.
std::map<std::string, Change> Changes() {
  return {
      {"kind", [](ObjectHeader* h) { h->kind = ObjectKind::kFullState; }},
      {"codec", [](ObjectHeader* h) { h->codec = Codec::kRaw; }},
      {"checkpoint_class", [](ObjectHeader* h) { h->checkpoint_class = 9; }},
      {"flags", [](ObjectHeader* h) { h->cold_end = true; }},
      {"fingerprint_high", [](ObjectHeader* h) { h->fingerprint.high = 0x0102030405060708; }},
      {"fingerprint_low", [](ObjectHeader* h) { h->fingerprint.low = 0x0102030405060708; }},
      {"name_space", [](ObjectHeader* h) { h->name_space = 0x0102030405060708; }},
      {"begin", [](ObjectHeader* h) { h->begin = 1; }},
      {"lineage", [](ObjectHeader* h) { h->lineage = 0x0102030405060708; }},
      {"parent_high", [](ObjectHeader* h) { h->parent.high = 0x0102030405060708; }},
      {"parent_low", [](ObjectHeader* h) { h->parent.low = 0x0102030405060708; }},
      {"logits_bytes", [](ObjectHeader* h) { h->logits_bytes = 4; }},
      {"turns", [](ObjectHeader* h) { h->turns = 0x0102030405060708; }},
      {"clean", [](ObjectHeader* h) { h->clean = 1; }},
      {"worth_ms", [](ObjectHeader* h) { h->worth_ms = 1.1; }},
      {"raw_bytes", [](ObjectHeader* h) { h->raw_bytes = 0x0102030405; }},
      {"stored_bytes", [](ObjectHeader* h) { h->stored_bytes = 0x0102030405; }},
      {"payload_checksum", [](ObjectHeader* h) { h->payload_checksum = 0x0102030405060708; }},
      {"tokens", [](ObjectHeader* h) { h->tokens.push_back(4); }},
      {"answers", [](ObjectHeader* h) { h->answers = {{0, 1}}; }},
      {"runs", [](ObjectHeader* h) { h->runs = {{7, 0}}; }},
  };
}

TEST(ObjectFormat, HasEachFieldWhereThePageSays) {
  std::map<std::string, Change> changes = Changes();
  const Bytes plain = EncodeHeader(Plain());
  size_t end = 0;
  for (const Row& row : Rows()) {
    EXPECT_EQ(row.offset, end) << "a gap before " << row.field;
    end = row.offset + row.bytes;
    const auto change = changes.find(row.field);
    if (change == changes.end()) continue;
    ObjectHeader header = Plain();
    change->second(&header);
    const Bytes changed = EncodeHeader(header);
    for (size_t at = 0; at < kFixedBytes - 8; ++at) {
      if (at >= row.offset && at < end) continue;
      EXPECT_EQ(changed[at], plain[at]) << row.field << " moves byte " << at;
    }
    EXPECT_NE(changed[row.offset], plain[row.offset]) << row.field << " does not begin there";
    changes.erase(change);
  }
  EXPECT_EQ(end, kFixedBytes);
  for (const auto& [field, unused] : changes) ADD_FAILURE() << "the page has no row of " << field;
}

TEST(ObjectFormat, HasTheValuesThatThePageSays) {
  const std::string page = Page();
  const auto says = [&](int value, const std::string& name) {
    const std::string row = "| " + std::to_string(value) + " | `" + name + "` |";
    EXPECT_NE(page.find(row), std::string::npos) << "the page has no row " << row;
  };
  says(static_cast<int>(ObjectKind::kSnapshot), "kSnapshot");
  says(static_cast<int>(ObjectKind::kSegment), "kSegment");
  says(static_cast<int>(ObjectKind::kFullState), "kWhole");
  says(static_cast<int>(ObjectKind::kMediaRows), "kMediaRows");
  says(static_cast<int>(Codec::kRaw), "kRaw");
  says(static_cast<int>(Codec::kLossless), "kLossless");
}

TEST(ObjectFormat, NamesTheSampleAsThePageDoes) {
  const std::string name = ToText(NameOf(test::SampleObject()));
  EXPECT_NE(Page().find("`" + name + "`"), std::string::npos) << "its name is " << name;
}

}  // namespace
}  // namespace cairn
