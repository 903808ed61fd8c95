#include "lab/cmd/demo.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "lab/client/chat_client.h"
#include "lab/client/server_process.h"
#include "lab/cmd/print_error.h"
#include "lab/demo/demo_conversation.h"
#include "lab/demo/demo_report.h"

namespace cairn {
namespace {

constexpr size_t kLogLinesShown = 12;
constexpr size_t kAnswerTokens = 40;

// Progress on standard output: a line for each finished step; on a terminal, the last line shows
// the current step.
class Progress {
 public:
  Progress() : terminal_(isatty(STDOUT_FILENO) != 0) {}
  ~Progress() { Now(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Now(const std::string& text) const {
    if (terminal_) std::printf("\r\x1b[K%s", text.c_str());
    std::fflush(stdout);
  }
  void Done(const std::string& text) const {
    Now("");
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  bool terminal() const { return terminal_; }

 private:
  const bool terminal_;
};

// One of the two servers and its conversations.
struct Side {
  std::string name;
  std::vector<std::string> argv;
  std::unique_ptr<ServerProcess> server;
  Conversations conversations;
};

// A temporary folder, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / ("cairn-demo-" + std::to_string(getpid())))
                  .string()) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Returns `cairn` in the folder of this program, or else the one in PATH.
std::string ProgramBesideThis() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "cairn";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "cairn";
}

std::vector<std::string> ServeCommand(const DemoOptions& options,
                                      const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {options.program.empty() ? ProgramBesideThis() : options.program,
                                   "serve"};
  argv.insert(argv.end(), {"--model", options.model_path, "--port", "0", "--ctx-size",
                           std::to_string(options.context_tokens),
                           // A server's initial grid. A measurement while one server is idle
                           // would take CPU time from the other.
                           "--grid", "64"});
  if (!options.chat_template.empty()) {
    argv.insert(argv.end(), {"--chat-template", options.chat_template});
  }
  if (options.threads > 0) {
    argv.insert(argv.end(), {"--threads", std::to_string(options.threads)});
  }
  argv.insert(argv.end(), flags.begin(), flags.end());
  return argv;
}

Result<std::string> ReadDocument(const std::string& path) {
  if (path.empty()) return std::string(DemoDocument());
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "the document " + text.error().message);
  return text;
}

// Fills in the model as GET /props reports it. An unreachable server fails in the first turn.
void AskAboutModel(const std::string& url, DemoFigures* figures) {
  const Result<HttpReply> reply = HttpClient(url).Get("/props");
  if (!reply || reply->status != 200) return;
  const Json json = Json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  const auto text = [&json](const char* pointer) {
    const Json* const found = FindPointer(json, pointer);
    return found != nullptr && found->is_string() ? found->text() : "";
  };
  figures->model = text("/model_alias");
  figures->memory = text("/cairn/memory_class");
}

// Starts the side's server; a running one is stopped before.
Status Start(Side* side, const Progress& progress) {
  if (side->server != nullptr) {
    progress.Now("Ending the server " + side->name + "…");
    side->server->Stop();
  }
  progress.Now("Starting the server " + side->name + "…");
  ServerProcessOptions options;
  options.argv = side->argv;
  auto server = ServerProcess::Start(std::move(options));
  if (!server) return tl::unexpected<Error>(server.error());
  side->server = *std::move(server);
  return {};
}

// Plays the turn on one server. `shown`: the row as far as it is known.
Result<TurnFigures> Play(const DemoTurn& turn, const ChatMessage& system, const std::string& shown,
                         const Progress& progress, Side* side) {
  const SteadyClock clock;
  const ChatClient client(side->server->url(), &clock);
  std::vector<ChatMessage>& messages = ApplyTurn(turn, system, &side->conversations);
  progress.Now(shown + "  prefilling…");
  const auto on_text = [&, answering = false](std::string_view) mutable {
    if (!answering) progress.Now(shown + "  answering…");
    answering = true;
  };
  ChatParams params;
  params.tokens_max = kAnswerTokens;
  Result<ChatAnswer> answer = client.Ask(messages, params, on_text);
  if (!answer) {
    return Fail(answer.error().code, "the turn \"" + turn.what + "\" " + side->name + " failed: " +
                                         answer.error().message + "\nThe server's last lines:\n" +
                                         side->server->LastLines(kLogLinesShown));
  }
  // Like most clients, the demo does not send reasoning back.
  messages.push_back({"assistant", answer->content});
  return TurnFigures{answer->prompt_tokens, answer->read_tokens(), answer->first_token_ms,
                     answer->reasoning + answer->content};
}

// Plays one row of the table, which appears as its figures come.
Result<DemoRow> PlayRow(size_t number, const DemoTurn& turn, const ChatMessage& system,
                        const Progress& progress, std::array<Side, 2>* sides) {
  if (turn.after_restart) {
    for (Side& side : *sides) {
      if (const Status started = Start(&side, progress); !started) {
        return tl::unexpected<Error>(started.error());
      }
    }
  }
  std::string shown = DemoRowBegin(number, turn.what);
  std::array<TurnFigures, 2> figures;
  for (size_t i = 0; i < sides->size(); ++i) {
    auto played = Play(turn, system, shown, progress, &(*sides)[i]);
    if (!played) return tl::unexpected<Error>(played.error());
    figures[i] = *std::move(played);
    shown += DemoCells(figures[i]);
  }
  DemoRow row = {turn.what, std::move(figures[0]), std::move(figures[1])};
  progress.Done(shown + "\n" + DemoAnswers(row));
  return row;
}

// Plays all turns on two servers, which it starts, and prints a table.
Result<std::vector<DemoRow>> PlayTable(const std::string& document, const DemoColumns& columns,
                                       const Progress& progress, std::array<Side, 2>* sides) {
  for (Side& side : *sides) {
    if (const Status started = Start(&side, progress); !started) {
      return tl::unexpected<Error>(started.error());
    }
  }
  progress.Done(DemoHeading(columns));
  const ChatMessage system = DemoSystemMessage(document);
  std::vector<DemoRow> rows;
  for (const DemoTurn& turn : DemoTurns(document)) {
    auto row = PlayRow(rows.size() + 1, turn, system, progress, sides);
    if (!row) return tl::unexpected<Error>(row.error());
    rows.push_back(*std::move(row));
  }
  return rows;
}

// As Cairn is set up by default, beside one that takes no checkpoints.
Status PlayDefault(const DemoOptions& options, const std::string& document,
                   const Progress& progress, DemoFigures* figures) {
  progress.Done(std::to_string(DemoTurns(document).size()) + " turns over a document of " +
                WithCommas(document.size()) +
                " bytes, each with two servers, one after the other: without\ncheckpoints "
                "(--placement none --cache-disk 0), and as Cairn is set up by default. Both have "
                "--grid 64,\nso that neither measures while the other plays.\n");
  const TemporaryFolder folder;
  std::array<Side, 2> sides;
  sides[0].name = "without checkpoints";
  sides[0].argv = ServeCommand(options, {"--placement", "none", "--cache-disk", "0"});
  sides[1].name = "with checkpoints";
  sides[1].argv = ServeCommand(options, {"--cache-dir", folder.path()});
  auto rows = PlayTable(document, {sides[0].name, sides[1].name}, progress, &sides);
  if (!rows) return tl::unexpected(rows.error());
  figures->rows = *std::move(rows);
  AskAboutModel(sides[1].server->url(), figures);
  return {};
}

// With --reuse exact, beside one that reuses nothing.
Status PlayExact(const DemoOptions& options, const std::string& document, const Progress& progress,
                 DemoFigures* figures) {
  progress.Done(
      "\nThe same turns with --reuse exact: on a server without a cache (--no-cache-prompt), and "
      "on one\nwith it. Its answers are those of the first, to the bit.\n");
  const TemporaryFolder folder;
  std::array<Side, 2> sides;
  sides[0].name = "without a cache";
  sides[0].argv =
      ServeCommand(options, {"--reuse", "exact", "--no-cache-prompt", "--cache-disk", "0"});
  sides[1].name = "--reuse exact";
  sides[1].argv = ServeCommand(options, {"--reuse", "exact", "--cache-dir", folder.path()});
  auto rows = PlayTable(document, {sides[0].name, sides[1].name}, progress, &sides);
  if (!rows) return tl::unexpected(rows.error());
  figures->exact_rows = *std::move(rows);
  return {};
}

Result<DemoFigures> PlayAll(const DemoOptions& options, const Progress& progress) {
  const SteadyClock clock;
  const double begin_ms = clock.NowMs();
  const Result<std::string> document = ReadDocument(options.document_path);
  if (!document) return tl::unexpected<Error>(document.error());
  DemoFigures figures;
  figures.model = std::filesystem::path(options.model_path).filename().string();
  Status played = PlayDefault(options, *document, progress, &figures);
  figures.total_ms = clock.NowMs() - begin_ms;
  if (played) progress.Done(DemoTotals(figures, progress.terminal()));
  if (played && options.exact) {
    played = PlayExact(options, *document, progress, &figures);
    if (played) progress.Done(DemoExactTotals(figures.exact_rows, progress.terminal()));
  }
  if (!played) return tl::unexpected<Error>(played.error());
  return figures;
}

}  // namespace

CLI::App* AddDemo(CLI::App* app, DemoOptions* options) {
  CLI::App* demo = app->add_subcommand(
      "demo", "Play conversations with and without checkpoints, and compare what each costs");
  demo->add_option("-m,--model", options->model_path, "The GGUF file")->required();
  demo->add_option("--chat-template", options->chat_template,
                   "Chat template, as serve takes it (default: the model's)");
  demo->add_option("-c,--ctx-size", options->context_tokens,
                   "Context in tokens (0: what the model was trained on)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  demo->add_option("-t,--threads", options->threads, "Threads (default: one a core)")
      ->check(CLI::PositiveNumber);
  demo->add_flag("!--no-exact", options->exact,
                 "Leave out the second table, the same turns with --reuse exact");
  demo->add_option("--document", options->document_path,
                   "A text file to talk about (default: a text on cairns)");
  demo->add_option("--json", options->json_path, "Write the figures to this file too");
  return demo;
}

int RunDemo(const DemoOptions& options) {
  const Progress progress;
  const Result<DemoFigures> figures = PlayAll(options, progress);
  if (!figures) {
    progress.Now("");
    return PrintError("demo", figures.error().message);
  }
  if (options.json_path.empty()) return 0;
  std::ofstream file(options.json_path, std::ios::binary);
  file << DemoJson(*figures);
  if (!file.flush())
    return PrintError("demo", "the file '" + options.json_path + "' cannot be written");
  return 0;
}

}  // namespace cairn
