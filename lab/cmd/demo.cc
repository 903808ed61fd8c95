#include "lab/cmd/demo.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/number_text.h"
#include "base/read_file.h"
#include "lab/client/chat_client.h"
#include "lab/client/server_process.h"
#include "lab/demo/demo_conversation.h"
#include "lab/demo/demo_report.h"

namespace cairn {
namespace {

constexpr size_t kLogLinesShown = 12;

// Progress on standard output: what has happened stays, a line for each thing; on a terminal the
// last line says what is happening now.
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

struct Play {
  std::vector<TurnFigures> turns;
  std::string model;
  std::string memory;
};

// `cairn` in the folder of this program, or the one of the PATH.
std::string ProgramBesideThis() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "cairn";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "cairn";
}

std::vector<std::string> ServeCommand(const DemoOptions& options, const std::string& placement) {
  std::vector<std::string> argv = {options.program.empty() ? ProgramBesideThis() : options.program,
                                   "serve"};
  argv.insert(argv.end(), {"--model", options.model_path, "--port", "0", "--ctx-size",
                           std::to_string(options.context_tokens),
                           // What an earlier demo left would spare this one its reading.
                           "--cache-disk", "0"});
  if (!placement.empty()) argv.insert(argv.end(), {"--placement", placement});
  if (!options.chat_template.empty()) {
    argv.insert(argv.end(), {"--chat-template", options.chat_template});
  }
  if (options.threads > 0) {
    argv.insert(argv.end(), {"--threads", std::to_string(options.threads)});
  }
  return argv;
}

Result<std::string> ReadDocument(const std::string& path) {
  if (path.empty()) return std::string(DemoDocument());
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "the document " + text.error().message);
  return text;
}

// What GET /props says of the model. A server that does not answer it says so at the first turn.
void AskAboutModel(const std::string& url, Play* play) {
  const Result<HttpReply> reply = HttpClient(url).Get("/props");
  if (!reply || reply->status != 200) return;
  const auto json = nlohmann::json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  const auto text = [&json](const char* pointer) {
    const nlohmann::json::json_pointer at(pointer);
    return json.contains(at) && json.at(at).is_string() ? json.at(at).get<std::string>() : "";
  };
  play->model = text("/model_alias");
  play->memory = text("/cairn/memory_class");
}

std::string TurnLine(const std::string& turn, const std::string& what, const ChatAnswer& answer) {
  return turn + what + ": read " + WithCommas(answer.read_tokens()) + " of " +
         WithCommas(answer.prompt_tokens) + " tokens, waited " + Seconds(answer.first_token_ms);
}

// The whole conversation with one server.
Result<Play> PlayTurns(ServerProcess* server, const std::vector<DemoTurn>& turns,
                       const std::string& document, const Progress& progress) {
  const SteadyClock clock;
  const ChatClient client(server->url(), &clock);
  Play play;
  AskAboutModel(server->url(), &play);
  std::vector<ChatMessage> messages = {DemoSystemMessage(document)};
  for (size_t i = 0; i < turns.size(); ++i) {
    const std::string number = std::to_string(i + 1) + "/" + std::to_string(turns.size()) + " ";
    const std::string turn = "  turn " + std::string(number.size() < 6 ? 1 : 0, ' ') + number;
    ApplyTurn(turns[i], &messages);
    progress.Now(turn + turns[i].what + ", reading…");
    const auto on_text = [&, answering = false](std::string_view) mutable {
      if (!answering) progress.Now(turn + turns[i].what + ", answering…");
      answering = true;
    };
    Result<ChatAnswer> answer = client.Ask(messages, {}, on_text);
    if (!answer) {
      return Fail(answer.error().code, "turn " + std::to_string(i + 1) + " (" + turns[i].what +
                                           ") failed: " + answer.error().message +
                                           "\nThe server's last lines:\n" +
                                           server->LastLines(kLogLinesShown));
    }
    progress.Done(TurnLine(turn, turns[i].what, *answer));
    play.turns.push_back({answer->prompt_tokens, answer->read_tokens(), answer->first_token_ms});
    // Reasoning is not sent back, as by most clients.
    messages.push_back({"assistant", std::move(answer->content)});
  }
  return play;
}

