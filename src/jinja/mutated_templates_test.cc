// Templates of models with random damage: each renders or is refused, within its limits.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "testing/jinja/test_render.h"

namespace cairn::jinja::mutated_templates_test {
namespace {

constexpr int kMutations = 1000;

std::vector<std::string> FamilyTemplates() {
  std::vector<std::string> templates;
  for (const auto& entry :
       std::filesystem::directory_iterator(CAIRN_SOURCE_DIR "/testdata/templates")) {
    if (entry.path().extension() != ".jinja") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    templates.push_back(text.str());
  }
  return templates;
}

class Damage {
 public:
  explicit Damage(uint32_t seed) : random_(seed) {}

  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::string Of(std::string text, const std::string& other) {
    const std::vector<std::string> parts = {"{{",
                                            "}}",
                                            "{%",
                                            "%}",
                                            "-%}",
                                            "{#",
                                            "(",
                                            ")",
                                            "[",
                                            "]",
                                            "'",
                                            "\"",
                                            "|",
                                            "~",
                                            "not ",
                                            "is ",
                                            "messages",
                                            "{% endif %}",
                                            "{% endfor %}",
                                            "{% for x in messages %}",
                                            "loop",
                                            " // 0",
                                            "[::-1]",
                                            "|tojson",
                                            "**",
                                            "\\",
                                            "\xFF",
                                            "{% set ns.x = ns %}",
                                            "{{ self }}",
                                            "* 99999999"};
    for (size_t changes = 1 + Below(4); changes > 0; --changes) {
      const size_t at = Below(text.size());
      const size_t bytes = Below(60);
      switch (Below(5)) {
        case 0:
          text.erase(at, bytes);
          break;
        case 1:
          text.insert(at, parts[Below(parts.size())]);
          break;
        case 2:
          text.insert(at, text.substr(Below(text.size()), bytes));
          break;
        case 3:
          text.insert(at, other.substr(Below(other.size()), bytes));
          break;
        default:
          text.replace(at, std::min(bytes, text.size() - at), parts[Below(parts.size())]);
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

TEST(JinjaMutations, DamagedTemplatesRenderOrAreRefused) {
  const std::vector<std::string> templates = FamilyTemplates();
  ASSERT_FALSE(templates.empty());
  const Json variables = Json::parse(
      R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi é"},
      {"role":"assistant","content":"","tool_calls":[{"id":"call00001","type":"function","function":
      {"name":"f","arguments":{"a":"x","n":[1,2.5,null]}}}]},{"role":"tool","content":"T",
      "tool_call_id":"call00001","name":"f"},{"role":"user","content":"Go on"}],
      "tools":[{"type":"function","function":{"name":"f","description":"D","parameters":{"type":
      "object","properties":{"a":{"type":"string"}},"required":["a"]}}}],
      "add_generation_prompt":true,"bos_token":"<s>","eos_token":"</s>"})");
  Limits limits;
  limits.steps_max = 200'000;
  limits.memory_bytes_max = 64U * 1024 * 1024;
  Damage damage(53);
  int rendered = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string source = damage.Of(templates[damage.Below(templates.size())],
                                         templates[damage.Below(templates.size())]);
    const test::Outcome outcome = test::RenderWithSources(source, variables, limits);
    if (outcome.failed) {
      EXPECT_NE(outcome.text.find(" at row "), std::string::npos) << outcome.text;
      continue;
    }
    ++rendered;
    EXPECT_EQ(test::WrongOrigin(outcome), "") << source;
  }
  EXPECT_GT(rendered, kMutations / 20);
}

}  // namespace
}  // namespace cairn::jinja::mutated_templates_test
