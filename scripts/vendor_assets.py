"""Rebuild the vendored browser files with pinned versions: python scripts/vendor_assets.py [--accept].

Only whoever raises a version runs this; it needs node and npm. The built files are committed, so nobody else does.
Without --accept a build whose hash differs from the SHA256SUMS beside it is refused: a changed file is a decision.
static/vendor is part of the product; tests/assets holds axe-core, which only the browser tests load.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "static" / "vendor"
TEST_ASSETS = ROOT / "tests" / "assets"
AXE, AXE_VERSION = "axe.min.js", "4.14.1"
AXE_LICENCE = "axe.LICENSE.txt"
PLOTLY = "plotly-contextviz.min.js"
LICENCES = "plotly-contextviz.LICENSES.txt"
PACKAGES = {"plotly.js": "4.1.1", "esbuild": "0.28.2", "buffer": "6.0.3", "stream-browserify": "3.0.0"}
TRACES = ("bar", "heatmap", "histogram", "treemap")  # besides scatter; each page that draws waits for all of them
ESBUILD = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--global-name=Plotly",
    "--define:global=window",
    "--loader:.css=text",
    "--loader:.glsl=text",
    "--alias:stream=stream-browserify",
    "--legal-comments=none",
    "--metafile=meta.json",
)
# Addresses that the code would load from, or that only stand in error texts. Names of XML namespaces stay: they are
# identifiers that browsers compare and never fetch.
NAMESPACES = ("http://www.w3.org/",)
ADDRESS = re.compile(r"https?://[A-Za-z0-9][^\s\"'`\\<>)]*")


def entry() -> str:
    """The source of the bundle: plotly's core, the traces that contextviz draws."""
    lines = ["'use strict';", "var Plotly = require('plotly.js/lib/core');", "Plotly.register(["]
    lines += [f"  require('plotly.js/lib/{name}')," for name in TRACES]
    lines += ["]);", "module.exports = Plotly;"]
    return "\n".join(lines) + "\n"


def without_addresses(script: str) -> str:
    """The script with every web address, except XML namespaces, replaced by an empty local one."""
    return ADDRESS.sub(lambda found: found[0] if found[0].startswith(NAMESPACES) else "about:blank", script)


def licences(folder: Path) -> str:
    """The licence of each package that went into the bundle, by name: its own file, or the name it declares."""
    inputs = json.loads((folder / "meta.json").read_text())["inputs"]
    homes = {m[0] for path in inputs if (m := re.match(r"(?:.*/)?node_modules/(?:@[^/]+/)?[^/]+", path))}
    parts = []
    for home in sorted(homes):
        package = json.loads((folder / home / "package.json").read_text())
        texts = sorted(
            f for f in (folder / home).iterdir() if re.match(r"(?i)licen[sc]e|copying", f.name) and f.is_file()
        )
        body = "\n".join(f.read_text(encoding="utf-8").strip() for f in texts)
        body = body or f"The package declares the licence {package.get('license', 'of its repository')}."
        parts.append(f"{package['name']} {package['version']}\n{'=' * 72}\n{body}\n")
    return "\n\n".join(parts)


def build(folder: Path) -> tuple[bytes, bytes]:
    """Install the pinned packages in `folder` and return the bundle and the licences of all that is in it.

    Raises `subprocess.CalledProcessError` when npm or esbuild fails.
    """
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    (folder / "entry.js").write_text(entry())
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
    esbuild = folder / "node_modules" / ".bin" / "esbuild"
    subprocess.run([str(esbuild), "entry.js", *ESBUILD, "--outfile=bundle.js"], cwd=folder, check=True)
    bundle = without_addresses((folder / "bundle.js").read_text(encoding="utf-8"))
    return bundle.encode("utf-8"), licences(folder).encode("utf-8")


def fetch_axe(folder: Path) -> tuple[bytes, bytes]:
    """The accessibility checker as its authors built it, and its licence. Raises `subprocess.CalledProcessError`."""
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": {"axe-core": AXE_VERSION}}))
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
    home = folder / "node_modules" / "axe-core"
    # White space at line ends says nothing, and no file of a checkout has any.
    licence = "\n".join(line.rstrip() for line in (home / "LICENSE").read_text(encoding="utf-8").splitlines())
    return (home / "axe.min.js").read_bytes(), licence.encode("utf-8") + b"\n"


def known_hash(folder: Path, name: str) -> str | None:
    """The hash that the folder's SHA256SUMS holds for a vendored file; None when it holds none."""
    sums = folder / "SHA256SUMS"
    lines = sums.read_text().splitlines() if sums.exists() else []
    return next((line.split()[0] for line in lines if line.split()[1:] == [name]), None)


def keep(folder: Path, files: dict[str, bytes], *, accept: bool) -> bool:
    """Write the files and their hashes; False, and nothing written, where the first one is not the known one."""
    first = next(iter(files))
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    known = known_hash(folder, first)
    if known not in (digests[first], None) and not accept:
        print(f"{first} came out as {digests[first]}, not as {known}; run again with --accept to take it.")
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    print(f"{first}: {len(files[first]):,} bytes, sha256 {digests[first]}")
    return True


def main(arguments: list[str]) -> int:
    """Build, compare and write; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write the files even when their hash is new")
    parser.add_argument("--only", choices=["plotly", "axe"], help="one of the two alone")
    options = parser.parse_args(arguments)
    if shutil.which("npm") is None:
        print("npm was not found; install node first. The committed files work without it.", file=sys.stderr)
        return 1
    is_kept = True
    if options.only != "axe":
        with tempfile.TemporaryDirectory() as folder:
            bundle, licence_text = build(Path(folder))
        is_kept &= keep(VENDOR, {PLOTLY: bundle, LICENCES: licence_text}, accept=options.accept)
    if options.only != "plotly":
        with tempfile.TemporaryDirectory() as folder:
            script, licence_text = fetch_axe(Path(folder))
        is_kept &= keep(TEST_ASSETS, {AXE: script, AXE_LICENCE: licence_text}, accept=options.accept)
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
