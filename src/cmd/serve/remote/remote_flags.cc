#include "cmd/serve/remote/remote_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <utility>

#include "api/wall_clock.h"
#include "base/fs.h"
#include "cmd/serve/base/key_flags.h"
#include "fleet/remote/remote_url.h"
#include "fleet/remote/s3/s3_index.h"
#include "fleet/remote/s3/s3_objects.h"
#include "fleet/remote/valkey/valkey_store.h"

namespace cairn {
namespace {

constexpr const char* kRemoteGroup = "Remote";

tl::unexpected<Error> Invalid(std::string why) {
  return Fail(ErrorCode::kInvalidArgument, std::move(why));
}

tl::unexpected<Error> InFile(const char* flag, const std::string& file, const Error& error) {
  return Invalid(std::string(flag) + " " + file + ": " + error.message);
}

Result<RemoteUrl> ParseUrlFlag(const char* flag, const std::string& text) {
  auto url = ParseRemoteUrl(text);
  if (!url) return Invalid(std::string(flag) + ": " + url.error().message);
  return url;
}

// Content goes over the network in clear text only if that is wanted.
Status CheckTransport(const RemoteFlagValues& values, const char* flag, const std::string& host,
                      bool tls) {
  if (tls || values.insecure || IsLoopbackHost(host)) return {};
  return Invalid(std::string(flag) + ": " + host +
                 " is not this machine, and the connection would have no TLS; use valkeys:// or "
                 "https://, or --remote-insecure if you trust the network");
}

Result<RemoteKeys> KeysOf(const RemoteFlagValues& values) {
  if (values.plain) {
    if (values.key_file.empty()) return RemoteKeys::Plain();
    return Invalid("--remote-plain stores objects without a seal, so --remote-key-file has no use");
  }
  if (values.key_file.empty()) {
    return Invalid(
        "--remote needs --remote-key-file FILE, whose key seals what is stored: `openssl rand -hex "
        "32 >FILE` makes one, the same for all servers. --remote-plain goes without: then whoever "
        "can write to the store can plant states");
  }
  const auto text = ReadFile(values.key_file);
  if (!text) return Invalid("--remote-key-file " + text.error().message);
  auto keys = RemoteKeys::Parse(*text);
  if (!keys) return InFile("--remote-key-file", values.key_file, keys.error());
  return keys;
}

Result<std::unique_ptr<ValkeyClient>> ConnectValkey(const RemoteFlagValues& values,
                                                    const RemoteUrl& url, const char* flag,
                                                    const std::string& credentials_file,
                                                    const char* credentials_flag) {
  ValkeyOptions options;
  options.host = url.host;
  options.port = url.port;
  options.tls = url.tls;
  options.ca_file = values.ca_file;
  if (Status good = CheckTransport(values, flag, url.host, url.tls); !good) {
    return tl::unexpected(good.error());
  }
  if (!credentials_file.empty()) {
    const auto text = ReadFile(credentials_file);
    if (!text) return Invalid(std::string(credentials_flag) + " " + text.error().message);
    const Status parsed = ParseValkeyCredentials(*text, &options);
    if (!parsed) return InFile(credentials_flag, credentials_file, parsed.error());
  }
  auto client = ValkeyClient::Make(options);
  if (!client) return InFile("--remote-ca-file", values.ca_file, client.error());
  return client;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<S3Options> S3OptionsOf(const RemoteFlagValues& values, const RemoteUrl& url) {
  S3Options options;
  options.bucket = url.bucket;
  options.prefix = url.prefix;
  options.region = values.region;
  options.ca_file = values.ca_file;
  options.endpoint =
      values.endpoint.empty() ? "https://s3." + values.region + ".amazonaws.com" : values.endpoint;
  const auto endpoint = ParseS3Endpoint(options.endpoint);
  if (!endpoint) return Invalid("--remote-endpoint: " + endpoint.error().message);
  if (Status good = CheckTransport(values, "--remote-endpoint", endpoint->host, endpoint->tls);
      !good) {
    return tl::unexpected(good.error());
  }
  if (values.credentials_file.empty()) {
    options.access_key = Variable("AWS_ACCESS_KEY_ID");
    options.secret_key = Variable("AWS_SECRET_ACCESS_KEY");
    options.session_token = Variable("AWS_SESSION_TOKEN");
  } else {
    const auto text = ReadFile(values.credentials_file);
    if (!text) return Invalid("--remote-credentials " + text.error().message);
    const Status parsed = ParseAwsCredentials(*text, &options);
    if (!parsed) return InFile("--remote-credentials", values.credentials_file, parsed.error());
  }
  if (options.access_key.empty() || options.secret_key.empty()) {
    return Invalid(
        "--remote s3:// needs credentials: --remote-credentials FILE, or AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY in the environment");
  }
  return options;
}

// Objects and index of an S3 store; the index is replaced if another is named.
Status OpenS3(const RemoteFlagValues& values, const RemoteUrl& url, RemoteStores* stores) {
  const auto options = S3OptionsOf(values, url);
  if (!options) return tl::unexpected(options.error());
  auto objects = MakeS3Objects(*options);
  if (!objects) return Invalid("--remote: " + objects.error().message);
  stores->objects = std::move(*objects);
  stores->index = MakeS3Index(stores->objects.get());
  stores->place = options->endpoint + ", bucket " + url.bucket;
  return {};
}

Status OpenValkey(const RemoteFlagValues& values, const RemoteUrl& url, RemoteStores* stores) {
  if (!values.endpoint.empty()) {
    return Invalid("--remote-endpoint belongs to s3://, and --remote is a Valkey");
  }
  auto client =
      ConnectValkey(values, url, "--remote", values.credentials_file, "--remote-credentials");
  if (!client) return tl::unexpected(client.error());
  stores->objects_client = std::move(*client);
  stores->objects =
      MakeValkeyObjects(stores->objects_client.get(), static_cast<int64_t>(values.ttl_h * 3600));
  stores->index = MakeValkeyIndex(stores->objects_client.get());
  stores->place = url.host + ":" + std::to_string(url.port);
  return {};
}

}  // namespace

void AddRemoteStoreFlags(CLI::App* command, RemoteFlagValues* values) {
  command
      ->add_option("--remote", values->url,
                   "Store that several servers share, behind --cache-dir: valkey://HOST:PORT, "
                   "valkeys://HOST:PORT (TLS) or s3://BUCKET/PREFIX")
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-endpoint", values->endpoint,
                   "URL of the S3 server (default: Amazon's of --remote-region)")
      ->group(kRemoteGroup);
  command->add_option("--remote-region", values->region, "Region of the S3 server")
      ->capture_default_str()
      ->group(kRemoteGroup);
  command
      ->add_option(
          "--remote-credentials", values->credentials_file,
          "File with the credentials: for S3 as ~/.aws/credentials (default: AWS_ACCESS_KEY_ID "
          "and AWS_SECRET_ACCESS_KEY), for Valkey USER:PASSWORD")
      ->group(kRemoteGroup);
  command
      ->add_option(
          "--remote-key-file", values->key_file,
          "File with the key that seals what is stored, the same for all servers; a second "
          "line may hold the previous or next key")
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-ca-file", values->ca_file,
                   "Certificates of the authorities that the store's TLS is checked against, PEM "
                   "(default: the system's)")
      ->group(kRemoteGroup);
  command
      ->add_flag(
          "--remote-plain", values->plain,
          "Store objects without a seal: whoever can write to the store can then plant states")
      ->group(kRemoteGroup);
  command
      ->add_flag("--remote-insecure", values->insecure,
                 "Connect without TLS to a store on another machine")
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-index", values->index_url,
                   "Valkey for the index, valkeys://HOST:PORT (default: the store of --remote)")
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-index-credentials", values->index_credentials_file,
                   "File with USER:PASSWORD for --remote-index")
      ->group(kRemoteGroup);
}

