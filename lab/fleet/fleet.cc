#include "lab/fleet/fleet.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/clock.h"

namespace cairn {
namespace {

constexpr size_t kCellPoints = 256;  // on the ring of cells
// Servers number their runs this far apart.
constexpr int kLineageBits = 40;

// The requests of one server that the front knows of.
class Load {
 public:
  void Add(double began_ms, double end_ms) {
    begins_.push_back(began_ms);
    ends_.push(end_ms);
  }
  size_t WaitingAt(double now_ms) {
    while (!begins_.empty() && begins_.front() <= now_ms) begins_.pop_front();
    return begins_.size();
  }
  size_t InFlightAt(double now_ms) {
    while (!ends_.empty() && ends_.top() <= now_ms) ends_.pop();
    return ends_.size();
  }

 private:
  std::deque<double> begins_;
  std::priority_queue<double, std::vector<double>, std::greater<>> ends_;
};

struct Member {
  std::unique_ptr<SimServer> server;  // nullptr once it is lost
  std::unique_ptr<Numbering> numbering;
  std::unique_ptr<RemoteLink> link;  // nullptr: there is no remote tier
  Load load;
  FleetFigures figures;
  std::unordered_map<ConversationKey, size_t> last_steps;
};

struct Cell {
  size_t first = 0;  // index of its first member
  std::unique_ptr<Front> front;
};

// A conversation may be idle from then on.
struct Idle {
  double at_ms = 0;
  size_t member = 0;
  size_t step = 0;  // its last one there

  friend bool operator>(const Idle& a, const Idle& b) {
    return std::tie(a.at_ms, a.step) > std::tie(b.at_ms, b.step);
  }
};

class Simulation {
 public:
  Simulation(const FleetTrace* trace, const std::vector<FleetStep>* steps,
             const FleetOptions& options)
      : trace_(trace),
        steps_(steps),
        options_(options),
        objects_(options.remote.bytes_max),
        cells_ring_(CellCount(options), kCellPoints, options.front_options.seed) {}

  static size_t CellCount(const FleetOptions& options) {
    return options.cell_servers == 0
               ? 1
               : (options.servers + options.cell_servers - 1) / options.cell_servers;
  }

  Status Begin() {
    const size_t per_cell = options_.cell_servers == 0 ? options_.servers : options_.cell_servers;
    const size_t cells = CellCount(options_);
    const size_t played =
        options_.cells_played == 0 ? cells : std::min(cells, options_.cells_played);
    for (size_t i = 0; i < played; ++i) {
      const size_t servers = std::min(per_cell, options_.servers - i * per_cell);
      auto front = MakeFront(options_.front, options_.front_options, servers);
      if (!front) return tl::unexpected(front.error());
      cells_.push_back({members_.size(), std::move(*front)});
      for (size_t j = 0; j < servers; ++j) {
        if (Status added = AddMember(); !added) return added;
      }
    }
    return {};
  }

  Status Serve(size_t index) {
    const FleetStep& step = (*steps_)[index];
    const size_t cell_number =
        cells_ring_.Find(RingHash(step.conversation, options_.front_options.seed),
                         [](size_t /*cell*/) { return true; });
    if (cell_number >= cells_.size()) return {};
    WriteIdle(step.at_ms);
    Cell& cell = cells_[cell_number];
    const size_t chosen = cell.first + cell.front->Choose(AskOf(step, cell));
    Member& member = members_[chosen];
    const size_t own_tokens = trace_->PrivateTokens(step.conversation);
    if (!member.numbering->Add(step.conversation, own_tokens)) {
      return Fail(ErrorCode::kTooLong,
                  "one server would meet more tokens than can be numbered; play fewer copies");
    }
    CountMove(step.conversation, chosen);
    Play(index, chosen);
    return {};
  }

  // The first server ends, with all that it holds.
  void Lose(double now_ms) {
    WriteIdle(now_ms);
    objects_.LoseUnwritten(0, now_ms);
    cells_.front().front->Remove(0);
    TakeDiskFigures(&members_.front());
  }

  void BeginSecondHalf() { half_ = &report_.second_half; }

