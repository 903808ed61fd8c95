#include "tidy_rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace cairn::tidy {
namespace {

constexpr size_t kFunctionLinesMax = 70;
constexpr size_t kFileLinesMax = 600;
constexpr size_t kColumnsMax = 100;

using Folders = std::vector<std::string>;

// The folders that the files of a folder may include besides their own.
const std::map<std::string, Folders>& AllowedFolders() {
  static const std::map<std::string, Folders> allowed = {
      {"base", {}},
      {"download", {"base"}},
      {"http", {"base"}},
      {"events", {"base", "tree"}},
      {"media", {"base"}},
      {"tree", {"base"}},
      {"policy", {"base", "tree"}},
      {"store", {"base"}},
      {"remote", {"base", "store"}},
      {"cache", {"base", "tree", "policy", "store"}},
      {"engine", {"base", "media"}},
      {"jinja", {"base"}},
      {"chat", {"base", "jinja", "media"}},
      {"sched", {"base", "media", "tree", "policy", "store", "cache", "engine"}},
      {"api",
       {"base", "media", "tree", "policy", "store", "cache", "engine", "jinja", "chat", "sched"}},
      {"routes",
       {"base", "media", "tree", "policy", "store", "cache", "engine", "chat", "sched", "api",
        "http"}},
      {"router", {"base", "api", "http", "routes"}},
      {"trace", {"base", "media", "tree", "policy", "store", "cache", "engine", "sched"}},
      {"cmd",
       {"base", "download", "events", "media", "tree", "policy", "store", "remote", "cache",
        "engine", "chat", "sched", "api", "http", "routes", "router", "trace"}},
      // Folders beside the server, which includes neither of them.
      {"lab",
       {"base", "events", "media", "tree", "policy", "store", "cache", "engine", "sched", "http",
        "trace", "cmd"}},
      {"testing",
       {"base", "download", "events", "media", "tree", "policy", "store", "remote", "cache",
        "engine", "jinja", "chat", "sched", "api", "http", "routes", "cmd", "lab"}},
  };
  return allowed;
}

// A test may include folders that are built before its own, and the laboratory.
constexpr std::string_view kBuildOrder[] = {
    "base", "download", "media", "http",   "tree",   "policy", "store",  "cache", "engine", "jinja",
    "chat", "sched",    "api",   "routes", "events", "remote", "router", "trace", "cmd"};

size_t BuildRank(std::string_view folder) {
  const auto* const end = std::end(kBuildOrder);
  return static_cast<size_t>(std::find(std::begin(kBuildOrder), end, folder) -
                             std::begin(kBuildOrder));
}

bool Contains(const Folders& folders, std::string_view folder) {
  return std::find(folders.begin(), folders.end(), folder) != folders.end();
}

bool MayInclude(const SourceFile& file, const std::string& folder) {
  const std::string own = file.Folder();
  if (folder == own) return true;
  const auto allowed = AllowedFolders().find(own);
  if (allowed != AllowedFolders().end() && Contains(allowed->second, folder)) return true;
  if (!file.IsTest()) return false;
  return folder == "lab" || folder == "testing" || BuildRank(folder) < BuildRank(own);
}

struct Library {
  std::string_view name;
  // An include with this beginning and end belongs to the library.
  std::vector<std::string_view> begins;
  std::string_view ends;
  // Paths with these beginnings may include it.
  std::vector<std::string_view> allowed;
};

const std::vector<Library>& Libraries() {
  static const std::vector<Library> libraries = {
      {"libllama",
       {"llama", "ggml", "gguf"},
       ".h",
       {"src/engine/llama/", "src/engine/media/llama_", "lab/maker/llama_"}},
      {"libmtmd", {"mtmd"}, ".h", {"src/engine/media/llama_"}},
      {"cpp-httplib",
       {"httplib"},
       ".h",
       {"src/http/server.cc", "src/http/exchange.h", "src/http/http_client.cc"}},
      {"nlohmann/json",
       {"nlohmann/"},
       ".hpp",
       {"src/base/json_text.cc", "src/base/json_test.cc", "testing/events/zmq_consumer.cc"}},
      {"RE2", {"re2/", "absl/"}, ".h", {"src/chat/spans/volatile_matcher.cc"}},
      {"libzmq", {"zmq"}, ".h", {"fleet/events/event_sockets", "testing/events/"}},
      {"zstd", {"zstd", "zdict"}, ".h", {"src/store/codec/codec.cc"}},
      {"OpenSSL",
       {"openssl/"},
       ".h",
       {"src/api/media/base64.cc", "src/download/web/content_sum.cc",
        "fleet/events/pseudonymous_ids.cc", "src/http/connections/tls.cc", "src/media/medium.cc",
        "fleet/remote/seal.cc", "fleet/remote/remote_names.cc",
        "fleet/remote/valkey/valkey_client.cc", "testing/base/made_certificate.h",
        "testing/http/tls_client.h"}},
      {"libcurl",
       {"curl/"},
       ".h",
       {"src/download/web/curl_transfer.cc", "fleet/remote/s3/s3_objects.cc"}},
      {"hiredis", {"hiredis"}, ".h", {"fleet/remote/valkey/valkey_client.cc"}},
      {"stb", {"stb"}, ".h", {"src/media/decode/image_file.cc", "src/media/thumbnail.cc"}},
      {"libwebp", {"webp/"}, ".h", {"src/media/decode/image_file.cc"}},
      {"miniaudio", {"miniaudio"}, ".h", {"src/media/decode/audio_file.cc"}},
      {"spdlog", {"spdlog/"}, ".h", {"src/sched/", "src/http/", "src/cmd/"}},
      {"CLI11",
       {"CLI/"},
       ".hpp",
       {"src/cmd/", "lab/cmd/", "bench/cache_bench.cc", "testing/cmd/parsed_flags.cc"}},
  };
  return libraries;
}

bool IsBenchmark(const SourceFile& file) {
  return file.path.starts_with("bench/");
}

bool BeginsWithOneOf(std::string_view text, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

std::string At(const SourceFile& file, size_t line, const std::string& what) {
  return file.path + ":" + std::to_string(line) + ": " + what;
}

size_t Columns(std::string_view line) {  // characters, not bytes
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string GuardOf(const SourceFile& file) {
  std::string_view path = file.path;
  if (path.starts_with("src/")) path.remove_prefix(4);
  std::string guard = "CAIRN_";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    guard += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return guard + "_";
}

// Returns whether a CMakeLists.txt names `path`, relative to its own folder or to the project's.
bool IsNamed(const std::string& path, const std::vector<SourceFile>& cmake_files) {
  constexpr std::string_view kFile = "CMakeLists.txt";
  return std::any_of(cmake_files.begin(), cmake_files.end(), [&](const SourceFile& cmake) {
    if (cmake.text.find("${PROJECT_SOURCE_DIR}/" + path) != std::string::npos) return true;
    const std::string folder = cmake.path.substr(0, cmake.path.size() - kFile.size());
    if (!path.starts_with(folder)) return false;
    const std::string name = path.substr(folder.size());
    for (size_t at = FindWord(cmake.text, name); at != std::string::npos;
         at = FindWord(cmake.text, name, at + 1)) {
      const char before = at == 0 ? ' ' : cmake.text[at - 1];
      if (before != '/' && before != '.' && before != '-') return true;
    }
    return false;
  });
}

// Returns the code between the braces around `at`, or all of it if there are none.
std::string_view BlockAround(std::string_view code, size_t at) {
  size_t begin = at;
  for (size_t closed = 0; begin > 0; --begin) {
    if (code[begin - 1] == '{' && closed-- == 0) break;
    if (code[begin - 1] == '}') ++closed;
  }
  size_t end = at;
  for (size_t opened = 0; end < code.size(); ++end) {
    if (code[end] == '}' && opened-- == 0) break;
    if (code[end] == '{') ++opened;
  }
  return code.substr(begin, end - begin);
}

// Returns whether a GUARDED_BY names the mutex: "mutex_", or "*mutex_" or "pool_->mutex_".
bool GuardsSomething(std::string_view code, std::string_view mutex) {
  constexpr std::string_view kMark = "GUARDED_BY(";
  for (size_t at = code.find(kMark); at != std::string_view::npos; at = code.find(kMark, at + 1)) {
    const size_t begin = at + kMark.size();
    const std::string_view guard = code.substr(begin, code.find(')', begin) - begin);
    const size_t name = FindWord(guard, mutex);
    if (name != std::string_view::npos && name + mutex.size() == guard.size()) return true;
  }
  return false;
}

}  // namespace

Complaints CheckDirection(const SourceFile& file) {
  Complaints complaints;
  const std::string own = file.Folder();
  if (own.empty()) return complaints;
  if (!AllowedFolders().contains(own)) {
    return {At(file, 1, "the folder " + own + " has no place in the direction of includes")};
  }
  for (const Include& include : Includes(file.text)) {
    const std::string_view inside = InHouse(include.path);
    const std::string_view path = inside.empty() ? std::string_view(include.path) : inside;
    const std::string folder(path.substr(0, path.find('/')));
    if (!AllowedFolders().contains(folder) || folder == path) continue;
    if (!MayInclude(file, folder)) {
      complaints.push_back(At(file, include.line, own + " may not include " + include.path));
    }
  }
  return complaints;
}

Complaints CheckThirdParty(const SourceFile& file) {
  Complaints complaints;
  if (file.Folder().empty() && !IsBenchmark(file)) return complaints;
  for (const Include& include : Includes(file.text)) {
    for (const Library& library : Libraries()) {
      if (BeginsWithOneOf(include.path, library.begins) && include.path.ends_with(library.ends) &&
          !BeginsWithOneOf(file.path, library.allowed)) {
        complaints.push_back(
            At(file, include.line, std::string(library.name) + " may not be included here"));
      }
    }
  }
  return complaints;
}

Complaints CheckFunctionLength(const SourceFile& file) {
  Complaints complaints;
  for (const FunctionSpan& function : Functions(file.text)) {
    const size_t lines = function.last_line - function.first_line + 1;
    if (lines <= kFunctionLinesMax) continue;
    complaints.push_back(
        At(file, function.first_line, "a function of " + std::to_string(lines) + " lines"));
  }
  return complaints;
}

Complaints CheckFileLength(const SourceFile& file) {
  const size_t lines = Lines(file.text).size();
  if (lines <= kFileLinesMax) return {};
  return {At(file, lines, "a file of " + std::to_string(lines) + " lines")};
}

Complaints CheckLines(const SourceFile& file) {
  Complaints complaints;
  size_t number = 0;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    const size_t columns = Columns(line);
    if (columns > kColumnsMax) {
      complaints.push_back(At(file, number, "a line of " + std::to_string(columns) + " columns"));
    }
    if (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      complaints.push_back(At(file, number, "white space at the end of the line"));
    }
  }
  return complaints;
}

Complaints CheckPrinting(const SourceFile& file) {
  Complaints complaints;
  const std::string folder = file.Folder();
  if (folder.empty() || folder == "cmd" || file.path.starts_with("lab/cmd/") ||
      file.path == "src/base/check.cc")
    return complaints;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view word :
       {"std::cout", "std::cerr", "printf", "fprintf", "vprintf", "puts", "fputs"}) {
    for (size_t at = FindWord(code, word); at != std::string::npos;
         at = FindWord(code, word, at + 1)) {
      complaints.push_back(At(file, LineOf(code, at), std::string(word) + " outside src/cmd"));
    }
  }
  return complaints;
}

