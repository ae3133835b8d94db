"""Tiny networks of PyPI's transformers, exported and quantized: every product is one of integers, the interpreter and C give the same
bits, and the answers are as close to the float network as PyTorch's own fake quantization."""
import functools
import re
import subprocess
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import transformers as hf  # noqa: E402
from torch import nn  # noqa: E402

from tests.support import fake_quantization  # noqa: E402
from tests.support.one_thread import ROUTING, kernels_of_one_thread  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = dict(vocab_size=64, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=64)
SHARED = dict(SIZES, num_key_value_heads=2)
GPT2 = dict(vocab_size=64, n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
T5 = dict(vocab_size=64, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4)
WHISPER = dict(vocab_size=64, d_model=64, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
               decoder_ffn_dim=96, encoder_ffn_dim=96, max_target_positions=64, max_source_positions=32, num_mel_bins=8, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
VIT = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=16, patch_size=4, num_labels=10)


class Logits(nn.Module):
    """The logits of a network, its inputs by position."""

    def __init__(self, net, *names, **more):
        super().__init__()
        self.net, self.names, self.more = net, names, more

    def forward(self, *inputs):
        return self.net(**dict(zip(self.names, inputs)), **self.more).logits


class Decoder(nn.Module):
    """Whisper's decoder, which reads what an encoder made of the sound."""

    def __init__(self, net):
        super().__init__()
        self.decoder, self.head = net.model.decoder, net.proj_out

    def forward(self, ids, sound):
        return self.head(self.decoder(input_ids=ids, encoder_hidden_states=sound, use_cache=False).last_hidden_state)


def tokens(*shape):
    return torch.randint(0, 64, shape)


def causal(net, config):
    return lambda **more: (Logits(net(config(**more)), "input_ids", use_cache=False), (tokens(1, 12),))


def named(maker, **config):
    return lambda **more: maker(**config, **more)


NETS = {
    "llama": named(causal(hf.LlamaForCausalLM, hf.LlamaConfig), **SHARED),
    "qwen3": named(causal(hf.Qwen3ForCausalLM, hf.Qwen3Config), **SHARED, head_dim=16),
    "mistral": named(causal(hf.MistralForCausalLM, hf.MistralConfig), **SHARED, sliding_window=5),
    "gemma": named(causal(hf.GemmaForCausalLM, hf.GemmaConfig), **SIZES, num_key_value_heads=1, head_dim=16),
    "gpt2": named(causal(hf.GPT2LMHeadModel, hf.GPT2Config), **GPT2),
    "bert": lambda **more: (Logits(hf.BertForMaskedLM(hf.BertConfig(**SIZES, **more)), "input_ids", "attention_mask"),
                            (tokens(2, 12), torch.tensor([[1] * 12, [1] * 7 + [0] * 5]))),
    "t5": lambda **more: (Logits(hf.T5ForConditionalGeneration(hf.T5Config(**T5, **more)), "input_ids", "decoder_input_ids",
                                 use_cache=False), (tokens(1, 9), tokens(1, 6))),
    "whisper": lambda **more: (Decoder(hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER, **more))),
                               (tokens(1, 8), torch.randn(1, 20, 64))),
    "mixtral": named(causal(hf.MixtralForCausalLM, hf.MixtralConfig), **SHARED, num_local_experts=4, num_experts_per_tok=2),
    "vit": lambda **more: (Logits(hf.ViTForImageClassification(hf.ViTConfig(**VIT, **more)), "pixel_values"),
                           (torch.randn(1, 3, 16, 16),)),  # patches much larger than the class token
    "gemma2": named(causal(hf.Gemma2ForCausalLM, hf.Gemma2Config), **SHARED, head_dim=16),
    "bloom": named(causal(hf.BloomForCausalLM, hf.BloomConfig), vocab_size=64, hidden_size=64, n_layer=2, n_head=4),
    "mpt": named(causal(hf.MptForCausalLM, hf.MptConfig), vocab_size=64, d_model=64, n_layers=2, n_heads=4, max_seq_len=64),
    "codegen": named(causal(hf.CodeGenForCausalLM, hf.CodeGenConfig), **GPT2, rotary_dim=8),
    "gptj": named(causal(hf.GPTJForCausalLM, hf.GPTJConfig), **GPT2, rotary_dim=8),
}
ATTENTIONS = dict.fromkeys(NETS, 2) | {"t5": 6, "whisper": 4}
TOKEN = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nsymmetric = true\nper_channel = true\nskip_unsupported = true\n"
QUICK = ["--target", "portable", "--specialise", "size", "--cflags", "-O0 -w"]


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """exported(name): the network, its inputs, its answer, its file and the file of its inputs."""
    folder = tmp_path_factory.mktemp("transformers")

    @functools.cache
    def make(name, **more):
        torch.manual_seed(0)
        net, inputs = NETS[name](**more)
        net = net.eval()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = net(*inputs).numpy()
            program = torch.export.export(net, inputs, strict=False)
        file = folder / f"{name}{'_'.join(more.values())}.pt2"
        torch.export.save(program, file)
        arrays = file.with_suffix(".npz")
        np.savez(arrays, **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
        return net, inputs, answer, file, arrays
    return make


def decibels(reference, answer):
    reference, answer = reference.astype(np.float64), answer.astype(np.float64)
    return 10 * np.log10((reference ** 2).sum() / ((answer - reference) ** 2).sum())


SAMPLES = 64


def samples_of(name, inputs, file):
    """Inputs like those of the test, but others: random tokens and numbers, the masks as they are."""
    rng = np.random.default_rng(1)
    arrays = {}
    for i, x in enumerate(inputs):
        shape = (SAMPLES, *x.shape) if x.shape[0] > 1 else (SAMPLES, *x.shape[1:])
        if name == "bert" and i == 1:
            arrays[f"in_{i}"] = np.broadcast_to(x.numpy(), shape)
        else:
            arrays[f"in_{i}"] = rng.integers(0, 64, shape) if x.dtype == torch.int64 else rng.standard_normal(shape, np.float32)
    np.savez(file, **arrays)
    return file


def rules_of(kind, name, exported, quantc, folder):
    _, inputs, _, file, _ = exported(name)
    if kind == "token":
        rules = folder / "token.toml"
        rules.write_text(TOKEN)
    else:
        rules = file.with_suffix(".static.toml")
        if not rules.exists():
            quantc("calibrate", file, "--data", samples_of(name, inputs, file.with_suffix(".samples.npz")), "--per-channel", "-o", rules)
    return rules


def ops_of(quantc, file, *more):
    """How often each op stands in the contract graph."""
    found = re.findall(r" = (\w+)\(", quantc("inspect", file, "--ir", *more).stdout)
    return {op: found.count(op) for op in set(found)}


LIMITS = {"token": 33, "static": 28}
FLOAT_PRODUCTS = {"linear", "matmul", "attention", "conv", "grouped_matmul"}
ARCHITECTURES = [n for n in NETS if n not in ("gemma2", "codegen", "gptj", "bloom", "mpt")]


@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_products_are_integer(name, kind, exported, quantc, tmp_path):
    *_, file, _ = exported(name)
    ops = ops_of(quantc, file, "--rules", rules_of(kind, name, exported, quantc, tmp_path))
    assert sum(count for op, count in ops.items() if op.startswith("qattention")) == ATTENTIONS[name]
    assert not FLOAT_PRODUCTS & set(ops), ops


# Kernels that compute with floats and products, in two blocks with what stands before and after them. Norms, rotations, attentions and
# activations write the codes that alone are read of them; queries, keys and values are parts of one product that nobody copies.
TOKEN_KERNELS = {
    "llama": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, activation_quantize_rows=2),
    "mistral": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, activation_quantize_rows=2),
    "gemma": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, activation_quantize_rows=2, binary=1),
    # Queries and keys have norms of their own, which are part of the rotation.
    "qwen3": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, activation_quantize_rows=2),
    # What no norm and no rotation encodes is queries, keys and values of a layer together, cross attention's in two.
    "gpt2": dict(norm_quantize_rows=5, qgemm_panels=9, qattention_panels=2, activation_quantize_rows=2, dynamic_quantize=2, binary=1),
    "bert": dict(norm_quantize_rows=6, qgemm_panels=10, qattention_panels=2, activation_quantize_rows=2, dynamic_quantize=2, binary=2, unary=1),
    "t5": dict(norm_quantize_rows=12, qgemm_panels=22, qattention_panels=6, activation_quantize_rows=4, dynamic_quantize=7),
    "whisper": dict(norm_quantize_rows=7, qgemm_panels=17, qattention_panels=4, activation_quantize_rows=2, dynamic_quantize=9, binary=1),
    "mixtral": dict(norm_quantize_rows=5, qgemm_panels=7, qgrouped_panels=4, rotary_quantize_rows=2, qattention_panels=2, activation_quantize_rows=2,
                    binary=6, reduce=4, softmax=2),
    "vit": dict(norm_quantize_rows=4, norm=1, qgemm_panels=9, qattention_panels=2, activation_quantize_rows=2, dynamic_quantize=4, binary=2, dequantize=2,
                strided=3, conv_nhwc=1, conv_pack=1),
}
# With static scales a product has those of its parts along its channels, a rotation along its heads; sums and activations are kernels of codes.
STATIC_KERNELS = {
    "llama": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, quantize=1, dequantize=1),
    "mistral": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, quantize=1, dequantize=1),
    "gemma": dict(norm_quantize_rows=5, qgemm_panels=9, rotary_quantize_rows=2, qattention_panels=2, quantize=1, dequantize=1),
    "qwen3": dict(norm_quantize_rows=9, qgemm_panels=9, rotary_quantize_rows=4, qattention_panels=2, quantize=1, dequantize=1),
    "gpt2": dict(norm_quantize_rows=5, qgemm_panels=9, qattention_panels=2, quantize=1, dequantize=1),
    "bert": dict(norm_quantize_rows=6, qgemm_panels=10, qattention_panels=2, quantize=1, dequantize=1),
    "t5": dict(norm_quantize_rows=12, qgemm_panels=22, qattention_panels=6, quantize=2, dequantize=1),
    "whisper": dict(norm_quantize_rows=7, qgemm_panels=14, qattention_panels=4, quantize=2, dequantize=1),
    "mixtral": dict(norm_quantize_rows=5, qgemm_panels=7, qgrouped_panels=4, rotary_quantize_rows=2, qattention_panels=2, softmax_quantize_rows=2, quantize=3,
                    dequantize=7, binary=4),
    "vit": dict(norm_quantize_rows=5, qgemm_panels=9, qattention_panels=2, quantize_transposed=1, dequantize=1, strided=2),
}
# Tables of codes, sums of codes, and what moves, sorts and counts.
INTEGER_KERNELS = {"lookup", "lookup_rows", "qbinary", "qreduce", "qconv_nhwc", "copy", "gather", "gather_nd", "compare", "cast", "histogram", "scan",
                   "scatter_nd", "merge_sort"}


