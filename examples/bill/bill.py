# Bills what is due and verifies one callback: merchant-sandbox --ci -- python bill.py
import http.server, json, os
import merchant

sandbox = json.loads(os.environ["SANDBOX"])
api: dict[str, str] = sandbox["api"]
heard: list[dict[str, str]] = []

class Hooks(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        heard.append(merchant.verify_callback(self.headers, self.path, body, {api["key"]: api["secret"]}))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"success")

hooks = http.server.HTTPServer(("127.0.0.1", 0), Hooks)
platform = merchant.Platform(sandbox["baseUrl"], api["key"], api["secret"], sandbox["paymentUrl"])
platform.create_link(139, 7, "user-1", "https://shop.example/thanks", f"http://127.0.0.1:{hooks.server_port}/hooks")
due = [entry for entry in platform.chargeable() if entry["chainId"] == 139]
billed = merchant.Signer(sandbox["signerUrl"], **sandbox["scheduler"]).bill(due, sandbox["families"])
print("sent", billed["sent"][0]["txHash"])
while not (heard and heard[-1]["subscriptionType"] == "SubscriptionBilling"):
    hooks.handle_request()
print("verified", heard[-1]["transferHash"])
