// For tests: servers that others wrote, started for one test. A test whose server is not installed
// is skipped and prints what is missing.

#ifndef CAIRN_TESTING_REMOTE_REAL_SERVER_H_
#define CAIRN_TESTING_REMOTE_REAL_SERVER_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {

// Returns the path in the environment variable `variable`, or of the first of `names` in PATH;
// empty if there is none.
inline std::string FindProgram(const char* variable, const std::vector<std::string>& names) {
  if (const char* const path = std::getenv(variable); path != nullptr && *path != 0) return path;
  const char* const path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  folders += ":/usr/sbin:/usr/local/sbin:";
  for (const std::string& name : names) {
    for (size_t at = 0; at < folders.size();) {
      const size_t end = folders.find(':', at);
      const std::string file = folders.substr(at, end - at) + "/" + name;
      if (access(file.c_str(), X_OK) == 0) return file;
      at = end + 1;
    }
  }
  return {};
}

inline sockaddr_in LoopbackAt(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Returns a port that was free just now: below those that the kernel gives to outgoing connections,
// one of which could take it before the server that it is for.
inline uint16_t FreePort() {
  static std::mt19937 random(std::random_device{}());
  std::uniform_int_distribution<uint16_t> ports(15'000, 31'000);
  while (true) {
    const uint16_t port = ports(random);
    const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = LoopbackAt(port);
    const bool free =
        bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(socket_fd);
    if (free) return port;
  }
}

class RealServer {
 public:
  // Starts the program in a folder of its own, and waits until something listens on `port`.
  RealServer(const std::vector<std::string>& command, uint16_t port) : port_(port) {
    std::string folder = std::filesystem::temp_directory_path() / "cairn-remote-XXXXXX";
    if (mkdtemp(folder.data()) != nullptr) folder_ = folder;
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> arguments;
      for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
      }
      arguments.push_back(nullptr);
      if (chdir(folder_.c_str()) != 0) _exit(126);
      const int log = open("log", O_CREAT | O_WRONLY, 0600);
      dup2(log, 1);
      dup2(log, 2);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~RealServer() {
    Kill(SIGKILL);
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  // Returns whether it listens within `s_max` seconds.
  bool WaitUntilListening(int s_max) {
    for (int i = 0; i < s_max * 50; ++i) {
      const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address = LoopbackAt(port_);
      const bool connected =
          connect(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
      close(socket_fd);
      if (connected) return true;
      if (pid_ <= 0 || waitpid(pid_, nullptr, WNOHANG) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void Signal(int signal) const { ::kill(pid_, signal); }
  void Kill(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGCONT);
    ::kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  uint16_t port() const { return port_; }
  const std::string& folder() const { return folder_; }

 private:
  const uint16_t port_;
  std::string folder_;
  pid_t pid_ = -1;
};

inline std::string ValkeyProgram() {
  return FindProgram("CAIRN_VALKEY_SERVER", {"valkey-server", "redis-server"});
}
inline constexpr const char* kNoValkey =
    "neither valkey-server nor redis-server is installed; CAIRN_VALKEY_SERVER names one";

inline std::vector<std::string> ValkeyCommand(uint16_t port,
                                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {
      ValkeyProgram(), "--port", std::to_string(port), "--bind", "127.0.0.1",
      "--save",        "",       "--appendonly",       "no"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_REMOTE_REAL_SERVER_H_