@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_kernels_of_two_blocks(name, kind, exported, quantc, tmp_path):
    *_, file, _ = exported(name)
    rules = rules_of(kind, name, exported, quantc, tmp_path)
    program = quantc("inspect", file, "--program", "--target", "portable", "--rules", rules).stdout
    found = re.findall(r"^([a-z]\w*)(?:\[[^\]]*\])?\(", program, re.M)
    budget = (TOKEN_KERNELS if kind == "token" else STATIC_KERNELS)[name]
    counts = {kernel: found.count(kernel) for kernel in set(found) - INTEGER_KERNELS}
    assert {kernel: n for kernel, n in counts.items() if n > budget.get(kernel, 0)} == {}


# Products merged or not, quantizes lifted or not, parts and quantizes joined or not; and the interpreter computes attention without
# blocks, programs do with them: test_same_bits_near_the_float_network.
@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_passes_keep_every_bit(name, kind, exported, quantc, tmp_path):
    *_, file, arrays = exported(name)
    rules = rules_of(kind, name, exported, quantc, tmp_path)
    answers = []
    for off in ("", "merge_products", "fuse_prologues", "merge_slices", "lift_quantize", "fuse_quantize"):
        quantc("run", file, "-i", arrays, "-o", tmp_path / "out.npz", "--rules", rules, *(["--disable-pass", off] if off else []))
        with np.load(tmp_path / "out.npz") as out:
            answers.append(out[out.files[0]].tobytes())
    assert len(set(answers)) == 1


