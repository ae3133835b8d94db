// Replays recorded calls of kernels (record_calls.cpp) and compares what they write, bit by bit;
// any NaN equals any other. usage: replay CALLS [PART OF A SYMBOL [MOST CALLS]]
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replay.h"

namespace {

typedef std::vector<unsigned char> bytes;

struct reader {
  const unsigned char *at, *end;
  template <class T>
  T number() {
    T value;
    memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  const unsigned char* take(size_t n) {
    if ((size_t)(end - at) < n) {
      fprintf(stderr, "the file of calls is cut off\n");
      exit(2);
    }
    at += n;
    return at - n;
  }
  std::string text() {
    const uint32_t n = number<uint32_t>();
    return std::string((const char*)take(n), n);
  }
};

struct operand {
  int64_t size;  // -1: absent
  const unsigned char* data;
};

struct result {
  int64_t size, position;
  const unsigned char *expected, *written;
  std::string type;
};

bool is_nan(const unsigned char* at, const std::string& type) {
  uint64_t v = 0;
  const int size = type == "f64" ? 8 : type == "f32" ? 4 : 2;
  memcpy(&v, at, (size_t)size);
  if (type == "f64") return (v & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
  if (type == "f32") return (v & 0x7fffffffu) > 0x7f800000u;
  return (v & 0x7fffu) > (type == "f16" ? 0x7c00u : 0x7f80u);
}

// The first byte that is wrong; -1 where none is.
int64_t difference(const result& r, const unsigned char* got) {
  const int64_t element = r.type == "f64"                       ? 8
                          : r.type == "f32"                     ? 4
                          : r.type == "f16" || r.type == "bf16" ? 2
                                                                : 0;
  for (int64_t i = 0; i < r.size; ++i) {
    if (!r.written[i] || got[i] == r.expected[i]) continue;
    const int64_t first = element ? i / element * element : i;
    if (!element || first + element > r.size || !is_nan(got + first, r.type) ||
        !is_nan(r.expected + first, r.type))
      return i;
  }
  return -1;
}

void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  exit(2);
}

// Memory of the device, and what it is filled with before a call.
struct memory {
  unsigned char* device = nullptr;
  int64_t room = 0;
  bytes image;
  int64_t shift = 0;  // of all places, from those that are aligned to 256 bytes
  int64_t add(int64_t size) {
    if (size < 0) return -1;
    const int64_t position = (int64_t)image.size() + shift;
    image.resize((size_t)((position + size + 256 + 255) / 256 * 256));
    return position;
  }
  void upload(cudaStream_t stream) {
    if ((int64_t)image.size() > room) {
      if (device) must(cudaFree(device), "cudaFree");
      room = 2 * (int64_t)image.size();
      must(cudaMalloc(&device, (size_t)room), "cudaMalloc");
    }
    must(cudaMemcpyAsync(device, image.data(), image.size(), cudaMemcpyHostToDevice, stream),
         "cudaMemcpyAsync");
  }
};

// Starts a call with all operands and results so far from aligned places, and says how many results
// differ.
int64_t run(const replay_entry& entry, int64_t shift, const unsigned char* params, int64_t units,
            const std::vector<operand>& operands, std::vector<result>& results, memory& m,
            qk_queue& queue) {
  replay_arguments a = {};
  std::vector<int64_t> positions;
  m.image.clear();
  m.shift = shift;
  for (const operand& o : operands) {
    positions.push_back(m.add(o.size));
    if (o.size > 0) memcpy(m.image.data() + positions.back(), o.data, (size_t)o.size);
  }
  for (result& r : results) r.position = m.add(r.size);
  m.upload(queue.stream);
  for (size_t i = 0; i < operands.size(); ++i)
    a.in[i] = positions[i] < 0 ? nullptr : m.device + positions[i];
  for (size_t i = 0; i < results.size(); ++i)
    a.out[i] = results[i].position < 0 ? nullptr : m.device + results[i].position;
  must(entry.launch(&queue, params, units, &a), entry.symbol);
  must(cudaMemcpyAsync(m.image.data(), m.device, m.image.size(), cudaMemcpyDeviceToHost,
                       queue.stream),
       "cudaMemcpyAsync");
  must(cudaStreamSynchronize(queue.stream), entry.symbol);
  int64_t wrong = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t at =
        results[i].size < 0 ? -1 : difference(results[i], m.image.data() + results[i].position);
    if (at < 0) continue;
    printf("WRONG %s: %lld bytes from aligned places, result %zu differs at byte %lld of %lld\n",
           entry.symbol, (long long)shift, i, (long long)at, (long long)results[i].size);
    ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string part = argc > 2 ? argv[2] : "";
  int64_t left = argc > 3 ? atoll(argv[3]) : INT64_MAX;
  std::map<std::string, const replay_entry*> entries;
  for (const replay_entry* const* table = replay_tables; *table; ++table) {
    for (const replay_entry* e = *table; e->symbol; ++e) entries[e->symbol] = e;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const bytes all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  reader in = {all.data(), all.data() + all.size()};
  qk_queue queue = {};
  must(cudaStreamCreateWithFlags(&queue.stream, cudaStreamNonBlocking),
       "cudaStreamCreateWithFlags");
  memory m;
  int64_t calls = 0, wrong = 0;
  std::set<std::string> met;
  while (in.at < in.end) {
    const std::string symbol = in.text();
    const int64_t units = in.number<int64_t>();
    const uint32_t size = in.number<uint32_t>();
    const unsigned char* const params = in.take(size);
    std::vector<operand> operands(in.number<uint32_t>());
    for (operand& o : operands) {
      o.size = in.number<int64_t>();
      o.data = in.take(o.size < 0 ? 0 : (size_t)o.size);
    }
    std::vector<result> results(in.number<uint32_t>());
    for (result& r : results) {
      r.size = in.number<int64_t>();
      const size_t n = r.size < 0 ? 0 : (size_t)r.size;
      r.expected = in.take(n);
      r.written = in.take(n);
      r.type = in.text();
    }
    if (symbol.find(part) == std::string::npos || left-- <= 0) continue;
    const auto entry = entries.find(symbol);
    if (entry == entries.end()) {
      fprintf(stderr, "there is no kernel %s\n", symbol.c_str());
      return 2;
    }
    ++calls;
    met.insert(symbol);
    for (const int64_t shift : {0, 8}) {
      if (shift == 0 || entry->second->anywhere)
        wrong += run(*entry->second, shift, params, units, operands, results, m, queue);
    }
  }
  if (m.device) (void)cudaFree(m.device);
  printf("%lld calls of %zu kernels, %lld results differ\n", (long long)calls, met.size(),
         (long long)wrong);
  return wrong == 0 && calls > 0 ? 0 : 1;
}
