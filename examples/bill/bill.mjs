// Bills what is due and verifies one callback: merchant-sandbox --ci -- node bill.mjs
import { createServer } from 'node:http';
import { Platform, Signer, verifyCallback } from 'merchant-client';

const { baseUrl, paymentUrl, api, signerUrl, scheduler, families } = JSON.parse(process.env.SANDBOX);
const platform = new Platform({ url: baseUrl, paymentUrl, ...api });
const hooks = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const event = verifyCallback({ headers: request.headers, pathAndQuery: request.url, body, credentials: { [api.key]: api.secret } });
  response.end('success', () => event.subscriptionType === 'SubscriptionBilling' && process.exit(console.log('verified', event.transferHash)));
}).listen(0, '127.0.0.1', async () => {
  const notifyUrl = `http://127.0.0.1:${hooks.address().port}/hooks`;
  await platform.createLink({ chainId: 139, planId: 7, externalUserId: 'user-1', redirectionUrl: 'https://shop.example/thanks', notifyUrl });
  const due = (await platform.chargeable()).filter((entry) => entry.chainId === 139n);
  const { sent } = await new Signer({ url: signerUrl, ...scheduler }).bill(due, { families });
  console.log('sent', sent[0].txHash);
});
