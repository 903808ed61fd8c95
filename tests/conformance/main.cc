// conformance: finds out what libllama can do with the memory of every architecture. Run by
// `make conformance`; scripts/conformance.sh has the details.
//
//   conformance --work DIR --table FILE --page FILE [--only REGEX] [--timeout SECONDS]
//   conformance --check NAME --grid N --probe-ms N MODEL     one check, run by the former

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "conformance/checks.h"
#include "conformance/conformance_run.h"
#include "conformance/page.h"

namespace cairn::conformance {
namespace {

// Parses "--name value" pairs; positional arguments are under "".
std::map<std::string, std::string> ParseArguments(int argc, char** argv) {
  std::map<std::string, std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--") && i + 1 < argc) {
      arguments[word] = argv[++i];
    } else {
      arguments[""] = word;
    }
  }
  return arguments;
}

int FailWith(const std::string& why) {
  std::fprintf(stderr, "conformance: %s\n", why.c_str());
  return 1;
}

int RunOneCheck(std::map<std::string, std::string>* arguments) {
  const std::string& check = (*arguments)["--check"];
  const std::string& path = (*arguments)[""];
  const auto number = [&](const char* name) {
    return std::strtoul((*arguments)[name].c_str(), nullptr, 10);
  };
  // On an abort libllama starts a debugger, which takes longer than the check.
  setenv("GGML_NO_BACKTRACE", "1", 1);
  std::string cell;
  if (check == "grid") cell = CheckMemoryAndGrid(path, static_cast<double>(number("--probe-ms")));
  if (check == "snapshot") cell = CheckSnapshot(path);
  if (check == "exactness") cell = CheckExactness(path, std::max(64UL, number("--grid")));
  if (check == "segments") cell = CheckSegments(path);
  if (check == "whole") cell = CheckWhole(path);
  if (cell.empty()) return FailWith("there is no check named '" + check + "'");
  std::printf("%s\n", cell.c_str());
  std::fflush(stdout);
  // Errors in the libraries' destructors are not part of the check.
  std::_Exit(0);
}

Result<ArchitectureTable> ReadTable(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseArchitectureTable(text.str());
}

bool WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  return static_cast<bool>(file.flush());
}

// Replaces the row of the same model.
void Merge(const ArchitectureRow& row, ArchitectureTable* table) {
  std::erase_if(table->rows, [&](const ArchitectureRow& old) {
    return old.architecture == row.architecture && old.variant == row.variant;
  });
  table->rows.push_back(row);
}

void PrintRow(size_t number, size_t count, const ArchitectureRow& row) {
  std::printf(
      "[%3zu/%zu] %-16s %-6s %-15s grid %-5s snapshot %s, resumes %s, segments %s, whole %s\n",
      number, count, row.architecture.c_str(), row.variant.c_str(), row.memory.c_str(),
      row.grid.c_str(), row.snapshot.c_str(), row.exactness.c_str(), row.segments.c_str(),
      row.whole.c_str());
  std::fflush(stdout);
}

int RunAll(const std::string& program, std::map<std::string, std::string>* arguments) {
  const std::string work = (*arguments)["--work"];
  const std::string table_path = (*arguments)["--table"];
  const std::string only = (*arguments)["--only"];
  if (work.empty() || table_path.empty()) return FailWith("--work and --table are needed");
  auto table = ReadTable(table_path);
  if (!table) return FailWith(table.error().message);
  if (only.empty()) table->rows.clear();
  table->made_with = MadeWith();

  RunOptions options;
  options.program = program;
  options.log_folder = work;
  if (const std::string& seconds = (*arguments)["--timeout"]; !seconds.empty()) {
    options.timeout_ms = std::atoi(seconds.c_str()) * 1000;
    options.retry_timeout_ms = 5 * options.timeout_ms;
  }
  std::printf("Making the models\n");
  const auto models = MakeModels(only, work);
  if (!models) return FailWith(models.error().message);
  size_t number = 0;
  for (const std::string& model : *models) {
    const ArchitectureRow row = CheckModel(model, options);
    PrintRow(++number, models->size(), row);
    Merge(row, &*table);
    std::error_code error;
    std::filesystem::remove(model, error);
  }
  const std::string text = FormatArchitectureTable(*table);
  if (!WriteText(table_path, text)) return FailWith("cannot write " + table_path);
  table = ParseArchitectureTable(text);  // sorted
  const std::string page_path = (*arguments)["--page"];
  if (!page_path.empty() && !WriteText(page_path, RenderPage(*table))) {
    return FailWith("cannot write " + page_path);
  }
  return 0;
}

}  // namespace
}  // namespace cairn::conformance

int main(int argc, char** argv) {
  auto arguments = cairn::conformance::ParseArguments(argc, argv);
  if (arguments.contains("--check")) return cairn::conformance::RunOneCheck(&arguments);
  return cairn::conformance::RunAll(argv[0], &arguments);
}
