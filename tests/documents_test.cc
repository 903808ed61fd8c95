// README.md and docs/guide.md, run as written: a shell runs every block of commands in order, in a
// folder like a fresh copy of the repository in which all is already built. A server runs until the
// next server or heading, and then gets the reader's Ctrl-C.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/child_process.h"
#include "document_steps.h"
#include "lab/client/server_process.h"
#include "made_model.h"
#include "own_network.h"

namespace cairn::documents {
namespace {

namespace fs = std::filesystem;
using conformance::ChildOptions;
using conformance::ChildResult;
using conformance::RunChild;

// A step on a page that is not run here.
struct LeftOut {
  std::string command;
  std::string why;
};

const std::vector<LeftOut>& OfReadme() {
  static const std::vector<LeftOut> list = {
      {"make demo", "it plays a long document twice, for minutes; demo_test plays a short one"},
      {"make test", "it is what runs this test"},
  };
  return list;
}

const std::vector<LeftOut>& OfGuide() {
  static const std::vector<LeftOut> list = {
      {"make build", "it builds everything, this test too"},
      {"make package", "it builds everything once more; make package-test installs it"},
  };
  return list;
}

std::string Text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string OfSource(const std::string& name) {
  return Text(fs::path(CAIRN_SOURCE_DIR) / name);
}

void WriteProgram(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
  fs::permissions(file, fs::perms::owner_all);
}

Result<ChildResult> Shell(const std::string& commands) {
  ChildOptions options;
  options.argv = {"bash", "-e", "-o", "pipefail", "-c", "exec 2>&1\n" + commands};
  options.timeout_ms = 200'000;  // sanitizers are slow
  return RunChild(options);
}

bool Has(const std::string& program) {
  const auto ran = Shell("command -v " + program);
  return ran && ran->exit_code == 0;
}

// Restricts this process and its children to one processor, so that programs use one thread:
// several wait for each other in busy loops, which takes minutes on a machine with other load.
void TakeOneProcessor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  EXPECT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

// The copy of the repository, and the reader's home, so that no file of the user's is visible.
class Desk {
 public:
  Desk() : root_(test::OwnPath("desk")), before_(fs::current_path()) {
    const fs::path source(CAIRN_SOURCE_DIR);
    for (const char* name : {"build", "home", "models"}) fs::create_directories(root_ / name);
    fs::create_symlink(CAIRN_PROGRAM, root_ / "build" / "cairn");
    fs::create_symlink(CAIRN_LAB_PROGRAM, root_ / "build" / "cairn-lab");
    fs::copy(source / "Makefile", root_ / "Makefile");
    fs::copy(source / "scripts", root_ / "scripts", fs::copy_options::recursive);
    // Everything is installed and built already.
    for (const char* name : {"setup.sh", "build.sh"}) {
      WriteProgram(root_ / "scripts" / name, "#!/bin/sh\nexit 0\n");
    }
    fs::copy(test::WriteMadeModel("documents_test"), root_ / "models" / "made.gguf");
    std::ofstream(root_ / "models" / "demo.env") << "MODEL=models/made.gguf\nCHAT_TEMPLATE=\n";
    // A response with an error status must fail the step: the page did not promise it.
    std::ofstream(root_ / "home" / ".curlrc") << "fail-with-body\nnoproxy = \"*\"\n";
    setenv("HOME", (root_ / "home").c_str(), 1);
    for (const char* name : {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CURL_HOME", "CAIRN_API_KEY",
                             "MAKEFLAGS", "MODEL", "PORT", "CHAT_TEMPLATE", "http_proxy"}) {
      unsetenv(name);
    }
    fs::current_path(root_);
  }
  ~Desk() {
    fs::current_path(before_);
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

 private:
  const fs::path root_, before_;
};

// Runs one page.
class Typist {
 public:
  // Runs a step. Returns the error; empty: none.
  std::string Type(const Step& step) {
    if (step.section != section_) EndServer();
    section_ = step.section;
    if (step.serves) EndServer();
    std::string wrong = step.serves ? StartServer(step) : Run(step);
    if (wrong.empty()) wrong = std::move(wrong_at_end_);
    wrong_at_end_.clear();
    return wrong;
  }

