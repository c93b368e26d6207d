"""Takes the pictures of docs/pages.md and of the README from what the browser tests have left: python3 pictures.py SCREENSHOTS FOLDER.

Each PNG is cut to its beginning, and made small by pngquant.
"""

import os
import shutil
import struct
import subprocess
import sys
import zlib

PICTURES = {
    "signer-charts": "operators-overview",
    "signer-overview-dark": "operators-overview-dark",
    "signer-charts-phone": "operators-overview-phone",
    "signer-paused": "operators-paused",
    "signer-charges": "operators-charges",
    "signer-events": "operators-events",
    "subscribe-1-confirm-evm": "pay-wallet",
    "subscribe-1-confirm-evm-phone": "pay-wallet-phone",
    "subscribe-3-others": "pay-authorise",
    "subscribe-3-dark-phone": "pay-authorise-dark-phone",
    "console-plans": "console-plans",
    "console-users-phone": "console-users-phone",
}
# On a screen nobody scrolls further to judge a page.
ROWS = 1500
KINDS = {0: 1, 2: 3, 3: 1, 6: 4}


def chunks(data):
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def top(data, rows):
    """The first rows of a PNG: a row is told by itself and by those above it."""
    found = list(chunks(data))
    width, height, depth, kind = struct.unpack(">IIBB", found[0][1][:10])
    assert found[0][1][12] == 0 and depth == 8, "it is interlaced, or not of eight bits"
    kept = min(height, rows)
    pixels = zlib.decompress(b"".join(body for name, body in found if name == b"IDAT"))
    line = width * KINDS[kind] + 1
    head = struct.pack(">II", width, kept) + found[0][1][8:]
    body = zlib.compress(pixels[: kept * line], 9)
    return data[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def main(screenshots, folder):
    os.makedirs(folder, exist_ok=True)
    terminal = os.path.join(screenshots, "terminal.svg")
    if os.path.exists(terminal):
        shutil.copy(terminal, folder)
    for name, kept in PICTURES.items():
        source = os.path.join(screenshots, f"{name}.png")
        if not os.path.exists(source):
            print(f"{name} is not there")
            continue
        with open(source, "rb") as file:
            cut = top(file.read(), ROWS)
        with open(os.path.join(folder, f"{kept}.png"), "wb") as file:
            file.write(subprocess.run(["pngquant", "--speed", "1", "48", "-"], input=cut, stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
