#include "cmd/clients/clients.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fs.h"

namespace cairn::clients_test {
namespace {

constexpr std::string_view kPage = R"(# Point your client at it

Words that belong to no client, with a table:

## Claude Code

```sh
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080
```

Or 127.0.0.1:8080.

## Other programs

| Program | Version | Settings |
| --- | --- | --- |
| `llm` | 0.36 | `api_base: URL/v1`, BASE_URL stays |
| LangChain.js, Mastra | 1.5.8, 0.24.9 | `baseURL` URL`/v1` |

## Others

Any client.
)";

TEST(ClientSettings, AreASectionOrARow) {
  const auto clients = ParseClientSettings(kPage);
  std::vector<std::string> names;
  for (const ClientSettings& client : clients) names.push_back(client.name);
  EXPECT_EQ(names, (std::vector<std::string>{"claude-code", "llm", "langchain.js", "mastra"}));
}

TEST(ClientSettings, HaveTheAddressOfTheServer) {
  const auto clients = ParseClientSettings(kPage);
  EXPECT_EQ(SettingsFor(clients, " Claude Code", "https://box:1").value(),
            "Claude Code\n\n```sh\nexport ANTHROPIC_BASE_URL=https://box:1\n```\n\nOr box:1.\n");
  EXPECT_EQ(SettingsFor(clients, "LLM", "http://box").value(),
            "`llm`, version 0.36\n\n`api_base: http://box/v1`, BASE_URL stays\n");
  EXPECT_EQ(SettingsFor(clients, "mastra", "http://box").value(),
            "LangChain.js, Mastra, version 1.5.8, 0.24.9\n\n`baseURL` http://box`/v1`\n");
}

TEST(ClientSettings, ANameThatIsNotThereGetsTheNearest) {
  const auto settings = SettingsFor(ParseClientSettings(kPage), "claud-code", "http://box");
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().code, ErrorCode::kNotFound);
  EXPECT_NE(settings.error().message.find("did you mean claude-code?"), std::string::npos);
}

TEST(ClientSettings, ThePageHasClientsOfEachKindAndNoNameTwice) {
  const auto page = ReadFile(std::string(CAIRN_SOURCE_DIR) + "/docs/set_up_clients.md");
  ASSERT_TRUE(page.has_value());
  const auto clients = ParseClientSettings(*page);
  std::set<std::string> names;
  for (const ClientSettings& client : clients) {
    EXPECT_TRUE(names.insert(client.name).second) << client.name;
    EXPECT_GT(client.text.size(), client.name.size() + 10) << client.name;
  }
  for (const char* name :
       {"claude-code", "codex", "opencode", "open-webui", "aider", "langchain"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace cairn::clients_test
