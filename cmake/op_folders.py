"""Makes one translation unit per op folder and the list of folders.

usage: op_folders.py OUTPUT_DIR FOLDER...

Every FOLDER (src/ops/<op>) defines `void register_<op>(qc::Registration&)`. Files are rewritten
only when they change.
"""
import pathlib
import sys


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    output = pathlib.Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    folders = [pathlib.Path(f) for f in sys.argv[2:]]
    for folder in folders:
        includes = "".join(f'#include "{p.resolve()}"\n' for p in sorted(folder.glob("*.cpp")))
        write(output / f"{folder.name}.cpp", includes)
    write(output / "folders.inc", "".join(f"QC_OP_FOLDER({f.name})\n" for f in folders))


if __name__ == "__main__":
    main()