// Starts a server, plays, stops it. An empty `placement` is the default one.
Result<Play> PlayOnce(const DemoOptions& options, const std::string& placement,
                      const std::string& document, const Progress& progress) {
  const std::string flags =
      placement.empty() ? "the default placement" : "--placement " + placement;
  progress.Done("\nThe conversation with " + flags + ":");
  progress.Now("  loading the model…");
  ServerProcessOptions server_options;
  server_options.argv = ServeCommand(options, placement);
  auto server = ServerProcess::Start(std::move(server_options));
  if (!server) return tl::unexpected<Error>(server.error());
  return PlayTurns(server->get(), DemoTurns(document), document, progress);
}

Result<DemoFigures> PlayBoth(const DemoOptions& options, const Progress& progress) {
  const SteadyClock clock;
  const double begin_ms = clock.NowMs();
  Result<std::string> document = ReadDocument(options.document_path);
  if (!document) return tl::unexpected<Error>(document.error());
  DemoFigures figures;
  for (const DemoTurn& turn : DemoTurns(*document)) figures.what.push_back(turn.what);
  progress.Done("Somebody explores a document of " + WithCommas(document->size()) + " bytes in " +
                std::to_string(figures.what.size()) +
                " turns: asks, follows up,\ngoes back and asks differently. First without "
                "checkpoints, then with them.");
  Result<Play> without = PlayOnce(options, "none", *document, progress);
  if (!without) return tl::unexpected<Error>(without.error());
  Result<Play> with_default = PlayOnce(options, "", *document, progress);
  if (!with_default) return tl::unexpected<Error>(with_default.error());
  figures.model = with_default->model;
  if (figures.model.empty()) {
    figures.model = std::filesystem::path(options.model_path).filename().string();
  }
  figures.memory = with_default->memory;
  figures.without = std::move(without->turns);
  figures.with_default = std::move(with_default->turns);
  figures.total_ms = clock.NowMs() - begin_ms;
  return figures;
}

int PrintError(const std::string& message) {
  std::fprintf(stderr, "cairn-lab demo: %s\n", message.c_str());
  return 1;
}

}  // namespace

CLI::App* AddDemo(CLI::App* app, DemoOptions* options) {
  CLI::App* demo = app->add_subcommand(
      "demo", "Play a conversation with and without checkpoints, and compare what each costs");
  demo->add_option("-m,--model", options->model_path, "The GGUF file")->required();
  demo->add_option("--chat-template", options->chat_template,
                   "Chat template, as serve takes it (default: the model's)");
  demo->add_option("-c,--ctx-size", options->context_tokens,
                   "Context in tokens (0: what the model was trained on)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  demo->add_option("-t,--threads", options->threads, "Threads (default: one a core)")
      ->check(CLI::PositiveNumber);
  demo->add_option("--document", options->document_path,
                   "A text file to talk about (default: a text on cairns)");
  demo->add_option("--json", options->json_path, "Write the figures to this file too");
  return demo;
}

int RunDemo(const DemoOptions& options) {
  const Progress progress;
  const Result<DemoFigures> figures = PlayBoth(options, progress);
  if (!figures) {
    progress.Now("");
    return PrintError(figures.error().message);
  }
  progress.Done("\n" + FormatDemo(*figures, progress.terminal()));
  if (options.json_path.empty()) return 0;
  std::ofstream file(options.json_path, std::ios::binary);
  file << DemoJson(*figures);
  if (!file.flush()) return PrintError("the file '" + options.json_path + "' cannot be written");
  return 0;
}

}  // namespace cairn
