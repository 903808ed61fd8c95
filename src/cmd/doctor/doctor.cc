#include "cmd/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cmd/doctor/doctor_trace.h"
#include "cmd/doctor/doctor_view.h"
#include "http/http_client.h"

namespace cairn {
namespace {

constexpr int kDoctorTimeoutMs = 5000;

Result<std::string> OfServer(const DoctorOptions& options) {
  HttpClientOptions http;
  http.timeout_ms = kDoctorTimeoutMs;
  if (!options.api_key.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + options.api_key);
  }
  const HttpClient client(options.url, http);
  auto reply = client.Get("/cairn/doctor?hours=" + std::to_string(options.hours));
  if (!reply) return tl::unexpected(reply.error());
  if (reply->status == 401) {
    return Fail(ErrorCode::kInvalidArgument,
                "the server requires an API key; give it with --api-key");
  }
  if (reply->status != 200) {
    return Fail(ErrorCode::kUnavailable, options.url + "/cairn/doctor answered with status " +
                                             std::to_string(reply->status) +
                                             "; is it a Cairn server of this version?");
  }
  return std::move(reply->body);
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
                     "File of cairn serve --trace-out, instead of a running server; may be "
                     "repeated. It has no text, so places are not named");
  return doctor;
}

int RunDoctor(const DoctorOptions& options) {
  std::string notes;
  const auto report =
      options.traces.empty() ? OfServer(options) : DoctorOfTraces(options.traces, &notes);
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