Complaints CheckThreads(const SourceFile& file) {
  if (InHouse(file.path).empty() || file.IsTest()) return {};
  const std::string code = CodeOnly(file.text);
  for (const std::string_view catches : {"TryWork(", "TryStep(", "catch ("}) {
    if (code.find(catches) != std::string::npos) return {};
  }
  Complaints complaints;
  for (const std::string_view start : {"std::thread(", "thread_([", "StartThread("}) {
    const size_t at = code.find(start);
    if (at == std::string::npos) continue;
    complaints.push_back(At(file, LineOf(code, at), "a thread whose body catches nothing"));
  }
  return complaints;
}

Complaints CheckMutexes(const SourceFile& file) {
  if (InHouse(file.path).empty() || file.IsTest() || file.path == "src/base/mutex.h") return {};
  Complaints complaints;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view word : {"std::mutex", "std::shared_mutex", "std::recursive_mutex",
                                      "std::lock_guard", "std::unique_lock", "std::scoped_lock",
                                      "std::condition_variable", "std::condition_variable_any"}) {
    const size_t at = FindWord(code, word);
    if (at == std::string::npos) continue;
    complaints.push_back(At(file, LineOf(code, at),
                            std::string(word) + ", which clang does not check; see base/mutex.h"));
  }
  const std::vector<std::string_view> lines = Lines(file.text);
  constexpr std::string_view kType = "Mutex";
  for (size_t at = FindWord(code, kType); at != std::string::npos;
       at = FindWord(code, kType, at + 1)) {
    const size_t begin = at + kType.size() + 1;
    size_t end = begin;
    while (end < code.size() && IsNameChar(code[end])) ++end;
    if (end == begin || end == code.size() || code[end] != ';') continue;
    const std::string mutex = code.substr(begin, end - begin);
    const size_t line = LineOf(code, at);
    const bool is_excepted = lines[line - 1].find("// guards no member") != std::string_view::npos;
    if (is_excepted || GuardsSomething(BlockAround(code, at), mutex)) continue;
    complaints.push_back(At(file, line, "nothing is GUARDED_BY(" + mutex + ")"));
  }
  return complaints;
}

