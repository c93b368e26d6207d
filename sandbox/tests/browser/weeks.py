"""Spreads what a demonstration has billed over the last four weeks: python3 weeks.py STATE, while nothing runs on it.

The journal and the file of refusals keep what they say of money; only the times of acceptance and of refusal move.
"""

import hashlib
import sqlite3
import sys

DAY_MS = 86_400_000


def back(name):
    """How far something moves: the same each time, and by whole and half days, some not at all: so today has something as well."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    return max(0, number % 60 - 12) * DAY_MS // 2


def move(path, table, key, columns):
    with sqlite3.connect(path) as file:
        for (row,) in file.execute(f"SELECT {key} FROM {table}").fetchall():
            moved = ", ".join(f"{column} = {column} - ?1" for column in columns)
            file.execute(f"UPDATE {table} SET {moved} WHERE {key} = ?2", (back(f"{table}{row}"), row))
    file.close()


journal = f"{sys.argv[1]}/signer/journal.sqlite"
move(journal, "batch", "id", ["accepted_ms"])
move(f"{journal}.refusals", "refusal", "seq", ["first_ms", "last_ms"])
