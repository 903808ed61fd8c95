#include "conformance/conformance_run.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "conformance/child_process.h"

namespace cairn::conformance {
namespace {

namespace fs = std::filesystem;

constexpr int kMakeTimeoutMs = 600'000;
// The server's minimum grid, so its resumes are checked on no finer one.
constexpr size_t kServedGridTokens = 64;
// Without a seed, test-llama-archs uses other weights in every run. Each file depends on this seed
// alone, not on the other files made with it.
constexpr const char* kWeightsSeed = "1";
constexpr std::string_view kExtension = ".gguf";

std::string CellOf(const ChildResult& child) {
  if (child.timed_out) return "timeout";
  if (child.exit_code != 0) return "aborts";
  std::string cell = child.output;
  while (!cell.empty() && cell.back() == '\n') cell.pop_back();
  return cell.empty() ? "aborts" : cell;
}

// Returns the grid that a server would use: the measured one, but at least its usual one.
size_t ServedGrid(const std::string& grid) {
  size_t tokens = 0;
  std::from_chars(grid.data(), grid.data() + grid.size(), tokens);
  return std::max(tokens, kServedGridTokens);
}

}  // namespace

bool CanMakeModels() {
  return !std::string_view(CAIRN_TEST_LLAMA_ARCHS).empty();
}

Result<std::vector<std::string>> MakeModels(const std::string& architectures,
                                            const std::string& folder) {
  if (!CanMakeModels()) {
    return Fail(ErrorCode::kNotFound,
                "test-llama-archs is not installed (Debian has it in llama.cpp-tests); configure "
                "again once it is");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  ChildOptions child;
  // A program of the private prefix runs with the prefix's own loader, and finds ggml's backends
  // only in its own folder.
  if (!std::string_view(CAIRN_LOADER).empty()) {
    child.argv = {CAIRN_LOADER, "--library-path", CAIRN_LIBRARY_DIR};
  }
  child.argv.insert(child.argv.end(), {CAIRN_TEST_LLAMA_ARCHS, "-s", kWeightsSeed, "-o",
                                       fs::absolute(folder).string()});
  if (!architectures.empty()) {
    child.argv.insert(child.argv.end(), {"-a", "^(" + architectures + ")$"});
  }
  child.folder = CAIRN_BACKENDS_DIR;
  child.log_path = folder + "/test-llama-archs.log";
  child.timeout_ms = kMakeTimeoutMs;
  const auto made = RunChild(child);
  if (!made) return tl::unexpected(made.error());
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kExtension) paths.push_back(entry.path().string());
  }
  if (made->exit_code != 0 || paths.empty()) {
    return Fail(ErrorCode::kInternal, "test-llama-archs made " + std::to_string(paths.size()) +
                                          " models and failed; see " + child.log_path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string RunCheck(const std::string& check, const std::string& model_path, size_t grid_tokens,
                     const RunOptions& options) {
  ChildOptions child;
  if (!options.log_folder.empty()) {
    child.log_path =
        options.log_folder + "/" + fs::path(model_path).stem().string() + "." + check + ".log";
  }
  std::string cell;
  for (const int timeout_ms : {options.timeout_ms, options.retry_timeout_ms}) {
    child.argv = {options.program,
                  "--check",
                  check,
                  "--grid",
                  std::to_string(grid_tokens),
                  "--probe-ms",
                  std::to_string(options.find_grid ? timeout_ms * 3 / 4 : 0),
                  model_path};
    child.timeout_ms = timeout_ms;
    const auto ended = RunChild(child);
    if (!ended) return "refused: start";
    cell = CellOf(*ended);
    if (cell != "timeout" && !cell.ends_with("\tnot found")) break;
  }
  return cell;
}

ArchitectureRow CheckModel(const std::string& model_path, const RunOptions& options) {
  const std::string name = fs::path(model_path).stem().string();
  const size_t dash = name.rfind('-');
  ArchitectureRow row;
  row.architecture = name.substr(0, dash);
  row.variant = dash == std::string::npos ? "-" : name.substr(dash + 1);
  const std::string memory_and_grid = RunCheck("grid", model_path, 0, options);
  const size_t tab = memory_and_grid.find('\t');
  row.memory = memory_and_grid.substr(0, tab);
  row.grid = tab == std::string::npos ? "-" : memory_and_grid.substr(tab + 1);
  row.snapshot = RunCheck("snapshot", model_path, 0, options);
  row.exactness = RunCheck("exactness", model_path, ServedGrid(row.grid), options);
  row.segments = RunCheck("segments", model_path, 0, options);
  row.whole = RunCheck("whole", model_path, 0, options);
  return row;
}

std::string MadeWith() {
  return "libllama " CAIRN_LLAMA_VERSION ", CPU backend";
}

}  // namespace cairn::conformance
