-- Times ending in _ms are Unix milliseconds of this machine; chain_s is a block timestamp in seconds.
-- Amounts and periods are decimal text: they are 256 bits wide. Nothing is deleted, ever.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What one signing account does on one chain, one position after the other, without gaps.
CREATE TABLE lane (
    chain         INTEGER NOT NULL,
    signer        BLOB    NOT NULL,
    next_position INTEGER NOT NULL,
    PRIMARY KEY (chain, signer)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch (
    id          INTEGER PRIMARY KEY,
    chain       INTEGER NOT NULL,
    contract    BLOB    NOT NULL,
    signer      BLOB    NOT NULL,
    position    INTEGER NOT NULL,
    request_id  TEXT,
    state       TEXT    NOT NULL,
    accepted_ms INTEGER NOT NULL,
    settled_ms  INTEGER,
    winner      BLOB,
    block       INTEGER
) STRICT;
-- A place in the lane belongs to one batch. One that lost its place to another keeps the number.
CREATE UNIQUE INDEX batch_place ON batch (chain, signer, position) WHERE state <> 'usurped';
CREATE INDEX batch_open ON batch (chain, signer) WHERE state = 'open';
CREATE INDEX batch_request ON batch (request_id) WHERE request_id IS NOT NULL;

-- raw and gas_required are NULL for a transaction that was learnt from the chain.
CREATE TABLE attempt (
    hash         BLOB    NOT NULL UNIQUE,
    batch        INTEGER NOT NULL REFERENCES batch (id),
    seq          INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    raw          BLOB,
    gas_required INTEGER,
    signed_ms    INTEGER NOT NULL,
    UNIQUE (batch, seq)
) STRICT;

-- The right to a charge. outcome is NULL until the chain has decided.
CREATE TABLE claim (
    batch         INTEGER NOT NULL REFERENCES batch (id),
    item          INTEGER NOT NULL,
    chain         INTEGER NOT NULL,
    contract      BLOB    NOT NULL,
    subscribe_id  INTEGER NOT NULL,
    plan_id       INTEGER NOT NULL,
    user_hash     BLOB    NOT NULL,
    period        TEXT    NOT NULL,
    amount        TEXT    NOT NULL,
    live          INTEGER NOT NULL,
    guard_chain_s INTEGER,
    outcome       TEXT,
    detail        TEXT,
    PRIMARY KEY (batch, item)
) STRICT, WITHOUT ROWID;
-- The two walls against charging twice. The period comes first: the claims of one batch then lie side
-- by side, and a commit writes a few pages instead of one for every claim.
CREATE UNIQUE INDEX claim_key ON claim (period, plan_id, user_hash, contract, chain) WHERE live = 1;
CREATE UNIQUE INDEX claim_subscription ON claim (period, subscribe_id, contract, chain) WHERE live = 1;

-- What an account was let charge, and what its transactions may cost, in one UTC day (days since 1970).
-- unit is a token's address or 'fee'.
CREATE TABLE spend (
    chain  INTEGER NOT NULL,
    signer BLOB    NOT NULL,
    day    INTEGER NOT NULL,
    unit   TEXT    NOT NULL,
    amount TEXT    NOT NULL,
    PRIMARY KEY (chain, signer, day, unit)
) STRICT, WITHOUT ROWID;

-- What each batch added to that, and what was given back at its end. items are the places of the
-- charges that it is made of; none for fees.
CREATE TABLE counted (
    batch      INTEGER NOT NULL REFERENCES batch (id),
    day        INTEGER NOT NULL,
    unit       TEXT    NOT NULL,
    items      TEXT    NOT NULL,
    amount     TEXT    NOT NULL,
    given_back TEXT    NOT NULL,
    PRIMARY KEY (batch, day, unit)
) STRICT, WITHOUT ROWID;

-- digest = SHA-256 of the digest before it and of this row: see history.rs.
CREATE TABLE history (
    seq    INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,
    event  TEXT    NOT NULL,
    body   TEXT    NOT NULL,
    digest BLOB    NOT NULL
) STRICT;
