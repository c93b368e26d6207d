package merchant;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The ends of a list that was posted: every entry is in exactly one of the three. */
public record Billed(List<Sent> sent, List<Failed> failed, List<Open> open) {
    Billed() {
        this(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    }

    /** Subscriptions that have a transaction, also of an earlier request: at finality the chain decides. {@code state} is null for a new one. */
    public record Sent(String txHash, String state, List<Object> subscriptionIds) {}

    /** A subscription that is not charged, with the Signer's own words and the advice. */
    public record Failed(Map<String, Object> failure, Todo todo) {}

    /** An entry without a verdict: post it again, as often as it takes. */
    public record Open(Map<String, Object> entry, String why) {}
}
