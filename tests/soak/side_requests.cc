#include "soak/side_requests.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "soak/held_connection.h"

namespace cairn::soak {
namespace {

struct Wish {
  std::string method;
  std::string path;
  std::string body;
  std::vector<int> allowed;  // beside 503 and 429, and 0 during a shutdown
};

// All of them must be refused.
const Wish kWrong[] = {
    {"POST", "/v1/chat/completions", "", {400}},
    {"POST", "/v1/chat/completions", "{\"messages\":", {400}},
    {"POST", "/v1/chat/completions", "{\"messages\":[]}", {400}},
    {"POST", "/v1/chat/completions", "[1,2,3]", {400}},
    {"POST",
     "/v1/chat/completions",
     "{\"messages\":[{\"role\":\"pope\",\"content\":\"x\"}]}",
     {400}},
    {"POST", "/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":7}]}", {400}},
    {"POST",
     "/v1/chat/completions",
     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"temperature\":\"hot\"}",
     {400}},
    {"POST",
     "/v1/chat/completions",
     "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
     {400}},
    {"POST", "/v1/completions", "{\"prompt\":{\"a\":1}}", {400}},
    {"POST", "/v1/completions", "{\"prompt\":\"x\",\"grammar\":\"root ::= (\"}", {400}},
    {"POST", "/completion", "{\"prompt\":[-5]}", {400}},
    {"POST", "/v1/messages", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", {400}},
    {"POST", "/v1/responses", "{\"input\":7}", {400}},
    {"POST", "/api/chat", "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", {400}},
    {"POST", "/v1/nowhere", "{}", {404}},
    {"DELETE", "/v1/chat/completions", "", {405}},
    {"POST", "/cairn/cache/prefetch", "{\"checkpoint\":\"none\"}", {400, 404}},
    {"POST", "/slots/99?action=erase", "", {400, 404}},
    {"POST", "/slots/0?action=save", "{\"filename\":\"../up\"}", {400}},
    {"POST", "/slots/0?action=restore", "{\"filename\":\"never-saved\"}", {400, 404}},
};

Wish Look(SeededText* dice) {
  const char* const paths[] = {"/health",
                               "/v1/models",
                               "/props",
                               "/slots",
                               "/metrics",
                               "/cairn/cache",
                               "/cairn/cache/tree?limit=20",
                               "/cairn/requests"};
  return {"GET", paths[dice->Number(std::size(paths))], "", {200}};
}

Wish MoveAbout(const Json& talk, SeededText* dice) {
  const std::string file = "{\"filename\":\"talk-" + std::to_string(dice->Number(3)) + "\"}";
  const std::string slot = "/slots/" + std::to_string(dice->Number(3)) + "?action=";
  switch (dice->Number(6)) {
    case 0:
      return {"POST", "/cairn/cache/flush", "", {200, 403}};
    case 1:
      return {"POST", slot + "erase", "", {200, 400, 404}};
    case 2:
      return {"POST", slot + "save", file, {200, 400, 404}};
    case 3:
      return {"POST", slot + "restore", file, {200, 400, 404}};
    default:
      // A conversation that is too long, or of another API's form, is refused.
      return {"POST", "/cairn/cache/prefetch", talk.dump(), {200, 400}};
  }
}

std::string Complain(const Wish& wish, int status, const std::string& answer) {
  return wish.method + " " + wish.path + " " + wish.body.substr(0, 200) + " was answered " +
         std::to_string(status) + ": " + answer.substr(0, 400);
}

std::string SendWish(const Life& life, const std::string& key, const Wish& wish) {
  std::string answer;
  const int status = Send(life.url, key, wish.method, wish.path, wish.body, &answer);
  const bool busy = status == 503 || status == 429;
  const bool named =
      std::find(wish.allowed.begin(), wish.allowed.end(), status) != wish.allowed.end();
  if (named || busy || (status == 0 && life.ending.load())) return "";
  return Complain(wish, status, answer);
}

// Pins, unpins or drops a checkpoint, if there is one.
std::string HandleCheckpoint(const Life& life, const std::string& key, SeededText* dice) {
  std::string answer;
  const int status = Send(life.url, key, "GET", "/cairn/cache/tree?limit=50", "", &answer);
  const Json tree = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (status != 200 || !tree.contains("nodes") || tree["nodes"].empty()) return "";
  const Json& node = tree["nodes"][dice->Number(tree["nodes"].size())];
  const Json& id = node.contains("id") ? node["id"] : Json("0");
  const std::string path =
      "/cairn/cache/checkpoints/" + (id.is_string() ? id.get<std::string>() : id.dump());
  const uint64_t what = dice->Number(3);
  if (what == 0) return SendWish(life, key, {"DELETE", path, "", {200, 404, 400}});
  const std::string pinned = what == 1 ? "true" : "false";
  return SendWish(life, key, {"POST", path, "{\"pinned\":" + pinned + "}", {200, 404, 400}});
}

// Sends a wrong key, or none.
std::string AskWithoutKey(const Life& life, SeededText* dice) {
  const std::string key = dice->Number(2) == 0 ? "" : "soak-key-wrong";
  return SendWish(life, key, {"POST", "/v1/chat/completions", "{}", {401}});
}

// Sends half a request and closes the connection.
void BreakOff(const Life& life, const std::string& key, SeededText* dice) {
  const std::string body = "{\"messages\":[{\"role\":\"user\",\"content\":\"" + dice->Prose(300);
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + key +
      "\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n";
  const std::string all = head + body;
  HeldConnection connection(life.url);
  connection.Write(all.substr(0, 1 + dice->Number(all.size())));
}

}  // namespace

std::string SideRequest(const Life& life, const std::string& key, const Json& talk,
                        SeededText* dice, Tally* tally) {
  const uint64_t what = dice->Number(10);
  if (what < 3) {
    tally->Count("wrong requests");
    return SendWish(life, key, kWrong[dice->Number(std::size(kWrong))]);
  }
  if (what == 3) {
    tally->Count("wrong requests");
    return AskWithoutKey(life, dice);
  }
  if (what == 4) {
    tally->Count("requests broken off");
    BreakOff(life, key, dice);
    return "";
  }
  tally->Count("requests to the cache");
  if (what == 5) return HandleCheckpoint(life, key, dice);
  if (what < 8) return SendWish(life, key, MoveAbout(talk, dice));
  return SendWish(life, key, Look(dice));
}

}  // namespace cairn::soak
