-- Since when the Signer has said, at each look, that it knows no such transaction; and since when it could not be told,
-- at each look, which subscription the order is. NULL after any other answer, and after none.
ALTER TABLE event ADD COLUMN missing_ms INTEGER;
ALTER TABLE event ADD COLUMN unnamed_ms INTEGER;

-- The event that tells of a charge. The hash is in lower case, without 0x.
CREATE TABLE proof (
    tx_hash TEXT NOT NULL,
    subscription INTEGER NOT NULL,
    event INTEGER NOT NULL REFERENCES event (id),
    PRIMARY KEY (tx_hash, subscription)
) STRICT, WITHOUT ROWID;
