package merchant;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;

/** The Signer: bills what is due, and tells what became of it. Whatever it has not signed is NotProven. */
public final class Signer {
    /** The most entries that the Signer takes in one request, unless it is configured otherwise. */
    public static final int MOST_ENTRIES = 500;
    /** The longest body that the Signer reads is 1 MiB, unless it is configured otherwise. */
    public static final int MOST_BYTES = 1_000_000;

    private final Peer peer;
    private final int mostEntries;
    private final int mostBytes;

    /** A Signer with its usual limits. */
    public Signer(Peer peer) {
        this(peer, MOST_ENTRIES, MOST_BYTES);
    }

    /** A Signer that is configured to take more or less at once. */
    public Signer(Peer peer, int mostEntries, int mostBytes) {
        this.peer = peer;
        this.mostEntries = mostEntries;
        this.mostBytes = mostBytes;
    }

    /**
     * Bills entries of the chargeable list. Every entry comes back in exactly one of three lists. Nothing is ever charged twice by
     * posting it again.
     *
     * @param families by chain id: {@code Map.of("139", "EVM", "136", "TVM")}
     */
    public Billed bill(List<Map<String, Object>> entries, Map<String, String> families) {
        return bill(entries, families, false);
    }

    /** The same; with {@code dryRun} nothing is signed. */
    public Billed bill(List<Map<String, Object>> entries, Map<String, String> families, boolean dryRun) {
        Map<String, List<Map<String, Object>>> chains = new LinkedHashMap<>();
        Set<BigInteger> seen = new HashSet<>();
        for (Map<String, Object> entry : entries) {
            String chain = String.valueOf(entry.get("chainId"));
            if (!Set.of("EVM", "TVM").contains(families.getOrDefault(chain, ""))) {
                throw new IllegalArgumentException("families does not say whether chain " + chain + " is EVM or TVM");
            }
            BigInteger id = Entries.idOf(entry);
            if (!seen.add(id)) {
                throw new IllegalArgumentException("subscription " + id + " is in the list twice");
            }
            chains.computeIfAbsent(chain, none -> new ArrayList<>()).add(entry);
        }
        Billed result = new Billed();
        chains.forEach((chain, list) -> split(list).forEach(part -> post(families.get(chain), part, dryRun, result)));
        return result;
    }

    /** Every billing that has this transaction hash or request id, newest first. */
    public List<Map<String, Object>> status(String id) {
        return Entries.records(peer.persistently(() -> {
            Peer.Answer answer = peer.call(true, "GET", "/PayTool/billings/" + Peer.encoded(id), null);
            if (answer.status() == 404 && answer.says(0)) {
                return List.of();
            }
            return told(answer);
        }, error -> false));
    }

    /** One page of the ledger, by the parameters of GET /PayTool/charges: {@code Map.of("state", "charged")}. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> charges(Map<String, ?> asked) {
        String path = Peer.question("/PayTool/charges", asked);
        return (Map<String, Object>) peer.persistently(() -> told(peer.call(true, "GET", path, null)), error -> false);
    }

    /** The state of the chains. This and the next two need the key of a caller that may control. */
    public List<Map<String, Object>> control() {
        return Entries.records(told(peer.call(true, "GET", "/PayTool/control", null)));
    }

    /** Has nothing new signed, on one chain or, with null, on all; {@code why} is kept in the history. */
    public List<Map<String, Object>> pause(Long chainId, String why) {
        Map<String, Object> asked = Platform.fields("chainId", chainId, "why", why);
        asked.values().removeIf(Objects::isNull);
        return Entries.records(told(peer.call(true, "POST", "/PayTool/control/pause", Json.dump(asked))));
    }

    /** Ends pauses, each named by its chain and its {@code pausedSince} of control(). */
    public List<Map<String, Object>> resume(Map<String, ?> pauses) {
        return Entries.records(told(peer.call(true, "POST", "/PayTool/control/resume", Json.dump(Map.of("pauses", pauses)))));
    }

    private static Object told(Peer.Answer answer) {
        if (!answer.says(1)) {
            throw answer.refused();
        }
        return answer.data();
    }

