import java.math.BigInteger;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import merchant.Billed;
import merchant.CallError;
import merchant.Conflict;
import merchant.Json;
import merchant.NotKnown;
import merchant.NotProven;
import merchant.NotVerified;
import merchant.Peer;
import merchant.Platform;
import merchant.Signature;
import merchant.Signer;
import merchant.Todo;

/** The Java client against the vectors (the one argument), the stub ($STUB) and, where one runs, the sandbox ($SANDBOX). */
public final class Test {
    private static final String STUB = System.getenv("STUB");
    private static final String SANDBOX = System.getenv("SANDBOX");
    private static final Map<String, String> FAMILIES = Map.of("139", "EVM", "136", "TVM");
    private static final BigInteger BIG = new BigInteger("9007199254740993");

    private interface Attempt {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> shared = object(Json.parse(Files.readAllBytes(Path.of(args[0]))));
        vectors(shared);
        bodies(shared);
        answers(shared);
        events(shared);
        json();
        nobodyThere();
        if (STUB != null) {
            everyEntryHasOneEnd();
            platform();
            controls();
            impostors();
            clocks(shared);
        }
        if (SANDBOX != null) {
            sandbox();
        }
        System.out.println("java: all held");
    }

    private static void vectors(Map<String, Object> shared) throws Exception {
        for (Map<String, Object> one : objects(shared.get("vectors"))) {
            String name = text(one, "name");
            String at = text(one, "timestamp");
            String secret = text(one, "secret");
            String path = text(one, "pathAndQuery");
            byte[] body = utf8(text(one, "body"));
            String sign = Signature.sign(secret, at, text(one, "method"), path, body);
            same(sign, one.get("sign"), name);
            Map<String, List<String>> headers = headers(at, sign);
            Map<String, List<String>> known = Map.of("k", List.of("former", secret));
            long now = Long.parseLong(at);
            Attempt good = () -> Signature.verifyCallback(headers, text(one, "method"), path, body, known, now);
            if (text(one, "body").startsWith("{")) {
                good.run();
            } else {
                refuses(NotVerified.class, good, name);
            }
            byte[] longer = utf8(text(one, "body") + " ");
            refuses(NotVerified.class, () -> Signature.verifyCallback(headers, text(one, "method"), path, longer, known, now), name);
            refuses(NotVerified.class, () -> Signature.verifyCallback(headers, text(one, "method"), path + "x", body, known, now), name);
            for (long other : new long[] {now + 61, now - 61}) {
                refuses(NotVerified.class, () -> Signature.verifyCallback(headers, text(one, "method"), path, body, known, other), name);
            }
            refuses(NotVerified.class, () -> Signature.verifyCallback(headers, text(one, "method"), path, body, Map.of("o", List.of(secret)), now), name);
            refuses(NotVerified.class, () -> Signature.verifyCallback(Map.of(), text(one, "method"), path, body, known, now), name);
            Map<String, List<String>> twice = new LinkedHashMap<>(headers);
            twice.put("x-pay-key", List.of("k"));
            refuses(NotVerified.class, () -> Signature.verifyCallback(twice, text(one, "method"), path, body, known, now), name);
        }
    }

    private static void bodies(Map<String, Object> shared) throws Exception {
        Map<String, Object> how = object(shared.get("callback"));
        List<Map<String, Object>> all = objects(shared.get("bodies"));
        same(all.size() > 40, true, "there are bodies");
        for (Map<String, Object> one : all) {
            String at = text(how, "timestamp");
            byte[] body = Base64.getDecoder().decode(text(one, "body"));
            Map<String, List<String>> known = Map.of("k", List.of(text(how, "secret")));
            Attempt check = () -> Signature.verifyCallback(headers(at, text(one, "sign")), "POST", text(how, "pathAndQuery"), body, known, Long.parseLong(at));
            if (Boolean.TRUE.equals(one.get("taken"))) {
                check.run();
            } else {
                refuses(NotVerified.class, check, text(one, "name"));
            }
        }
    }

