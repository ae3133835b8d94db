#include "driver/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "driver/peer_script.h"
#include "driver/tool.h"

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

Result<Ok> check_trust(const std::string& name, const std::string& model, bool trusted) {
  if (trusted || name != "torch" || !check_format(name, model).ok()) return Ok{};
  return error(Code::usage, Loc{model, {}, {}},
               "--against torch: torch.export.load runs code that a .pt2 file may hold; give "
               "--trust-model if you trust whoever made this file");
}

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = {"onnxruntime", "openvino", "torch"};
  return names;
}

Result<std::unique_ptr<Peer>> Peer::start(const std::string& name, const std::string& model,
                                          const std::string& inputs, const std::string& device,
                                          int threads) {
  QC_TRY(check_format(name, model));
  std::string why;
  std::error_code ec;
  const std::string path = std::filesystem::absolute(model, ec).string();
  for (const std::string& python : pythons()) {
    if (find_tool(python).empty()) continue;
    std::unique_ptr<Peer> peer(new Peer);
    peer->name_ = name;
    QC_ASSIGN(ScratchFolder folder, ScratchFolder::create());
    peer->folder_ = std::make_unique<ScratchFolder>(std::move(folder));
    const ToolLimits limits{0, device == "cuda" ? 0 : kPeerLimits.megabytes};
    // Isolated, and in an empty folder: modules beside the model are not imported.
    QC_TRY(peer->launch(
        {{python, "-I", "-c", kPeerScript, name, path, inputs, device, std::to_string(threads)},
         limits,
         peer->folder_->path()}));
    peer->patience_ = tool_patience(kPeerLimits);
    const Result<std::string> said = peer->line();
    if (!said.ok()) {
      if (said.diag().code == Code::limit) return said.diag();
      why = fmt::format(" ({}: {})", python, said.diag().text);
      continue;
    }
    peer->patience_ = -1;  // how long runs take is the user's choice
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

Result<Ok> Peer::launch(const ToolCall& call) {
  int ends[2];  // one connection both ways: writing to one that has ended is no signal
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error(Code::tool, "cannot start '{}'", call.command[0]);
  connection_ = ends[0];
  // Until the child is noted as running, a signal would end this process and leave it behind.
  const Uninterrupted starting;
  const int none = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const Result<pid_t> started = start_tool(call, ends[1], true, none);
  ::close(ends[1]);
  ::close(none);
  if (!started.ok()) return started.diag();
  child_ = *started;
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
    pollfd one{connection_, POLLIN, 0};
    const auto wait = static_cast<int>(std::min<int64_t>(patience_, INT_MAX));
    if (::poll(&one, 1, wait) == 0)
      return error(Code::limit, "{} did not run the model within {} s", name_, patience_ / 1000);
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