Complaints CheckTokenizing(const SourceFile& file) {
  static const std::vector<std::string_view> allowed = {
      "src/api/prompt/prompt_limits.cc",  // the gate
      "src/api/prompt/prompt_tokens.cc",  // of a PromptText, which PromptBuilder has measured
      "src/api/llama_server/infill.cc",   // measures all of its texts together
      "src/api/llama_server/rerank.cc",
      "src/api/openai/embeddings.cc",      // have limits of their own
      "src/api/prompt/message_sizes.cc",   // passes over what cannot fit
      "src/api/prompt/message_starts.cc",  // texts of the template
  };
  Complaints complaints;
  if (!file.path.starts_with("src/api/") || file.IsTest()) return complaints;
  if (BeginsWithOneOf(file.path, allowed)) return complaints;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view call : {"engine.Tokenize", "engine_.Tokenize", "engine->Tokenize",
                                      "engine_->Tokenize", "engine().Tokenize"}) {
    for (size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
      complaints.push_back(At(file, LineOf(code, at), "a text is tokenized unmeasured"));
    }
  }
  return complaints;
}

Complaints CheckHints(const SourceFile& file) {
  const bool is_ours = !InHouse(file.path).empty() || file.path.starts_with("lab/");
  if (!is_ours || file.IsTest() || file.path.starts_with("src/base/nearest_word.")) return {};
  const size_t at = file.text.find("did you mean");
  if (at == std::string::npos) return {};
  return {At(file, LineOf(file.text, at), "a hint that is not worded by DidYouMean")};
}

