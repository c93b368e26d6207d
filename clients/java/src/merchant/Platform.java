package merchant;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The platform: links, what is due, users, recharges, withdrawals. Only reads are repeated. Records are the platform's own, read by
 * {@link Json}; null is one that it does not have.
 */
public final class Platform {
    private static final int PAGE = 500;
    private static final int PASSES = 5;

    private final Peer peer;
    private final String paymentUrl;
    private final Set<Integer> notFoundCodes;

    /** A platform whose links are not needed. */
    public Platform(Peer peer) {
        this(peer, null, Set.of());
    }

    /**
     * A platform.
     *
     * @param paymentUrl the URL of the users' pages
     * @param notFoundCodes the codes of your platform for "no such record" beside 404
     */
    public Platform(Peer peer, String paymentUrl, Set<Integer> notFoundCodes) {
        this.peer = peer;
        this.paymentUrl = paymentUrl;
        this.notFoundCodes = notFoundCodes;
    }

    /** A link, with the platform's whole answer. */
    public record Link(String url, Object expiration, Object subscriptionId, Map<String, Object> answer) {}

    /** A withdrawal; {@code found} if it was there before. */
    public record Withdrawal(Object withdrawId, boolean found) {}

    /** A link on which one user can subscribe to one plan. Each call makes a new order. */
    public Link createLink(long chainId, long planId, String externalUserId, String redirectionUrl, String notifyUrl) {
        return link("/api/mer/subscribe/payment/create", fields("chainId", chainId, "planId", planId, "externalUserId", externalUserId,
                "redirectionUrl", redirectionUrl, "notifyUrl", notifyUrl));
    }

    /** A link on which the user can end a subscription. */
    public Link createCancelLink(String outTradeNo, String redirectionUrl, String notifyUrl) {
        return link("/api/mer/subscribe/cancel/create",
                fields("outTradeNo", outTradeNo, "redirectionUrl", redirectionUrl, "notifyUrl", notifyUrl));
    }

    @SuppressWarnings("unchecked")
    private Link link(String path, Map<String, Object> request) {
        if (paymentUrl == null || paymentUrl.isEmpty()) {
            throw new IllegalArgumentException("paymentUrl is missing");
        }
        Map<String, Object> answer = change(path, request) instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
        // "//host" would be another host's page.
        if (!(answer.get("paymentUrl") instanceof String page) || !page.startsWith("/") || page.startsWith("//")) {
            throw new CallError("paymentUrl " + answer.get("paymentUrl") + " is no path that begins with one /", 200);
        }
        return new Link(paymentUrl.replaceAll("/+$", "") + page, answer.get("expiration"), answer.get("subscriptionId"), answer);
    }

    /** The chains of the platform, with its own ids for them. */
    public List<Map<String, Object>> chains() {
        return Entries.records(read("/api/mer/conf/list/chain"));
    }

    /** The currencies of one chain. */
    public List<Map<String, Object>> currencies(long chainId) {
        return Entries.records(read(Peer.question("/api/mer/conf/list/currency", fields("chainId", chainId))));
    }

    /** Makes a user, or names the one that is there: the platform's id. */
    public Object createUser(String uuid) {
        return change("/api/mer/user/create", fields("uuid", uuid));
    }

    /** A user, with recharge addresses. */
    public Map<String, Object> user(String uuid) {
        return find(Peer.question("/api/mer/user/detail", fields("uuid", uuid)));
    }

    /** A recharge. */
    public Map<String, Object> recharge(Object rechargeId) {
        return find(Peer.question("/api/mer/recharge/detail", fields("rechargeId", rechargeId)));
    }

    /** A withdrawal, by the number that it was applied for with. */
    public Map<String, Object> withdrawalByTrade(String outTradeNo) {
        return find(Peer.question("/api/mer/withdraw/detail", fields("outTradeNo", outTradeNo)));
    }

    /** A withdrawal, by the platform's id. */
    public Map<String, Object> withdrawal(Object withdrawId) {
        return find(Peer.question("/api/mer/withdraw/detail", fields("withdrawId", withdrawId)));
    }

