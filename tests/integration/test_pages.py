"""Pages of `quantc analyze --html` in a browser."""
import re
import shutil
import subprocess

# Says which labels of the picture are wider than what they stand in, and whether the page is wider than the window.
MEASURE = """<script>
let count = 0;
for (const node of document.querySelectorAll('.picture g.node')) {
  const box = node.querySelector('polygon, path, ellipse').getBBox();
  for (const text of node.querySelectorAll('text')) {
    const b = text.getBBox();
    count += 1;
    if (b.x < box.x || b.x + b.width > box.x + box.width) console.log('too wide: ' + text.textContent);
  }
}
if (document.documentElement.scrollWidth > window.innerWidth) console.log('the page is wider than the window');
console.log('measured ' + count);
</script></body>"""


def test_a_page_opens_without_a_word_on_the_console(quantc, root, models, tmp_path):
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert browser, "install the Debian package chromium-headless-shell: tools/setup test"
    page, picture = tmp_path / "a.html", tmp_path / "a.png"
    quantc("analyze", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--data",
           root / "examples/digits/calibration.npz", "--html", page)

    def opened(path):
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
                               "--enable-logging=stderr", "--window-size=1200,1600", f"--screenshot={picture}", path.as_uri()],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    text = page.read_text()
    assert "Sizes and times" in text and re.search(r"Quantized: weights \d+ bytes, arena \d+ bytes, 452864 multiply-accumulates, [\d.]+ ms", text)
    assert opened(page) == []
    assert picture.stat().st_size > 20000
    measured = tmp_path / "measured.html"
    measured.write_text(page.read_text().replace("</body>", MEASURE))
    said = opened(measured)
    assert len(said) == 1 and int(re.search(r"measured (\d+)", said[0])[1]) > 15, said
    # What the console says is seen here: otherwise the test above would show nothing.
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text().replace("</body>", "<script>undefined_name()</script></body>"))
    assert opened(broken)
