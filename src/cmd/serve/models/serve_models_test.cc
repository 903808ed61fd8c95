#include "cmd/serve/models/serve_models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace cairn {
namespace {

bool Has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

ModelEntry Entry() {
  ModelEntry entry;
  entry.name = "qwen";
  entry.arguments = {"serve", "--model=/q.gguf"};
  return entry;
}

TEST(ChildCommand, RunsTheModelOnAFreePortOfLoopback) {
  const ChildCommand command = CommandOf(Entry(), 1, 512, ServeOptions(), {});
  EXPECT_EQ(command.argv[1], "serve");
  for (const char* argument :
       {"--model=/q.gguf", "--host=127.0.0.1", "--port=0", "--cache-ram=512"}) {
    EXPECT_TRUE(Has(command.argv, argument)) << argument;
  }
}

TEST(ChildCommand, LeavesAModelItsOwnBudget) {
  ModelEntry entry = Entry();
  entry.arguments.push_back("--cache-ram=99");
  const ChildCommand command = CommandOf(entry, 1, 512, ServeOptions(), {});
  EXPECT_TRUE(Has(command.argv, "--cache-ram=99"));
  EXPECT_FALSE(Has(command.argv, "--cache-ram=512"));
}

TEST(ChildCommand, PutsKeysIntoTheEnvironmentAlone) {
  ServeOptions options;
  options.api_keys = {"one", "two"};
  options.admin_keys = {"boss"};
  options.api_key_file = "/keys";
  const Environment environment = {{"CAIRN_API_KEY", "three"}, {"HOME", "/h"}};
  const ChildCommand command = CommandOf(Entry(), 1, 1, options, environment);
  EXPECT_TRUE(Has(command.argv, "--api-key-file=/keys"));
  EXPECT_TRUE(Has(command.environment, "CAIRN_API_KEY=one,two,three"));
  EXPECT_TRUE(Has(command.environment, "CAIRN_API_KEY_ADMIN=boss"));
  EXPECT_TRUE(Has(command.environment, "HOME=/h"));
  for (const std::string& argument : command.argv) {
    EXPECT_EQ(argument.find("one"), std::string::npos) << argument;
  }
}

TEST(ChildCommand, PassesOnNoVariablesThatHaveBecomeArguments) {
  const Environment environment = {
      {"LLAMA_ARG_PORT", "1"}, {"CAIRN_ROUTER_PID", "7"}, {"AIP_HTTP_PORT", "8080"}};
  const ChildCommand command = CommandOf(Entry(), 3, 1, ServeOptions(), environment);
  EXPECT_FALSE(Has(command.environment, "LLAMA_ARG_PORT=1"));
  EXPECT_FALSE(Has(command.environment, "CAIRN_ROUTER_PID=7"));
  EXPECT_FALSE(Has(command.environment, "AIP_HTTP_PORT=8080"));
  EXPECT_TRUE(Has(command.environment, "CAIRN_ROUTER_PID=" + std::to_string(getpid())));
  EXPECT_TRUE(Has(command.environment, "CAIRN_ROUTER_CHILD=3"));
}

TEST(ChildCommand, PrefixesLinesByTheModel) {
  EXPECT_EQ(PrefixedLine(LogFormat::kHuman, "qwen", "12:00 info x"), "[qwen] 12:00 info x");
  EXPECT_EQ(PrefixedLine(LogFormat::kJson, "qwen", R"({"time":"x"})"),
            R"({"model":"qwen","time":"x"})");
  EXPECT_EQ(PrefixedLine(LogFormat::kJson, "qwen", "plain"), "[qwen] plain");
}

}  // namespace
}  // namespace cairn
