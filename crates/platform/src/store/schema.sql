PRAGMA user_version = 1;

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- The canonical blocks of both chains, from the founding on.
CREATE TABLE blocks (
    chain INTEGER NOT NULL, number INTEGER NOT NULL, id BLOB NOT NULL, time_ms INTEGER NOT NULL,
    forks INTEGER NOT NULL, price INTEGER NOT NULL, PRIMARY KEY (chain, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE txs (
    chain INTEGER NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (chain, number, place)
) STRICT, WITHOUT ROWID;

-- What the chains told: registered, charged, failed, cancelled, approved. `told` once a callback was made of it.
CREATE TABLE events (
    id INTEGER PRIMARY KEY, chain INTEGER NOT NULL, block INTEGER NOT NULL, time_ms INTEGER NOT NULL, tx TEXT NOT NULL,
    log INTEGER NOT NULL, kind TEXT NOT NULL, subscribe_id INTEGER NOT NULL, period INTEGER NOT NULL, reason INTEGER NOT NULL,
    amount TEXT NOT NULL, wallet TEXT NOT NULL, told INTEGER NOT NULL DEFAULT 0, UNIQUE (chain, tx, log, subscribe_id)
) STRICT;
CREATE INDEX events_by_subscription ON events (subscribe_id, kind, period);
CREATE INDEX events_by_block ON events (chain, block);
CREATE INDEX events_untold ON events (chain, block) WHERE told = 0;

-- Plans as they were proposed. Whether a version is active, the contract says.
CREATE TABLE plans (
    plan INTEGER NOT NULL, chain INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, amount TEXT NOT NULL,
    interval_s INTEGER NOT NULL, periods INTEGER NOT NULL, delay_s INTEGER NOT NULL, proposer TEXT NOT NULL, propose_tx TEXT NOT NULL,
    approver TEXT, approve_tx TEXT, created_ms INTEGER NOT NULL, PRIMARY KEY (plan, chain, version)
) STRICT, WITHOUT ROWID;

-- Subscriptions, each made together with its link. Those of the founding have no link and no notify address.
CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY, out_trade_no TEXT NOT NULL UNIQUE, external_user TEXT NOT NULL, user_hash TEXT NOT NULL,
    plan INTEGER NOT NULL, chain INTEGER NOT NULL, version INTEGER NOT NULL, notify_url TEXT, created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX subscriptions_by_user ON subscriptions (external_user, plan, chain);

-- Links, to subscribe or to cancel. The token is what stands behind apiSign.
CREATE TABLE links (
    token TEXT PRIMARY KEY, kind TEXT NOT NULL, subscribe_id INTEGER NOT NULL, redirect_url TEXT NOT NULL, notify_url TEXT NOT NULL,
    expires_s INTEGER NOT NULL, wallet TEXT, tx TEXT, note TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, user_type INTEGER NOT NULL, created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE wallets (
    id INTEGER PRIMARY KEY, user INTEGER NOT NULL REFERENCES users (id), chain INTEGER NOT NULL, address TEXT NOT NULL,
    UNIQUE (user, chain), UNIQUE (chain, address)
) STRICT;

-- Deposits. `block` is null while a reorganisation has taken the transfer away.
CREATE TABLE recharges (
    id INTEGER PRIMARY KEY, chain INTEGER NOT NULL, wallet INTEGER NOT NULL REFERENCES wallets (id), status INTEGER NOT NULL,
    amount TEXT NOT NULL, tx TEXT NOT NULL, log INTEGER NOT NULL, sender TEXT NOT NULL, block INTEGER, time_ms INTEGER NOT NULL,
    created_ms INTEGER NOT NULL, UNIQUE (chain, tx, log)
) STRICT;
CREATE INDEX recharges_by_block ON recharges (chain, block);

CREATE TABLE withdrawals (
    id INTEGER PRIMARY KEY, chain INTEGER NOT NULL, currency INTEGER NOT NULL, address TEXT NOT NULL, amount TEXT NOT NULL,
    status INTEGER NOT NULL, out_trade_no TEXT UNIQUE, notify_url TEXT, created_ms INTEGER NOT NULL, decided_by TEXT, decided_ms INTEGER,
    tx TEXT, raw BLOB, note TEXT
) STRICT;

-- Callbacks, each with every try. `next_ms` is null when there is no further try.
CREATE TABLE callbacks (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, url TEXT, body TEXT NOT NULL, created_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, delivered INTEGER NOT NULL DEFAULT 0, next_ms INTEGER
) STRICT;
CREATE INDEX callbacks_due ON callbacks (next_ms) WHERE next_ms IS NOT NULL;
CREATE TABLE tries (
    callback INTEGER NOT NULL REFERENCES callbacks (id), number INTEGER NOT NULL, at_ms INTEGER NOT NULL, by_hand INTEGER NOT NULL,
    status INTEGER, answer TEXT NOT NULL, PRIMARY KEY (callback, number)
) STRICT, WITHOUT ROWID;