    private List<List<Map<String, Object>>> split(List<Map<String, Object>> list) {
        List<List<Map<String, Object>>> parts = new ArrayList<>();
        List<Map<String, Object>> part = new ArrayList<>();
        long bytes = 0;
        for (Map<String, Object> entry : list) {
            int length = Json.dump(entry).getBytes(StandardCharsets.UTF_8).length + 1;
            if (!part.isEmpty() && (part.size() >= mostEntries || bytes + length > mostBytes - 200)) {
                parts.add(part);
                part = new ArrayList<>();
                bytes = 0;
            }
            part.add(entry);
            bytes += length;
        }
        parts.add(part);
        return parts;
    }

    private void post(String family, List<Map<String, Object>> part, boolean dryRun, Billed result) {
        String text = Json.dump(part);
        // The same entries make the same request, whenever they are posted.
        String body = "{\"requestId\":\"" + requestId(text) + "\",\"mode\":\"partial\",\"dryRun\":" + dryRun + ",\"list\":" + text + "}";
        Predicate<CallError> tooLarge = error -> part.size() > 1
                && (Integer.valueOf(413).equals(error.status()) || (error.maxBatch() != null && error.maxBatch() < part.size()));
        Map<String, Object> envelope;
        try {
            envelope = peer.persistently(() -> verdict(family, body, dryRun), tooLarge);
        } catch (CallError error) {
            if (tooLarge.test(error)) {
                int half = (part.size() + 1) / 2;
                int most = error.maxBatch() == null ? half : Math.max(1, Math.min(error.maxBatch(), half));
                for (int from = 0; from < part.size(); from += most) {
                    post(family, part.subList(from, Math.min(part.size(), from + most)), dryRun, result);
                }
                return;
            }
            part.forEach(entry -> result.open().add(new Billed.Open(entry, error.getMessage())));
            return;
        }
        sort(envelope, part, result);
    }

    private Map<String, Object> verdict(String family, String body, boolean dryRun) {
        Peer.Answer answer = peer.call(true, "POST", "/PayTool/" + family + "/subscribe/signProcessSubscribePlan", body);
        boolean rehearsed = dryRun && answer.says(0) && answer.data() != null;
        if (answer.status() >= 300 || !(answer.says(1) || answer.says(2) || rehearsed)) {
            throw answer.refused();
        }
        return answer.envelope();
    }

    private static String requestId(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, 32);
        } catch (GeneralSecurityException why) {
            throw new IllegalStateException(why);
        }
    }

    /** Puts every entry where the verdict says; one that the Signer does not speak of is open. */
    private static void sort(Map<String, Object> envelope, List<Map<String, Object>> part, Billed result) {
        Map<BigInteger, Map<String, Object>> waiting = new LinkedHashMap<>();
        part.forEach(entry -> waiting.put(Entries.idOf(entry), entry));
        int code = ((BigInteger) envelope.get("code")).intValue();
        Map<?, ?> data = envelope.get("data") instanceof Map<?, ?> map ? map : Map.of();
        for (Map<String, Object> failure : Entries.records(code == 2 ? envelope.get("data") : data.get("failed"))) {
            if (remove(waiting, failure.get("subscribeId"))) {
                result.failed().add(new Billed.Failed(failure, Todo.of(failure)));
            }
        }
        if (data.get(code == 1 ? "subscriptionIds" : "wouldCharge") instanceof List<?> named) {
            List<Object> sent = new ArrayList<>(named);
            sent.removeIf(id -> !remove(waiting, id));
            if (!sent.isEmpty()) {
                result.sent().add(new Billed.Sent(words(data.get("txHash")), null, sent));
            }
        }
        for (Map<String, Object> one : Entries.records(code == 2 ? envelope.get("earlier") : data.get("earlier"))) {
            if (remove(waiting, one.get("subscribeId"))) {
                result.sent().add(new Billed.Sent(words(one.get("txHash")), words(one.get("state")), List.of(one.get("subscribeId"))));
            }
        }
        waiting.values().forEach(entry -> result.open().add(new Billed.Open(entry, "the Signer said nothing about it")));
    }

    private static boolean remove(Map<BigInteger, ?> waiting, Object id) {
        BigInteger number = Entries.number(id);
        return number != null && waiting.remove(number) != null;
    }

    private static String words(Object value) {
        return value == null ? null : value.toString();
    }
}
