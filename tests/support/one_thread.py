"""Calls of a CUDA program that a single thread of the GPU computes: right, but not fast."""
import re

# What quantized networks may leave to one thread, and why.
REASONS = {
    "conv_pack": "weights that a rule leaves in floats, of at most 16 outputs: one panel, which is a unit",
    "conv_depthwise_pack": "weights that a rule leaves in floats, some taps for each channel",
    "resize": "one image in floats: a unit is an image",
}
# Where tokens go in a mixture of experts: one row of all choices, whose order counts.
ROUTING = {"histogram", "scan", "scatter_nd", "merge_sort"}


def kernels_of_one_thread(quantc, model, *flags):
    """Their names, but for those with a reason."""
    program = quantc("inspect", model, "--program", "--target", "cuda:sm_90", *flags).stdout
    assert re.search(r"^parallel \d+ \w+", program, re.M), program
    return set(re.findall(r"^parallel 1 (\w+)", program, re.M)) - set(REASONS)
