#include "cmd/serve/base/models_flags.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>

#include "base/text.h"

namespace cairn {
namespace {

constexpr const char* kModelsGroup = "Several models";

constexpr const char* kRouter = "CAIRN_ROUTER_PID";
constexpr const char* kNumber = "CAIRN_ROUTER_CHILD";

}  // namespace

void AddModelsFlags(CLI::App* serve, ModelsOptions* options) {
  serve
      ->add_option("--models-dir", options->folder,
                   "Serve every model of this folder behind one port, each in a process of its "
                   "own that is started when a request first names the model: GGUF files, and "
                   "folders with one and its projector")
      ->group(kModelsGroup);
  serve
      ->add_option("--models-preset", options->preset_file,
                   "INI file with a section of flags per model, and a section [*] for all of them "
                   "(docs/models.md); alone or beside --models-dir")
      ->group(kModelsGroup);
  serve
      ->add_option("--models-max", options->models_max,
                   "Maximum number of models loaded at a time; for another one the least recently "
                   "used is unloaded, which saves its cache (0: no limit)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024))
      ->group(kModelsGroup);
  serve
      ->add_option("--models-memory", options->memory_mib,
                   "MiB of memory for the weights and contexts of all loaded models; for another "
                   "one the least recently used are unloaded (0: no limit; nine tenths of the "
                   "machine's memory, less --cache-ram)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->group(kModelsGroup);
  serve
      ->add_flag("--models-autoload,!--no-models-autoload", options->autoload,
                 "Load a model when a request names it. Without this flag only POST /models/load "
                 "and load-on-startup do (on)")
      ->group(kModelsGroup);
  serve
      ->add_option("--models-ttl", options->ttl_s,
                   "Unload a model after this many seconds without a request (-1: never)")
      ->capture_default_str()
      ->check(CLI::Range(-1, 30 * 86400))
      ->group(kModelsGroup);
}

std::vector<std::string> RoutedChildVariables(size_t number) {
  return {std::string(kRouter) + "=" + std::to_string(getpid()),
          std::string(kNumber) + "=" + std::to_string(number)};
}

std::string BeginRoutedChild() {
  const char* const router = std::getenv(kRouter);
  const char* const number = std::getenv(kNumber);
  if (router == nullptr || number == nullptr || !ParseNumber(number)) return {};
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) != router) std::_Exit(128 + SIGTERM);
  return std::string(number) + ".";
}

}  // namespace cairn
