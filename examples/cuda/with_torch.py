"""Runs generated CUDA on tensors of PyTorch, on its current stream: with_torch.py FOLDER test.bin. A library built with HOST=1 takes tensors of the host."""
import ctypes
import sys

import torch


class Digits:
    """Takes and gives tensors on the device; nothing is waited for."""
    def __init__(self, folder, device):
        self.library, self.handle, self.device = ctypes.CDLL(f"{folder}/libdigits.so"), ctypes.c_void_p(), device
        self.library.digits_error_text.restype = ctypes.c_char_p
        self.need(self.library.digits_create(None, ctypes.byref(self.handle)))

    def need(self, code):
        if code:
            raise RuntimeError(self.library.digits_error_text(self.handle).decode())

    def __call__(self, pixels):
        scores = torch.empty(1, 10, device=self.device)
        pointers = [(ctypes.c_void_p * 1)(tensor.data_ptr()) for tensor in (pixels, scores)]
        stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else None
        self.need(self.library.digits_run(self.handle, *pointers, ctypes.c_void_p(stream)))
        return scores

    def close(self):
        self.library.digits_destroy(self.handle)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    records = torch.frombuffer(bytearray(open(sys.argv[2], "rb").read()), dtype=torch.uint8).reshape(-1, 65)
    images, labels = (records[:, :64].float() / 16).to(device), records[:, 64].to(device)
    digits = Digits(sys.argv[1], device)
    scores = torch.cat([digits(image) for image in images])
    print(f"{int((scores.argmax(1) == labels).sum())} of {len(images)} right")
    digits.close()


main()