    private static void answers(Map<String, Object> shared) throws Exception {
        List<Map<String, Object>> all = objects(shared.get("answers"));
        same(all.size() > 20, true, "there are answers");
        for (Map<String, Object> one : all) {
            Map<String, List<String>> headers = new LinkedHashMap<>();
            for (Object pair : (List<?>) one.get("headers")) {
                List<?> both = (List<?>) pair;
                headers.computeIfAbsent((String) both.get(0), none -> new ArrayList<>()).add((String) both.get(1));
            }
            Attempt check = () -> Signature.verifyAnswer(headers, number(one, "status").intValue(), utf8(text(one, "body")), text(one, "secret"),
                    text(one, "requestSign"), number(one, "now").longValue());
            if (Boolean.TRUE.equals(one.get("proven"))) {
                check.run();
            } else {
                refuses(NotVerified.class, check, text(one, "name"));
            }
        }
    }

    private static void events(Map<String, Object> shared) {
        for (Map<String, Object> one : objects(shared.get("events"))) {
            byte[] body = utf8(text(one, "body"));
            same(Signature.eventKey(object(Json.parse(body)), body), one.get("key"), text(one, "name"));
        }
    }

    private static void json() throws Exception {
        String largest = BigInteger.TWO.pow(256).subtract(BigInteger.ONE).toString();
        String text = "{\"a\":[1," + largest + ",-0.5e3,1e400,\"a,b:{\\\"\",{},[]],\"__proto__\":null,\"\":true}";
        same(Json.dump(Json.parse(text)), text, "without loss");
        for (String bad : new String[] {"", "{", "[1,]", "01", "{\"a\":1,\"a\":2}", "NaN", "[1] 2", "\"\n\"", "1.", "-"}) {
            refuses(IllegalArgumentException.class, () -> Json.parse(bad), bad);
        }
        refuses(IllegalArgumentException.class, () -> Json.dump(0.1), "a double");
        same(Todo.of(Map.of("retry", "constructor")).who(), "operator", "a word that is not known");
    }

    private static void nobodyThere() {
        Peer nobody = new Peer("http://127.0.0.1:1", "k", "s", Duration.ofSeconds(5), 2, Duration.ofMillis(10), Test::now, null);
        Billed billed = new Signer(nobody).bill(List.of(entry(1, 139)), FAMILIES);
        same(List.of(billed.sent().size(), billed.open().size()), List.of(0, 1), "nobody there is no verdict");
    }

    private static void everyEntryHasOneEnd() throws Exception {
        List<Map<String, Object>> entries = new Platform(peer(STUB)).chargeable();
        Set<Object> ids = new HashSet<>();
        entries.forEach(one -> ids.add(one.get("subscribeId")));
        for (long id = 20; id <= 1234; id++) {
            same(ids.contains(BigInteger.valueOf(9_000_000_000_000_000_000L + id)), true, id + " was lost");
        }
        Signer signer = new Signer(peer(STUB));
        Billed billed = signer.bill(entries, FAMILIES);
        List<Object> ends = new ArrayList<>();
        billed.sent().forEach(one -> ends.addAll(one.subscriptionIds()));
        billed.failed().forEach(one -> ends.add(one.failure().get("subscribeId")));
        billed.open().forEach(one -> ends.add(one.entry().get("subscribeId")));
        same(List.of(ends.size(), new HashSet<>(ends).size()), List.of(entries.size(), entries.size()), "one end each");
        same(billed.failed().size() > 100 && billed.failed().stream().allMatch(one -> one.todo().who().equals("customer")), true, "failed");
        same(billed.open().stream().allMatch(one -> ((BigInteger) one.entry().get("subscribeId")).mod(BigInteger.valueOf(1_000_000)).intValue() % 7 == 0), true, "open");
        refuses(IllegalArgumentException.class, () -> signer.bill(List.of(entries.get(0), entries.get(0)), FAMILIES), "twice");
        Peer stranger = new Peer(STUB, "java", "another", Duration.ofSeconds(15), 1, Duration.ofMillis(10), Test::now, null);
        says(NotProven.class, () -> new Signer(stranger).status("x"), "signature or key is wrong");
        same(signer.status("a/b?c"), List.of(), "no billing");
    }

