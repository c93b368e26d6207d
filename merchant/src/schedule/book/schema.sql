-- Times are Unix milliseconds. Hashes are kept in lower case without 0x.

-- How far the inbox's feed has been read.
CREATE TABLE feed (id INTEGER PRIMARY KEY CHECK (id = 0), cursor TEXT NOT NULL) STRICT;

CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE subscription (
    chain INTEGER NOT NULL,
    id INTEGER NOT NULL,
    entry TEXT NOT NULL,        -- as last listed
    terms TEXT NOT NULL,        -- digests of what would be charged, as last listed
    posted_terms TEXT,          -- the same, as last posted
    plan INTEGER,
    wallet TEXT,
    trade_no TEXT,
    plans INTEGER NOT NULL DEFAULT 0,   -- how many plans have held it
    word TEXT NOT NULL,         -- of the standing
    standing TEXT NOT NULL,     -- JSON
    listed INTEGER NOT NULL,    -- whether the last whole reading of the list had it
    listed_ms INTEGER NOT NULL, -- since when it is listed with the first of these digests
    PRIMARY KEY (chain, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch (
    id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    chain INTEGER NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,        -- planned, answered, split
    tries INTEGER NOT NULL DEFAULT 0,
    next_ms INTEGER NOT NULL,
    planned_ms INTEGER NOT NULL,
    last TEXT                   -- what was heard last, in words
) STRICT;

CREATE TABLE member (
    batch INTEGER NOT NULL REFERENCES batch (id),
    id INTEGER NOT NULL,
    PRIMARY KEY (batch, id)
) STRICT, WITHOUT ROWID;

-- What one chain takes in one request, learnt when it refused more. Believed for a while: what fits changes with the load.
CREATE TABLE ceiling (chain INTEGER PRIMARY KEY, entries INTEGER NOT NULL, learnt_ms INTEGER NOT NULL) STRICT;

-- A transaction that is followed until it is final.
CREATE TABLE flight (
    tx_hash TEXT PRIMARY KEY,
    chain INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    looks INTEGER NOT NULL DEFAULT 0,
    next_ms INTEGER NOT NULL,
    unknown_ms INTEGER          -- since when the Signer says that it does not know it
) STRICT, WITHOUT ROWID;

-- Every hash that a transaction ever had, to the one that it is kept under.
CREATE TABLE alias (hash TEXT PRIMARY KEY, tx_hash TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- The Signer's book: one subscription in one transaction. A second row of the same is under another id of the chain.
CREATE TABLE charge (
    tx_hash TEXT NOT NULL,
    chain INTEGER NOT NULL,
    id INTEGER NOT NULL,
    plan INTEGER,
    wallet TEXT,
    trade_no TEXT,
    state TEXT NOT NULL,        -- open, charged, failed, freed, unproven
    since_ms INTEGER NOT NULL,
    settled_ms INTEGER,
    callback INTEGER,           -- row of the callback that tells of it
    PRIMARY KEY (tx_hash, chain, id)
) STRICT, WITHOUT ROWID;

-- The callbacks' book: billing callbacks that name a transaction.
CREATE TABLE callback (
    row INTEGER PRIMARY KEY,
    event TEXT NOT NULL UNIQUE, -- its name in every file of an inbox
    tx_hash TEXT NOT NULL,
    chain INTEGER,
    id INTEGER,
    plan INTEGER,
    wallet TEXT,
    trade_no TEXT,
    heard_ms INTEGER NOT NULL,
    matched INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE difference (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    named_ms INTEGER,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- What the merchant is told, until the inbox has it.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    body TEXT NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0
) STRICT;
