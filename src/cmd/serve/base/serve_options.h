// ServeOptions: the flags of `cairn serve` as they were parsed (cmd/serve/serve.h).
//
// Plain data.

#ifndef CAIRN_CMD_SERVE_BASE_SERVE_OPTIONS_H_
#define CAIRN_CMD_SERVE_BASE_SERVE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/lib/cache_folder.h"
#include "cmd/llama_flags/llama_flag_table.h"
#include "engine/llama/model/llama_options.h"
#include "fleet/router/presets/models_folder.h"
#include "policy/answer_pace.h"
#include "sched/request/generation_request.h"

namespace cairn {

// The sources of models other than files of this machine. All texts are empty if not given.
struct SourceOptions {
  std::string hub_name;  // "USER/REPO[:QUANT]"
  std::string hub_file;
  std::string model_url;
  std::string mmproj_url;
  std::string draft_hub_name;
  bool mmproj_auto = true;  // take the projector of the hub's repository, if it has one
  bool offline = false;
};

// LoRA adapters and control vectors.
struct AdapterOptions {
  std::vector<std::string> files;
  std::vector<std::string> scaled_files;  // "FILE:SCALE"
  bool without_apply = false;             // every scale is 0 until a request sets another

  // Control vectors (engine/llama/model/control_vector.h).
  std::vector<std::string> control_files;
  std::vector<std::string> control_scaled_files;  // "FILE:SCALE"
  std::vector<int32_t> control_layers;            // the first and the last one; empty: all
};

// Images and recordings.
struct MediaOptions {
  std::string mmproj_path;  // the projector; empty if requests are text only
  bool mmproj_offload = true;
  int32_t image_tokens_min = -1;  // negative: the model's
  int32_t image_tokens_max = -1;
  bool allow_url = false;
  std::string media_path;  // a folder; empty if no files may be named
  size_t media_file_mib = 32;
  size_t media_max = 64;  // per request
};

// Several models behind one port.
struct ModelsOptions {
  std::string folder;       // of --models-dir; empty if not given
  std::string preset_file;  // of --models-preset; empty if not given
  // The models that were downloaded before, to be served because no flag names one.
  std::vector<FoundModel> cached;
  size_t models_max = 4;  // 0 for no limit
  // Memory for weights and contexts of all loaded models; 0: no limit. Not given: what the machine
  // has beside --cache-ram.
  std::optional<int64_t> memory_mib;
  bool autoload = true;
  int64_t ttl_s = -1;  // negative for never

  // Whether the server is a router for several models.
  bool given() const { return !cached.empty() || !folder.empty() || !preset_file.empty(); }
};

// KV events.
struct KvEventOptions {
  std::string events;       // tcp://ADDRESS:PORT; empty: none are published
  std::string replay;       // likewise; empty: no replays
  std::string model;        // empty: the server's name of it
  std::string address;      // HOST:PORT; empty: --host and --port
  std::string secret_file;  // empty: tokens are published as they are
};

// Text that clients change without a meaning, or in old text.
struct VolatileFlags {
  std::vector<std::string> pinned;  // regular expressions
  std::string values;               // "keep", "late", "off"; empty: the default
};

struct ServeOptions {
  LlamaOptions llama;
  SourceOptions source;
  AdapterOptions adapters;
  MediaOptions media;
  ModelsOptions models;
  KvEventOptions kv_events;
  RemoteFlagValues remote;
  std::string alias;   // names with commas between them; the first is the one in answers
  std::string tags;    // likewise
  int32_t slots = -1;  // negative for the default, see SlotsOf
  std::optional<bool> kv_unified;  // nullopt for the default, see UnifiedOf

  std::string host = "127.0.0.1";
  int port = 8080;
  std::vector<std::string> api_keys;
  std::vector<std::string> admin_keys;
  std::string api_key_file;   // empty if not given
  std::string ssl_cert_file;  // both or none
  std::string ssl_key_file;
  bool insecure = false;
  std::vector<std::string> cors_origins;
  std::string api_prefix;   // empty for none
  bool page = true;         // serve the web page
  bool slots_route = true;  // answer GET /slots
  size_t max_body_mib = 64;
  size_t max_streams = 0;  // per key; 0 for no limit