  FleetReport Finish() {
    for (Member& member : members_) {
      if (member.server != nullptr) TakeDiskFigures(&member);
      report_.servers.push_back(member.figures);
      report_.all.Add(member.figures);
    }
    report_.conversations = last_members_.size();
    report_.remote_moved = objects_.moved();
    report_.remote_bytes = objects_.bytes();
    return std::move(report_);
  }

 private:
  Status AddMember() {
    const size_t number = members_.size();
    auto server = SimServer::Make(options_.server, options_.context_tokens,
                                  LineageId{number} << kLineageBits);
    if (!server) return tl::unexpected(server.error());
    Member member;
    member.server = std::move(*server);
    member.numbering = std::make_unique<Numbering>(trace_->header_tokens());
    if (options_.remote.bytes_max > 0) {
      member.link = std::make_unique<RemoteLink>(
          options_.remote, number, trace_, member.numbering.get(), member.server.get(), &objects_);
    }
    members_.push_back(std::move(member));
    return {};
  }

  FrontAsk AskOf(const FleetStep& step, const Cell& cell) {
    FrontAsk ask;
    ask.conversation = step.conversation;
    ask.prompt_tokens = step.request->asked->input_tokens;
    const double now_ms = step.at_ms;
    ask.waiting = [this, &cell, now_ms](size_t server) {
      return members_[cell.first + server].load.WaitingAt(now_ms);
    };
    ask.in_flight = [this, &cell, now_ms](size_t server) {
      return members_[cell.first + server].load.InFlightAt(now_ms);
    };
    ask.reach = [this, &cell, &step, header = Tokens()](size_t server) mutable {
      Member& member = members_[cell.first + server];
      if (!step.request->asked->reuse) return size_t{0};
      if (member.numbering->Find(step.conversation)) {
        return member.server->ReachOf(trace_->PromptOf(step, member.numbering.get()));
      }
      // The same for all servers that never met the conversation.
      if (header.empty()) header = trace_->HeaderOf(step);
      return member.server->ReachOf(header);
    };
    return ask;
  }

  void CountMove(ConversationKey conversation, size_t chosen) {
    const auto [last, is_new] = last_members_.try_emplace(conversation, chosen);
    if (last->second == chosen) return;
    last->second = chosen;
    ++report_.moved;
  }

  void Play(size_t index, size_t chosen) {
    const FleetStep& step = (*steps_)[index];
    const TraceRequest& asked = *step.request->asked;
    Member& member = members_[chosen];
    Tokens prompt = trace_->PromptOf(step, member.numbering.get());
    double fetch_ms = 0;
    if (member.link != nullptr && asked.input_tokens < options_.context_tokens) {
      fetch_ms = member.link->Look(step, prompt, step.at_ms);
    }
    const SimServer::Served served = member.server->Serve(
        asked, step.at_ms, std::move(prompt), trace_->AnswerOf(step, *member.numbering));
    FleetFigures figures{1, served.refused ? uint64_t{1} : 0, 0, 0};
    if (!served.refused) {
      figures.prompt_tokens = asked.input_tokens;
      figures.reused_tokens = served.reused_tokens;
      CountNew(*step.request);
      report_.reused_each.push_back(served.reused_tokens);
      report_.wait_ms.push_back(fetch_ms + served.done_ms - step.at_ms);
      const double answer_ms =
          static_cast<double>(asked.output_tokens) / options_.answer_tokens_per_s * kMsPerS;
      member.load.Add(served.began_ms, served.done_ms + answer_ms);
      if (member.link != nullptr) {
        member.last_steps[step.conversation] = index;
        idle_.push({served.done_ms + answer_ms + options_.remote.after_ms, chosen, index});
      }
    }
    member.figures.Add(figures);
    half_->Add(figures);
  }

  // A header is new once, in whichever copy it is asked first.
  void CountNew(const FleetRequest& request) {
    report_.new_tokens += request.new_private_tokens;
    if (request.new_header_tokens > 0 && new_headers_.insert(&request).second) {
      report_.new_tokens += request.new_header_tokens;
    }
  }

  // Writes what conversations left that were idle for long enough until then.
  void WriteIdle(double now_ms) {
    while (!idle_.empty() && idle_.top().at_ms <= now_ms) {
      const Idle idle = idle_.top();
      idle_.pop();
      Member& member = members_[idle.member];
      const FleetStep& step = (*steps_)[idle.step];
      if (member.server == nullptr || member.last_steps.at(step.conversation) != idle.step)
        continue;
      member.link->WriteNewest(step, idle.at_ms);
    }
  }

