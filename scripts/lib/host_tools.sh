# shellcheck shell=bash
# The tools of this machine that the build runs: a C++20 compiler, cmake, ninja, make; for developers
# the formatter, the linters, the fuzzer and what checks metrics; and the browser of some tests, with Node.js,
# and the front of `make fleet-test`.

readonly GXX_MIN=12
readonly CLANG_MIN=16
readonly CMAKE_MIN=3.22

# version_at_least 3.25.1 3.22
version_at_least() {
  [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]
}

# The compiler CMake will take: $CXX, else the first of its usual names.
compiler() {
  local name
  for name in ${CXX:-c++ g++ clang++}; do
    if have "$name"; then
      command -v "$name"
      return 0
    fi
  done
}

# Prints why the compiler at $1 will not do; nothing when it will.
compiler_complaint() {
  local version
  version="$("$1" -dumpversion)"
  if "$1" --version 2>/dev/null | grep -qi clang; then
    version_at_least "$version" "$CLANG_MIN" || echo "$1 is clang $version, needed is $CLANG_MIN"
  else
    version_at_least "$version" "$GXX_MIN" || echo "$1 is g++ $version, needed is $GXX_MIN"
  fi
}

cmake_is_new_enough() {
  have cmake && version_at_least "$(cmake --version | sed -n '1s/[^0-9]*//p')" "$CMAKE_MIN"
}

# The browser that lab/report/browser_test.py and web/tests show pages in.
have_browser() { have chromium || have chromium-browser || have google-chrome; }

# What tests/metrics_page_test.cc has /metrics checked by. It comes with a whole Prometheus, of which
# nothing else is wanted: it is taken out of the package, and nothing is installed.
readonly PROMTOOL="$ROOT/.deps/tools/promtool"

# Whether apt is how this machine gets its own packages.
has_debians_apt() { have apt-get && have dpkg && [[ "$(distribution)" == debian ]]; }

# Without apt it is not looked for: the test is skipped.
lacks_promtool() {
  [[ "$1" -ge 1 ]] && has_debians_apt && ! have promtool && [[ ! -x "$PROMTOOL" ]]
}

# apt compares the package with the checksum in the signed lists.
download_promtool() {
  mkdir -p "$WORK/promtool" "$(dirname "$PROMTOOL")"
  cd "$WORK/promtool"
  apt-get download prometheus || {
    [[ "$(id -u)" -eq 0 ]]
    apt-get update
    apt-get download prometheus
  }
  dpkg -x prometheus_*.deb unpacked
  mv unpacked/usr/bin/promtool "$PROMTOOL"
}

# A machine that cannot have it is a machine all the same.
ensure_promtool() {
  local code=0
  lacks_promtool "$1" || return 0
  # In a condition bash would go on after an error, see run_step.
  set +e
  (
    set -e
    run_step "Fetching promtool" "$WORK/promtool.log" download_promtool
  )
  code=$?
  set -e
  [[ "$code" -eq 0 ]] || say "Without promtool the check of /metrics is skipped."
}

# lacks_clang LEVEL: is this a set-up for tests that could bring clang and lld, which halve the time
# of a build? Where build/ has another compiler already they would come too late.
lacks_clang() {
  [[ "$1" -eq 0 && "${WANT_CLANG:-no}" == yes && -z "${CXX:-}" && ! -f "$ROOT/build/CMakeCache.txt" ]] &&
    [[ "$(id -u)" -eq 0 ]] && has_debians_apt && ! { have clang++-19 && have ld.lld-19; }
}

download_clang() {
  apt-get update
  apt_install clang-19 lld-19
}

# A release that has no clang 19 builds with its own compiler.
ensure_clang() {
  local code=0
  lacks_clang "$1" || return 0
  set +e
  (
    set -e
    run_step "Installing clang-19 and lld-19, which halve the time of the build" "$WORK/clang.log" \
      download_clang
  )
  code=$?
  set -e
  [[ "$code" -eq 0 ]] || say "Without them the build takes twice as long."
}

# What web/ is built with, and its tests run.
have_node() { have node && have npm; }

# What `make fuzz` links: a package of its own, looked for where Debian's clang has it.
have_fuzzer() {
  local program
  have clang++-19 || return 1
  program="$(readlink -f "$(command -v clang++-19)")"
  compgen -G "$(dirname "$program")/../lib/clang/19/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

# What the template engine is tested beside.
have_jinja2() { have python3 && python3 -c 'import jinja2' 2>/dev/null; }

# Prints the Debian packages of the tools that are not here. $1: 1 for the developer's tools too, 2
# for the browser, Node.js for the page it shows, and HAProxy, as well.
missing_tools() {
  [[ -n "$(compiler)" ]] || echo g++
  have cmake || echo cmake
  have ninja || echo ninja-build
  have make || echo make
  [[ "$1" -ge 1 ]] || return 0
  have clang-format-19 || echo clang-format-19
  have clang-tidy-19 || echo clang-tidy-19
  have clang++-19 || echo clang-19
  have ld.lld-19 || echo lld-19
  have_fuzzer || echo libclang-rt-19-dev
  have shellcheck || echo shellcheck
  have pkg-config || echo pkg-config
  have_jinja2 || echo python3-jinja2
  [[ "$1" -ge 2 ]] || return 0
  have_browser || echo chromium fonts-dejavu-core
  have_node || echo nodejs npm
  have haproxy || echo haproxy
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends "$@"
}

# Installs the packages named as root on a Debian-family machine; else says what to type.
install_tools() {
  local packages="$*"
  if ! has_debians_apt || [[ "$(id -u)" -ne 0 ]]; then
    fail "tools are missing: $packages. $(how_to_install "$@")"
  fi
  run_step "Reading this machine's package lists" "$WORK/apt-update.log" apt-get update
  run_step "Installing $packages" "$WORK/apt-install.log" apt_install "$@"
}

check_tool_versions() {
  local complaint
  complaint="$(compiler_complaint "$(compiler)")"
  [[ -z "$complaint" ]] || fail "$complaint. Install a newer one and name it with CXX=..."
  cmake_is_new_enough || fail "cmake is older than $CMAKE_MIN. Install a newer one (pip has one)."
}

# ensure_tools LEVEL, as missing_tools has it: everything missing is installed, or the run stops with the line to type.
ensure_tools() {
  local missing
  missing="$(missing_tools "$1")"
  if [[ -n "$missing" ]]; then
    # One package a word: the split is wanted.
    # shellcheck disable=SC2086
    install_tools $missing
  fi
  check_tool_versions
  ensure_clang "$1"
  ensure_promtool "$1"
}
