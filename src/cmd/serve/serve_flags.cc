// The flags of `cairn serve`. What llama-server has too keeps its name and its meaning.

#include <CLI/CLI.hpp>
#include <string>

#include "base/join.h"
#include "chat/template/builtin_templates.h"
#include "cmd/environment_flags.h"
#include "cmd/serve/answer_flags.h"
#include "cmd/serve/cache_flags.h"
#include "cmd/serve/key_flags.h"
#include "cmd/serve/serve.h"

namespace cairn {
namespace {

void AddModelFlags(CLI::App* serve, LlamaOptions* llama) {
  const std::string group = "Model";
  serve
      ->add_option("-m,--model", llama->model_path,
                   "GGUF file to serve; of a split model, its first part")
      ->required()
      ->group(group);
  serve
      ->add_option("--gpu-layers,--ngl", llama->gpu_layers,
                   "Layers to keep on the GPU (-ngl; negative: all)")
      ->group(group);
  serve
      ->add_option("--split-mode", llama->split_mode,
                   "How to split over GPUs (-sm): none, layer, row, tensor")
      ->group(group);
  serve->add_option("--tensor-split", llama->tensor_split, "Share of each GPU (-ts): 3,1")
      ->delimiter(',')
      ->group(group);
  serve->add_option("--main-gpu", llama->main_gpu, "GPU for what is not split (-mg)")->group(group);
  serve
      ->add_option_function<std::vector<std::string>>(
          "--override-tensor",
          [llama](const std::vector<std::string>& pairs) {
            for (const std::string& pair : pairs) {
              const size_t equals = pair.rfind('=');
              if (equals == std::string::npos) {
                throw CLI::ValidationError("--override-tensor",
                                           "takes PATTERN=BUFFER, not '" + pair + "'");
              }
              llama->override_tensors.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
            }
          },
          "Keep tensors whose name matches a pattern in a buffer type (-ot): 'exps=CPU'")
      ->delimiter(',')
      ->group(group);
  serve
      ->add_option("--n-cpu-moe", llama->cpu_moe_layers,
                   "Keep the experts of the first N layers with the CPU (-ncmoe)")
      ->group(group);
  serve
      ->add_flag_callback(
          "--cpu-moe", [llama] { llama->cpu_moe_layers = 1024; },
          "Keep all experts with the CPU (-cmoe)")
      ->group(group);
  serve->add_flag("--mmap,!--no-mmap", llama->use_mmap, "Map the file instead of reading it")
      ->group(group);
  serve->add_flag("--mlock", llama->use_mlock, "Keep the model in RAM")->group(group);
  serve->add_flag("--check-tensors", llama->check_tensors, "Look for invalid values while loading")
      ->group(group);
  serve->add_flag("--repack,!--no-repack", llama->repack, "Repack weights for this CPU (-nr: no)")
      ->group(group);
}

void AddContextFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Context";
  LlamaOptions* llama = &options->llama;
  serve
      ->add_option("-c,--ctx-size", llama->context_tokens,
                   "Tokens of context (0: as many as the model was trained with)")
      ->group(group);
  serve
      ->add_option("--parallel", options->slots,
                   "Slots (-np): conversations answered side by side, which share the context (-1: "
                   "4; with --reuse exact 1, as there each gets an equal part of it)")
      ->group(group);
  serve->add_option("-b,--batch-size", llama->batch_tokens, "Largest batch, in tokens")
      ->group(group);
  serve->add_option("--ubatch-size", llama->ubatch_tokens, "Micro-batch, in tokens (-ub)")
      ->group(group);
  serve->add_option("-t,--threads", llama->threads, "Threads (-1: one a core)")->group(group);
  serve
      ->add_option("--threads-batch", llama->threads_batch,
                   "Threads for reading prompts (-tb; -1: as --threads)")
      ->group(group);
  serve->add_option("--flash-attn", llama->flash_attention, "Flash attention (-fa): on, off, auto")
      ->group(group);
  serve->add_option("--cache-type-k", llama->cache_type_k, "Type of the KV cache's keys (-ctk)")
      ->group(group);
  serve->add_option("--cache-type-v", llama->cache_type_v, "Type of the KV cache's values (-ctv)")
      ->group(group);
  serve
      ->add_flag("--kv-offload,!--no-kv-offload", llama->kv_offload,
                 "Keep the KV cache on the GPU (-nkvo: no)")
      ->group(group);
  serve
      ->add_flag("--op-offload,!--no-op-offload", llama->op_offload,
                 "Compute with the GPU what lies with the CPU")
      ->group(group);
  serve
      ->add_flag("--swa-full", llama->swa_full,
                 "Keep all of a sliding window's history: needs memory, no checkpoints")
      ->group(group);
  serve->add_option("--rope-scaling", llama->rope_scaling, "none, linear, yarn")->group(group);
  serve->add_option("--rope-scale", llama->rope_scale, "Stretch the context by this factor")
      ->group(group);
  serve->add_option("--rope-freq-base", llama->rope_freq_base, "RoPE base frequency")->group(group);
  serve->add_option("--rope-freq-scale", llama->rope_freq_scale, "RoPE frequency scale")
      ->group(group);
  serve->add_option("--yarn-orig-ctx", llama->yarn_orig_ctx, "YaRN: context as trained")
      ->group(group);
  serve->add_option("--yarn-ext-factor", llama->yarn_ext_factor, "YaRN: extrapolation mix")
      ->group(group);
  serve->add_option("--yarn-attn-factor", llama->yarn_attn_factor, "YaRN: attention scale")
      ->group(group);
  serve->add_option("--yarn-beta-slow", llama->yarn_beta_slow, "YaRN: high correction dimension")
      ->group(group);
  serve->add_option("--yarn-beta-fast", llama->yarn_beta_fast, "YaRN: low correction dimension")
      ->group(group);
}

// What becomes of what is longer than the context.
void AddOverflowFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Context";
  serve
      ->add_option("--context-overflow", options->context_overflow,
                   "What becomes of a conversation that does not fit the context. error: it is "
                   "refused; truncate: its oldest turns are left out, in one step to half the "
                   "context, and the next turns go on from there")
      ->check(CLI::IsMember({"error", "truncate"}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_flag("--context-shift,!--no-context-shift", options->context_shift,
                 "Let an answer go on past the end of its context: the older half of what stands "
                 "behind --keep is dropped, and the rest moves up, which is not what reading it "
                 "would give; attention models only, not with --reuse exact")
      ->group(group);
  serve
      ->add_option("--keep", options->defaults.keep_tokens,
                   "First tokens that --context-shift keeps, beside BOS (-1: the prompt)")
      ->check(CLI::Range(-1, 1 << 30))
      ->capture_default_str()
      ->group(group);
}

// What the model is asked for beside answers.
void AddTextFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_flag("--embeddings,--embedding", options->embeddings,
                 "Make embeddings too, in a context of their own; texts of up to --ubatch-size "
                 "tokens")
      ->group(group);
  serve
      ->add_option("--pooling", options->pooling,
                   "How tokens become a text's vector: mean, cls, last (default: the model's, or "
                   "mean); rank is --reranking")
      ->group(group);
  serve
      ->add_flag("--reranking,--rerank", options->reranking,
                 "Rank documents too, by a model made for it, such as Qwen3-Reranker; query and "
                 "document have up to --ubatch-size tokens")
      ->group(group);
  serve
      ->add_flag("--spm-infill", options->spm_infill,
                 "/infill shows the model the suffix before the prefix: for models trained so")
      ->group(group);
}

void AddServerFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option("--host", options->host,
                   "Address to listen on; one that other machines reach needs a key")
      ->capture_default_str()
      ->group(group);
  serve->add_option("--port", options->port, "Port to listen on (0: any free one)")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group(group);
  AddKeyFlags(serve, options);
  serve->add_option("-a,--alias", options->alias, "Name that clients see (default: the file's)")
      ->group(group);
  serve
      ->add_option("--chat-template", options->chat_template,
                   "Chat template: " + JoinNames(BuiltinTemplateNames()) +
                       ", or a Jinja text (default: the model's own)")
      ->group(group);
  serve
      ->add_option("--chat-template-file", options->chat_template_file,
                   "File with a Jinja chat template")
      ->group(group);
  serve
      ->add_flag("--keep-billing-header", options->keep_billing_header,
                 "Show the model the x-anthropic-billing-header text that Claude Code sends; it "
                 "changes from session to session, so prompts share nothing")
      ->group(group);
  serve
      ->add_option("--script", options->script_path,
                   "For testing clients: JSON file of rules that decide answers beforehand; the "
                   "model reads every prompt and draws the answer that its rule gives")
      ->group(group);
  serve
      ->add_option("--pin-volatile", options->pin_volatile,
                   "Regular expression (RE2) for what clients change in their messages without "
                   "meaning it: a conversation keeps the value that it had first; may be repeated. "
                   "auto: dates and times behind words that name them, and <total_tokens>")
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_option("--sse-ping-interval", options->sse_ping_interval_s,
                   "Seconds of silence after which a stream gets a ping (-1: never)")
      ->capture_default_str()
      ->check(CLI::Range(-1, 86400))
      ->group(group);
  serve
      ->add_option(
          "--trace-out", options->trace_out,
          "Append a line for each request to this file, for cairn-lab sim: lengths, times and "
          "what requests share; no text, no tokens")
      ->group(group);
  serve
      ->add_option("--trace-events", options->trace_events,
                   "Write what the server does and when to this file, for ui.perfetto.dev: steps, "
                   "requests, checkpoints, disk; no text, no tokens")
      ->group(group);
}

