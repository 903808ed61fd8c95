// For the tests of jinja/: templates rendered with variables in JSON.

#ifndef CAIRN_TESTING_JINJA_TEST_RENDER_H_
#define CAIRN_TESTING_JINJA_TEST_RENDER_H_

#include <string>
#include <vector>

#include "base/json.h"
#include "jinja/template.h"

namespace cairn::jinja::test {

// A template rendered, or not, and the texts that its sources stand for.
struct Outcome {
  bool failed = false;
  std::string text;  // or what went wrong
  std::vector<Run> runs;
  std::vector<std::string> sources;  // [kTemplateSource]: the template's own
};

inline Outcome RenderWithSources(const std::string& source, const Json& variables,
                                 const Limits& limits = {}) {
  Outcome outcome;
  const auto parsed = Template::Parse(source, limits);
  if (!parsed) {
    outcome.failed = true;
    outcome.text = parsed.error().message;
    return outcome;
  }
  outcome.sources.push_back((*parsed)->source());
  auto rendered = (*parsed)->Render([&](Input* input) {
    for (const auto& [name, value] : variables.items()) {
      input->Define(name, ValueOfJson(input->heap(), value, [&](const std::string& text) {
                      outcome.sources.push_back(text);
                      return static_cast<int32_t>(outcome.sources.size() - 1);
                    }));
    }
    input->DefineFunction("raise_exception",
                          [](Interpreter&, const Arguments&) -> Value { Raise("refused"); });
  });
  outcome.failed = !rendered;
  if (!rendered) {
    outcome.text = rendered.error().message;
    return outcome;
  }
  outcome.text = std::move(rendered->text);
  outcome.runs = std::move(rendered->runs);
  return outcome;
}

// The text, or "error: ...".
inline std::string Shown(const std::string& source, const std::string& variables = "{}",
                         const Limits& limits = {}) {
  const Outcome outcome = RenderWithSources(source, Json::parse(variables), limits);
  return (outcome.failed ? "error: " : "") + outcome.text;
}

// Returns a complaint about the origins of a text; empty: every byte that is told to be unchanged
// is the byte at its place in its source.
inline std::string WrongOrigin(const Outcome& outcome) {
  size_t covered = 0;
  for (size_t i = 0; i < outcome.runs.size(); ++i) {
    const Run& run = outcome.runs[i];
    if (run.begin != covered) return "run " + std::to_string(i) + " leaves a gap";
    const size_t end =
        i + 1 < outcome.runs.size() ? outcome.runs[i + 1].begin : outcome.text.size();
    if (end < run.begin) return "run " + std::to_string(i) + " ends before it begins";
    if (end == run.begin && run.source <= kTemplateSource) {
      return "run " + std::to_string(i) + " is empty";
    }
    covered = end;
    if (run.source == kNoSource) continue;
    const auto source = static_cast<size_t>(run.source);
    if (source >= outcome.sources.size()) return "there is no source " + std::to_string(source);
    if (run.offset > outcome.sources[source].size()) return "an offset is beyond its source";
    const std::string bytes = outcome.text.substr(run.begin, end - run.begin);
    if (!run.changed && outcome.sources[source].substr(run.offset, bytes.size()) != bytes) {
      return "'" + bytes + "' is not what source " + std::to_string(source) + " has at " +
             std::to_string(run.offset);
    }
  }
  return covered == outcome.text.size() ? "" : "the last bytes have no run";
}

}  // namespace cairn::jinja::test

#endif  // CAIRN_TESTING_JINJA_TEST_RENDER_H_
