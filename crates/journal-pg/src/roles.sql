-- What the Signer's own role may do: read, add, and change what changes. It cannot take a row of the history,
-- a batch, a claim or a transaction away, nor change what was signed.
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role};
GRANT USAGE ON SCHEMA {schema} TO {role};
REVOKE INSERT ON about, migration, turn FROM {role};
GRANT UPDATE (taken) ON turn TO {role};
GRANT UPDATE (contract) ON chain TO {role};
GRANT UPDATE (period, since) ON contract TO {role};
GRANT UPDATE (next_position, day, sums) ON lane TO {role};
GRANT UPDATE (state, settled_ms, winner, block, block_s, block_hash, ending, message, used, fee, counted, lost)
    ON batch TO {role};
GRANT UPDATE (live, guard_until_s, outcome, code, detail, elsewhere, resolved, resolved_by, resolved_ms)
    ON claim TO {role};
GRANT UPDATE (amount) ON spend TO {role};
GRANT UPDATE (clock_ms, told, unfit, seen) ON instance TO {role};
GRANT UPDATE (read_number, read_id) ON doubt TO {role};
GRANT DELETE ON pause, doubt, instance TO {role};
