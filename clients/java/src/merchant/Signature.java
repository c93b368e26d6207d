package merchant;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The signature of requests and callbacks, the proof that an answer is the Signer's, and the names of events. */
public final class Signature {
    /** Seconds that the clocks of both sides may be apart. */
    public static final int CLOCK_WINDOW_SECONDS = 60;
    private static final Pattern TIMESTAMP = Pattern.compile("[0-9]{10}");
    private static final Pattern SIGN = Pattern.compile("[A-Za-z0-9+/]{43}=");

    private Signature() {}

    /** base64(HMAC-SHA256(secret, timestamp + METHOD + path with query + body)). */
    public static String sign(String secret, String timestamp, String method, String pathAndQuery, byte[] body) {
        return mac(secret, timestamp + method + pathAndQuery, body);
    }

    /**
     * Checks a callback and returns its body, parsed.
     *
     * @param headers as a server has them: a name in any case, and its values
     * @param pathAndQuery of the notify address as it was given to the platform
     * @param body the raw bytes
     * @param credentials for each key its secret, and former ones while it changes
     * @param now Unix seconds
     */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> verifyCallback(Map<String, List<String>> headers, String method, String pathAndQuery, byte[] body,
            Map<String, List<String>> credentials, long now) throws NotVerified {
        String key = header(headers, "x-pay-key");
        List<String> signs = new ArrayList<>();
        String timestamp = header(headers, "x-pay-timestamp");
        for (String secret : credentials.getOrDefault(key, List.of())) {
            if (secret.isEmpty()) {
                throw new IllegalArgumentException("the secret of " + key + " is empty");
            }
            signs.add(sign(secret, timestamp, method, pathAndQuery, body));
        }
        proven(headers, now, signs);
        try {
            if (Json.parse(body) instanceof Map<?, ?> event) {
                return (Map<String, Object>) event;
            }
        } catch (IllegalArgumentException why) {
            throw new NotVerified("the signature holds, but the body is no JSON: " + why.getMessage(), why);
        }
        throw new NotVerified("the signature holds, but the body is no JSON object");
    }

    /** The same for a POST that has come now, with one secret. */
    public static Map<String, Object> verifyCallback(Map<String, List<String>> headers, String pathAndQuery, byte[] body, String key,
            String secret) throws NotVerified {
        long now = System.currentTimeMillis() / 1000;
        return verifyCallback(headers, "POST", pathAndQuery, body, Map.of(key, List.of(secret)), now);
    }

    /**
     * Checks that the Signer has made this answer, to the request that was sent with {@code requestSign} (its X-PAY-SIGN). Without
     * this proof it is no answer, whatever it says.
     */
    public static void verifyAnswer(Map<String, List<String>> headers, int status, byte[] body, String secret, String requestSign, long now)
            throws NotVerified {
        String timestamp = header(headers, "x-pay-timestamp");
        proven(headers, now, List.of(mac(secret, timestamp + String.format("%03d", status) + requestSign, body)));
    }

    /**
     * The name that all deliveries of one event have in common, and no two events: keep it with a unique index, and take one that is
     * there already for a repeat.
     *
     * @param event as verifyCallback returned it
     * @param body the raw bytes that it was given
     */
    public static String eventKey(Map<String, Object> event, byte[] body) {
        if (event.get("subscriptionType") instanceof String type && event.get("outTradeNo") instanceof String order) {
            String when = event.get("transferHash") instanceof String hash ? hash.toLowerCase(Locale.ROOT) : "";
            if (when.isEmpty()) {
                Object block = event.get("blockTime") instanceof BigInteger time ? time : 0;
                when = block + "/" + shown(event.get("createTime"));
            }
            return type + "/" + order + "/" + shown(event.get("chainId")) + "/" + when;
        }
        for (String[] kind : new String[][] {{"recharge", "recharge"}, {"withdrawal", "withdraw"}}) {
            Object id = event.get(kind[1] + "Id");
            if (id != null && event.get(kind[1] + "Status") instanceof BigInteger status) {
                return kind[0] + "/" + id + "/" + status;
            }
        }
        int from = 0;
        int to = body.length;
        while (from < to && blank(body[from])) {
            from++;
        }
        while (to > from && blank(body[to - 1])) {
            to--;
        }
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(body, from, to - from);
            return "unknown/" + HexFormat.of().formatHex(digest.digest());
        } catch (GeneralSecurityException why) {
            throw new IllegalStateException(why);
        }
    }

    private static String shown(Object value) {
        return value == null ? "" : value.toString();
    }

    private static boolean blank(byte one) {
        return one == ' ' || one == '\t' || one == '\r' || one == '\n';
    }

    static String mac(String secret, String head, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            mac.update(head.getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (GeneralSecurityException why) {
            throw new IllegalStateException(why);
        }
    }

    /** Checks time and form of a signature, and that it is one of these; every comparison takes the same time. */
    private static void proven(Map<String, List<String>> headers, long now, List<String> signs) throws NotVerified {
        String timestamp = header(headers, "x-pay-timestamp");
        String given = header(headers, "x-pay-sign");
        if (!TIMESTAMP.matcher(timestamp).matches()) {
            throw new NotVerified("X-PAY-TIMESTAMP is not 10 digits");
        }
        long off = Long.parseLong(timestamp) - now;
        if (Math.abs(off) > CLOCK_WINDOW_SECONDS) {
            throw new NotVerified("signed " + off + " s away from the time here; at most " + CLOCK_WINDOW_SECONDS + " s are allowed");
        }
        if (!SIGN.matcher(given).matches()) {
            throw new NotVerified("X-PAY-SIGN is not the base64 of 32 bytes");
        }
        byte[] wanted = decoded(given);
        boolean good = false;
        for (String one : signs) {
            good |= MessageDigest.isEqual(decoded(one), wanted);
        }
        if (!good) {
            throw new NotVerified("signature or key is wrong");
        }
    }

    private static byte[] decoded(String sign) throws NotVerified {
        try {
            return Base64.getDecoder().decode(sign);
        } catch (IllegalArgumentException why) {
            throw new NotVerified("X-PAY-SIGN is not the base64 of 32 bytes", why);
        }
    }

    private static String header(Map<String, List<String>> headers, String name) throws NotVerified {
        List<String> values = headers.entrySet().stream()
                .filter(one -> name.equalsIgnoreCase(one.getKey())).flatMap(one -> one.getValue().stream()).toList();
        if (values.size() != 1 || values.get(0).isEmpty() || values.get(0).contains(",")) {
            throw new NotVerified("header " + name + " is missing, or there more than once");
        }
        return values.get(0);
    }
}
