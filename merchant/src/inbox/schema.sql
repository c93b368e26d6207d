-- Times are Unix milliseconds of this machine, unless they say otherwise.

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,           -- what two deliveries of one event have in common
    stream TEXT NOT NULL,               -- events of one stream keep their order
    kind TEXT NOT NULL,
    body TEXT NOT NULL,                 -- as it came first
    received_s INTEGER NOT NULL,        -- Unix seconds
    stored_ms INTEGER NOT NULL,
    deliveries INTEGER NOT NULL DEFAULT 1,
    conflicts INTEGER NOT NULL DEFAULT 0,
    tx_hash TEXT,                       -- to be looked up at the Signer before anybody is told
    outcome TEXT,                       -- JSON; what the chain says, once it has said it
    looks INTEGER NOT NULL DEFAULT 0,
    next_look_ms INTEGER NOT NULL DEFAULT 0,
    position INTEGER UNIQUE,            -- place in the feed, given when it may be told
    place TEXT,                         -- digest of the feed up to this position, which no other feed has
    push TEXT,                          -- waiting, delivered, dead, skipped; NULL before it has a position
    tries INTEGER NOT NULL DEFAULT 0,
    next_push_ms INTEGER NOT NULL DEFAULT 0,
    last_push TEXT,                     -- what the merchant's address said last
    replays INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The place before the first event: no two files have the same.
CREATE TABLE beginning (place TEXT NOT NULL) STRICT;
INSERT INTO beginning VALUES (lower(hex(randomblob(16))));

-- Every delivery after the first. The body only where it is not the same.
CREATE TABLE delivery (
    id INTEGER PRIMARY KEY,
    event INTEGER NOT NULL REFERENCES event (id),
    stored_ms INTEGER NOT NULL,
    body TEXT
) STRICT;

-- Which subscription an order is, as the platform's subscription list tells it.
CREATE TABLE subscription (trade_no TEXT PRIMARY KEY, id INTEGER NOT NULL) STRICT, WITHOUT ROWID;
