"""Runs generated CUDA from Python without any package: with_ctypes.py FOLDER test.bin, where FOLDER has libdigits.so."""
import ctypes
import sys

PIXELS, SCORES = 64, 10


def main():
    library = ctypes.CDLL(f"{sys.argv[1]}/libdigits.so")
    library.digits_error_text.restype = ctypes.c_char_p
    handle = ctypes.c_void_p()

    def need(code):
        if code:
            raise RuntimeError(library.digits_error_text(handle).decode())
    need(library.digits_create(None, ctypes.byref(handle)))
    data, images, right = open(sys.argv[2], "rb").read(), 0, 0
    scores = (ctypes.c_float * SCORES)()
    for at in range(0, len(data), PIXELS + 1):
        pixels = (ctypes.c_float * PIXELS)(*(p / 16 for p in data[at:at + PIXELS]))
        pointers = [(ctypes.c_void_p * 1)(ctypes.addressof(array)) for array in (pixels, scores)]
        need(library.digits_run_host(handle, *pointers))
        images += 1
        right += max(range(SCORES), key=lambda i: scores[i]) == data[at + PIXELS]
    library.digits_destroy(handle)
    print(f"{right} of {images} right")


main()