void AddRemoteTierFlags(CLI::App* command, RemoteFlagValues* values) {
  command
      ->add_option("--remote-wait-ms", values->wait_ms,
                   "Longest time that a request waits for its lookup in the remote index")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 60'000.0))
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-min-ms", values->saved_ms_min,
                   "Look up only prompts whose prefill would take longer than this")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9))
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-after-s", values->after_s,
                   "Upload a conversation once it was idle for this many seconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6))
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-write-mib-s", values->write_mib_s,
                   "Maximum upload rate in MiB per second; at shutdown there is no limit (0: none)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20))
      ->group(kRemoteGroup);
  command
      ->add_option("--remote-ttl-h", values->ttl_h,
                   "Hours after which the index, and a Valkey, forget what nobody used")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e5))
      ->group(kRemoteGroup);
  command
      ->add_flag("--remote-read-only", values->read_only,
                 "Fetch from the store; change nothing in it")
      ->group(kRemoteGroup);
}

Result<RemoteStores> OpenRemoteStores(const RemoteFlagValues& values) {
  RemoteStores stores;
  const auto url = ParseUrlFlag("--remote", values.url);
  if (!url) return tl::unexpected(url.error());
  auto keys = KeysOf(values);
  if (!keys) return tl::unexpected(keys.error());
  stores.keys = std::move(*keys);
  const Status opened = url->kind == RemoteUrl::Kind::kS3 ? OpenS3(values, *url, &stores)
                                                          : OpenValkey(values, *url, &stores);
  if (!opened) return tl::unexpected(opened.error());
  if (values.index_url.empty()) return stores;
  const auto index = ParseUrlFlag("--remote-index", values.index_url);
  if (!index) return tl::unexpected(index.error());
  if (index->kind != RemoteUrl::Kind::kValkey) {
    return Invalid("--remote-index: expected valkey://HOST:PORT or valkeys://HOST:PORT");
  }
  auto client = ConnectValkey(values, *index, "--remote-index", values.index_credentials_file,
                              "--remote-index-credentials");
  if (!client) return tl::unexpected(client.error());
  stores.index_client = std::move(*client);
  stores.index = MakeValkeyIndex(stores.index_client.get());
  stores.place += ", index at " + index->host + ":" + std::to_string(index->port);
  return stores;
}

