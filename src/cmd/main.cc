// cairn: one program with subcommands. The main path is cmd/serve/serve.cc ->
// api/service/chat_service.h -> sched/scheduler.h -> cache/checkpoint_cache.h.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "cmd/cache/cache.h"
#include "cmd/clients/clients.h"
#include "cmd/command_line_mistake.h"
#include "cmd/doctor/doctor.h"
#include "cmd/llama_command_line.h"
#include "cmd/manual.h"
#include "cmd/model/model_check.h"
#include "cmd/model/model_template.h"
#include "cmd/rpc/rpc_server.h"
#include "cmd/serve/base/key_flags.h"
#include "cmd/serve/device/device_flags.h"
#include "cmd/serve/models/cached_models.h"
#include "cmd/serve/models/serve_models.h"
#include "cmd/serve/serve.h"
#include "cmd/serve/source/source_flags.h"
#include "cmd/top.h"
#include "cmd/version_text.h"
#include "media/decode/decode_child.h"

namespace cairn {
namespace {

// Returns the command if it moved to cairn-lab; empty for any other word.
std::string MovedCommand(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  if (arguments.size() > 1 && arguments[0] == "model" && arguments[1] == "make")
    return "model make";
  for (const char* moved : {"bench", "demo", "sim"}) {
    if (arguments[0] == moved) return moved;
  }
  return "";
}

int Refuse(const std::string& why) {
  std::fprintf(stderr, "cairn serve: %s (see docs/from_llama_server.md and cairn serve --help)\n",
               why.c_str());
  return 1;
}

// Does what a command line asks for instead of serving; see LlamaMeaning::instead.
int Tell(const std::string& what, const CLI::App& app) {
  if (what == "version") {
    std::printf("%s\n", VersionText().c_str());
  } else if (what == "completion-bash") {
    std::fputs(BashCompletion(app).c_str(), stdout);
  } else if (what == "list-devices") {
    std::fputs(DevicesList().c_str(), stdout);
  } else {
    std::fputs(CachedModelsList().c_str(), stdout);
  }
  return 0;
}

int Serve(ServeOptions options, const CLI::App& serve) {
  if (!NamesModel(options) && !options.models.given()) {
    options.models.cached = CachedModels();
  }
  if (options.models.given()) return RunServeModels(options, GivenFlags(serve));
  return RunServe(options);
}

int Main(std::vector<std::string> arguments) {
  // Before all else: a child process of `cairn serve`, not a command for people.
  if (arguments.size() == 1 && arguments[0] == kDecodeMediaCommand) RunDecodeChild();
  if (const std::string moved = MovedCommand(arguments); !moved.empty()) {
    std::fprintf(stderr,
                 "cairn: `cairn %s` is now `cairn-lab %s`; `make build` makes both programs\n",
                 moved.c_str(), moved.c_str());
    return 1;
  }
  CLI::App app("Cairn: an LLM server that never prefills the same prefix twice.", "cairn");
  app.set_version_flag("--version", VersionText);
  app.require_subcommand(1);
  const std::vector<std::string> shown = arguments;
  app.failure_message([&shown](const CLI::App* failed, const CLI::Error& error) {
    return CommandLineMistake(*failed, shown, error) + "\n";
  });

  ServeOptions serve_options;
  const CLI::App* serve = AddServe(&app, &serve_options);
  RpcServerCommandOptions rpc_options;
  const CLI::App* rpc = AddRpcServer(&app, &rpc_options);
  TopOptions top_options;
  const CLI::App* top = AddTop(&app, &top_options);
  ClientsOptions clients_options;
  const CLI::App* clients = AddClients(&app, &clients_options);
  DoctorOptions doctor_options;
  const CLI::App* doctor = AddDoctor(&app, &doctor_options);
  CacheCommandOptions cache_options;
  const CLI::App* cache = AddCache(&app, &cache_options);
  CLI::App* model = app.add_subcommand("model", "Inspect model files");
  model->require_subcommand(1);
  ModelCheckOptions check_options;
  const CLI::App* check = AddModelCheck(model, &check_options);
  ModelTemplateOptions template_options;
  const CLI::App* model_template = AddModelTemplate(model, &template_options);

  ManualOptions manual_options;
  const CLI::App* manual = AddManual(&app, &manual_options);

  auto line = ReadLlamaFlags(*serve, arguments);
  if (!line) return Refuse(HideKeys(line.error().message, shown));
  if (!line->instead.empty()) return Tell(line->instead, app);
  arguments = std::move(line->arguments);
  auto environment = ReadEnvironmentFlags(ProcessEnvironment(), arguments);
  if (!environment) return Refuse(environment.error().message);
  arguments.insert(arguments.end(), environment->arguments.begin(), environment->arguments.end());
  serve_options.flag_notes = std::move(line->notes);
  AppendNotes(std::move(environment->notes), &serve_options.flag_notes);
  std::reverse(arguments.begin(), arguments.end());  // in the order that CLI11 expects
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (serve->parsed()) return Serve(serve_options, *serve);
  if (rpc->parsed()) return RunRpcServer(rpc_options);
  if (top->parsed()) return RunTop(top_options);
  if (doctor->parsed()) return RunDoctor(doctor_options);
  if (clients->parsed()) return RunClients(clients_options);
  if (cache->parsed()) return RunCache(cache_options);
  if (check->parsed()) return RunModelCheck(check_options);
  if (model_template->parsed()) return RunModelTemplate(template_options);
  if (manual->parsed()) return RunManual(app, manual_options);
  return 1;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  return cairn::Main(std::vector<std::string>(argv + 1, argv + argc));
}