  // The server is not used any more.
  void TakeDiskFigures(Member* member) {
    const SimReport figures = member->server->Finish();
    report_.disk_written_bytes += figures.disk_written_bytes;
    report_.disk_read_bytes += figures.disk_read_bytes;
    if (member->link != nullptr) {
      const RemoteLink::Counts& counts = member->link->counts();
      report_.remote_counts.fetches += counts.fetches;
      report_.remote_counts.fetched_bytes += counts.fetched_bytes;
      report_.remote_counts.fetched_tokens += counts.fetched_tokens;
      report_.remote_counts.not_worth += counts.not_worth;
      report_.remote_counts.uploads_left_out += counts.uploads_left_out;
    }
    member->link = nullptr;
    member->server = nullptr;
  }

  const FleetTrace* const trace_;
  const std::vector<FleetStep>* const steps_;
  const FleetOptions options_;
  RemoteObjects objects_;
  HashRing cells_ring_;
  std::vector<Cell> cells_;
  std::deque<Member> members_;  // of all cells
  std::priority_queue<Idle, std::vector<Idle>, std::greater<>> idle_;
  std::unordered_map<ConversationKey, size_t> last_members_;
  std::unordered_set<const FleetRequest*> new_headers_;
  FleetReport report_;
  FleetFigures* half_ = &report_.first_half;
};

Status Check(const FleetOptions& options) {
  const auto invalid = [](const char* why) { return Fail(ErrorCode::kInvalidArgument, why); };
  if (options.servers == 0) return invalid("a fleet has at least one server");
  const size_t in_first_cell =
      options.cell_servers == 0 ? options.servers : std::min(options.servers, options.cell_servers);
  if (options.lose_server && in_first_cell < 2) {
    return invalid("a server can only be lost where its cell has another");
  }
  if (options.remote.bytes_max > 0 && options.server.disk.bytes_max == 0) {
    return invalid("the remote tier stands behind the folder: expected a disk");
  }
  return {};
}

}  // namespace

double FleetFigures::token_hit_rate() const {
  if (prompt_tokens == 0) return 0;
  return static_cast<double>(reused_tokens) / static_cast<double>(prompt_tokens);
}

void FleetFigures::Add(const FleetFigures& other) {
  requests += other.requests;
  refused += other.refused;
  prompt_tokens += other.prompt_tokens;
  reused_tokens += other.reused_tokens;
}

Result<FleetReport> SimulateFleet(const FleetTrace& trace, const std::vector<FleetStep>& steps,
                                  const FleetOptions& options,
                                  const std::function<void(size_t done)>& on_progress) {
  if (Status checked = Check(options); !checked) return tl::unexpected(checked.error());
  Simulation simulation(&trace, &steps, options);
  if (Status begun = simulation.Begin(); !begun) return tl::unexpected(begun.error());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i == steps.size() / 2) {
      simulation.BeginSecondHalf();
      if (options.lose_server) simulation.Lose(steps[i].at_ms);
    }
    if (Status served = simulation.Serve(i); !served) return tl::unexpected(served.error());
    if (on_progress) on_progress(i + 1);
  }
  return simulation.Finish();
}

FleetOptions OneLargeServer(const FleetOptions& fleet) {
  FleetOptions one = fleet;
  one.servers = 1;
  one.cell_servers = one.cells_played = 0;
  one.lose_server = false;
  one.remote.bytes_max = 0;
  const auto times = [&](size_t bytes) {
    return bytes > SIZE_MAX / fleet.servers ? SIZE_MAX : bytes * fleet.servers;
  };
  one.server.cache.ram_bytes_max = times(fleet.server.cache.ram_bytes_max);
  one.server.disk.bytes_max = times(fleet.server.disk.bytes_max);
  one.server.slots = times(fleet.server.slots);
  one.context_tokens = times(fleet.context_tokens);
  one.server.profile.prefill_tokens_per_s *= static_cast<double>(fleet.servers);
  one.server.profile.move_bytes_per_s *= static_cast<double>(fleet.servers);
  return one;
}

}  // namespace cairn
