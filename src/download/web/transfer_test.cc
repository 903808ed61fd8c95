#include "download/web/transfer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

class WebGetTest : public DownloadTest {
 protected:
  // Answers every request of the path with a redirect.
  void Redirect(const std::string& target, const std::string& location) {
    redirects_.emplace_back(target, location);
    hub_.SetFault([this](const HubAsked& asked, HubAnswer* answer) {
      for (const auto& [path, to] : redirects_) {
        if (asked.target != path) continue;
        *answer = {};
        answer->status = 302;
        answer->Set("Location", to);
      }
    });
  }
  std::vector<std::pair<std::string, std::string>> redirects_;
};

TEST(WebUrl, IsTakenApartIntoOriginAndPath) {
  const auto url = ParseWebUrl("HTTPS://Example.org:443/A/b.gguf?x=1#part");
  EXPECT_EQ(url->origin, "https://example.org");
  EXPECT_EQ(url->path, "/A/b.gguf?x=1");
  EXPECT_EQ(FileNameOf(*url), "b.gguf");
  EXPECT_EQ(ParseWebUrl("http://127.0.0.1:80")->Text(), "http://127.0.0.1/");
  EXPECT_TRUE(ParseWebUrl("http://localhost:8/")->is_loopback());
  for (const char* here : {"http://127.0.0.1/", "http://[::1]:8/", "http://127.1.2.3:8/"})
    EXPECT_TRUE(ParseWebUrl(here)->is_loopback()) << here;
  for (const char* elsewhere : {"http://localhost.test/", "http://127.test/", "http://a/127."})
    EXPECT_FALSE(ParseWebUrl(elsewhere)->is_loopback()) << elsewhere;
  for (const char* wrong : {"", "a", "ftp://a/b", "file:///a", "http://", "http://u:p@a/",
                            "http://a b", "http://a/\n", "http://:80/", "http://a\\b/"})
    EXPECT_FALSE(ParseWebUrl(wrong).has_value()) << wrong;
}

TEST(WebUrl, APathIsEscapedAndItsSlashesStay) {
  EXPECT_EQ(EscapedPath("a b/c+d%.gguf"), "a%20b/c%2Bd%25.gguf");
  EXPECT_EQ(EscapedPath("ü"), "%C3%BC");
}

TEST_F(WebGetTest, FollowsRedirectsOfEveryForm) {
  hub_.AddPlain("/end/x", "found", "");
  Redirect("/a", "https://hub.test/b?c=1");
  Redirect("/b?c=1", "//other.test/d/e");
  Redirect("/d/e", "f");
  Redirect("/d/f", "/end/x");
  WebGet web(&transfer_, {});
  EXPECT_EQ(web.GetPage("https://hub.test/a", 100)->text, "found");
  EXPECT_EQ(web.redirects().size(), 4u);
}

TEST_F(WebGetTest, TheTokenGoesToTheHubAloneAndNotBesideTls) {
  hub_.AddPlain("/end", "found", "");
  Redirect("/a", "https://cdn.test/b");
  Redirect("/b", "https://hub.test:8443/c");
  Redirect("/c", "https://hub.test/end");
  WebGet web(&transfer_, {"https://hub.test", "hf_secret"});
  ASSERT_TRUE(web.GetPage("https://hub.test/a", 100).has_value());
  std::vector<std::string> told;
  for (const HubAsked& asked : hub_.asked()) {
    told.push_back(asked.origin + asked.target + " " + asked.Header("Authorization"));
  }
  EXPECT_EQ(told, (std::vector<std::string>{"https://hub.test/a Bearer hf_secret",
                                            "https://cdn.test/b ", "https://hub.test:8443/c ",
                                            "https://hub.test/end Bearer hf_secret"}));
  WebGet plain(&transfer_, {"http://hub.test", "hf_secret"});
  ASSERT_TRUE(plain.GetPage("http://hub.test/end", 100).has_value());
  EXPECT_EQ(hub_.asked().back().Header("Authorization"), "");
}

TEST_F(WebGetTest, ARedirectWithoutTlsOrWithoutEndIsRefused) {
  Redirect("/plain", "http://cdn.test/x");
  Redirect("/again", "/again");
  Redirect("/file", "file:///etc/passwd");
  WebGet web(&transfer_, {});
  ExpectFails(web.GetPage("https://hub.test/plain", 100), ErrorCode::kUnavailable,
              "which is not encrypted");
  ExpectFails(web.GetPage("https://hub.test/again", 100), ErrorCode::kUnavailable,
              "more than 8 times");
  ExpectFails(web.GetPage("https://hub.test/file", 100), ErrorCode::kInvalidArgument,
              "is not a URL");
}

TEST_F(WebGetTest, APageHasALimit) {
  hub_.AddPlain("/x", std::string(5000, 'x'), "");
  WebGet web(&transfer_, {});
  EXPECT_EQ(web.GetPage("https://hub.test/x", 5000)->text.size(), 5000u);
  ExpectFails(web.GetPage("https://hub.test/x", 4999), ErrorCode::kTooLong, "more than 4999 bytes");
}

}  // namespace
}  // namespace cairn
