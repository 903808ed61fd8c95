// Tests that docs/openapi.yaml and the routes agree; fleet/router/router_routes_test.cc tests those
// that only a server of several models has.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "routes/page.h"
#include "routes/routes.h"
#include "testing/base/golden_file.h"
#include "testing/http/openapi_operations.h"

namespace cairn {
namespace {

using test::Joined;
using test::OpenApiOperations;
using test::ReadOperations;

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  HttpServerOptions options;
  options.error_body = HttpErrorBody;
  HttpServer server(options);
  Served served;
  AddRoutes(&server, &served);
  AddPageRoutes(&server, {});
  const std::vector<std::string> names = server.RouteNames();
  const std::set<std::string> routes(names.begin(), names.end());
  EXPECT_EQ(routes.size(), names.size()) << "a route was added twice";
  EXPECT_EQ(Joined(ReadOperations(ReadSourceFile("docs/openapi.yaml")).every), Joined(routes));
}

TEST(OpenApi, IsReadByItsLines) {
  const OpenApiOperations operations = ReadOperations(
      "paths:\n  /a/{id}/b:\n    post:\n      x-several-models: true\n    get:\n      tags: [x]\n"
      "components:\n  /c:\n    get:\n");
  EXPECT_EQ(Joined(operations.every), "GET /a/:id/b\n");
  EXPECT_EQ(Joined(operations.several), "POST /a/:id/b\n");
}

}  // namespace
}  // namespace cairn
