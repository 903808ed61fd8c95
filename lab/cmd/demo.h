// `cairn-lab demo`: plays conversations with a server without checkpoints and with one that has
// them, turn by turn, and prints what each prefilled, how long the user waited, and the answers.

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
  int32_t context_tokens = 16'384;  // 0: what the model was trained on
  int32_t threads = 0;              // 0: the server's choice
  std::string document_path;        // what the conversation is about; empty: a text of ours
  std::string json_path;            // the figures go there too; empty: nowhere
  std::string program;  // whose `serve` is played with; empty: `cairn` beside this program
};

// Adds the subcommand `demo` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddDemo(CLI::App* app, DemoOptions* options);

// Plays and prints. Returns the program's exit code: 1 with what went wrong on standard error when
// a server does not start or a turn fails.
int RunDemo(const DemoOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_DEMO_H_
