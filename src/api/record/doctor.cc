#include "api/record/doctor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace cairn {
namespace {

constexpr int64_t kDoctorHourS = 3600;
constexpr double kMsPerMinute = 60'000;

double Minutes(double ms) {
  return std::round(ms / kMsPerMinute * 1000) / 1000;
}

Json ExampleJson(const Doctor::Ended& ended) {
  Json told = {{"request", ended.id}};
  if (ended.explanation == nullptr) return told;
  const Explanation& explanation = *ended.explanation;
  told["sentence"] = explanation.sentence;
  if (explanation.place) {
    if (explanation.place->message) told["message"] = *explanation.place->message;
    told["part"] = PartName(explanation.place->part);
    told["character"] = explanation.place->character;
  }
  if (!explanation.prompt_excerpt.empty() || !explanation.stored_excerpt.empty()) {
    told["stored_excerpt"] = explanation.stored_excerpt;
    told["prompt_excerpt"] = explanation.prompt_excerpt;
  }
  return told;
}

}  // namespace

Doctor::Known& Doctor::Find(const Client& client) {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const Known& known) {
    return known.client.name_space == client.name_space && known.client.agent == client.agent &&
           known.client.model == client.model;
  });
  if (found != clients_.end()) {
    clients_.splice(clients_.begin(), clients_, found);
  } else {
    clients_.push_front({client});
    if (clients_.size() > kClientsMax) clients_.pop_back();
  }
  return clients_.front();
}

Diagnosis Doctor::Look(const Client& client, PromptSketch sketch, const DiagnosedRequest& request) {
  const MutexLock lock(mutex_);
  Known& known = Find(client);
  const Diagnosis diagnosis = Diagnose(sketch, request, known.prompts);
  if (sketch.messages.empty()) return diagnosis;
  known.prompts.push_front(std::move(sketch));
  if (known.prompts.size() > kPromptsMax) known.prompts.pop_back();
  return diagnosis;
}

void Doctor::Note(const Client& client, const Ended& ended) {
  const MutexLock lock(mutex_);
  Known& known = Find(client);
  Hour& hour = known.hours[ended.begun_unix_s / kDoctorHourS];
  ++hour.requests;
  hour.prompt_tokens += ended.prompt_tokens;
  hour.reused_tokens += ended.reused_tokens;
  hour.prompt_ms += ended.prompt_ms;
  const auto cause = static_cast<size_t>(ended.diagnosis.cause);
  if (ended.diagnosis.cause != Cause::kNone && ended.prompt_tokens > ended.reused_tokens) {
    const size_t prefilled = ended.prompt_tokens - ended.reused_tokens;
    const size_t avoidable = std::min(ended.diagnosis.avoidable_tokens, prefilled);
    Sum& sum = hour.causes[cause];
    ++sum.requests;
    sum.tokens += avoidable;
    sum.ms += ended.prompt_ms * static_cast<double>(avoidable) / static_cast<double>(prefilled);
    Example& example = known.examples[cause];
    const std::string pattern =
        ended.explanation == nullptr ? "" : ended.explanation->volatile_pattern;
    if (example.since_unix_s == 0) example.since_unix_s = ended.begun_unix_s;
    example.last_unix_s = ended.begun_unix_s;
    example.cure = CureOf(ended.diagnosis.cause, pattern);
    example.told = ExampleJson(ended);
  }
  // A clock that jumps makes hours of its own; the oldest go.
  while (known.hours.size() > kHoursMax) known.hours.erase(known.hours.begin());
}

Json Doctor::CausesOf(const Known& known, const Hour& sum) {
  std::vector<size_t> ranked;
  for (size_t cause = 0; cause < kCauses; ++cause) {
    if (sum.causes[cause].requests > 0) ranked.push_back(cause);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) {
    const Sum& first = sum.causes[a];
    const Sum& second = sum.causes[b];
    return first.ms != second.ms ? first.ms > second.ms : first.tokens > second.tokens;
  });
  Json causes = Json::array();
  for (const size_t index : ranked) {
    const auto cause = static_cast<Cause>(index);
    const Example& example = known.examples[index];
    causes.push_back({{"cause", CauseName(cause)},
                      {"sentence", CauseSentence(cause)},
                      {"requests", sum.causes[index].requests},
                      {"tokens", sum.causes[index].tokens},
                      {"minutes", Minutes(sum.causes[index].ms)},
                      {"since", example.since_unix_s},
                      {"last", example.last_unix_s},
                      {"cure", example.cure},
                      {"example", example.told}});
  }
  return causes;
}

Json Doctor::ReportOf(const Known& known, int64_t first_hour) {
  Hour sum;
  for (auto hour = known.hours.lower_bound(first_hour); hour != known.hours.end(); ++hour) {
    sum.requests += hour->second.requests;
    sum.prompt_tokens += hour->second.prompt_tokens;
    sum.reused_tokens += hour->second.reused_tokens;
    sum.prompt_ms += hour->second.prompt_ms;
    for (size_t cause = 0; cause < kCauses; ++cause) {
      sum.causes[cause].requests += hour->second.causes[cause].requests;
      sum.causes[cause].tokens += hour->second.causes[cause].tokens;
      sum.causes[cause].ms += hour->second.causes[cause].ms;
    }
  }
  if (sum.requests == 0) return {};
  size_t avoidable = 0;
  double avoidable_ms = 0;
  for (const Sum& cause : sum.causes) {
    avoidable += cause.tokens;
    avoidable_ms += cause.ms;
  }
  const size_t prefilled = sum.prompt_tokens - sum.reused_tokens;
  return {{"agent", known.client.agent},
          {"model", known.client.model},
          {"requests", sum.requests},
          {"prompt_tokens", sum.prompt_tokens},
          {"reused_tokens", sum.reused_tokens},
          {"prefilled_tokens", prefilled},
          {"unavoidable_tokens", prefilled - avoidable},
          {"avoidable_tokens", avoidable},
          {"prompt_minutes", Minutes(sum.prompt_ms)},
          {"avoidable_minutes", Minutes(avoidable_ms)},
          {"causes", CausesOf(known, sum)}};
}

Json Doctor::Report(NamespaceId name_space, size_t hours, int64_t now_unix_s) const {
  const int64_t first_hour =
      (now_unix_s - static_cast<int64_t>(hours) * kDoctorHourS) / kDoctorHourS;
  std::vector<Json> reports;
  {
    const MutexLock lock(mutex_);
    for (const Known& known : clients_) {
      if (known.client.name_space != name_space) continue;
      Json report = ReportOf(known, first_hour);
      if (!report.is_null()) reports.push_back(std::move(report));
    }
  }
  std::stable_sort(reports.begin(), reports.end(), [](const Json& a, const Json& b) {
    return a["avoidable_tokens"].get<size_t>() > b["avoidable_tokens"].get<size_t>();
  });
  Json clients = Json::array();
  for (Json& report : reports) clients.push_back(std::move(report));
  return {{"hours", hours}, {"clients", std::move(clients)}};
}

}  // namespace cairn
