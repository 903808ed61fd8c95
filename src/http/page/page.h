// The web page: the files that `vite build` makes of web/, held in the program, and the routes that
// serve them. They are public: the page itself asks for the API key, and holds nothing secret.
//
//   GET /               index.html, or one line of text when the program was built without a page
//   GET /assets/NAME    the files it names
//
// Nothing comes from elsewhere: the page's Content-Security-Policy allows this server only, and no
// script or style inside the HTML. File names stay the same from version to version; a browser asks
// each time and gets 304 while the ETag, a hash of the bytes, is the one it has.

#ifndef CAIRN_HTTP_PAGE_PAGE_H_
#define CAIRN_HTTP_PAGE_PAGE_H_

#include <span>
#include <string_view>

#include "http/server.h"

namespace cairn {

struct PageFile {
  std::string_view name;  // "index.html", "page.js"
  std::string_view bytes;
};

// What was built into this program; empty where it was left out (cmake/Page.cmake). Lives as long
// as the program.
std::span<const PageFile> BuiltPage();

// `files` outlives the server. REQUIRES: before server->Bind().
void AddPageRoutes(HttpServer* server, std::span<const PageFile> files);

}  // namespace cairn

#endif  // CAIRN_HTTP_PAGE_PAGE_H_