    private static void platform() throws Exception {
        Platform platform = new Platform(peer(STUB), "https://pay.example/", Set.of(1404));
        String hooks = "https://shop.example/hooks";
        Platform.Link link = platform.createLink(139, 7, "u-1", "https://shop.example/thanks", hooks);
        same(List.of(link.url(), link.subscriptionId()), List.of("https://pay.example/pay/a?b=c", BIG), "a link");
        says(CallError.class, () -> platform.createCancelLink("SUB1", "https://shop.example/bye", hooks), "no path");
        same(platform.subscriptions().get(0).get("subscriptionId"), BIG, "subscriptions");
        same(platform.chains().get(0).get("chainId"), BigInteger.valueOf(139), "chains");
        same(platform.currencies(139).get(0).get("decimals"), BigInteger.valueOf(18), "currencies");
        same(platform.createUser("u/1 &\u00e9"), BIG, "a new user");
        same(platform.user("u/1 &\u00e9").get("uuid"), "u", "a user");
        same(platform.user("nobody"), null, "no user");
        same(platform.recharge(BIG).get("rechargeId"), BIG, "a recharge");
        Platform.Withdrawal taken = new Platform.Withdrawal(BIG, true);
        for (int time = 0; time < 2; time++) {
            same(platform.withdraw(139, 1391, "0xAbC", "10.50", "w-1", null), taken, "it is made once");
        }
        refuses(Conflict.class, () -> platform.withdraw(139, 1391, "0xAbC", "10.50", "taken", null), "taken");
        for (String number : List.of("nobody knows", "busy", "behind a proxy", "behind a proxy", "a proxy alone", "mistaken")) {
            refuses(NotKnown.class, () -> platform.withdraw(139, 1391, "0xAbC", "10.50", number, null), number);
        }
        Peer empty = new Peer(STUB, "empty", "the secret of the clients", Duration.ofSeconds(15), 4, Duration.ofMillis(10), Test::now, null);
        says(CallError.class, () -> new Platform(empty).chargeable(), "has 3 entries");
        refuses(IllegalArgumentException.class, () -> platform.withdraw(139, 1391, "0xAbC", "0.0000000000000000001", "w-2", null), "too fine");
    }

    private static void controls() {
        Signer signer = new Signer(peer(STUB));
        Map<String, Object> asked = new LinkedHashMap<>();
        asked.put("wallet", "0xab");
        asked.put("state", "charged");
        same(objects(signer.charges(asked).get("charges")).get(0).get("subscribeId"), "7", "charges");
        Object since = signer.pause(139L, "a drill").get(0).get("pausedSince");
        same(signer.control().get(0).get("pausedSince"), since, "paused");
        same(signer.resume(Map.of("139", since)).get(0).get("pausedSince"), null, "resumed");
    }

    private static void impostors() throws Exception {
        for (String forgery : List.of("nothing", "another-secret", "another-request", "an-echo")) {
            Peer peer = new Peer(STUB + "/impostor/" + forgery, "java", "the secret of the clients", Duration.ofSeconds(15), 2, Duration.ofMillis(10), Test::now, null);
            Billed billed = new Signer(peer).bill(List.of(entry(1, 139), entry(2, 136)), FAMILIES);
            same(List.of(billed.sent().size(), billed.failed().size(), billed.open().size()), List.of(0, 0, 2), forgery);
            same(billed.open().get(0).why().contains("without the Signer's proof"), true, billed.open().get(0).why());
            refuses(NotProven.class, () -> new Signer(peer).status("0xab"), forgery);
        }
    }

