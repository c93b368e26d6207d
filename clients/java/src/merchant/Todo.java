package merchant;

import java.util.Map;

/** Advice about a subscription that could not be charged: if it is posted again, who has to act first, and how. */
public record Todo(boolean again, String who, String what) {
    /** By the {@code retry} of a failure. */
    public static final Map<String, Todo> RETRY = Map.of(
        "USER", new Todo(true, "customer", "ask for an allowance or a balance, then post it again, with growing pauses"),
        "WAIT", new Todo(true, "nobody", "post it again with the next list"),
        "RETRY", new Todo(true, "nobody", "post it again after a pause"),
        "DONE", new Todo(false, "nobody", "treat it as paid; the callback follows"),
        "LOST", new Todo(false, "nobody", "not paid, and not to be billed for this period"),
        "STOP", new Todo(false, "merchant", "end the subscription"),
        "FIX", new Todo(false, "operator", "look at it: nothing will change by itself"));

    /** The advice about a failure; a word that is not known is for a person to look at. */
    public static Todo of(Map<String, Object> failure) {
        return failure.get("retry") instanceof String word ? RETRY.getOrDefault(word, RETRY.get("FIX")) : RETRY.get("FIX");
    }
}
