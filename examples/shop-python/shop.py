"""A shop as its tests see it: sells by links, charges what is due, and grants what a verified callback and the Signer confirm."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import merchant


class Shop:
    def __init__(self, sandbox):
        api = sandbox["api"]
        self.credentials = {api["key"]: api["secret"]}
        self.platform = merchant.Platform(sandbox["baseUrl"], api["key"], api["secret"], sandbox["paymentUrl"])
        self.signer = merchant.Signer(sandbox["signerUrl"], **sandbox["scheduler"])
        self.families = sandbox["families"]
        self.events = {}
        shop = self

        class Hooks(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    event = merchant.verify_callback(self.headers, self.path, body, shop.credentials)
                except merchant.NotVerified:
                    self.send_error(401)
                    return
                shop.events[merchant.event_key(event, body)] = event
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"success")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Hooks)
        self.notify_url = f"http://127.0.0.1:{self.server.server_port}/hooks"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def sell(self, customer, chain=139):
        """A link for a customer to subscribe by."""
        return self.platform.create_link(chain, 7, customer, "https://shop.example/thanks", self.notify_url)["url"]

    def charge(self):
        """Charges everybody who is due."""
        return self.signer.bill(self.platform.chargeable(), self.families)

    def told(self, customer, kind):
        """The customer's events of a type, as the callbacks told them."""
        return [one for one in self.events.values() if one.get("externalUserId") == customer and one["subscriptionType"] == kind]

    def is_paid(self, customer):
        """True once the Signer calls the newest charge of the customer final: then goods are handed out."""
        told = self.told(customer, "SubscriptionBilling")
        billings = self.signer.status(told[-1]["transferHash"]) if told else []
        return bool(billings) and billings[0]["state"] == "charged"
