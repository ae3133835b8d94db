"""Makes one translation unit per op folder and the list of folders.

usage: op_folders.py OUTPUT_DIR SOURCE_DIR FOLDER...

Files below SOURCE_DIR (src/) are included by their path in it, so that the text does not depend on
where the tree lies. Every FOLDER (src/ops/<op>) defines `void register_<op>(qc::Registration&)`. Files are rewritten
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
    source = pathlib.Path(sys.argv[2]).resolve()
    folders = [pathlib.Path(f).resolve() for f in sys.argv[3:]]
    for folder in folders:
        files = sorted(folder.glob("*.cpp"))
        names = [p.relative_to(source) if source in p.parents else p for p in files]
        includes = "".join(f'#include "{p}"\n' for p in names)
        write(output / f"{folder.name}.cpp", includes)
    write(output / "folders.inc", "".join(f"QC_OP_FOLDER({f.name})\n" for f in folders))


if __name__ == "__main__":
    main()
