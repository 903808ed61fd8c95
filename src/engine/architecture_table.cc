#include "engine/architecture_table.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/check.h"

namespace cairn {
namespace {

constexpr std::string_view kNote =
    "# What `make conformance` found; see docs/architectures.md. Not to be edited by hand.\n";
constexpr std::string_view kMadeWith = "# made with ";
constexpr std::string_view kHeader =
    "architecture\tvariant\tmemory\tgrid\tsnapshot\texactness\tsegments\twhole";

using Cells = std::array<std::string ArchitectureRow::*, 8>;
constexpr Cells kCells = {&ArchitectureRow::architecture, &ArchitectureRow::variant,
                          &ArchitectureRow::memory,       &ArchitectureRow::grid,
                          &ArchitectureRow::snapshot,     &ArchitectureRow::exactness,
                          &ArchitectureRow::segments,     &ArchitectureRow::whole};

bool Before(const ArchitectureRow& a, const ArchitectureRow& b) {
  return std::tie(a.architecture, a.variant) < std::tie(b.architecture, b.variant);
}

// Removes the text before the next `end` from `text`, with `end`, and returns it.
std::string_view TakeUntil(char end, std::string_view* text) {
  const std::string_view taken = text->substr(0, text->find(end));
  text->remove_prefix(std::min(text->size(), taken.size() + 1));
  return taken;
}

// Returns false if the line has too few cells, too many, or an empty one.
bool ParseRow(std::string_view line, ArchitectureRow* row) {
  if (std::count(line.begin(), line.end(), '\t') + 1 != static_cast<int>(kCells.size())) {
    return false;
  }
  for (std::string ArchitectureRow::* const cell : kCells) {
    row->*cell = TakeUntil('\t', &line);
    if ((row->*cell).empty()) return false;
  }
  return true;
}

}  // namespace

Result<ArchitectureTable> ParseArchitectureTable(std::string_view text) {
  ArchitectureTable table;
  bool header_seen = false;
  for (size_t number = 1; !text.empty(); ++number) {
    const auto refuse = [number](const std::string& why) {
      return Fail(ErrorCode::kCorrupt,
                  "line " + std::to_string(number) + " of the table of architectures " + why);
    };
    const std::string_view line = TakeUntil('\n', &text);
    if (line.starts_with(kMadeWith)) table.made_with = line.substr(kMadeWith.size());
    if (line.starts_with('#')) continue;
    if (!header_seen) {
      if (line != kHeader) return refuse("is not the header that was expected");
      header_seen = true;
      continue;
    }
    ArchitectureRow row;
    if (!ParseRow(line, &row)) {
      return refuse("does not have " + std::to_string(kCells.size()) + " cells with text in each");
    }
    if (!table.rows.empty() && !Before(table.rows.back(), row)) {
      return refuse("does not come after the line before it");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string FormatArchitectureTable(ArchitectureTable table) {
  std::sort(table.rows.begin(), table.rows.end(), Before);
  std::string text(kNote);
  text.append(kMadeWith).append(table.made_with).append("\n");
  text.append(kHeader).append("\n");
  for (const ArchitectureRow& row : table.rows) {
    for (std::string ArchitectureRow::* const cell : kCells) {
      const std::string& value = row.*cell;
      CHECK(!value.empty());
      CHECK(value.find_first_of("\t\n") == std::string::npos);
      text.append(value).append(cell == kCells.back() ? "\n" : "\t");
    }
  }
  return text;
}

bool HasExactSegments(const ArchitectureTable& table, std::string_view architecture) {
  bool known = false;
  for (const ArchitectureRow& row : table.rows) {
    if (row.architecture != architecture) continue;
    if (row.segments != "exact") return false;
    known = true;
  }
  return known;
}

bool FailsWithFullStates(const ArchitectureTable& table, std::string_view architecture) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const ArchitectureRow& row) {
    return row.architecture == architecture && row.whole != "exact";
  });
}

}  // namespace cairn