Complaints CheckItemLoops(const SourceFile& file) {
  Complaints complaints;
  size_t number = 0;
  const std::string code = CodeOnly(file.text);
  for (const std::string_view line : Lines(code)) {
    ++number;
    const size_t loop = line.find("for (");
    if (loop == std::string_view::npos || line.find(").items())", loop) == std::string_view::npos) {
      continue;
    }
    complaints.push_back(At(file, number, "a loop over the items of a temporary"));
  }
  return complaints;
}

Complaints CheckUnfinished(const SourceFile& file) {
  Complaints complaints;
  size_t number = 0;
  for (const std::string_view line : Lines(file.text)) {
    ++number;
    for (const std::string_view word : {"TO"
                                        "DO",
                                        "FIX"
                                        "ME"}) {
      if (FindWord(line, word) != std::string_view::npos) {
        complaints.push_back(At(file, number, std::string(word) + " is left in the text"));
      }
    }
  }
  return complaints;
}

Complaints CheckGuard(const SourceFile& file) {
  if (!file.IsHeader()) return {};
  const std::string guard = GuardOf(file);
  const std::string wanted = "#ifndef " + guard + "\n#define " + guard + "\n";
  const bool opens =
      file.text.starts_with(wanted) || file.text.find("\n" + wanted) != std::string::npos;
  if (opens && file.text.ends_with("#endif  // " + guard + "\n")) return {};
  return {At(file, 1, "the header is not guarded by " + guard)};
}