@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_same_bits_near_the_float_network(name, kind, exported, quantc, tmp_path):
    """Interpreter and C give the same bits, near enough to the float network."""
    _, _, answer, file, arrays = exported(name)
    rules = rules_of(kind, name, exported, quantc, tmp_path)
    np.savez(tmp_path / "answer.npz", out_0=answer)
    quantc("validate", file, "-i", arrays, "-e", tmp_path / "answer.npz", "--rules", rules, "--min-sqnr", LIMITS[kind], *QUICK)


def check_cuda(name, kind, exported, quantc, folder):
    """Code for CUDA, built for the host, gives the interpreter's bits; no layer is refused."""
    *_, file, arrays = exported(name)
    rules = ["--rules", rules_of(kind, name, exported, quantc, folder)] if kind != "float" else []
    quantc("compile", file, *rules, "--target", "cuda:sm_80", "-o", folder / "out", "--name", "net", "--vectors", arrays)
    done = subprocess.run(["make", "-C", folder / "out", "HOST=1", "CFLAGS=-O0 -Wall -Wextra -Werror", "test"], capture_output=True, text=True)
    assert done.returncode == 0 and "bits equal" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_kernel_of_cuda_is_left_to_one_thread(name, kind, exported, quantc, tmp_path):
    *_, file, _ = exported(name)
    found = kernels_of_one_thread(quantc, file, "--rules", rules_of(kind, name, exported, quantc, tmp_path))
    assert found == (ROUTING if name == "mixtral" else set())