  // Sends the reader's Ctrl-C to all processes in the terminal. Returns an error of their end.
  std::string EndServer() {
    if (server_ == nullptr) return "";
    kill(-server_->pid(), SIGINT);
    const auto code = server_->WaitForExit(60'000);
    // make or a shell around the server reports the interruption.
    const bool ended_well = code == 0 || code == 2 || code == 130;
    if (!ended_well || server_->LastLines().find("stopping") == std::string::npos) {
      wrong_at_end_ = "the server before it did not end well:\n" + server_->LastLines();
    }
    server_.reset();
    return wrong_at_end_;
  }

 private:
  std::string StartServer(const Step& step) {
    ServerProcessOptions options;
    options.argv = {"bash", "-e", "-c", step.commands};
    options.port = step.port;
    auto server = ServerProcess::Start(options);
    if (!server) return server.error().message;
    server_ = std::move(*server);
    // The server answers before all that it said has been read here.
    std::string missing;
    for (int tries = 0; tries < 100; ++tries) {
      missing = FirstMissing(step.expected, server_->LastLines(100));
      if (missing.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return missing.empty() ? "" : "it does not say: " + missing + "\n" + server_->LastLines();
  }

  std::string Run(const Step& step) const {
    const auto ran = Shell(step.commands);
    if (!ran) return ran.error().message;
    const bool may_fail = step.expected.find("\"error\"") != std::string::npos;
    if (ran->timed_out || !ran->exit_code || (*ran->exit_code != 0 && !may_fail)) {
      return "it failed:\n" + ran->output + (server_ ? server_->LastLines() : "");
    }
    const std::string missing = FirstMissing(step.expected, ran->output);
    return missing.empty() ? "" : "it does not say: " + missing + "\nbut:\n" + ran->output;
  }

  size_t section_ = 0;
  std::unique_ptr<ServerProcess> server_;
  std::string wrong_at_end_;
};

std::string WhyNotHere(const std::vector<Step>& steps) {
  for (const char* program : {"bash", "curl", "make", "python3"}) {
    if (!Has(program)) return std::string(program) + " is not here";
  }
  if (test::EnterOwnNetwork()) return "";
  for (const Step& step : steps) {
    if (step.serves && !test::PortIsFree(step.port)) {
      return "port " + std::to_string(step.port) +
             " is in use, and this machine lets no test have a " + "network of its own";
    }
  }
  return "";
}

// Removes the steps that are left out. Complains about those not on the page or not in make.
void TakeOutAll(const std::vector<LeftOut>& left_out, std::vector<Step>* steps) {
  for (const LeftOut& each : left_out) {
    size_t count = 0;
    for (Step& step : *steps) count += TakeOut(each.command, &step.commands);
    EXPECT_GT(count, 0u) << each.command << " is to be left out, and the page no longer has it";
    if (each.command.substr(0, 5) == "make ") {
      const auto ran = Shell("make -n " + each.command.substr(5));
      EXPECT_TRUE(ran && ran->exit_code == 0) << each.command;
    }
    std::cout << "not run: " << each.command << " (" << each.why << ")\n";
  }
  std::erase_if(*steps, [](const Step& step) {
    return step.commands.find_first_not_of(" \n") == std::string::npos;
  });
}

// Runs `page` and returns the errors, with the lines of their steps.
std::string TypePage(const std::vector<Step>& steps) {
  Typist typist;
  for (const Step& step : steps) {
    const std::string wrong = typist.Type(step);
    if (!wrong.empty()) return std::to_string(step.line) + ": " + wrong;
  }
  return typist.EndServer();
}

void ExpectPageRuns(const std::string& name, const std::vector<LeftOut>& left_out) {
  auto steps = ReadSteps(OfSource(name));
  ASSERT_TRUE(steps.has_value()) << name << ": " << steps.error().message;
  const std::string why_not = WhyNotHere(*steps);
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  TakeOneProcessor();
  const Desk desk;
  TakeOutAll(left_out, &*steps);
  ASSERT_FALSE(steps->empty());
  EXPECT_EQ(TypePage(*steps), "") << name;
}

TEST(Documents, EveryCommandOfTheReadmeRunsAsWritten) {
  ExpectPageRuns("README.md", OfReadme());
}

TEST(Documents, EveryCommandOfTheGuideRunsAsWritten) {
  ExpectPageRuns("docs/guide.md", OfGuide());
}

TEST(Documents, NameOnlyCommandsFlagsAndTargetsThatAreThere) {
  const std::string flags = OfSource("docs/flags.md") + OfSource("docs/lab_flags.md");
  const std::string makefile = OfSource("Makefile");
  std::vector<std::string> names = {"README.md", "CONTRIBUTING.md"};
  for (const char* name : {"guide", "set_up_clients", "operations", "troubleshooting", "page",
                           "traces", "metrics", "security"}) {
    names.push_back("docs/" + std::string(name) + ".md");
  }
  for (const std::string& name : names) {
    for (const std::string& complaint : CheckNames(OfSource(name), flags, makefile)) {
      ADD_FAILURE() << name << ":" << complaint;
    }
  }
}

// Runs `page` on a new desk and returns the errors; it must not serve.
std::string Typed(const std::string& page) {
  auto steps = ReadSteps(page);
  EXPECT_TRUE(steps.has_value());
  return TypePage(*steps);
}

TEST(DocumentRun, FailsWhereACommandFailsOrSaysSomethingElse) {
  EXPECT_EQ(Typed("```\necho stones\n```\n```text\nstones\n```\n"), "");
  EXPECT_EQ(Typed("```\necho one\n```\n```\nfalse\necho two\n```\n"), "4: it failed:\n");
  EXPECT_EQ(Typed("```\nfalse | cat\n```\n"), "1: it failed:\n");
  EXPECT_EQ(Typed("```\necho stones\n```\n```text\nsticks\n```\n"),
            "1: it does not say: sticks\nbut:\nstones\n");
}

TEST(DocumentRun, FailsWhereAServerDoesNotStart) {
  const Desk desk;
  const std::string wrong = Typed("```\nbuild/cairn serve -m no.gguf --port 8099\n```\n");
  EXPECT_NE(wrong.find("no.gguf"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace cairn::documents
