// `cairn-lab demo`: plays conversations on a server without checkpoints and on one with them, turn
// by turn, and prints the tokens each prefilled, how long the user waited, and the answers. Then
// the same with --reuse exact, beside a server that reuses nothing.

#ifndef CAIRN_LAB_CMD_DEMO_H_
#define CAIRN_LAB_CMD_DEMO_H_

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace cairn {

struct DemoOptions {
  std::string model_path;
  std::string chat_template;        // as `cairn serve` takes it; empty: the model's own
  int32_t context_tokens = 16'384;  // 0: the model's training context
  int32_t threads = 0;              // 0: the server's default
  bool exact = true;                // whether the turns are played with --reuse exact too
  std::string document_path;        // the conversation's subject; empty: a built-in text
  std::string json_path;            // also writes the figures here; empty: no file
  std::string program;  // the program whose `serve` is run; empty: `cairn` beside this program
};

// Adds the subcommand `demo` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddDemo(CLI::App* app, DemoOptions* options);

// Plays and prints. Returns the program's exit code: 1, with the reason on standard error, if a
// server does not start or a turn fails.
int RunDemo(const DemoOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_DEMO_H_
