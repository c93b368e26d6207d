// A shop as its tests see it: sells by links, charges what is due, and grants what a verified callback and the Signer confirm.
import { createServer } from 'node:http';
import { NotVerified, Platform, Signer, eventKey, verifyCallback } from 'merchant-client';

export class Shop {
  #events = new Map();

  constructor({ baseUrl, paymentUrl, api, signerUrl, scheduler, families }) {
    this.platform = new Platform({ url: baseUrl, paymentUrl, ...api });
    this.signer = new Signer({ url: signerUrl, ...scheduler });
    this.families = families;
    this.api = api;
  }

  async open() {
    this.server = createServer((request, response) => this.#take(request, response));
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.notifyUrl = `http://127.0.0.1:${this.server.address().port}/hooks`;
  }

  close() {
    this.server.close();
  }

  async #take(request, response) {
    const body = Buffer.concat(await request.toArray());
    try {
      const event = verifyCallback({ headers: request.headers, pathAndQuery: request.url, body, credentials: { [this.api.key]: this.api.secret } });
      this.#events.set(eventKey(event, body), event);
      response.end('success');
    } catch (error) {
      if (!(error instanceof NotVerified)) throw error;
      response.writeHead(401).end();
    }
  }

  /** A link for a customer to subscribe by. */
  async sell(customer, chainId = 139) {
    const redirectionUrl = 'https://shop.example/thanks';
    return this.platform.createLink({ chainId, planId: 7, externalUserId: customer, redirectionUrl, notifyUrl: this.notifyUrl });
  }

  /** Charges everybody who is due. */
  async charge() {
    return this.signer.bill(await this.platform.chargeable(), { families: this.families });
  }

  /** The customer's events of a type, as the callbacks told them. */
  told(customer, type) {
    return [...this.#events.values()].filter((event) => event.externalUserId === customer && event.subscriptionType === type);
  }

  /** True once the Signer calls the newest charge of the customer final: then goods are handed out. */
  async isPaid(customer) {
    const hash = this.told(customer, 'SubscriptionBilling').at(-1)?.transferHash;
    if (!hash) return false;
    const [billing] = await this.signer.status(hash);
    return billing?.state === 'charged';
  }
}
