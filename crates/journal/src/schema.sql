-- Version 5. Once released, this file is never changed: what a later version needs is a step of
-- migrate.rs. Times ending in _ms are Unix milliseconds of this machine; those ending in _s are block
-- timestamps, Unix seconds. Amounts and periods are decimal text: they are 256 bits wide. Nothing is
-- deleted, but for pauses and doubts that are over; each of those is a row of the history.

-- The starts of a process on this journal, oldest first. The newest id is in the mark as well.
CREATE TABLE boot (
    seq   INTEGER PRIMARY KEY,
    id    BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    at_ms INTEGER NOT NULL
) STRICT;

-- When this journal was noticed to be an old copy, and until when it knows what was done.
CREATE TABLE restored (
    seq            INTEGER PRIMARY KEY,
    at_ms          INTEGER NOT NULL,
    known_until_ms INTEGER NOT NULL
) STRICT;

-- What the platform's id of a chain stands for. network is the EIP-155 id; on TRON, the last four
-- bytes of the genesis block's id as a number. contract is the one that is billed through now; each
-- batch keeps its own.
CREATE TABLE chain (
    id       INTEGER PRIMARY KEY,
    family   TEXT    NOT NULL CHECK (family IN ('evm', 'tvm')),
    network  INTEGER NOT NULL CHECK (network >= 0),
    contract BLOB    NOT NULL CHECK (length(contract) = 20),
    bound_ms INTEGER NOT NULL,
    UNIQUE (family, network)
) STRICT;

-- What names the periods of a contract's charges: an entry field, or '' where a guard time alone does. Batches
-- before since were charged by another name.
CREATE TABLE contract (
    chain   INTEGER NOT NULL REFERENCES chain (id),
    address BLOB    NOT NULL CHECK (length(address) = 20),
    period  TEXT    NOT NULL,
    since   INTEGER NOT NULL CHECK (since >= 0),
    PRIMARY KEY (chain, address)
) STRICT, WITHOUT ROWID;

-- Paused chains: nothing new is signed on them.
CREATE TABLE pause (
    chain    INTEGER PRIMARY KEY,
    by       TEXT    NOT NULL,
    since_ms INTEGER NOT NULL,
    why      TEXT
) STRICT;

-- What one signing account does on one chain, one position after the other, without gaps. day is the newest on which it
-- was let charge (days since 1970, UTC), and sums what that came to: JSON, by units as in the table spend.
CREATE TABLE lane (
    chain         INTEGER NOT NULL REFERENCES chain (id),
    signer        BLOB    NOT NULL CHECK (length(signer) = 20),
    next_position INTEGER NOT NULL CHECK (next_position >= 0),
    day           INTEGER,
    sums          TEXT,
    PRIMARY KEY (chain, signer),
    CHECK ((day IS NULL) = (sums IS NULL))
) STRICT, WITHOUT ROWID;

-- Lanes that may have forgotten what they did after since_ms: the journal was restored. Everything up to the final
-- block read_number, by the name read_id, is learnt (TRON).
CREATE TABLE doubt (
    chain       INTEGER NOT NULL,
    signer      BLOB    NOT NULL CHECK (length(signer) = 20),
    since_ms    INTEGER NOT NULL,
    read_number INTEGER CHECK (read_number >= 0),
    read_id     BLOB    CHECK (length(read_id) = 32),
    PRIMARY KEY (chain, signer),
    CHECK ((read_number IS NULL) = (read_id IS NULL))
) STRICT, WITHOUT ROWID;

-- How a contract was called and what its events said when batches were signed (contract/written.rs).
CREATE TABLE profile (
    id       INTEGER PRIMARY KEY,
    chain    INTEGER NOT NULL REFERENCES chain (id),
    contract BLOB    NOT NULL CHECK (length(contract) = 20),
    body     TEXT    NOT NULL,
    UNIQUE (chain, contract, body)
) STRICT;

-- The contracts on chains that claims are kept for.
CREATE TABLE scope (
    id       INTEGER PRIMARY KEY,
    chain    INTEGER NOT NULL REFERENCES chain (id),
    contract BLOB    NOT NULL CHECK (length(contract) = 20),
    UNIQUE (chain, contract)
) STRICT;