  std::string chat_template;       // a built-in name, or a template's text
  std::string chat_template_file;  // overrides chat_template
  bool keep_billing_header = false;
  std::string script_path;  // an AnswerScript; empty if the model answers
  VolatileFlags volatile_text;

  // cmd/serve/base/cache_flags.h derives the cache's options from these.
  std::string placement = "auto";
  std::optional<int64_t> checkpoint_every_nb;
  std::optional<int64_t> checkpoint_every_nt;
  size_t checkpoint_min_step = 0;
  std::string eviction = "value";
  std::optional<int64_t> cache_ram_mib;  // -1 for no limit, 0 for no cache
  std::optional<size_t> ctx_checkpoints;
  std::string reuse = "live";
  bool cache_idle_slots = true;
  bool cut_at_messages = true;
  size_t cache_reuse = 0;  // 0 if no chunks are moved
  bool context_shift = false;
  std::string cache_folder;              // empty for DefaultCacheFolder()
  std::optional<double> cache_disk_gib;  // 0 for no disk tier; not given: what fits the device
  size_t disk_write_mib_s = 0;           // 0 for no limit
  double disk_write_gib_day = 512;       // 0 for no limit
  std::string cache_key_file;            // empty: the files are not sealed
  double save_after_ms = 300;
  std::string codec = "raw";
  int64_t shutdown_timeout_s = 30;
  int64_t drain_delay_s = 0;
  std::string slot_save_path;  // a folder; empty if slots are not saved to files

  std::string trace_out;     // file of a TraceWriter; empty for none
  std::string trace_events;  // file of TraceEvents; empty for none

  bool embeddings = false;
  std::string pooling;  // empty for the model's default
  bool reranking = false;
  bool spm_infill = false;

  GenerationParams defaults;
  // cmd/serve/answer_flags.h derives the answers' grammar from the next four.
  std::string grammar;
  std::string grammar_file;  // overrides grammar
  std::string json_schema;
  std::string json_schema_file;  // overrides json_schema
  int64_t predict = -1;
  std::string reasoning_effort;    // empty for the template's default
  std::string reasoning = "auto";  // on, off, or as the template has it
  std::optional<bool> reasoning_preserve;
  std::string reasoning_format = "auto";  // see ShownReasoning
  bool skip_chat_parsing = false;
  std::string template_kwargs_json;  // a JSON object as text, or empty
  bool escape = true;  // read \n and the like in texts of flags as what they stand for
  size_t queue_limit = 64;
  AnswerPaceOptions pace;
  double request_timeout_s = 0;  // 0 for none
  std::string spec_type = "none";
  size_t draft_tokens_max = 16;
  size_t draft_tokens_min = 0;
  double draft_p_min = 0;
  std::string draft_model_path;  // empty for no draft model
  int32_t draft_gpu_layers = -1;
  int32_t draft_threads = -1;  // negative: as --threads
  std::string draft_cache_type_k = "f16";
  std::string draft_cache_type_v = "f16";
  bool warm = true;
  bool schema_strict = false;
  size_t prefetch_budget = 0;  // tokens per minute; 0 for no separate limit
  int64_t sse_ping_interval_s = 30;
  size_t responses_store_mib = 32;   // per key; 0 to store none
  int64_t responses_ttl_s = 86'400;  // 0 to store none
  int64_t sleep_idle_s = -1;         // negative for never
  bool prefill_assistant = true;
  std::string context_overflow = "error";
  bool verbose = false;
  std::string log_format = "human";
  std::string log_level = "info";
  std::string log_file;  // lines are written there too; empty for none
  FlagNotes flag_notes;  // what the start says about flags of llama-server
};

// The number of slots where no flag says it, as in llama-server.
inline constexpr size_t kUsualSlots = 4;
// Returns the number of slots of the flags; by default kUsualSlots, or one with `--reuse exact`,
// where the slots divide the context.
size_t SlotsOf(const ServeOptions& options);
// Whether all slots share one KV buffer. By default they do, but for two cases: where their number
// is given each has a stream of its own, as in llama-server; and so it has with `--reuse exact`,
// because sequences in one buffer change the last bits of each other's logits.
bool UnifiedOf(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_SERVE_OPTIONS_H_
