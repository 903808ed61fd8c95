// `cairn serve`: loads a model and serves it over HTTP until it is told to stop.
//
//   main thread    loads the model, then is the scheduler's: it alone touches the context
//   HTTP threads   parse, render, tokenize, format
//   signal thread  waits for SIGINT, SIGTERM and SIGHUP

#ifndef CAIRN_CMD_SERVE_SERVE_H_
#define CAIRN_CMD_SERVE_SERVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/llama/model/llama_options.h"
#include "sched/scheduler.h"

namespace CLI {
class App;
}

namespace cairn {

struct ServeOptions {
  LlamaOptions llama;
  std::string alias;
  int32_t slots = -1;  // negative: what SlotsOf says

  std::string host = "127.0.0.1";
  int port = 8080;
  std::vector<std::string> api_keys;
  std::string api_key_file;   // empty: none
  std::string ssl_cert_file;  // both or none
  std::string ssl_key_file;
  bool insecure = false;
  std::vector<std::string> cors_origins;
  size_t max_body_mib = 64;
  size_t max_streams = 0;  // of one key; 0: no limit

  std::string chat_template;       // a name of ours, or a template's text
  std::string chat_template_file;  // wins over chat_template
  bool keep_billing_header = false;
  std::string script_path;                // of an AnswerScript; empty: the model answers
  std::vector<std::string> pin_volatile;  // regular expressions

  // What the cache's flags come to is in cmd/serve/cache_flags.h.
  std::string placement = "auto";
  std::optional<int64_t> checkpoint_every_nb;
  std::optional<int64_t> checkpoint_every_nt;
  size_t checkpoint_min_step = 0;
  std::string eviction = "value";
  std::optional<int64_t> cache_ram_mib;  // -1: no limit, 0: no cache
  std::optional<size_t> ctx_checkpoints;
  std::string reuse = "live";
  bool cache_idle_slots = true;
  size_t cache_reuse = 0;  // 0: nothing is moved
  bool context_shift = false;
  std::string cache_folder;     // empty: DefaultCacheFolder()
  double cache_disk_gib = 32;   // 0: nothing is kept on disk
  size_t disk_write_mib_s = 0;  // 0: as fast as the disk takes it
  double save_after_ms = 300;
  std::string codec = "raw";
  int64_t shutdown_timeout_s = 30;
  std::string slot_save_path;  // a folder; empty: slots are not saved to files

  std::string trace_out;     // of a TraceWriter; empty: nothing is written
  std::string trace_events;  // of TraceEvents; empty: nothing is written

  bool embeddings = false;
  std::string pooling;  // empty: the model's
  bool reranking = false;
  bool spm_infill = false;

  GenerationParams defaults;
  // What the next four come to is in cmd/serve/answer_flags.h.
  std::string grammar;
  std::string grammar_file;  // wins over grammar
  std::string json_schema;
  std::string json_schema_file;  // wins over json_schema
  int64_t predict = -1;
  std::string reasoning_effort;      // empty: the template's own
  std::string template_kwargs_json;  // an object's text, or empty
  size_t queue_limit = 64;
  double prefill_share = 0.5;
  double request_timeout_s = 0;  // 0: none
  bool warm = true;
  size_t prefetch_budget = 0;  // tokens a minute; 0: no limit of its own
  int64_t sse_ping_interval_s = 30;
  size_t responses_store_mib = 32;   // of each key; 0: none are stored
  int64_t responses_ttl_s = 86'400;  // 0: none are stored
  int64_t sleep_idle_s = -1;         // negative: never
  bool prefill_assistant = true;
  std::string context_overflow = "error";
  bool verbose = false;
  std::string log_format = "human";
  std::string log_level = "info";
  std::vector<std::string> unknown_variables;  // of llama-server, which no flag here has
};

// As many as asked for. Else four, as llama-server has; one with `--reuse exact`, where each more
// would halve, third … the context of all.
size_t SlotsOf(const ServeOptions& options);

// Adds the subcommand `serve` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddServe(CLI::App* app, ServeOptions* options);

// Serves until SIGINT or SIGTERM. Returns the program's exit code: 1 with one line on standard
// error when the model cannot load or the port is taken.
int RunServe(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_H_
