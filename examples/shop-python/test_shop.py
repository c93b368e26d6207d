"""The shop's tests, each month in milliseconds, without an account and without a network. `sandbox` comes with merchant-sandbox."""

import time
import urllib.error
import urllib.request

import pytest

from shop import Shop


@pytest.fixture
def shop(sandbox):
    shop = Shop(sandbox)
    yield shop
    shop.close()


def until(what):
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < 60
        time.sleep(0.05)


def subscribe(sandbox, shop, customer, chain=139):
    sandbox.control("follow-link", paymentUrl=shop.sell(customer, chain), wallet=customer)
    until(lambda: shop.told(customer, "SubscriptionApprove"))


@pytest.mark.parametrize("customer, chain", [("ada", 139), ("ben", 136)])
def test_a_customer_pays_once_a_month_however_often_it_is_asked(sandbox, shop, customer, chain):
    subscribe(sandbox, shop, customer, chain)
    first = shop.charge()
    again = shop.charge()
    hashes = {one["txHash"] for one in first["sent"]}
    assert {one["txHash"] for one in again["sent"]} <= hashes, "nothing new is signed"
    until(lambda: shop.is_paid(customer))
    sandbox.control("advance", months=1)
    shop.charge()
    until(lambda: len(shop.told(customer, "SubscriptionBilling")) == 2)


def test_a_customer_whose_wallet_is_empty_is_asked_to_fill_it(sandbox, shop):
    subscribe(sandbox, shop, "cleo")
    sandbox.control("fault", kind="drain", chainId=139, wallet="cleo", amount="0")
    until(lambda: any(one["todo"]["who"] == "customer" for one in shop.charge()["failed"]))


def test_a_callback_that_the_platform_has_not_signed_is_refused(shop):
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(shop.notify_url, b'{"subscriptionType":"SubscriptionBilling"}')