Complaints CheckDeadFiles(const std::vector<SourceFile>& files,
                          const std::vector<SourceFile>& cmake_files) {
  std::set<std::string> included;
  for (const SourceFile& file : files) {
    const std::string root = IsBenchmark(file) ? "bench/" : "src/";
    for (const Include& include : Includes(file.text)) {
      included.insert(root + include.path);
      included.insert(include.path);  // "lab/sim/oracle.h" as written
    }
  }
  Complaints complaints;
  for (const SourceFile& file : files) {
    const bool ours = !file.Folder().empty() || IsBenchmark(file);
    if (!ours || IsNamed(file.path, cmake_files)) continue;
    if (file.IsHeader() && included.contains(file.path)) continue;
    complaints.push_back(
        At(file, 1,
           file.IsHeader() ? "nothing includes this header" : "no CMakeLists.txt names this file"));
  }
  return complaints;
}

namespace {

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Collects the "Suite.Name" of every TEST, TEST_F and TEST_P.
void AddTests(const SourceFile& file, std::set<std::string>* tests) {
  const std::string code = CodeOnly(file.text);
  for (const std::string_view macro : {"TEST", "TEST_F", "TEST_P"}) {
    for (size_t at = FindWord(code, macro); at != std::string::npos;
         at = FindWord(code, macro, at + 1)) {
      const size_t open = at + macro.size();
      const size_t close = code.find(')', open);
      if (code[open] != '(' || close == std::string::npos) continue;
      std::string name;
      for (const char c : code.substr(open + 1, close - open - 1)) {
        if (IsNameCharacter(c)) name += c;
        if (c == ',') name += '.';
      }
      tests->insert(name);
    }
  }
}

// Returns the texts between two backquotes that have the form "Suite.Name".
std::vector<std::string> NamedTests(std::string_view cell) {
  std::vector<std::string> names;
  size_t begin = cell.find('`');
  while (begin != std::string_view::npos) {
    const size_t end = cell.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    const std::string name(cell.substr(begin + 1, end - begin - 1));
    const size_t dot = name.find('.');
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](char c) { return c == '.' || IsNameCharacter(c); });
    if (plain && dot != std::string::npos) names.push_back(name);
    begin = cell.find('`', end + 1);
  }
  return names;
}

// Returns the last cell of a row "| a | b |"; empty if the line is not a row.
std::string_view LastCell(std::string_view line) {
  if (!line.starts_with("| ") || !line.ends_with(" |")) return {};
  line.remove_suffix(2);
  return line.substr(line.rfind("| ") + 2);
}

}  // namespace

Complaints CheckNamedTests(const SourceFile& page, const std::vector<SourceFile>& sources) {
  std::set<std::string> tests;
  for (const SourceFile& file : sources) AddTests(file, &tests);
  Complaints complaints;
  bool in_table = false;
  size_t number = 0;
  for (const std::string_view line : Lines(page.text)) {
    ++number;
    const std::string_view cell = LastCell(line);
    if (cell.empty()) in_table = false;
    if (cell == "---") continue;
    if (in_table) {
      const std::vector<std::string> names = NamedTests(cell);
      if (names.empty() && cell != "not yet") {
        complaints.push_back(
            At(page, number, "the row names no test and does not say \"not yet\""));
      }
      for (const std::string& name : names) {
        if (!tests.contains(name)) complaints.push_back(At(page, number, "no test is " + name));
      }
    }
    if (cell == "held by") in_table = true;
  }
  return complaints;
}

}  // namespace cairn::tidy
