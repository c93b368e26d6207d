// The shop's tests, each month in milliseconds, without an account and without a network.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from 'merchant-sandbox';
import { Shop } from './shop.mjs';

let sandbox, shop;
before(async () => {
  sandbox = await start({ subscribers: 0, seed: 1, at: '2096-01-31' });
  shop = new Shop(sandbox);
  await shop.open();
});
after(async () => {
  shop?.close();
  await sandbox?.stop();
});

const until = async (what) => {
  for (const began = Date.now(); !(await what()); await new Promise((done) => setTimeout(done, 50))) assert.ok(Date.now() - began < 60_000, String(what));
};
const subscribe = async (customer, wallet, chainId) => {
  const { url } = await shop.sell(customer, chainId);
  await sandbox.control('follow-link', { paymentUrl: url, wallet });
  await until(() => shop.told(customer, 'SubscriptionApprove').length === 1);
};

for (const [chainId, wallet] of [[139, 'ada'], [136, 'ben']]) {
  test(`a customer on chain ${chainId} pays once a month, however often it is asked`, async () => {
    await subscribe(wallet, wallet, chainId);
    const { sent } = await shop.charge();
    const again = await shop.charge();
    assert.ok(again.sent.every(({ txHash }) => txHash === sent[0].txHash), 'nothing new is signed');
    await until(() => shop.isPaid(wallet));
    await sandbox.control('advance', { months: 1 });
    await shop.charge();
    await until(() => shop.told(wallet, 'SubscriptionBilling').length === 2);
  });
}

test('a customer whose wallet is empty is asked to fill it, and is charged then', async () => {
  await subscribe('cleo', 'cleo', 139);
  await sandbox.control('fault', { kind: 'drain', chainId: 139, wallet: 'cleo', amount: '0' });
  await until(async () => {
    const { failed } = await shop.charge();
    return failed.some(({ failReason, todo }) => todo.who === 'customer' && /balance/i.test(failReason));
  });
  await sandbox.control('fund', { chainId: 139, wallet: 'cleo' });
  await until(async () => {
    await shop.charge();
    return shop.isPaid('cleo');
  });
});

test('an answer that is lost on its way charges nobody twice', async () => {
  await subscribe('dan', 'dan', 139);
  await sandbox.control('fault', { kind: 'signer', how: 'lost', times: 1 });
  const { sent, open } = await shop.charge();
  assert.deepEqual([sent.length, open.length], [1, 0], 'the client has asked again by itself');
  await until(() => shop.isPaid('dan'));
  assert.equal(shop.told('dan', 'SubscriptionBilling').length, 1);
});

test('a callback that the platform has not signed is refused', async () => {
  const response = await fetch(shop.notifyUrl, { method: 'POST', body: '{"subscriptionType":"SubscriptionBilling"}' });
  assert.equal(response.status, 401);
});
