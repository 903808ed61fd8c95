// The shell completions, in their real shells: a line is typed, Tab is pressed, and the completed
// line is read.

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "made_model.h"

namespace cairn::completions_test {
namespace {

constexpr int kPatienceMs = 30000;
// Typed after the line: Tab, then the key on which the shells below show the line and discard it.
constexpr char kTabAndShow[] = "\t\x18";

bool Has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// An interactive shell with a pseudo-terminal of its own.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    winsize size{};
    size.ws_row = 50;
    size.ws_col = 200;
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    setenv("TERM", "dumb", 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(terminal_);
  }

  void Type(const std::string& text) {
    ASSERT_EQ(write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Reads up to the end of the next "begin...end" and returns the text between.
  std::string ReadBetween(const std::string& begin, const std::string& end) {
    for (;;) {
      const size_t from = seen_.find(begin);
      const size_t to = from == std::string::npos ? from : seen_.find(end, from + begin.size());
      if (to != std::string::npos) {
        const std::string between = seen_.substr(from + begin.size(), to - from - begin.size());
        seen_.erase(0, to + end.size());
        return between;
      }
      pollfd readable{terminal_, POLLIN, 0};
      std::array<char, 4096> buffer{};
      if (poll(&readable, 1, kPatienceMs) != 1) break;
      const ssize_t size = read(terminal_, buffer.data(), buffer.size());
      if (size <= 0) break;
      seen_.append(buffer.data(), static_cast<size_t>(size));
    }
    ADD_FAILURE() << "the shell said only: " << seen_;
    return "";
  }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string seen_;
};

struct Typed {
  std::string line;
  std::string completed;
};

const std::vector<Typed>& AllTyped() {
  static const std::vector<Typed> typed = {
      {"cairn mod", "cairn model "},
      {"cairn model ch", "cairn model check "},
      {"cairn cache ver", "cairn cache verify "},
      {"cairn serve --ctx-si", "cairn serve --ctx-size "},
      // The flag belongs to another command.
      {"cairn cache ls --ctx-si", "cairn cache ls --ctx-si"},
      // Values are file names, whatever else begins with the same letters.
      {"cairn serve -m ", "cairn serve -m stones.gguf "},
      {"cairn serve --model st", "cairn serve --model stones.gguf "},
  };
  return typed;
}

class Completions : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ + "/files");
    std::ofstream(folder_ + "/files/stones.gguf") << "stones";
    ASSERT_EQ(std::system(("'" CAIRN_PROGRAM "' manual '" + folder_ + "'").c_str()), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void WriteSettings(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << "cd '" << folder_ << "/files'\n" << text;
  }

  void ExpectLinesCompleted(const std::vector<std::string>& shell) {
    Terminal terminal(shell);
    terminal.ReadBetween("RE", "ADY");
    for (const Typed& typed : AllTyped()) {
      terminal.Type(typed.line + kTabAndShow);
      EXPECT_EQ(terminal.ReadBetween("LINE<", ">"), typed.completed);
    }
  }

  const std::string folder_ = test::OwnPath("completions");
};

TEST_F(Completions, AreTakenByBash) {
  if (!Has("bash")) GTEST_SKIP() << "bash is not here";
  WriteSettings("bashrc",
                "source ../completions/cairn.bash\n"
                "bind 'set bell-style none'\n"
                "bind 'set enable-bracketed-paste off'\n"
                "show() { printf 'LINE<%s>\\n' \"$READLINE_LINE\"; READLINE_LINE=; }\n"
                "bind -x '\"\\C-x\": show'\n"
                "PS1='READY '\n");
  ExpectLinesCompleted({"bash", "--noprofile", "--rcfile", folder_ + "/bashrc", "-i"});
}

TEST_F(Completions, AreTakenByZsh) {
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not here (Debian: apt-get install zsh)";
  WriteSettings(".zshrc",
                "fpath=(../completions $fpath)\n"
                "autoload -U compinit; compinit -u -D\n"
                "show() { print -r -- \"LINE<$BUFFER>\"; BUFFER=; }\n"
                "zle -N show; bindkey '^X' show\n"
                "PS1='READY '\n");
  ExpectLinesCompleted({"env", "ZDOTDIR=" + folder_, "zsh", "-d", "-i"});
}

// fish lists its completions without a terminal.
TEST_F(Completions, AreTakenByFish) {
  if (!Has("fish")) GTEST_SKIP() << "fish is not here (Debian: apt-get install fish)";
  std::string text = "source ../completions/cairn.fish\n";
  for (const Typed& typed : AllTyped()) text += "echo (complete -C '" + typed.line + "')\n";
  WriteSettings("asked.fish", text);
  FILE* fish =
      popen(("HOME='" + folder_ + "' fish --no-config '" + folder_ + "/asked.fish'").c_str(), "r");
  ASSERT_NE(fish, nullptr);
  for (const Typed& typed : AllTyped()) {
    std::array<char, 4096> buffer{};
    ASSERT_NE(std::fgets(buffer.data(), buffer.size(), fish), nullptr) << typed.line;
    // Each line is the word and its description.
    std::string word(buffer.data());
    EXPECT_LE(std::count(word.begin(), word.end(), '\t'), 1) << word;
    word.erase(word.find_first_of("\t\n"));
    const std::string whole = typed.line.substr(0, typed.line.rfind(' ') + 1) + word;
    if (word.empty()) {
      EXPECT_EQ(typed.line, typed.completed);
    } else {
      EXPECT_EQ(whole + " ", typed.completed) << buffer.data();
    }
  }
  pclose(fish);
}

}  // namespace
}  // namespace cairn::completions_test
