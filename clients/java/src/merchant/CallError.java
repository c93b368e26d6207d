package merchant;

import java.math.BigInteger;

/** A call without the answer that it wants. */
public class CallError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Integer status;
    private final BigInteger code;
    private final String words;
    private final Integer retryAfter;
    private final Integer maxBatch;

    CallError(String message, Throwable cause) {
        this(message, null, null, null, null, null, cause);
    }

    CallError(String message, int status) {
        this(message, status, null, null, null, null, null);
    }

    CallError(String message, Integer status, BigInteger code, String words, Integer retryAfter, Integer maxBatch, Throwable cause) {
        super(message, cause);
        this.status = status;
        this.code = code;
        this.words = words;
        this.retryAfter = retryAfter;
        this.maxBatch = maxBatch;
    }

    /** The HTTP status; null if there was no answer. */
    public Integer status() {
        return status;
    }

    /** The code of the envelope; null if there was none. */
    public BigInteger code() {
        return code;
    }

    /** The peer's own words; null if it said none. */
    public String words() {
        return words;
    }

    /** Seconds after which to ask again; null if the peer said none. */
    public Integer retryAfter() {
        return retryAfter;
    }

    /** The most entries that the Signer takes at present; null if it did not say. */
    public Integer maxBatch() {
        return maxBatch;
    }

    /** True if it passes by itself: no answer, half an answer, 408, 429, 5xx. */
    public boolean passes() {
        return status == null || status == 200 || status == 408 || status == 429 || status >= 500;
    }

    /** True if a change may have been made: no answer, one without an envelope, or one of a peer in trouble. */
    public boolean mayHaveHappened() {
        return status == null || code == null || status == 408 || status >= 500
                || (code.compareTo(BigInteger.valueOf(500)) >= 0 && code.compareTo(BigInteger.valueOf(600)) < 0);
    }
}
