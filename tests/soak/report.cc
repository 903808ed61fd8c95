#include "soak/report.h"

#include <cstdio>

namespace cairn::soak {
namespace {

uint64_t Of(const Counts& counts, const std::string& what) {
  const auto found = counts.find(what);
  return found == counts.end() ? 0 : found->second;
}

std::string Mib(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string BeginEnd(uint64_t begin, uint64_t end) {
  return begin == end ? std::to_string(begin) : std::to_string(begin) + " → " + std::to_string(end);
}

std::string Row(const RoundResult& round) {
  const auto of = [&](const char* what) { return std::to_string(Of(round.counts, what)); };
  std::string row = "| " + std::to_string(round.plan.number);
  for (const std::string& cell :
       {"`" + std::string(round.plan.model.architecture) + "`",
        std::string(round.plan.model.memory), std::to_string(round.plan.slots), of("requests"),
        of("answers checked"), of("killed"), of("ended and started again"), of("damaged files"),
        of("wrong answers"), std::to_string(round.faults.size()),
        Mib(round.begin.rss_bytes) + " → " + Mib(round.end.rss_bytes),
        Mib(round.growth_bytes) + " of " + Mib(round.growth_allowed),
        BeginEnd(round.begin.descriptors, round.end.descriptors),
        BeginEnd(round.begin.threads, round.end.threads)}) {
    row += " | " + cell;
  }
  return row + " |\n";
}

}  // namespace

size_t SoakResult::faults() const {
  size_t sum = 0;
  for (const RoundResult& round : rounds) sum += round.faults.size();
  return sum;
}

std::string RenderReport(const SoakResult& soak) {
  Counts all = {{"answers checked", 0}, {"killed", 0}, {"wrong answers", 0}};
  size_t lives = 0;
  for (const RoundResult& round : soak.rounds) {
    lives += round.lives;
    for (const auto& [what, count] : round.counts) all[what] += count;
  }
  std::string page = "# Soak\n\nSeed " + std::to_string(soak.seed) + ", " +
                     std::to_string(static_cast<int>(soak.took_s)) + " s, " +
                     std::to_string(soak.rounds.size()) + " rounds, " + std::to_string(lives) +
                     " lives of the server, " + std::to_string(soak.faults()) + " faults" +
                     (soak.interrupted ? "; interrupted" : "") + ".\n\n";
  page +=
      "| round | model | memory | slots | requests | answers checked | killed | restarted | "
      "damaged "
      "| wrong | faults | RSS, MiB | growth, MiB | descriptors | threads |\n"
      "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
      "---: | ---: |\n";
  for (const RoundResult& round : soak.rounds) page += Row(round);
  page += "\n| in all | |\n| --- | ---: |\n";
  for (const auto& [what, count] : all)
    page += "| " + what + " | " + std::to_string(count) + " |\n";
  if (soak.faults() == 0) return page;
  page += "\n## What was wrong\n\n";
  for (const RoundResult& round : soak.rounds) {
    for (const Fault& fault : round.faults) {
      page += "- " + fault.what + "\n";
      if (!fault.detail.empty()) page += "\n```\n" + fault.detail + "\n```\n";
    }
  }
  return page;
}

}  // namespace cairn::soak
