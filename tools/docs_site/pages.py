"""The pages of the tree, the links between them, and the order in which docs/README.md lists them."""
import os
import re
import subprocess

INDEX = "docs/README.md"
RECORDS = "docs/adr/"  # listed by a page of their own
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
PICTURES = (".svg", ".png")


def tracked(root, *patterns):
    """Files of the tree that git would commit, changed and new ones too."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=root, capture_output=True, text=True, check=True)
    return sorted({name for name in listed.stdout.split("\n") if name and (root / name).is_file()})


def pages(root):
    """Everything a reader may open, but for the templates of this tool."""
    return [name for name in tracked(root, "*.md") if not name.startswith("tools/docs_site/")]


def prose(text):
    """(line number, line, whether it is outside of fenced code) for every line."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        inside = fence is not None
        if inside and line.strip().startswith(fence):
            fence = None
        elif not inside and mark:
            fence = mark[1]
        yield number, line, not inside and not mark


def without_code(line):
    """The line with its inline code blanked, so that positions stay."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m[0]), line)


def links(text):
    """(line number, target) of every link and picture to this tree."""
    for number, line, outside in prose(text):
        if outside:
            for match in LINK.finditer(without_code(line)):
                if not re.match(r"[a-z]+:", match[2]):
                    yield number, match[2]


def resolve(page, target):
    """(path from the top of the tree, anchor) of a link on a page."""
    path, _, anchor = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


def anchors(text):
    """The anchors of a page's headings, as GitHub and the site make them."""
    found = set()
    for _, line, outside in prose(text):
        heading = re.match(r"#+ +(.*)", line) if outside else None
        if heading:
            words = LINK.sub(lambda m: m[1].lstrip("!")[1:-2], heading[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def contents(root):
    """[(section, [(title, path), ...]), ...]: the lists of docs/README.md."""
    sections = []
    for _, line, outside in prose((root / INDEX).read_text()):
        heading = re.match(r"## ([^:]*)", line) if outside else None
        if heading:
            sections.append((heading[1].strip(), []))
        elif sections and line.startswith("- "):
            sections[-1][1].extend((title, resolve(INDEX, target)[0]) for title, target in re.findall(r"\[([^\]]*)\]\(([^)#\s]+)\)", line))
    return sections


def reached(root):
    """Pages that a reader finds by following links from the index."""
    seen, waiting = set(), [INDEX]
    while waiting:
        page = waiting.pop()
        if page in seen or not page.endswith(".md") or not (root / page).is_file():
            continue
        seen.add(page)
        waiting += [resolve(page, target)[0] for _, target in links((root / page).read_text())]
    return seen


def findings(root):
    """Links that lead nowhere, and pages that the index does not list or that no path from it reaches."""
    known = set(tracked(root))
    folders = {os.path.dirname(name) for name in known}
    texts = {name: (root / name).read_text() for name in pages(root)}
    for page, text in texts.items():
        for line, target in links(text):
            path, anchor = resolve(page, target)
            if path not in known and path not in folders:
                yield f"{page}:{line}: {target} is not in the tree"
            elif anchor and path in texts and anchor not in anchors(texts[path]):
                yield f"{page}:{line}: {path} has no heading for #{anchor}"
    listed = {path for _, entries in contents(root) for _, path in entries} | {"README.md", INDEX}
    found = reached(root)
    for page in texts:
        if page not in found:
            yield f"{page}: no path of links leads here from {INDEX}"
        elif page not in listed and not page.startswith(RECORDS):
            yield f"{page}: {INDEX} does not list it"
