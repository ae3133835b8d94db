"""Generated CUDA with sizes that each run chooses: ranges, buckets, graphs for each of them."""
import subprocess

import numpy as np
import pytest

from cuda_projects import Model, batch_model, build_host

RANGES = {"range": ["--dim", "batch=1..8"], "buckets": ["--dim", "batch=1..8:buckets=4,8"], "step": ["--dim", "batch=2..8:2"],
          "smallest": ["--dim", "batch=1..8"]}
CODE = {"smallest": ["--plan", "smallest", "--specialise", "size"]}


@pytest.fixture(scope="module")
def network(quantc, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    model = batch_model(folder / "net.onnx")
    quantc("calibrate", model, "--data", model.with_suffix(".npz"), "--dim", "batch=8", "-o", folder / "rules.toml")
    return model


@pytest.mark.parametrize("sizes", RANGES)
@pytest.mark.parametrize("target", ["cuda", "cuda:sm_75"])
def test_every_batch_has_the_interpreters_bits(quantc, network, sizes, target, tmp_path):
    """Rules of int8; other sizes after each other, so that each finds what is its own; sizes that no run takes are named."""
    flags = [*RANGES[sizes], "--rules", network.with_name("rules.toml")]
    quantc("compile", network, *flags, *CODE.get(sizes, []), "--target", target, "-o", tmp_path / "out", "--name", "net")
    model = Model(tmp_path / "out")
    x = np.load(network.with_suffix(".npz"))["x"]
    for rows in (2, 8, 4, 2) if sizes == "step" else (1, 8, 3, 1, 5):
        np.savez(tmp_path / "in.npz", x=x[:rows])
        quantc("run", network, *flags, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        expected = np.load(tmp_path / "out.npz")
        got = model.run(np.ascontiguousarray(x[:rows]), 5)
        assert isinstance(got, np.ndarray) and got.tobytes() == expected[expected.files[0]].tobytes(), (rows, model.text())
    for wrong in (0, 9, -1) + ((3,) if sizes == "step" else ()):
        assert model.run(x, 5, wrong) == 3 and model.text().startswith("batch (axis 0 of x) must be"), model.text()
    model.close()


GRAPHS = """
#include <initializer_list>
static int run(net_handle *h, int64_t batch) {
  static float x[8 * 108], y[8 * 5];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  return net_run_host(h, &batch, inputs, outputs);
}
static void show(net_handle *h) {
  net_cache_stats s;
  if (net_graph_stats(h, &s) != NET_OK) abort();
  printf("%d hits %d misses %d evictions %d kept %d bytes %.2f\\n", (int)s.hits, (int)s.misses, (int)s.evictions, (int)s.count, (int)s.bytes, s.hit_rate);
}
static net_handle *made(int deployment, int64_t entries, int64_t bytes) {
  net_config config = {};
  net_handle *h = NULL;
  config.deployment = deployment;
  config.cache_entries = entries;
  config.cache_bytes = bytes;
  const int code = net_create(&config, &h);
  if (code != NET_OK) printf("%d %s\\n", code, net_error_text(h));
  return h;
}
int main(void) {
  net_handle *h = made(NET_BALANCED, 2, 0);
  for (int64_t batch : {1, 2, 1, 3, 1, 2}) if (run(h, batch) != NET_OK) return 1;  /* 3 takes the place of 2, not of 1 */
  show(h);
  net_destroy(h);
  h = made(NET_AGGRESSIVE, 0, 0);
  show(h);
  for (int64_t batch : {4, 8, 4}) if (run(h, batch) != NET_OK) return 1;
  show(h);
  net_destroy(h);
  h = made(NET_BALANCED, 8, NET_LAUNCHES * 1024 * 2 + 1);  /* room for two */
  for (int64_t batch : {1, 2, 3, 3}) if (run(h, batch) != NET_OK) return 1;
  show(h);
  net_destroy(h);
  h = made(NET_BALANCED, 0, 1);  /* for none: launches */
  if (run(h, 1) != NET_OK) return 1;
  show(h);
  net_destroy(h);
  h = made(NET_CONSERVATIVE, 0, 0);
  if (run(h, 1) != NET_OK) return 1;
  show(h);
  net_analysis figures;
  int64_t batch = 8;
  if (net_analyze(h, &batch, &figures) != NET_OK || figures.launches != NET_LAUNCHES) return 2;
  batch = 9;
  if (net_analyze(h, &batch, &figures) != NET_BAD_SIZE || net_analyze(h, NULL, &figures) != NET_NULL_POINTER) return 3;
  net_destroy(h);
  h = made(NET_AUTO, 0, 0);
  show(h);
  net_destroy(h);
  net_destroy(made(NET_BALANCED, -1, 0));
  return 0;
}
"""


def test_graphs_are_kept_by_shape_and_those_used_last_stay(quantc, network, tmp_path):
    """Statistics are those of quantc's own cache: hits, misses, evictions, hit rate; nothing leaks."""
    quantc("compile", network, *RANGES["buckets"], "--target", "cuda:sm_75", "-o", tmp_path / "out", "--name", "net")
    program = build_host(tmp_path / "out", GRAPHS)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    size = int(lines[1].split()[8]) // 2
    assert lines == [f"2 hits 4 misses 2 evictions 2 kept {2 * size} bytes 0.33", f"0 hits 2 misses 0 evictions 2 kept {2 * size} bytes 0.00",
                     f"3 hits 2 misses 0 evictions 2 kept {2 * size} bytes 0.60", f"1 hits 3 misses 1 evictions 2 kept {2 * size} bytes 0.25",
                     "0 hits 1 misses 0 evictions 0 kept 0 bytes 0.00", "0 hits 0 misses 0 evictions 0 kept 0 bytes 0.00",
                     f"0 hits 1 misses 0 evictions 1 kept {size} bytes 0.00", "4 the capacity of the cache is negative"], lines


TWO_MODELS = """
int main(void) {
  qk_graph_cache cache = {};
  const int64_t small[] = {1, 7}, large[] = {2, 7};
  if (!qk_cache_open(&cache, 4, 0, 2)) return 1;
  const cudaGraphExec_t a = (cudaGraphExec_t)malloc(1), b = (cudaGraphExec_t)malloc(1);
  qk_cache_put(&cache, 11, 0, small, a, 100);
  qk_cache_put(&cache, 22, 0, small, b, 100);
  if (qk_cache_get(&cache, 11, 0, small) != a || qk_cache_get(&cache, 22, 0, small) != b) return 2;
  if (qk_cache_get(&cache, 33, 0, small) || qk_cache_get(&cache, 11, 1, small) || qk_cache_get(&cache, 11, 0, large)) return 3;
  qk_cache_close(&cache);
  return 0;
}
"""


def test_two_models_two_shapes_and_two_ways_of_launching_share_no_graph(quantc, network, tmp_path):
    quantc("compile", network, "--dim", "batch=1", "--target", "cuda:sm_75", "-o", tmp_path / "out", "--name", "net")
    assert subprocess.run([build_host(tmp_path / "out", TWO_MODELS)]).returncode == 0
