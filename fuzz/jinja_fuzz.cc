// Templates of strangers: each is refused, or renders within its limits, with an origin for every
// byte.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "fuzz/input.h"
#include "jinja/template.h"
#include "testing/jinja/test_render.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  static const Json* const variables = new Json(Json::parse(
      R"({"messages":[{"role":"user","content":" Hi é\n"},{"role":"assistant","content":null,
      "tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,"x"]}}}]}],"tools":null,
      "xs":[3,1,2],"s":"a,b  c","n":-7,"add_generation_prompt":true})"));
  jinja::Limits limits;
  limits.steps_max = 20'000;
  limits.memory_bytes_max = 8U * 1024 * 1024;
  limits.output_bytes_max = 1U * 1024 * 1024;
  limits.append_to_lists = size % 2 == 0;
  const std::string source(reinterpret_cast<const char*>(data), size);
  const jinja::test::Outcome outcome = jinja::test::RenderWithSources(source, *variables, limits);
  if (outcome.failed) {
    CHECK(!outcome.text.empty());
    return 0;
  }
  CHECK(outcome.text.size() <= limits.output_bytes_max);
  CHECK(jinja::test::WrongOrigin(outcome).empty());
  return 0;
}
