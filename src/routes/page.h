// The web page: the files that `vite build` makes of web/, compiled into the program, and the
// routes that serve them. They are public: the page itself asks its user for the API key, and holds
// no secret.
//
//   GET /               index.html, or one line of text if the program was built without a page;
//                       "Ollama is running" to programs, which do not accept text/html: Ollama's
//                       clients look for a server by that, most of them with HEAD
//   GET /assets/NAME    the files that it names
//
// A browser that had llama-server's page at the same address keeps it in a service worker, and
// would show it in place of ours for good. It still asks for three files, which have it forget that
// page:
//
//   GET /sw.js                   a service worker that removes itself and reloads the page
//   GET /_app/version.json       another version: open tabs of the earlier page load anew
//   GET /manifest.webmanifest    what an installed page is called: Cairn
//
// Everything is loaded from this server: the page's Content-Security-Policy allows no other, and no
// inline script or style. File names are the same in every version; a browser revalidates each time
// and gets 304 while its ETag, a hash of the bytes, matches.

#ifndef CAIRN_ROUTES_PAGE_H_
#define CAIRN_ROUTES_PAGE_H_

#include <span>
#include <string_view>

#include "http/server.h"

namespace cairn {

struct PageFile {
  std::string_view name;  // for example, "index.html" or "page.js"
  std::string_view bytes;
};

// Returns the files built into this program; none if the page was left out (cmake/Page.cmake). They
// live as long as the program.
std::span<const PageFile> BuiltPage();

// `files` outlives the server. REQUIRES: before server->Bind().
void AddPageRoutes(HttpServer* server, std::span<const PageFile> files);

}  // namespace cairn

#endif  // CAIRN_ROUTES_PAGE_H_