    /**
     * Applies for a withdrawal, unless one with this {@code outTradeNo} is there. May be repeated after any failure: it looks first.
     * Throws Conflict where the number belongs to another payment, NotKnown where nobody can tell if it was taken, by this
     * call or before.
     *
     * @param withdrawAmount a decimal in text
     * @param notifyUrl may be null
     */
    public Withdrawal withdraw(long chainId, long currencyId, String withdrawAddress, String withdrawAmount, String outTradeNo, String notifyUrl) {
        if (outTradeNo.isBlank()) {
            throw new IllegalArgumentException("outTradeNo is what keeps a payment from being made twice");
        }
        Map<String, Object> currency = looked(() -> currencies(chainId)).stream()
                .filter(one -> String.valueOf(one.get("currencyId")).equals(Long.toString(currencyId))).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("chain " + chainId + " has no currency " + currencyId));
        BigInteger units = Entries.baseUnits(withdrawAmount, Integer.parseInt(String.valueOf(currency.get("decimals"))));
        Map<String, Object> wanted = fields("chainId", chainId, "currencyId", currencyId,
                "withdrawAddress", Entries.spelling(withdrawAddress), "withdrawAmount", units);
        Withdrawal before = looked(() -> applied(outTradeNo, wanted));
        if (before != null) {
            return before;
        }
        Map<String, Object> request = fields("chainId", chainId, "currencyId", currencyId, "withdrawAddress", withdrawAddress,
                "withdrawAmount", withdrawAmount, "outTradeNo", outTradeNo, "notifyUrl", notifyUrl);
        request.values().removeIf(Objects::isNull);
        try {
            if (change("/api/mer/withdraw/apply", request) instanceof Map<?, ?> answer && answer.get("withdrawId") != null) {
                return new Withdrawal(answer.get("withdrawId"), false);
            }
            throw new CallError("the answer names no withdrawal", 200);
        } catch (CallError error) {
            return afterwards(outTradeNo, wanted, error);
        }
    }

    /** The result of a look before anything is applied for. Without it nobody knows what an earlier application has done. */
    private static <T> T looked(Supplier<T> look) {
        try {
            return look.get();
        } catch (Conflict conflict) {
            throw conflict;
        } catch (CallError error) {
            throw new NotKnown("it is not known if there is a withdrawal of this number, and nothing was applied for; ask again with the same"
                    + " outTradeNo: " + error.getMessage(), error);
        }
    }

    /** A refusal may be for a number that was taken between the look and the application. */
    private Withdrawal afterwards(String outTradeNo, Map<String, Object> wanted, CallError error) {
        Withdrawal after = null;
        boolean known = !error.mayHaveHappened();
        try {
            after = applied(outTradeNo, wanted);
        } catch (Conflict conflict) {
            throw conflict;
        } catch (CallError unread) {
            error.addSuppressed(unread);
            known = false;
        }
        if (after != null) {
            return after;
        }
        if (!known) {
            throw new NotKnown("it is not known if the withdrawal was taken; ask again with the same outTradeNo: " + error.getMessage(), error);
        }
        throw error;
    }

    private Withdrawal applied(String outTradeNo, Map<String, Object> wanted) {
        Map<String, Object> found = withdrawalByTrade(outTradeNo);
        if (found == null) {
            return null;
        }
        if (!outTradeNo.equals(String.valueOf(found.get("outTradeNo")))) {
            throw new CallError("the record is of outTradeNo " + found.get("outTradeNo") + ", and not of " + outTradeNo, 200);
        }
        for (Map.Entry<String, Object> one : wanted.entrySet()) {
            String has = String.valueOf(found.get(one.getKey()));
            has = one.getKey().equals("withdrawAddress") ? Entries.spelling(has) : has;
            if (!has.equals(String.valueOf(one.getValue()))) {
                Object id = found.get("withdrawId");
                throw new Conflict("outTradeNo " + outTradeNo + " is withdrawal " + id + " already, with another " + one.getKey(), id);
            }
        }
        return new Withdrawal(found.get("withdrawId"), true);
    }

    /** Every subscription, each once; read like what is due. */
    public List<Map<String, Object>> subscriptions() {
        return whole("/api/mer/subscribe/list");
    }

    /**
     * Everything that is due, each subscription once. Reads the pages from the first to the last and back, and again until that brings
     * nothing new: entries change pages while they are read.
     */
    public List<Map<String, Object>> chargeable() {
        return whole("/api/mer/subscribe/chargeable/list");
    }

    private List<Map<String, Object>> whole(String path) {
        Map<BigInteger, Map<String, Object>> entries = new LinkedHashMap<>();
        for (int pass = 1; pass <= PASSES; pass++) {
            int before = entries.size();
            Page first = page(path, 1, entries);
            if (first.length == 0 && first.count > 0) {
                // The last entry may have gone between the two; what stays so is no list that is empty.
                if (pass == PASSES) {
                    throw new CallError("the list has " + first.count + " entries, and its first page none", 200);
                }
                continue;
            }
            boolean single = first.length < PAGE && first.count <= first.length;
            if (!single) {
                int last = 1;
                for (int length = first.length; length > 0;) {
                    length = page(path, ++last, entries).length;
                }
                for (int number = last - 1; number >= 1; number--) {
                    page(path, number, entries);
                }
            }
            if (entries.size() == before || (single && pass == 1)) {
                break;
            }
        }
        return new ArrayList<>(entries.values());
    }

    private record Page(int length, long count) {}

    private Page page(String path, int number, Map<BigInteger, Map<String, Object>> entries) {
        Object data = read(path + "?page=" + number + "&size=" + PAGE);
        Object list = data instanceof Map<?, ?> map ? map.get("list") : data;
        if (!(list instanceof List<?> all)) {
            throw new CallError("data has no list", 200);
        }
        for (Map<String, Object> entry : Entries.records(list)) {
            entries.put(Entries.idOf(entry), entry);
        }
        long count = data instanceof Map<?, ?> map && map.get("count") instanceof BigInteger given ? given.longValue() : 0;
        return new Page(all.size(), count);
    }

    /** A read, repeated while what failed passes by itself. */
    private Object read(String path) {
        return peer.persistently(() -> once("GET", path, null), error -> false);
    }

    /** A read of one record. */
    @SuppressWarnings("unchecked")
    private Map<String, Object> find(String path) {
        try {
            return (Map<String, Object>) read(path);
        } catch (CallError error) {
            // A 404 without the platform's envelope is of somebody in between, who knows of no record.
            if (error.code() == null) {
                throw error;
            }
            boolean none = error.code().bitLength() < 32
                    && (error.code().intValue() == 404 || notFoundCodes.contains(error.code().intValue()));
            if (none || Integer.valueOf(404).equals(error.status())) {
                return null;
            }
            throw error;
        }
    }

    /** A change is sent once. */
    private Object change(String path, Map<String, Object> request) {
        return once("POST", path, Json.dump(request));
    }

    private Object once(String method, String path, String body) {
        Peer.Answer answer = peer.call(false, method, path, body);
        if (!answer.says(200) || answer.status() >= 300) {
            throw answer.refused();
        }
        return answer.data();
    }

    /** Names and values in turn. */
    static Map<String, Object> fields(Object... given) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < given.length; i += 2) {
            fields.put((String) given[i], given[i + 1]);
        }
        return fields;
    }
}