void AddPrefillFlag(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_flag("--prefill-assistant,!--no-prefill-assistant", options->prefill_assistant,
                 "Continue a message of the assistant that is last in a chat or in Anthropic's "
                 "messages; without, it is a whole message and another answer follows")
      ->group("Server");
}

void AddResponsesFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option("--responses-store", options->responses_store_mib,
                   "MiB of memory in which each key's responses of /v1/responses are stored, for "
                   "previous_response_id; its oldest go first (0: none are stored)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20))
      ->group(group);
  serve
      ->add_option("--responses-ttl", options->responses_ttl_s,
                   "Seconds for which a response is stored (0: none are)")
      ->capture_default_str()
      ->check(CLI::Range(0, 366 * 86400))
      ->group(group);
}

void AddLogFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve->add_flag("-v,--verbose", options->verbose, "Log what libllama says: --log-level debug")
      ->group(group);
  serve
      ->add_option("--log-format", options->log_format,
                   "Lines on standard error: human, or json: an object a line, with a request's "
                   "figures as fields; neither has text of prompts or answers")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--log-level", options->log_level,
                   "Least level of a line that is logged: debug, info (a line a request), warning, "
                   "error; the line with the server's address is told at every level")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str()
      ->group(group);
}

void AddSchedulingFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Scheduling";
  serve
      ->add_option("--queue-limit", options->queue_limit,
                   "Requests that may wait for a slot; more get a 503 with Retry-After")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--prefill-share", options->prefill_share,
                   "Share of the time that reading prompts may take while answers are on their "
                   "way: 0.5 slows these by half at most, 1 reads as fast as it can")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1.0))
      ->group(group);
  serve
      ->add_option(
          "--request-timeout", options->request_timeout_s,
          "Seconds after which a request is ended with a 504, waiting included (0: never); "
          "what was read of its prompt stays")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  serve
      ->add_flag("--warm,!--no-warm", options->warm,
                 "While nobody asks, read how each conversation will come back, so that the next "
                 "turn waits for its new message alone; at most a quarter more is read in all")
      ->group(group);
  serve
      ->add_option("--warm-budget", options->prefetch_budget,
                   "Tokens a minute that --warm may read (0: no limit of its own); for batteries "
                   "and shared machines")
      ->capture_default_str()
      ->group(group);
}

void AddIdleFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option("--sleep-idle-seconds", options->sleep_idle_s,
                   "Unload the model when nobody asked for so long, and load it again at the next "
                   "request; what was read stays in the cache (-1: never)")
      ->capture_default_str()
      ->check(CLI::Range(-1, 30 * 86400))
      ->check(
          [](const std::string& value) { return value == "0" ? "0 would never stay awake" : ""; })
      ->group(group);
}

}  // namespace

CLI::App* AddServe(CLI::App* app, ServeOptions* options) {
  CLI::App* serve = app->add_subcommand("serve", "Serve a GGUF model over HTTP");
  AddModelFlags(serve, &options->llama);
  AddContextFlags(serve, options);
  AddOverflowFlags(serve, options);
  AddCacheFlags(serve, options);
  AddServerFlags(serve, options);
  AddPrefillFlag(serve, options);
  AddTextFlags(serve, options);
  AddResponsesFlags(serve, options);
  AddLogFlags(serve, options);
  AddSchedulingFlags(serve, options);
  AddIdleFlags(serve, options);
  AddAnswerFlags(serve, options);
  NameEnvironmentFlags(serve);
  // The policies are a table: no filling of lines.
  serve->get_formatter()->enable_footer_formatting(false);
  serve->footer(
      PolicyHelp() +
      "\n"
      "Flags that llama-server has keep its names, its short forms too (-ngl, -fa, -ctk …),\n"
      "and its environment variables (Env above); the command line wins over these.\n"
      "Not there yet: images, LoRA adapters, several models in one process.\n\n"
      "Example: cairn serve -m model.gguf -c 32768 --port 8080");
  return serve;
}

}  // namespace cairn
