package merchant;

import java.io.IOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** The address of a peer, and the caller's name and secret there: what Platform and Signer share. */
public final class Peer {
    /** The version of this library; its requests say so as their User-Agent. */
    public static final String VERSION = "0.1.0";
    /** Seconds that a clock may be ahead of the Signer's. */
    public static final int SIGNER_AHEAD_SECONDS = 5;
    /** A clock that is behind seems less so by a Date header in whole seconds and by the way here. */
    private static final int HIDDEN_SECONDS = 5;
    /** The longest pause that a peer may ask for (s). */
    private static final int LONGEST_PAUSE = 30;

    private final String url;
    private final String key;
    private final String secret;
    private final Duration timeout;
    private final int tries;
    private final Duration pause;
    private final LongSupplier clock;
    private final HttpClient http;

    /** A peer with a time-out of 15 s, four tries, and pauses from half a second on that double. */
    public Peer(String url, String key, String secret) {
        this(url, key, secret, Duration.ofSeconds(15), 4, Duration.ofMillis(500), () -> System.currentTimeMillis() / 1000, null);
    }

    /**
     * A peer.
     *
     * @param timeout of one request
     * @param tries of whatever may be repeated
     * @param pause before the first repeat; it doubles, and is up to half as long again by chance
     * @param clock Unix seconds
     * @param http the client to call by, such as one with a proxy; null for one of this library's own. It follows no redirects
     */
    public Peer(String url, String key, String secret, Duration timeout, int tries, Duration pause, LongSupplier clock, HttpClient http) {
        if (url.isEmpty() || key.isEmpty() || secret.isEmpty()) {
            throw new IllegalArgumentException("url, key and secret are needed");
        }
        this.url = url.replaceAll("/+$", "");
        this.key = key;
        this.secret = secret;
        this.timeout = timeout;
        this.tries = tries;
        this.pause = pause;
        this.clock = clock;
        // A request to switch to HTTP/2 would be one more header that a proxy may stumble over.
        HttpClient own = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(timeout).build();
        this.http = http == null ? own : http;
    }

    @Override
    public String toString() {
        return key + " at " + url;
    }

    /** An answer with an envelope. */
    record Answer(int status, Map<String, Object> envelope, Integer retryAfter, String off) {
        BigInteger code() {
            return (BigInteger) envelope.get("code");
        }

        boolean says(long code) {
            return code().equals(BigInteger.valueOf(code));
        }

        Object data() {
            return envelope.get("data");
        }

        CallError refused() {
            String words = String.valueOf(envelope.get("msg"));
            Integer most = data() instanceof Map<?, ?> map && map.get("maxBatch") instanceof BigInteger number ? number.intValue() : null;
            return new CallError(words + " (code " + code() + ", HTTP " + status + ")" + off, status, code(), words, retryAfter, most, null);
        }
    }

    /** One request; {@code signed} if the peer signs its answers, as the Signer does. */
    Answer call(boolean signed, String method, String pathAndQuery, String body) {
        byte[] bytes = body == null ? new byte[0] : body.getBytes(StandardCharsets.UTF_8);
        String timestamp = Long.toString(clock.getAsLong());
        String sign = Signature.sign(secret, timestamp, method, pathAndQuery, bytes);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + pathAndQuery)).timeout(timeout)
                .header("User-Agent", "merchant-java/" + VERSION)
                .header("X-PAY-KEY", key).header("X-PAY-TIMESTAMP", timestamp).header("X-PAY-SIGN", sign)
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(bytes));
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        HttpResponse<byte[]> response = send(request.build());
        int status = response.statusCode();
        Integer retryAfter = response.headers().firstValue("Retry-After").filter(text -> text.matches("[0-9]{1,9}")).map(Integer::valueOf).orElse(null);
        String off = clockOff(signed, status, response.headers().firstValue("Date").orElse(""));
        Map<String, Object> envelope = envelope(response.body());
        if (signed) {
            try {
                Signature.verifyAnswer(response.headers().map(), status, response.body(), secret, sign, clock.getAsLong());
            } catch (NotVerified why) {
                String said = envelope == null ? "" : "; it says: " + envelope.get("msg");
                // To a caller whose clock is off the Signer can prove nothing.
                said += status == 401 ? off : "";
                throw new NotProven("HTTP " + status + " without the Signer's proof, which is no answer (" + why.getMessage() + ")" + said, status, why);
            }
        }
        if (envelope == null) {
            throw new CallError("HTTP " + status + " with an answer that is no envelope", status, null, null, retryAfter, null, null);
        }
        return new Answer(status, envelope, retryAfter, off);
    }

    private HttpResponse<byte[]> send(HttpRequest request) {
        try {
            return http.send(request, BodyHandlers.ofByteArray());
        } catch (IOException why) {
            throw new CallError("no answer from " + url + ": " + why, why);
        } catch (InterruptedException why) {
            Thread.currentThread().interrupt();
            throw new CallError("no answer from " + url + ": interrupted", why);
        }
    }

    /** Calls again while what failed passes by itself; not if {@code last} says that it is of no use. */
    <T> T persistently(Supplier<T> attempt, Predicate<CallError> last) {
        for (int failures = 1;; failures++) {
            try {
                return attempt.get();
            } catch (CallError error) {
                int asked = error.retryAfter() == null ? 0 : error.retryAfter();
                if (!error.passes() || last.test(error) || failures >= tries || asked > LONGEST_PAUSE || Thread.currentThread().isInterrupted()) {
                    throw error;
                }
                double grown = pause.toMillis() * Math.pow(2, failures - 1) * (1 + ThreadLocalRandom.current().nextDouble() / 2);
                rest(Math.max(asked * 1000L, (long) grown), error);
            }
        }
    }

    private static void rest(long millis, CallError error) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException why) {
            Thread.currentThread().interrupt();
            throw error;
        }
    }

    /** Says that the clock here is off, if that alone explains a refusal. */
    private String clockOff(boolean signed, int status, String date) {
        long off;
        try {
            off = clock.getAsLong() - ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toEpochSecond();
        } catch (DateTimeException why) {
            return "";
        }
        int allowed = signed && off > 0 ? SIGNER_AHEAD_SECONDS : Signature.CLOCK_WINDOW_SECONDS;
        // An answer that was long on its way makes a clock seem ahead: of the Signer's, 401 alone is put down to that.
        boolean suspected = allowed == SIGNER_AHEAD_SECONDS ? status == 401 && off > allowed : Math.abs(off) + HIDDEN_SECONDS >= allowed;
        String way = off > 0 ? "ahead" : "behind";
        return suspected ? "; the clock here is " + Math.abs(off) + " s " + way + ", and at most " + allowed + " s are allowed" : "";
    }

    /** The envelope in a body; null if there is none. */
    @SuppressWarnings("unchecked")
    private static Map<String, Object> envelope(byte[] body) {
        try {
            return Json.parse(body) instanceof Map<?, ?> map && map.get("code") instanceof BigInteger ? (Map<String, Object>) map : null;
        } catch (IllegalArgumentException why) {
            return null;
        }
    }

    /** A value in a path or a query, as it is signed and sent. */
    static String encoded(Object value) {
        return URLEncoder.encode(String.valueOf(value), StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
    }

    /** A path with its query; a parameter that is null is left out. */
    static String question(String path, Map<String, ?> asked) {
        StringBuilder out = new StringBuilder(path);
        char before = '?';
        for (Map.Entry<String, ?> one : asked.entrySet()) {
            if (one.getValue() != null) {
                out.append(before).append(one.getKey()).append('=').append(encoded(one.getValue()));
                before = '&';
            }
        }
        return out.toString();
    }
}
