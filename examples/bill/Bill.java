// Bills what is due and verifies one callback: merchant-sandbox --ci -- java -cp merchant-client-0.1.0.jar Bill.java
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Set;
import merchant.*;

class Bill {
    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        var sandbox = (Map<String, Object>) Json.parse(System.getenv("SANDBOX"));
        var api = (Map<String, String>) sandbox.get("api");
        var scheduler = (Map<String, String>) sandbox.get("scheduler");
        var hooks = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        hooks.createContext("/hooks", request -> {
            try (request) {
                var body = request.getRequestBody().readAllBytes();
                var event = Signature.verifyCallback(request.getRequestHeaders(), request.getRequestURI().toString(), body, api.get("key"), api.get("secret"));
                request.sendResponseHeaders(200, 7);
                request.getResponseBody().write("success".getBytes());
                if ("SubscriptionBilling".equals(event.get("subscriptionType"))) {
                    System.out.println("verified " + event.get("transferHash"));
                    hooks.stop(0);
                }
            } catch (NotVerified why) {
                request.sendResponseHeaders(401, -1);
            }
        });
        hooks.start();
        var platform = new Platform(new Peer((String) sandbox.get("baseUrl"), api.get("key"), api.get("secret")), (String) sandbox.get("paymentUrl"), Set.of());
        platform.createLink(139, 7, "user-1", "https://shop.example/thanks", "http://127.0.0.1:" + hooks.getAddress().getPort() + "/hooks");
        var due = platform.chargeable().stream().filter(entry -> entry.get("chainId").toString().equals("139")).toList();
        var signer = new Signer(new Peer((String) sandbox.get("signerUrl"), scheduler.get("key"), scheduler.get("secret")));
        System.out.println("sent " + signer.bill(due, (Map<String, String>) sandbox.get("families")).sent().get(0).txHash());
    }
}