KINDS = ("float", "token", "static")


@pytest.mark.parametrize("name, kind", [(n, KINDS[i % 3]) for i, n in enumerate(ARCHITECTURES)])
def test_cuda_gives_the_same_bits(name, kind, exported, quantc, tmp_path):
    check_cuda(name, kind, exported, quantc, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name, kind", [(n, KINDS[(i + j) % 3]) for i, n in enumerate(ARCHITECTURES) for j in (1, 2)])
def test_cuda_gives_the_same_bits_of_the_others(name, kind, exported, quantc, tmp_path):
    check_cuda(name, kind, exported, quantc, tmp_path)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "t5", "gemma2", "codegen", "gptj", "bloom", "mpt"])
def test_written_out_attention_is_one_op(name, exported, quantc, tmp_path):
    """Products around a softmax, with a mask or two, a limit of the scores and repeated heads, are recognised."""
    only = {} if name in ("bloom", "mpt", "codegen") else {"attn_implementation": "eager"}  # these write it out in any case
    _, _, answer, file, arrays = exported(name, **only)
    ops = ops_of(quantc, file)
    assert ops["attention"] == ATTENTIONS[name]
    assert not {"matmul", "softmax", "expand"} & set(ops)
    quantc("run", file, "-i", arrays, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out[out.files[0]], answer, atol=1e-5)


@pytest.mark.parametrize("name, rotations", [("llama", 4), ("qwen3", 4), ("mistral", 4), ("gemma", 4), ("mixtral", 4), ("gptj", 4), ("codegen", 4)])
def test_rotary_embedding_is_one_op(name, rotations, exported, quantc):
    *_, file, _ = exported(name)
    ops = ops_of(quantc, file)
    assert ops["rotary"] == rotations and "neg" not in ops


def coded(x, dim=-1):
    """x through symmetric codes of 8 bits, one scale along `dim`."""
    scale = x.abs().amax(dim, keepdim=True) / 127
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return (x / scale).round().clamp(-127, 127) * scale, scale


