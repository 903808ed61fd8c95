// The page that `cairn-lab bench --html` writes, in a browser: headless Chromium must show it
// without a word of complaint, and its picture must be one.
//
// The pictures are left in build/bench_page. Without Chromium the tests are skipped, unless
// CAIRN_NEEDS_CHROMIUM is set in the environment.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/read_file.h"
#include "conformance/child_process.h"
#include "lab/bench/bench_json.h"
#include "lab/bench/bench_sample.h"
#include "lab/client/server_process.h"
#include "made_model.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

using conformance::ChildOptions;
using conformance::ChildResult;
using conformance::RunChild;

constexpr size_t kColoursMin = 12;  // paper, ink, three servers; edges of letters are many more

// The program's path; empty: there is none.
std::string FindBrowser() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const fs::path program = fs::path(folder) / name;
      if (access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return "";
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      const bool there = i + j < bytes.size();
      group = (group << 8) | (there ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kDigits[(group >> (18 - (6 * j))) & 63U];
    }
  }
  return text;
}

class BenchPage : public testing::Test {
 protected:
  BenchPage()
      : browser_(FindBrowser()),
        folder_(fs::temp_directory_path() / ("cairn_bench_page_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~BenchPage() override { fs::remove_all(folder_); }

  void SetUp() override {
    if (!browser_.empty()) return;
    ASSERT_EQ(std::getenv("CAIRN_NEEDS_CHROMIUM"), nullptr)
        << "CAIRN_NEEDS_CHROMIUM is set, but there is no Chromium";
    GTEST_SKIP() << "there is no Chromium to show the page in (apt install chromium)";
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string Read(const fs::path& path) const {
    const Result<std::string> text = ReadFile(path.string());
    EXPECT_TRUE(text.has_value()) << path;
    return text.value_or("");
  }

  // Shows `name` and returns what the browser printed. `console`: what the page's console said.
  std::string Browse(const std::string& name, const std::string& flag, std::string* console) const {
    ChildOptions options;
    options.argv = {browser_,
                    "--headless=new",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                    "--hide-scrollbars",
                    "--host-resolver-rules=MAP * ~NOTFOUND",
                    "--enable-logging=stderr",
                    "--v=0",
                    "--user-data-dir=" + (folder_ / "profile").string(),
                    "--window-size=1100,2400",
                    flag,
                    "file://" + (folder_ / name).string()};
    options.log_path = folder_ / "browser.log";
    options.timeout_ms = 90'000;
    const Result<ChildResult> result = RunChild(options);
    EXPECT_TRUE(result.has_value());
    if (!result) return "";
    EXPECT_FALSE(result->timed_out);
    const std::string log = Read(options.log_path);
    EXPECT_EQ(result->exit_code, 0) << log;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("CONSOLE") != std::string::npos) *console += line + "\n";
    }
    return result->output;
  }

  // Decodes the picture, in the browser again: "1100x2400, 57 colours".
  std::string Look(const std::string& picture) const {
    std::string page = R"(<p id=seen>not decoded</p><img src="data:image/png;base64,)";
    page += Base64(Read(folder_ / picture)) + R"(" onload="
      const canvas = document.createElement('canvas');
      canvas.width = this.naturalWidth; canvas.height = this.naturalHeight;
      const context = canvas.getContext('2d');
      context.drawImage(this, 0, 0);
      const data = new Uint32Array(
          context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      document.getElementById('seen').textContent =
          canvas.width + 'x' + canvas.height + ', ' + new Set(data).size + ' colours';">)";
    Write("look.html", page);
    std::string console;
    const std::string dom = Browse("look.html", "--dump-dom", &console);
    EXPECT_EQ(console, "");
    const size_t begin = dom.find("<p id=\"seen\">") + 13;
    return dom.substr(begin, dom.find("</p>") - begin);
  }

  // Everything that must be so of the page `name`.
  void ExpectShown(const std::string& name, size_t plots) const {
    std::string console;
    const std::string dom = Browse(name, "--dump-dom", &console);
    EXPECT_EQ(console, "");
    size_t count = 0;
    for (size_t at = dom.find("<svg"); at != std::string::npos; at = dom.find("<svg", at + 1)) {
      ++count;
    }
    EXPECT_EQ(count, plots);
    EXPECT_NE(dom.find("<table"), std::string::npos);
    const std::string picture = folder_ / (name + ".png");
    Browse(name, "--screenshot=" + picture, &console);
    EXPECT_EQ(console, "");
    const std::string seen = Look(name + ".png");
    EXPECT_TRUE(seen.starts_with("1100x2400, ")) << seen;
    const size_t colours =
        std::strtoul(seen.c_str() + std::string("1100x2400, ").size(), nullptr, 10);
    EXPECT_GE(colours, kColoursMin);
    // For whoever wants to look at it.
    const fs::path kept = fs::path(CAIRN_PROGRAM).parent_path() / "bench_page";
    fs::create_directories(kept);
    fs::copy_file(picture, kept / (name + ".png"), fs::copy_options::overwrite_existing);
  }

  int Run(std::vector<std::string> arguments) const {
    ChildOptions options;
    options.argv = {CAIRN_LAB_PROGRAM};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.log_path = folder_ / "cairn.log";
    const Result<ChildResult> result = RunChild(options);
    EXPECT_TRUE(result.has_value());
    const int code = result ? result->exit_code.value_or(-1) : -1;
    EXPECT_EQ(code, 0) << Read(options.log_path);
    return code;
  }

  const std::string browser_;
  const fs::path folder_;
};

TEST_F(BenchPage, OfARunThatWasJustPlayedIsShownWithoutAnError) {
  ServerProcessOptions options;
  options.argv = {
      CAIRN_PROGRAM, "serve", "--cache-disk", "0",    "-m", test::WriteMadeModel("bench_page_test"),
      "--port",      "0",     "-c",           "8192", "-t", "1",
      "--grid",      "64"};
  auto server = ServerProcess::Start(options);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  ASSERT_EQ(Run({"bench", "--url", (*server)->url(), "--url", (*server)->url(), "--name", "one",
                 "--name", "other", "--scenario", "growing-chat", "--scale", "0.02", "--html",
                 (folder_ / "played.html").string()}),
            0);
  ExpectShown("played.html", 3);
}

TEST_F(BenchPage, OfSeveralResultsIsShownWithoutAnError) {
  BenchResult result = test::SampleBench();
  Write("hybrid.json", BenchJson(result));
  for (ServerFigures& server : result.servers) server.model = "mamba2.gguf";
  Write("recurrent.json", BenchJson(result));
  ASSERT_EQ(Run({"bench", "report", folder_ / "hybrid.json", folder_ / "recurrent.json", "--html",
                 folder_ / "report.html"}),
            0);
  ExpectShown("report.html", 6);
}

TEST_F(BenchPage, SortsItsTableWhenAHeadingIsClicked) {
  Write("sample.json", BenchJson(test::SampleBench()));
  ASSERT_EQ(Run({"bench", "report", folder_ / "sample.json", "--html", folder_ / "sample.html"}),
            0);
  // The last column but one is tokens a second; the fourth is tokens read, 5,600 to 15,800.
  Write("sorted.html", Read(folder_ / "sample.html") +
                           "<script>document.querySelectorAll('th')[3].click()</script>");
  std::string console;
  const std::string dom = Browse("sorted.html", "--dump-dom", &console);
  EXPECT_EQ(console, "");
  EXPECT_NE(dom.find("aria-sort=\"descending\""), std::string::npos);
  EXPECT_LT(dom.find("<td data-value=\"15800\">"), dom.find("<td data-value=\"5600\">"));
}

// Or the tests above would see nothing.
TEST_F(BenchPage, WouldBeCaughtComplaining) {
  Write("broken.html", "<script>missing()</script>");
  std::string console;
  Browse("broken.html", "--dump-dom", &console);
  EXPECT_NE(console.find("missing is not defined"), std::string::npos) << console;
}

TEST_F(BenchPage, WouldBeCaughtBlank) {
  Write("blank.html", "");
  std::string console;
  Browse("blank.html", "--screenshot=" + (folder_ / "blank.png").string(), &console);
  EXPECT_EQ(Look("blank.png"), "1100x2400, 1 colours");
}

}  // namespace
}  // namespace cairn