-- The batch of every transaction. No transaction is of two.
CREATE TABLE tx (
    hash  BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    batch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- profile is NULL for what was learnt from the chain: its outcomes were read when it was learnt.
-- caller_label and caller_key are those of whoever asked; NULL where nobody had to sign, and for what was
-- learnt from the chain. winner, block, block_s and block_hash (NULL on TRON, and of what was imported) tell what
-- decided; a batch that expired has no winner, and so has one that was usurped by no transaction: its place is used up,
-- and its claims are unproven. ending, message, used (gas or energy) and fee (wei
-- or sun, decimal) are what nodes record of winner, where it is the batch's own; NULL where too few have told it.
-- counted is what the batch added to the sums of days and gave back at its end: JSON, as model/counted.rs has it.
-- hash, raw and gas_required are the first transaction, signed when the batch was accepted; raw and gas_required are
-- NULL for one that was learnt from the chain.
CREATE TABLE batch (
    id          INTEGER PRIMARY KEY,
    chain       INTEGER NOT NULL REFERENCES chain (id),
    contract    BLOB    NOT NULL CHECK (length(contract) = 20),
    profile     INTEGER REFERENCES profile (id),
    signer      BLOB    NOT NULL CHECK (length(signer) = 20),
    position    INTEGER NOT NULL CHECK (position >= 0),
    request_id  TEXT,
    caller_label TEXT,
    caller_key  TEXT,
    state       TEXT    NOT NULL
                CHECK (state IN ('open', 'charged', 'reverted', 'cancelled', 'usurped', 'expired')),
    accepted_ms INTEGER NOT NULL,
    hash        BLOB    NOT NULL REFERENCES tx (hash),
    gas_required INTEGER CHECK (gas_required >= 0),
    settled_ms  INTEGER,
    winner      BLOB    CHECK (length(winner) = 32),
    block       INTEGER CHECK (block >= 0),
    block_s     INTEGER CHECK (block_s >= 0),
    block_hash  BLOB    CHECK (length(block_hash) = 32),
    ending      TEXT,
    message     TEXT,
    used        INTEGER CHECK (used >= 0),
    fee         TEXT,
    counted     TEXT    NOT NULL,
    lost        INTEGER NOT NULL DEFAULT 0 CHECK (lost IN (0, 1)),
    raw         BLOB,
    CHECK ((caller_label IS NULL) = (caller_key IS NULL)),
    CHECK ((state = 'open') = (settled_ms IS NULL)),
    CHECK ((state = 'open') = (block IS NULL)),
    CHECK ((state = 'open') = (block_s IS NULL)),
    CHECK (state <> 'open' OR block_hash IS NULL),
    CHECK (state = 'usurped' OR (state IN ('open', 'expired')) = (winner IS NULL)),
    CHECK ((ending IS NULL) = (used IS NULL)),
    CHECK ((ending IS NULL) = (fee IS NULL)),
    CHECK (ending IS NOT NULL OR message IS NULL),
    CHECK (ending IS NULL OR winner IS NOT NULL),
    CHECK ((raw IS NULL) = (gas_required IS NULL)),
    CHECK (lost = 0 OR state = 'usurped')
) STRICT;
-- A place in the lane belongs to one batch. One that lost its place to another (lost = 1: it is usurped) keeps the
-- number. An end changes no column of these but state, which one small index is about.
CREATE UNIQUE INDEX batch_place ON batch (chain, signer, position) WHERE lost = 0;
CREATE INDEX batch_open ON batch (chain, signer) WHERE state = 'open';
CREATE INDEX batch_used_up ON batch (chain, signer) WHERE lost = 1;

-- The hours (since 1970) in which any of 1024 batches was accepted, whose numbers are in one stretch: so the ledger
-- finds a time. Only the first batch of an hour or of a stretch writes a row.
CREATE TABLE batch_hour (
    hour    INTEGER NOT NULL,
    stretch INTEGER NOT NULL,
    PRIMARY KEY (hour, stretch)
) STRICT, WITHOUT ROWID;

-- What a caller's name for a request stands for: the digest of its entries (billing/order.rs), and the batch that
-- was signed for it. The name is the API key's; '' where nobody had to sign.
CREATE TABLE request (
    id         TEXT NOT NULL,
    caller_key TEXT NOT NULL,
    digest     BLOB NOT NULL CHECK (length(digest) = 32),
    batch      INTEGER REFERENCES batch (id),
    PRIMARY KEY (id, caller_key)
) STRICT, WITHOUT ROWID;

-- Further batches that answers to a request have named.
CREATE TABLE request_batch (
    request    TEXT    NOT NULL,
    caller_key TEXT    NOT NULL,
    batch      INTEGER NOT NULL REFERENCES batch (id),
    PRIMARY KEY (request, batch, caller_key),
    FOREIGN KEY (request, caller_key) REFERENCES request (id, caller_key)
) STRICT, WITHOUT ROWID;

-- Transactions that were signed in the place of a batch's first one, which its own row has.
CREATE TABLE later_attempt (
    batch        INTEGER NOT NULL REFERENCES batch (id),
    seq          INTEGER NOT NULL CHECK (seq > 0),
    hash         BLOB NOT NULL REFERENCES tx (hash),
    kind         TEXT NOT NULL CHECK (kind IN ('bill', 'cancel')),
    raw          BLOB NOT NULL,
    gas_required INTEGER NOT NULL CHECK (gas_required >= 0),
    signed_ms    INTEGER NOT NULL,
    PRIMARY KEY (batch, seq)
) STRICT;

-- Every transaction of every batch.
CREATE VIEW attempt AS
    SELECT id AS batch, 0 AS seq, hash, 'bill' AS kind, raw, gas_required, accepted_ms AS signed_ms FROM batch
    UNION ALL SELECT batch, seq, hash, kind, raw, gas_required, signed_ms FROM later_attempt;

-- The right to a charge. outcome is NULL until the chain has decided, and of a charge that was made as its batch's
-- state says; 'released' where the batch charged nobody; plan_version, wallet and token are NULL where nobody has
-- told them; code (a failCode) and the contract's own number stand with 'failed' alone.
-- elsewhere = 1: learnt from the chain while another batch held the same charge; it is live as soon as that one
-- lets go (passing.rs). resolved is what a person found out about an unproven one.
CREATE TABLE claim (
    batch         INTEGER NOT NULL REFERENCES batch (id),
    item          INTEGER NOT NULL CHECK (item >= 0),
    scope         INTEGER NOT NULL REFERENCES scope (id),
    subscribe_id  INTEGER NOT NULL,
    plan_id       INTEGER NOT NULL,
    user_hash     BLOB    NOT NULL CHECK (length(user_hash) = 32),
    period        TEXT    NOT NULL,
    amount        TEXT    NOT NULL,
    plan_version  TEXT,
    wallet        BLOB    CHECK (length(wallet) = 20),
    token         BLOB    CHECK (length(token) = 20),
    live          INTEGER NOT NULL CHECK (live IN (0, 1)),
    guard_until_s INTEGER,
    -- Without the first half SQLite makes a table of the words for each claim that is inserted.
    outcome       TEXT    CHECK (outcome IS NULL OR outcome IN ('charged', 'failed', 'unproven', 'released')),
    code          TEXT,
    detail        TEXT,
    elsewhere     INTEGER NOT NULL DEFAULT 0 CHECK (elsewhere IN (0, 1)),
    resolved      TEXT    CHECK (resolved IN ('charged', 'released')),
    resolved_by   TEXT,
    resolved_ms   INTEGER,
    PRIMARY KEY (batch, item),
    CHECK ((outcome IS NOT NULL AND outcome = 'failed') = (code IS NOT NULL)),
    CHECK (resolved IS NULL OR outcome = 'unproven')
) STRICT, WITHOUT ROWID;
-- The two walls against charging twice. The period comes first: the claims of one batch then lie side
-- by side, and a commit writes a few pages instead of one for every claim.
CREATE UNIQUE INDEX claim_key ON claim (period, plan_id, user_hash, scope) WHERE live = 1;
CREATE UNIQUE INDEX claim_subscription ON claim (period, subscribe_id, scope) WHERE live = 1;
-- The ledger finds the charges of a subscription and of a user by these walls and, once they are no claims
-- any more, by the following two, to which nothing is written in a commit that charges.
CREATE INDEX claim_gone ON claim (subscribe_id) WHERE live = 0;
CREATE INDEX claim_gone_user ON claim (user_hash) WHERE live = 0;

-- Whom a wallet has paid for: the ledger finds the charges of a wallet by its users. Only the first charge of
-- a user from a wallet writes a row.
CREATE TABLE payer (
    wallet    BLOB NOT NULL CHECK (length(wallet) = 20),
    user_hash BLOB NOT NULL CHECK (length(user_hash) = 32),
    PRIMARY KEY (wallet, user_hash)
) STRICT, WITHOUT ROWID;

-- What an account was let charge, and what its transactions may cost, in one UTC day before its newest.
-- unit is a token's address or 'fee'.
CREATE TABLE spend (
    chain  INTEGER NOT NULL,
    signer BLOB    NOT NULL CHECK (length(signer) = 20),
    day    INTEGER NOT NULL,
    unit   TEXT    NOT NULL,
    amount TEXT    NOT NULL,
    PRIMARY KEY (chain, signer, day, unit)
) STRICT, WITHOUT ROWID;

-- digest = SHA-256 of the digest before it and of this row: see history.rs.
CREATE TABLE history (
    seq    INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,
    event  TEXT    NOT NULL,
    body   TEXT    NOT NULL,
    digest BLOB    NOT NULL CHECK (length(digest) = 32)
) STRICT;
-- What a start, a follower or an audit asks for, among millions of other rows.
CREATE INDEX history_restored ON history (seq) WHERE event = 'restored';
CREATE INDEX history_renamed ON history (seq) WHERE event = 'chain renamed';
CREATE INDEX history_learnt ON history (event, seq)
    WHERE event IN ('lane opened', 'learnt what was forgotten');
CREATE INDEX history_taken_up ON history (seq) WHERE event IN ('taken up', 'reconciled');
