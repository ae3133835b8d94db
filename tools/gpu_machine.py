"""What GPU this machine has, asked of the driver's library, so that nothing else need be installed; clocks of nvidia-smi where it is there."""
import ctypes
import functools
import pathlib
import re
import shutil
import subprocess

# Of CUdevice_attribute.
MAJOR, MINOR, PROCESSORS, CLOCK_KHZ, MEMORY_CLOCK_KHZ = 75, 76, 16, 13, 36


def output_of(*command):
    """What a program says of the machine; nothing where it is not there."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() if shutil.which(command[0]) else ""


@functools.cache
def gpu(library="libcuda.so.1"):
    """Name, capability (9.0 is 90), multiprocessors and clocks of the first GPU; None where there is none."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return None
    device, name = ctypes.c_int(), ctypes.create_string_buffer(100)
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0) or cuda.cuDeviceGetName(name, len(name), device):
        return None

    def attribute(number):
        value = ctypes.c_int()
        return 0 if cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) else value.value
    return {"name": name.value.decode(), "capability": 10 * attribute(MAJOR) + attribute(MINOR), "processors": attribute(PROCESSORS),
            "mhz": attribute(CLOCK_KHZ) // 1000, "memory_mhz": attribute(MEMORY_CLOCK_KHZ) // 1000}


def architecture():
    """For which the GPU's code is compiled, as sm_89; Hopper's has instructions of its own."""
    capability = gpu()["capability"]
    return "sm_90a" if capability == 90 else f"sm_{capability}"


def nvcc_flag():
    """How nvcc is output_of of it."""
    own = architecture()
    return f"-gencode=arch=compute_{own[3:]},code={own}" if own.endswith("a") else f"-arch={own}"


def driver():
    """The version of the driver."""
    path = pathlib.Path("/proc/driver/nvidia/version")
    found = re.search(r"Kernel Module\D*([\d.]+)", path.read_text()) if path.exists() else None
    return found[1] if found else output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def clocks():
    """SM and memory clock at this moment, in MHz."""
    return output_of("nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader") or "not known"


def described():
    """A line about the GPU, for the page of results."""
    own = gpu()
    if own is None:
        return "none"
    return (f"{own['name']}, compute capability {own['capability'] / 10}, {own['processors']} multiprocessors, at most {own['mhz']} MHz, memory "
            f"{own['memory_mhz']} MHz, driver {driver() or 'not known'}, clocks now {clocks()}")
