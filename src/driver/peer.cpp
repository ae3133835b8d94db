#include "driver/peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "driver/peer_script.h"

namespace qc {
namespace {

std::vector<std::string> pythons() {
  if (const char* given = std::getenv("QUANTC_PYTHON"); given && *given) return {given};
  std::vector<std::string> out;
  if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active)
    out.push_back(std::string(active) + "/bin/python");
  out.insert(out.end(), {"python3", "python"});
  return out;
}

/// Which files a peer reads.
Result<Ok> check_format(const std::string& name, const std::string& model) {
  const char* wanted = name == "torch" ? ".pt2" : ".onnx";
  if (model.ends_with(wanted)) return Ok{};
  return error(Code::unsupported, Loc{model, {}, {}}, "{} runs {} files", name, wanted);
}

}  // namespace

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = {"onnxruntime", "openvino", "torch"};
  return names;
}

Result<std::unique_ptr<Peer>> Peer::start(const std::string& name, const std::string& model,
                                          const std::string& inputs, const std::string& device,
                                          int threads) {
  QC_TRY(check_format(name, model));
  std::string why;
  for (const std::string& python : pythons()) {
    std::unique_ptr<Peer> peer(new Peer);
    peer->name_ = name;
    QC_TRY(peer->launch(
        {python, "-c", kPeerScript, name, model, inputs, device, std::to_string(threads)}));
    const Result<std::string> said = peer->line();
    if (!said.ok()) continue;  // there is no such Python
    if (said->starts_with("ready ")) {
      peer->what_ = said->substr(6);
      return peer;
    }
    if (said->starts_with("failed ")) {
      return error(Code::tool, Loc{model, {}, {}}, "{} does not run it: {}", name, said->substr(7));
    }
    if (why.empty()) why = fmt::format(" ({}: {})", python, said->substr(said->find(' ') + 1));
  }
  return error(Code::tool,
               "{0} is missing{1}: install it with 'python3 -m pip install {0}', or name a Python "
               "that has it in QUANTC_PYTHON",
               name, why);
}

Result<Ok> Peer::launch(const std::vector<std::string>& command) {
  int ends[2];  // one connection both ways: writing to one that has ended is no signal
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(Code::tool, "cannot start '{}'", command[0]);
  // Until the child is noted as running, a signal would end this process and leave it behind.
  std::optional<Uninterrupted> starting(std::in_place);
  child_ = ::fork();
  if (child_ == 0) {
    ::setpgid(0, 0);
    restore_signals();
    ::dup2(ends[1], STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    if (const int none = ::open("/dev/null", O_WRONLY); none >= 0) ::dup2(none, STDERR_FILENO);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  connection_ = ends[0];
  if (child_ < 0) return error(Code::tool, "cannot start '{}'", command[0]);
  ::setpgid(child_, child_);  // here too, for whichever comes first
  running_ = std::make_unique<RunningTool>(child_);
  return Ok{};
}

Peer::~Peer() {
  if (connection_ >= 0) ::close(connection_);
  if (child_ <= 0) return;
  ::kill(-child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<std::string> Peer::line() {
  while (true) {
    if (const size_t end = buffer_.find('\n'); end != buffer_.npos) {
      std::string out = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return out;
    }
    char chunk[4096];
    const ssize_t n = ::read(connection_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return error(Code::tool, "{} ended while it ran the model", name_);
    buffer_.append(chunk, static_cast<size_t>(n));
  }
}

Result<std::vector<double>> Peer::run(int runs) {
  const std::string order = std::to_string(runs) + "\n";
  const ssize_t sent = ::send(connection_, order.data(), order.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(order.size()))
    return error(Code::tool, "{} ended while it ran the model", name_);
  QC_ASSIGN(const std::string said, line());
  std::istringstream numbers(said);
  std::vector<double> out;
  for (double s; numbers >> s;) out.push_back(s);
  if (out.size() != static_cast<size_t>(runs))
    return error(Code::tool, "{} answered '{}'", name_, said.substr(0, 100));
  return out;
}

}  // namespace qc