Status ServedRemote::Open(const ServeOptions& options, LogSink log) {
  log_ = std::move(log);
  const RemoteFlagValues& values = options.remote;
  if (values.url.empty()) {
    const bool named = !values.index_url.empty() || !values.key_file.empty();
    if (!named) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "--remote-index and --remote-key-file have no use without --remote");
  }
  if (!KeepsOnDisk(options)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--remote stands behind the disk tier, and there is none: give --cache-dir FOLDER, "
                "and neither --cache-disk 0 nor --cache-ram 0");
  }
  auto stores = OpenRemoteStores(values);
  if (!stores) return tl::unexpected(stores.error());
  stores_ = std::make_unique<RemoteStores>(std::move(*stores));
  for (const std::string& file :
       {values.key_file, values.credentials_file, values.index_credentials_file}) {
    if (file.empty() || !OthersCanRead(file)) continue;
    log_(LogLevel::kWarning, file + ": every user of this machine can read it; chmod 600 it");
  }
  return {};
}

void ServedRemote::Watch(DiskCallbacks* callbacks) {
  if (stores_ == nullptr) return;
  callbacks->on_written = [this](const ObjectHeader& header) {
    if (RemoteTier* const tier = started_.load(std::memory_order_acquire)) tier->Written(header);
  };
  callbacks->on_used = [this](const ObjectName& name) {
    if (RemoteTier* const tier = started_.load(std::memory_order_acquire)) tier->Used(name);
  };
}

void ServedRemote::Start(const ServeOptions& options, const DiskCache& disk, const Clock* clock,
                         std::function<void()> wake, TraceEvents* trace) {
  if (stores_ == nullptr || disk.store == nullptr) return;
  const RemoteFlagValues& values = options.remote;
  RemoteTierOptions tier;
  tier.objects = stores_->objects.get();
  tier.index = stores_->index.get();
  tier.fs = disk.fs.get();
  tier.clock = clock;
  tier.trace = trace;
  tier.folder = CacheFolderOf(options);
  tier.folder_bytes_max = disk.store->stats().bytes_max;
  tier.reserve_bytes = DiskStoreOptions{}.reserve_bytes;
  tier.fingerprint = disk.saved_as.fingerprint;
  tier.identity = disk.identity;
  tier.keys = stores_->keys;
  tier.wait_ms = values.wait_ms;
  tier.saved_ms_min = values.saved_ms_min;
  tier.after_ms = values.after_s * 1000;
  tier.write_bytes_per_s = uint64_t{values.write_mib_s} << 20;
  tier.ttl_s = static_cast<int64_t>(values.ttl_h * 3600);
  tier.read_only = values.read_only;
  tier.adopt = [store = disk.store.get()](const ObjectName& name, double ms_max) {
    return store->Adopt(name, ms_max);
  };
  tier.wake = std::move(wake);
  tier.now_s = NowUnixS;
  tier.log = log_;
  tier_ = std::make_unique<RemoteTier>(std::move(tier));
  lookup_ = std::make_unique<TierLookup>(tier_.get());
  started_.store(tier_.get(), std::memory_order_release);
  log_(LogLevel::kInfo, "remote tier: " + stores_->place +
                            (stores_->keys.seals() ? ", sealed" : ", not sealed") +
                            (values.read_only ? ", read only" : ""));
}

void ServedRemote::Drain(double ms_max) const {
  if (tier_ == nullptr) return;
  const bool all = tier_->Drain(ms_max);
  const RemoteStats stats = tier_->stats();
  log_(all ? LogLevel::kInfo : LogLevel::kWarning,
       std::string(all ? "uploaded to " : "not everything was uploaded to ") + stores_->place +
           ": " + std::to_string(stats.uploaded) + " objects, " +
           std::to_string(stats.uploaded_bytes >> 20) + " MiB since the start");
}

}  // namespace cairn
