-- What is looked for all the time, and must not take longer when there is more of it. Run at every start.

CREATE INDEX IF NOT EXISTS batch_planned ON batch (next_ms) WHERE state = 'planned';
CREATE INDEX IF NOT EXISTS flight_due ON flight (next_ms);
CREATE INDEX IF NOT EXISTS alias_of ON alias (tx_hash);
CREATE INDEX IF NOT EXISTS charge_of ON charge (tx_hash, id);
CREATE INDEX IF NOT EXISTS charge_untold ON charge (settled_ms) WHERE state = 'charged' AND callback IS NULL;
CREATE INDEX IF NOT EXISTS callback_unmatched ON callback (tx_hash) WHERE matched = 0;
CREATE INDEX IF NOT EXISTS outbox_unsent ON outbox (id) WHERE sent = 0;

-- Counts by word, and those of a word that have been listed for long, without their entries.
DROP INDEX IF EXISTS subscription_by_word;
CREATE INDEX IF NOT EXISTS subscription_standing ON subscription (word, listed, listed_ms);
