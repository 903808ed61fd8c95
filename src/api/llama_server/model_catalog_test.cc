#include "api/llama_server/model_catalog.h"

#include "api/json.h"
#include "testing/api/api_fixture.h"

namespace cairn::model_catalog_test {
namespace {

class ModelCatalog : public ApiTest {
 protected:
  Json models_ =
      Json::parse(ModelsBody(service_, {"my-model", "9.9", "", 1700000000, "near-end", "live"}));
};

TEST_F(ModelCatalog, HasOpenAisListWithLlamaServersFields) {
  const Json& model = models_["data"][0];
  EXPECT_EQ(models_["object"], "list");
  EXPECT_EQ(model["id"], "my-model");
  EXPECT_EQ(model["meta"]["n_ctx"], 4096);
  EXPECT_EQ(model["status"]["value"], "loaded");
  EXPECT_EQ(model["architecture"]["input_modalities"], Json::array({"text"}));
}

// Codex takes no list in which one of these is missing or of another type.
TEST_F(ModelCatalog, HasTheFieldsThatCodexNeeds) {
  const Json& model = models_["models"][0];
  for (const char* name :
       {"slug", "display_name", "shell_type", "visibility", "base_instructions"}) {
    EXPECT_TRUE(model[name].is_string()) << name;
  }
  for (const char* name :
       {"supported_reasoning_levels", "experimental_supported_tools", "input_modalities"}) {
    EXPECT_TRUE(model[name].is_array()) << name;
  }
  for (const char* name : {"supported_in_api", "supports_reasoning_summaries", "support_verbosity",
                           "supports_parallel_tool_calls"}) {
    EXPECT_TRUE(model[name].is_boolean()) << name;
  }
  // Without any Codex would send none of its own either.
  EXPECT_NE(model["base_instructions"], "");
  EXPECT_EQ(model["slug"], "my-model");
  EXPECT_EQ(model["priority"], 0);
  EXPECT_EQ(model["context_window"], 4096);
  EXPECT_EQ(model["truncation_policy"]["mode"], "bytes");
  EXPECT_GT(model["truncation_policy"]["limit"], 0);
  EXPECT_TRUE(model["supports_parallel_tool_calls"].get<bool>());
}

TEST_F(ModelCatalog, HasTheNamesThatOllamasClientsKnow) {
  const Json& model = models_["models"][0];
  EXPECT_EQ(model["name"], "my-model");
  EXPECT_EQ(model["capabilities"], Json::array({"completion", "tools"}));
}

TEST_F(ModelCatalog, HasFurtherNamesAndTags) {
  ServedModel served{"a", "9.9", "", 1700000000, "near-end", "live"};
  served.aliases = {"b", "org/c"};
  served.tags = {"chat"};
  const Json listed = Json::parse(ModelsBody(service_, served));
  ASSERT_EQ(listed["data"].size(), 1u);
  EXPECT_EQ(listed["data"][0]["aliases"], Json::array({"b", "org/c"}));
  EXPECT_EQ(listed["data"][0]["tags"], Json::array({"chat"}));
  EXPECT_EQ(models_["data"][0]["aliases"], Json::array());
}

TEST_F(ModelCatalog, ShowsAModelByEachOfItsNames) {
  ServedModel served{"a", "9.9", "", 1700000000, "near-end", "live"};
  served.aliases = {"org/c"};
  const Json listed = Json::parse(ModelsBody(service_, served));
  for (const char* name : {"a", "org/c"}) {
    const auto one = ModelBody(service_, served, name);
    ASSERT_TRUE(one.has_value()) << name;
    EXPECT_EQ(Json::parse(*one), listed["data"][0]);
  }
  const auto other = ModelBody(service_, served, "gpt-4");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().status, 404);
}

}  // namespace
}  // namespace cairn::model_catalog_test
