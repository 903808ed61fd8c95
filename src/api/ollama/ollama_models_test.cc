#include "api/ollama/ollama_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "testing/api/api_fixture.h"

namespace cairn::ollama_models_test {
namespace {

ServedModel Served() {
  ServedModel served;
  served.alias = "my-model";
  served.aliases = {"my-model", "other:7b"};
  served.started_unix_s = 1'700'000'000;
  return served;
}

class OllamaModels : public ApiTest {
 protected:
  Json Show(const OllamaAbilities& abilities = {}, const std::string& name = "my-model") {
    const auto body = OllamaShowBody(service_, Served(), abilities, ToText({{"model", name}}));
    EXPECT_TRUE(body.has_value()) << (body ? "" : body.error().message);
    return body ? Json::parse(*body) : Json();
  }
};

bool Has(const Json& list, const std::string& text) {
  return std::find(list.begin(), list.end(), Json(text)) != list.end();
}

TEST_F(OllamaModels, TagsListTheModelUnderANameWithATag) {
  const Json model = Json::parse(OllamaTagsBody(service_, Served()))["models"][0];
  EXPECT_EQ(model["name"], "my-model:latest");
  EXPECT_EQ(model["model"], "my-model:latest");
  EXPECT_EQ(model["modified_at"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(model["digest"].text().size(), 64u);
  EXPECT_TRUE(model["size"].is_number_integer());
  EXPECT_EQ(model["details"]["format"], "gguf");
  EXPECT_EQ(model["details"]["family"], engine_.info().architecture);
  EXPECT_EQ(model, Json::parse(OllamaTagsBody(service_, Served()))["models"][0]);
}

TEST_F(OllamaModels, PsListsItWithItsMemoryAndItsEnd) {
  const Json model = Json::parse(OllamaPsBody(service_, Served()))["models"][0];
  EXPECT_EQ(model["name"], "my-model:latest");
  EXPECT_EQ(model["size_vram"], 0);
  EXPECT_EQ(model["context_length"], 4096);
  EXPECT_TRUE(model["expires_at"].text().ends_with('Z'));
}

TEST_F(OllamaModels, ShowHasTheContextThatClientsCutTheirPromptsTo) {
  const Json shown = Show();
  const std::string family = shown["model_info"]["general.architecture"].text();
  EXPECT_EQ(family, engine_.info().architecture);
  EXPECT_EQ(shown["model_info"][family + ".context_length"], 4096);
  EXPECT_EQ(shown["template"], template_->source());
  EXPECT_NE(shown["parameters"].text().find("num_ctx 4096"), std::string::npos);
}

TEST_F(OllamaModels, CapabilitiesAreWhatTheModelAndTheServerCan) {
  const Json plain = Show()["capabilities"];
  EXPECT_TRUE(Has(plain, "completion"));
  EXPECT_TRUE(Has(plain, "tools"));
  EXPECT_FALSE(Has(plain, "insert"));
  EXPECT_FALSE(Has(plain, "vision"));
  EXPECT_FALSE(Has(plain, "embedding"));
  InfillOptions infill;
  infill.tokens = {1, 2, 3, 4, 5};
  const Json more = Show({.embeds = true, .infill = &infill})["capabilities"];
  EXPECT_TRUE(Has(more, "insert"));
  EXPECT_TRUE(Has(more, "embedding"));
}

TEST_F(OllamaModels, NamesAreFoundWithAndWithoutTheTagLatest) {
  for (const char* name : {"my-model", "my-model:latest", "other:7b"}) {
    EXPECT_TRUE(CheckOllamaModel(Served(), name).has_value()) << name;
  }
  for (const char* name : {"my-model:7b", "other", "other:latest", "", ":latest"}) {
    const auto refused = CheckOllamaModel(Served(), name);
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().status, 404);
    EXPECT_TRUE(refused.error().message.starts_with("model '" + std::string(name) + "' not found"));
  }
  ServedModel child = Served();
  child.id_tag = "r1-";  // a router has chosen it
  EXPECT_TRUE(CheckOllamaModel(child, "anything").has_value());
}

TEST_F(OllamaModels, EveryNameOfAListHasATag) {
  EXPECT_EQ(WithOllamaTag("qwen"), "qwen:latest");
  EXPECT_EQ(WithOllamaTag("qwen:7b"), "qwen:7b");
  EXPECT_EQ(WithOllamaTag("user/repo"), "user/repo:latest");
  EXPECT_EQ(WithOllamaTag("user/repo:Q4_K_M"), "user/repo:Q4_K_M");
  EXPECT_EQ(WithOllamaTag("host:1/qwen"), "host:1/qwen:latest");
}

TEST_F(OllamaModels, OnlyModelsThatAreThereArePulled) {
  const auto pull = [](const std::string& body) {
    const auto name = OllamaModelIn(body);
    return OllamaPullBody(name ? CheckOllamaModel(Served(), *name)
                               : ApiResult<void>(tl::unexpected(name.error())));
  };
  EXPECT_EQ(*pull(R"({"model":"my-model"})"), "{\"status\":\"success\"}\n");
  EXPECT_EQ(*pull(R"({"name":"my-model:latest"})"), "{\"status\":\"success\"}\n");
  const auto refused = pull(R"({"model":"llama3"})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 404);
  EXPECT_NE(refused.error().message.find("cairn serve -hf"), std::string::npos);
  EXPECT_EQ(pull("{}").error().message, "'model' must be the name of a model");
}

TEST_F(OllamaModels, ErrorsAreATextAlone) {
  EXPECT_EQ(OllamaErrorBody(NoOllamaChange("/api/copy")).substr(0, 34),
            R"({"error":"/api/copy is not offered)");
  EXPECT_TRUE(IsOllamaPath("/api/chat"));
  EXPECT_TRUE(IsOllamaPath("/api/version"));
  EXPECT_FALSE(IsOllamaPath("/api/v1/models"));
  EXPECT_FALSE(IsOllamaPath("/v1/models"));
}

}  // namespace
}  // namespace cairn::ollama_models_test