def coded_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """PyTorch's attention with queries, keys, values and weights through codes."""
    shared = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(shared, 1) for x in (key, value))
    (query, _), (key, _), (value, steps) = coded(query), coded(key), coded(value)
    scores = query @ key.transpose(2, 3) * (scale or query.shape[-1] ** -0.5)
    if is_causal:
        attn_mask = torch.ones(scores.shape[2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    total, steps = weights.sum(-1, keepdim=True), steps.transpose(2, 3)
    step = (weights * steps).amax(-1, keepdim=True) / 255
    weights = (weights * steps / step).round() * step / steps
    return weights @ value / total


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_as_near_as_a_fake_quantized_module(name, exported, quantc, monkeypatch, tmp_path):
    """The module itself with linear layers and attention that round: within 0.5 dB."""
    net, inputs, answer, file, arrays = exported(name)
    quantc("run", file, "-i", arrays, "-o", tmp_path / "out.npz", "--rules", rules_of("token", name, exported, quantc, tmp_path))
    with np.load(tmp_path / "out.npz") as out:
        ours = decibels(answer, out[out.files[0]])
    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", coded_attention)
    monkeypatch.setattr(nn.Linear, "forward",
                        lambda layer, x: torch.nn.functional.linear(coded(x)[0], coded(layer.weight)[0], layer.bias))
    with torch.no_grad():
        theirs = decibels(answer, net(*inputs).numpy())
    assert abs(ours - theirs) < 0.5, (ours, theirs)


@pytest.mark.parametrize("kind", ["token", "static"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_as_near_as_fake_quantization(name, kind, exported, quantc, tmp_path):
    """PyTorch in floats, with roundings at the places and with the scales of the quantized graph: within 0.5 dB."""
    _, inputs, answer, file, arrays = exported(name)
    rules = rules_of(kind, name, exported, quantc, tmp_path)
    quantc("run", file, "-i", arrays, "-o", tmp_path / "out.npz", "--rules", rules)
    with np.load(tmp_path / "out.npz") as out:
        ours = decibels(answer, out[out.files[0]])
    graph = quantc("inspect", file, "--ir", "--constants", "--rules", rules).stdout
    theirs = decibels(answer, fake_quantization.evaluate(graph, *inputs)[0].numpy())
    print(f"{name}, {kind}: quantc {ours:.2f} dB, fake quantization {theirs:.2f} dB")
    assert ours >= LIMITS[kind] and abs(ours - theirs) < 0.5, (ours, theirs)


@pytest.mark.parametrize("name, encoded", [("qwen3", 1), ("t5", 0), ("vit", 1)])
def test_sums_of_16_bits(name, encoded, exported, quantc, tmp_path):
    """What passes through all layers in 16 bits, as a vision transformer's patches in any case, and no value is encoded twice: pixels once, the rows
    of a table of tokens when it is compiled, or once where a norm reads them as floats, too (qwen3)."""
    _, inputs, answer, file, arrays = exported(name)
    rules = tmp_path / "rules.toml"
    quantc("calibrate", file, "--data", samples_of(name, inputs, tmp_path / "samples.npz"), "--per-channel", "--results", "sums", "-o", rules)
    quantc("run", file, "-i", arrays, "-o", tmp_path / "out.npz", "--rules", rules)
    with np.load(tmp_path / "out.npz") as out:
        assert decibels(answer, out[out.files[0]]) > 31
    assert ops_of(quantc, file, "--rules", rules).get("quantize", 0) == encoded


@pytest.mark.parametrize("name, retained", [("llama", 0), ("mixtral", 0), ("vit", 3)])
def test_remarks_are_about_the_last_round(name, retained, exported, quantc, tmp_path):
    """Quantizes that a first round leaves below a view and a later one lifts are no remark; those that stay are one each."""
    *_, file, _ = exported(name)
    said = quantc("explain", file, "--rules", rules_of("token", name, exported, quantc, tmp_path)).stdout
    stay = re.findall(r"^remark: (quantize_dynamic '[^']*') stays below", said, re.M)
    assert len(stay) == len(set(stay)) == retained


def test_attention_that_a_rule_keeps_float(exported, quantc, tmp_path):
    *_, file, _ = exported("llama")
    rules = tmp_path / "rules.toml"
    rules.write_text(TOKEN + "attention = 'float'\n")
    ops = ops_of(quantc, file, "--rules", rules)
    assert ops["attention"] == 2 and "qattention" not in ops
