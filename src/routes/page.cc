#include "routes/page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "routes/ollama_routes.h"

namespace cairn {
namespace {

constexpr std::string_view kIndex = "index.html";
constexpr std::string_view kNotBuilt =
    "This server was built without the web page: with -DCAIRN_WEB=OFF, or without a recent\n"
    "Node.js. All APIs work; GET /health says whether the model is ready.\n";
constexpr std::string_view kNoSuchFile = "the web page has no such file\n";

// In place of what llama-server's page installs; see page.h.
constexpr std::string_view kServiceWorker =
    R"(// Removes the page that another server installed here.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => {
  const forget = async () => {
    for (const name of await caches.keys()) await caches.delete(name);
    await self.registration.unregister();
    for (const tab of await self.clients.matchAll({ type: 'window' })) await tab.navigate(tab.url);
  };
  event.waitUntil(forget());
});
)";
constexpr std::string_view kVersionJson = R"({"version":"cairn"})";
constexpr std::string_view kManifest =
    R"({"name":"Cairn","short_name":"Cairn","start_url":"./","display":"standalone"})";
constexpr std::array<std::pair<const char*, PageFile>, 3> kEarlierPage = {{
    {"/sw.js", {"sw.js", kServiceWorker}},
    {"/_app/version.json", {"version.json", kVersionJson}},
    {"/manifest.webmanifest", {"manifest.webmanifest", kManifest}},
}};

constexpr std::string_view kPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

std::string_view ContentTypeOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".txt", "text/plain; charset=utf-8"},
      {".json", "application/json"},
      {".webmanifest", "application/manifest+json"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

HttpResponse TextResponse(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = text;
  return response;
}

std::string ETagOf(std::string_view bytes) {
  return "\"" + HexText(Hash64(bytes)) + "\"";
}

// Returns whether an If-None-Match header names `etag`: in a list, weak or not, or by a star.
bool Names(std::string_view header, std::string_view etag) {
  return header == "*" || header.find(etag) != std::string_view::npos;
}

HttpResponse FileResponse(const PageFile& file, const HttpRequest& request) {
  HttpResponse response;
  const std::string etag = ETagOf(file.bytes);
  response.content_type = ContentTypeOf(file.name);
  response.headers = {{"ETag", etag},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  if (Names(request.Header("If-None-Match"), etag)) {
    response.status = 304;
  } else {
    response.body = file.bytes;
  }
  return response;
}

// Browsers that open a page accept HTML by name; programs that look whether a server is there do
// not.
bool WantsPage(const HttpRequest& request) {
  return request.Header("Accept").find("text/html") != std::string_view::npos;
}

HttpResponse Find(std::span<const PageFile> files, std::string_view name,
                  const HttpRequest& request) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [name](const PageFile& file) { return file.name == name; });
  if (found != files.end()) return FileResponse(*found, request);
  return TextResponse(404, files.empty() ? kNotBuilt : kNoSuchFile);
}

}  // namespace

void AddPageRoutes(HttpServer* server, std::span<const PageFile> files) {
  server->Handle(
      "GET", "/",
      [files](const HttpRequest& request) {
        HttpResponse response =
            WantsPage(request) ? Find(files, kIndex, request) : OllamaIsRunning();
        response.headers.emplace_back("Vary", "Accept");
        return response;
      },
      HttpAccess::kPublic);
  server->Handle(
      "GET", "/assets/:id",
      [files](const HttpRequest& request) {
        return Find(files, request.captures.at("id"), request);
      },
      HttpAccess::kPublic);
  for (const auto& [path, file] : kEarlierPage) {
    server->Handle(
        "GET", path, [file](const HttpRequest& request) { return FileResponse(file, request); },
        HttpAccess::kPublic);
  }
}

}  // namespace cairn
