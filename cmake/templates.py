"""Makes a header of the templates of a backend (src/backends/common/template.h).

usage: templates.py HEADER FOLDER

Every FOLDER/FILE.tmpl becomes a constant of the namespace qc::templates, its name with _ for dots: entry.c.tmpl is
qc::templates::entry_c.
"""
import pathlib
import sys


def main():
    header, folder = map(pathlib.Path, sys.argv[1:])
    lines = ["#pragma once\n#include <string_view>\nnamespace qc::templates {\n"]
    for path in sorted(folder.glob("*.tmpl")):
        name = path.name.removesuffix(".tmpl").replace(".", "_")
        lines.append(f'inline constexpr std::string_view {name} = R"tmpl({path.read_text()})tmpl";\n')
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("".join(lines) + "}  // namespace qc::templates\n")


if __name__ == "__main__":
    main()
