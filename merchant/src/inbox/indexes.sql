-- What is looked for all the time, and must not take longer when there is more of it. Run at every start.

CREATE INDEX IF NOT EXISTS event_unreleased ON event (stream, id) WHERE position IS NULL;
CREATE INDEX IF NOT EXISTS event_unpushed ON event (stream, position) WHERE push IN ('waiting', 'dead');
CREATE INDEX IF NOT EXISTS event_by_push ON event (push);
CREATE INDEX IF NOT EXISTS delivery_of ON delivery (event);

-- In the order in which they are taken, so that the first few are found without the rest.
DROP INDEX IF EXISTS event_unchecked;
DROP INDEX IF EXISTS event_to_push;
CREATE INDEX IF NOT EXISTS event_to_look ON event (next_look_ms, tx_hash) WHERE tx_hash IS NOT NULL AND outcome IS NULL;
CREATE INDEX IF NOT EXISTS event_next_push ON event (next_push_ms, position) WHERE push = 'waiting';