    private static void clocks(Map<String, Object> shared) throws Exception {
        List<Map<String, Object>> all = objects(shared.get("clocks"));
        same(all.size() > 10, true, "there are clocks");
        for (Map<String, Object> one : all) {
            long off = number(one, "off").longValue();
            boolean signed = Boolean.TRUE.equals(one.get("signer"));
            String proven = Boolean.TRUE.equals(one.get("proven")) ? "proven" : "unproven";
            String url = STUB + "/clock/" + one.get("status") + "/" + proven + "/" + off;
            Peer peer = new Peer(url, "java", "the secret of the clients", Duration.ofSeconds(15), 1, Duration.ofMillis(10), () -> 1767225600, null);
            String words = "the clock here is " + Math.abs(off) + " s " + (off > 0 ? "ahead" : "behind") + ", and at most " + (signed && off > 0 ? 5 : 60) + " s are allowed";
            String said = says(CallError.class, () -> {
                if (signed) {
                    new Signer(peer).control();
                } else {
                    new Platform(peer).chains();
                }
            }, "");
            same(List.of(said.contains(words), said.contains("the clock here")), List.of(one.get("told"), one.get("told")), said);
        }
    }

    private static void sandbox() throws Exception {
        Map<String, Object> sandbox = object(Json.parse(SANDBOX));
        Map<String, Object> at = object(sandbox.get("signer"));
        Signer signer = new Signer(new Peer(text(at, "url"), text(at, "key"), text(at, "secret"), Duration.ofSeconds(30), 4, Duration.ofMillis(500), Test::now,
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()));
        for (Map.Entry<String, Object> one : object(sandbox.get("lists")).entrySet()) {
            List<Map<String, Object>> list = objects(Json.parse(Files.readAllBytes(Path.of((String) one.getValue()))));
            Map<String, String> families = Map.of(String.valueOf(list.get(0).get("chainId")), one.getKey());
            Billed first = signer.bill(list, families);
            same(first.sent().size(), 1, String.valueOf(first));
            String hash = first.sent().get(0).txHash();
            Billed again = signer.bill(list, families);
            Object then = again.sent().isEmpty() ? again.failed().get(0).failure().get("txHash") : again.sent().get(0).txHash();
            same(then, hash, "the same transaction");
            Map<String, Object> billing = signer.status(hash).get(0);
            same(objects(billing.get("subscriptions")).get(0).get("subscribeId"), list.get(0).get("subscribeId"), "its subscription");
        }
    }

    private static Peer peer(String url) {
        return new Peer(url, "java", "the secret of the clients", Duration.ofSeconds(15), 4, Duration.ofMillis(10), Test::now, null);
    }

    private static long now() {
        return System.currentTimeMillis() / 1000;
    }

    private static Map<String, Object> entry(long id, long chain) {
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("subscribeId", id);
        entry.put("chainId", chain);
        return entry;
    }

    private static Map<String, List<String>> headers(String at, String sign) {
        Map<String, List<String>> headers = new LinkedHashMap<>();
        headers.put("X-Pay-Key", List.of("k"));
        headers.put("X-Pay-Timestamp", List.of(at));
        headers.put("X-Pay-Sign", List.of(sign));
        return headers;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> objects(Object value) {
        return (List<Map<String, Object>>) value;
    }

    private static String text(Map<String, Object> of, String name) {
        return (String) of.get(name);
    }

    private static BigInteger number(Map<String, Object> of, String name) {
        return (BigInteger) of.get(name);
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void same(Object found, Object wanted, String what) {
        if (found == null ? wanted != null : !found.equals(wanted)) {
            throw new AssertionError(what + ": found " + found + ", wanted " + wanted);
        }
    }

    private static void refuses(Class<? extends Exception> kind, Attempt attempt, String what) throws Exception {
        says(kind, attempt, "");
    }

    private static String says(Class<? extends Exception> kind, Attempt attempt, String words) throws Exception {
        try {
            attempt.run();
        } catch (Exception error) {
            if (!kind.isInstance(error) || !String.valueOf(error.getMessage()).contains(words)) {
                throw error;
            }
            return String.valueOf(error.getMessage());
        }
        throw new AssertionError("no " + kind.getSimpleName());
    }
}
