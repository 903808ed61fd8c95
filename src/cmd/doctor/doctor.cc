#include "cmd/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cmd/doctor/doctor_view.h"
#include "cmd/lib/server_client.h"

namespace cairn {
namespace {

Result<std::string> OfServer(const DoctorOptions& options) {
  return BodyOf(ServerClient(options.url, options.api_key),
                "/cairn/doctor?hours=" + std::to_string(options.hours),
                "; is it a Cairn server of this version?");
}

}  // namespace

CLI::App* AddDoctor(CLI::App* app, DoctorOptions* options) {
  CLI::App* doctor = app->add_subcommand(
      "doctor", "Say what each client's prompts cost, why, and what would cure it");
  doctor->add_option("--url", options->url, "Address of the server, as http://host:port")
      ->capture_default_str();
  doctor->add_option("--api-key", options->api_key, "API key of the server")
      ->envname("CAIRN_API_KEY");
  doctor->add_option("--hours", options->hours, "The last so many hours of the running server")
      ->check(CLI::Range(1, 72))
      ->capture_default_str();
  doctor->add_option("--trace", options->traces,
                     "File of cairn serve --trace-out, or another trace that docs/traces.md names, "
                     "instead of a running server; may be repeated. It has no text, so places are "
                     "not named");
  doctor
      ->add_option("--model-profile", options->replay.model_profile,
                   "With --trace: the model whose sizes the replay of the cures has; cairn-lab sim "
                   "--help lists them")
      ->capture_default_str();
  doctor
      ->add_option("--cache-ram", options->replay.cache_ram_mib,
                   "With --trace: the memory of the replayed cache in MiB")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  doctor->add_option("--parallel", options->replay.slots, "With --trace: the replayed slots")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  return doctor;
}

int RunDoctor(const DoctorOptions& options) {
  std::string notes;
  const auto report = options.traces.empty()
                          ? OfServer(options)
                          : DoctorOfTraces(options.traces, options.replay, &notes);
  const auto text = report ? DoctorView(*report) : tl::unexpected(report.error());
  std::fputs(notes.c_str(), stderr);
  if (!text) {
    std::fprintf(stderr, "cairn doctor: %s\n", text.error().message.c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace cairn
