<?php
/** The PHP client against the vectors, the stub ($STUB) and, where one runs, the sandbox ($SANDBOX). */

declare(strict_types=1);

require __DIR__ . '/psr.php';
require __DIR__ . '/merchant.php';

use Merchant\Conflict;
use Merchant\NotKnown;
use Merchant\NotProven;
use Merchant\NotVerified;
use Merchant\Peer;
use Merchant\Platform;
use Merchant\Signer;

function same(mixed $found, mixed $wanted, string $what): void
{
    if ($found !== $wanted) {
        throw new \AssertionError("$what: found " . var_export($found, true) . ', wanted ' . var_export($wanted, true));
    }
}

function throws(string $class, callable $attempt, string $what): void
{
    try {
        $attempt();
    } catch (\Throwable $error) {
        same($error instanceof $class, true, "$what threw " . $error::class);
        return;
    }
    throw new \AssertionError("$what did not throw");
}

function vectors(): void
{
    $text = file_get_contents(__DIR__ . '/../../docs/vectors/signing.json');
    foreach (json_decode($text, true, 512, JSON_THROW_ON_ERROR)['vectors'] as $one) {
        ['name' => $name, 'secret' => $secret, 'timestamp' => $at, 'method' => $method, 'pathAndQuery' => $path, 'body' => $body] = $one;
        same(\Merchant\sign($secret, $at, $method, $path, $body), $one['sign'], $name);
        $headers = ['X-Pay-Key' => 'k', 'X-Pay-Timestamp' => $at, 'X-Pay-Sign' => $one['sign']];
        $check = fn (array $headers, string $path, string $body, int $now, string $key = 'k') => \Merchant\verifyCallback($headers, $path, $body, [$key => ['former', $secret]], $method, $now);
        if (str_starts_with($body, '{')) {
            same($check($headers, $path, $body, (int) $at) instanceof \stdClass, true, $name);
        } else {
            throws(NotVerified::class, fn () => $check($headers, $path, $body, (int) $at), "$name: no object");
        }
        throws(NotVerified::class, fn () => $check($headers, $path, "$body ", (int) $at), "$name: body");
        throws(NotVerified::class, fn () => $check($headers, "{$path}x", $body, (int) $at), "$name: path");
        throws(NotVerified::class, fn () => $check($headers, $path, $body, (int) $at + 61), "$name: late");
        throws(NotVerified::class, fn () => $check($headers, $path, $body, (int) $at, 'other'), "$name: key");
        throws(NotVerified::class, fn () => $check([], $path, $body, (int) $at), "$name: no headers");
    }
}

function answers(): void
{
    $text = file_get_contents(__DIR__ . '/../../docs/vectors/signing.json');
    $all = json_decode($text, true, 512, JSON_THROW_ON_ERROR)['answers'];
    same(count($all) > 20, true, 'there are answers');
    foreach ($all as $one) {
        $headers = [];
        foreach ($one['headers'] as [$name, $value]) {
            $headers[$name] = isset($headers[$name]) ? "{$headers[$name]}, $value" : $value;
        }
        $check = fn () => \Merchant\verifyAnswer($headers, $one['status'], $one['body'], $one['secret'], $one['requestSign'], $one['now']);
        $one['proven'] ? $check() : throws(NotVerified::class, $check, $one['name']);
    }
}

function events(): void
{
    $text = file_get_contents(__DIR__ . '/../../docs/vectors/signing.json');
    foreach (json_decode($text, true, 512, JSON_THROW_ON_ERROR)['events'] as $one) {
        same(\Merchant\eventKey(\Merchant\parse($one['body']), $one['body']), $one['key'], $one['name']);
    }
}

/** The package is this file, in this version. */
function package(): void
{
    $package = json_decode(file_get_contents(__DIR__ . '/composer.json'), true, 512, JSON_THROW_ON_ERROR);
    same($package['version'], \Merchant\VERSION, 'the version');
    same($package['autoload'], ['files' => ['merchant.php']], 'the file');
}

function bodies(): void
{
    $shared = json_decode(file_get_contents(__DIR__ . '/../../docs/vectors/signing.json'), true, 512, JSON_THROW_ON_ERROR);
    same(count($shared['bodies']) > 40, true, 'there are bodies');
    ['secret' => $secret, 'timestamp' => $at, 'pathAndQuery' => $path] = $shared['callback'];
    foreach ($shared['bodies'] as $one) {
        $headers = ['X-Pay-Key' => 'k', 'X-Pay-Timestamp' => $at, 'X-Pay-Sign' => $one['sign']];
        $check = fn () => \Merchant\verifyCallback($headers, $path, base64_decode($one['body']), ['k' => $secret], 'POST', (int) $at);
        $one['taken'] ? same($check() instanceof \stdClass, true, $one['name']) : throws(NotVerified::class, $check, $one['name']);
    }
}

function json(): void
{
    $max = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
    $text = '{"a":[1,' . $max . ',-0.5e3,1e400,"a,b:{\\"",{},[]],"":true,"n":null,"7":9223372036854775807}';
    same(\Merchant\dump(\Merchant\parse($text)), $text, 'JSON goes through without loss');
    foreach (['', '{', '[1,]', 'NaN', '{"a":1,"a":2}', '{"\u0000a":1}'] as $bad) {
        throws(\JsonException::class, fn () => \Merchant\parse($bad), $bad);
    }
    throws(\InvalidArgumentException::class, fn () => \Merchant\dump(0.1), 'a float');
}

function calls(string $stub): void
{
    $peer = new Peer($stub, 'php', 'the secret of the clients', pause: 0.01);
    $entries = (new Platform($peer))->chargeable();
    $small = fn ($id): int => $id % 1_000_000;
    $ids = array_map(fn ($entry) => $small($entry->subscribeId), $entries);
    same(array_diff(range(20, 1234), $ids), [], 'no entry was lost');
    $signer = new Signer($peer);
    $result = $signer->bill($entries, [139 => 'EVM', 136 => 'TVM']);
    $ends = array_merge(array_merge(...array_column($result['sent'], 'subscriptionIds')), array_map(fn ($one) => $one->subscribeId, $result['failed']), array_map(fn ($one) => $one['entry']->subscribeId, $result['open']));
    sort($ends);
    $all = array_map(fn ($entry) => $entry->subscribeId, $entries);
    sort($all);
    same($ends, $all, 'every entry has exactly one end');
    same(count($result['failed']) > 100, true, 'failures are told');
    same(array_unique(array_map(fn ($one) => $one->todo['who'], $result['failed'])), ['customer'], 'what to do is said');
    same(array_filter($result['open'], fn ($one) => $small($one['entry']->subscribeId) % 7 !== 0), [], 'open is what the Signer was silent about');
    same($signer->status('a/b?c'), [], 'no billing');
    throws(NotProven::class, fn () => (new Signer(new Peer($stub, 'php', 'another')))->status('x'), 'a wrong secret');
    throws(\InvalidArgumentException::class, fn () => $signer->bill([$entries[0], $entries[0]], [139 => 'EVM', 136 => 'TVM']), 'a repeat');
}

function interfaces(string $stub): void
{
    $peer = new Peer($stub, 'php', 'the secret of the clients', pause: 0.01);
    $platform = new Platform($peer, 'https://pay.example/', [1404]);
    [$thanks, $bye, $hooks] = array_map(fn ($page) => "https://shop.example/$page", ['thanks', 'bye', 'hooks']);
    $link = $platform->createLink(139, 7, 'u-1', $thanks, $hooks);
    same([$link['url'], $link['subscriptionId']], ['https://pay.example/pay/a?b=c', 9007199254740993], 'a link');
    throws(\Merchant\CallError::class, fn () => $platform->createCancelLink('SUB1', $bye, $hooks), "another host's page");
    same($platform->subscriptions()[0]->subscriptionId, 9007199254740993, 'subscriptions');
    same($platform->chains()[0]->chainId, 139, 'chains');
    same($platform->currencies(139)[0]->decimals, 18, 'currencies');
    same($platform->createUser("u/1 &\u{e9}"), 9007199254740993, 'a new user');
    same($platform->user("u/1 &\u{e9}")->uuid, 'u', 'a user');
    same($platform->user('nobody'), null, 'nobody');
    same($platform->recharge(9007199254740993)->rechargeId, 9007199254740993, 'a recharge');
    $pay = fn (string $number, string $amount = '10.50') => $platform->withdraw(139, 1391, '0xAbC', $amount, $number);
    $taken = ['withdrawId' => 9007199254740993, 'found' => true];
    same($pay('w-1'), $taken, 'the answer was lost');
    same($pay('w-1'), $taken, 'and it is made once');
    throws(Conflict::class, fn () => $pay('taken'), 'a number that is taken');
    foreach (['nobody knows', 'busy', 'behind a proxy', 'behind a proxy', 'a proxy alone', 'mistaken'] as $number) {
        throws(NotKnown::class, fn () => $pay($number), $number);
    }
    $empty = new Platform(new Peer($stub, 'empty', 'the secret of the clients', pause: 0.01));
    throws(\Merchant\CallError::class, fn () => $empty->chargeable(), 'a first page that is empty of a list that is not');
    throws(\InvalidArgumentException::class, fn () => $pay('w-2', '0.0000000000000000001'), 'finer than the currency');
    $signer = new Signer($peer);
    same($signer->charges(['wallet' => '0xab', 'state' => 'charged'])->charges[0]->subscribeId, '7', 'charges');
    $paused = $signer->pause(139, 'a drill')[0]->pausedSince;
    same($signer->control()[0]->pausedSince, $paused, 'control');
    same($signer->resume([139 => $paused])[0]->pausedSince, null, 'resumed');
}

function impostor(string $stub): void
{
    foreach (['nothing', 'another-secret', 'another-request', 'an-echo'] as $forgery) {
        $impostor = new Signer(new Peer("$stub/impostor/$forgery", 'php', 'the secret of the clients', tries: 2, pause: 0.01));
        $entries = [(object) ['subscribeId' => 1, 'chainId' => 139], (object) ['subscribeId' => 2, 'chainId' => 136]];
        $result = $impostor->bill($entries, [139 => 'EVM', 136 => 'TVM']);
        same(array_map(count(...), $result), ['sent' => 0, 'failed' => 0, 'open' => 2], "$forgery is no verdict");
        same(str_contains($result['open'][0]['why'], "without the Signer's proof"), true, 'and it is said why');
        throws(NotProven::class, fn () => $impostor->status('0xab'), $forgery);
    }
}

function clocks(string $stub): void
{
    $all = json_decode(file_get_contents(__DIR__ . '/../../docs/vectors/signing.json'), true, 512, JSON_THROW_ON_ERROR)['clocks'];
    same(count($all) > 10, true, 'there are clocks');
    foreach ($all as ['signer' => $signer, 'status' => $status, 'proven' => $proven, 'off' => $off, 'told' => $told]) {
        $url = "$stub/clock/$status/" . ($proven ? 'proven' : 'unproven') . "/$off";
        $peer = new Peer($url, 'php', 'the secret of the clients', tries: 1, clock: fn (): int => 1767225600);
        $said = '';
        try {
            $signer ? (new Signer($peer))->control() : (new Platform($peer))->chains();
        } catch (\Merchant\CallError $error) {
            $said = $error->getMessage();
        }
        $words = 'the clock here is ' . abs($off) . ' s ' . ($off > 0 ? 'ahead' : 'behind') . ', and at most ' . ($signer && $off > 0 ? 5 : 60) . ' s are allowed';
        same([$said !== '', str_contains($said, $words), str_contains($said, 'the clock here')], [true, $told, $told], "$url: $said");
    }
}

function nobody(): void
{
    $signer = new Signer(new Peer('http://127.0.0.1:1', 'k', 's', tries: 2, pause: 0.01));
    $result = $signer->bill([(object) ['subscribeId' => 1, 'chainId' => 139]], [139 => 'EVM']);
    same([count($result['sent']), count($result['open'])], [0, 1], 'nobody there is no verdict');
    same(str_contains($result['open'][0]['why'], 'Connection refused'), true, 'and it is said why');
}

/** The same by a client that the application has. */
function injected(string $stub): void
{
    [$client, $factory] = [new \Client(), new \Factory()];
    $peer = fn (string $url): Peer => new Peer($url, 'php', 'the secret of the clients', tries: 2, pause: 0.01, client: $client, requests: $factory, streams: $factory);
    same((new Signer($peer($stub)))->status('a/b?c'), [], 'an answer is proven');
    same((new Platform($peer($stub)))->chains()[0]->chainId, 139, 'chains');
    same($client->requests >= 2, true, 'by the client that was given');
    $before = $client->requests;
    $result = (new Signer($peer('http://127.0.0.1:1')))->bill([(object) ['subscribeId' => 1, 'chainId' => 139]], [139 => 'EVM']);
    same([count($result['open']), $client->requests - $before], [1, 2], 'nobody there is no verdict, and is asked again');
    throws(\InvalidArgumentException::class, fn () => new Peer($stub, 'k', 's', client: $client), 'a client without factories');
}

function sandbox(\stdClass $sandbox): void
{
    $signer = new Signer(new Peer($sandbox->signer->url, $sandbox->signer->key, $sandbox->signer->secret));
    foreach ((array) $sandbox->lists as $family => $file) {
        $list = \Merchant\parse(file_get_contents($file));
        $families = [$list[0]->chainId => $family];
        $first = $signer->bill($list, $families);
        same(count($first['sent']), 1, json_encode($first));
        $again = $signer->bill($list, $families);
        same($again['sent'][0]['txHash'] ?? $again['failed'][0]->txHash, $first['sent'][0]['txHash'], 'the same transaction');
        $billing = $signer->status($first['sent'][0]['txHash'])[0];
        same($billing->subscriptions[0]->subscribeId, $list[0]->subscribeId, 'its status');
    }
}

vectors();
answers();
events();
package();
bodies();
json();
nobody();
getenv('STUB') ? [calls(getenv('STUB')), interfaces(getenv('STUB')), impostor(getenv('STUB')), injected(getenv('STUB')), clocks(getenv('STUB'))] : print("calls skipped: no \$STUB\n");
getenv('SANDBOX') ? sandbox(json_decode(getenv('SANDBOX'))) : print("sandbox skipped: no \$SANDBOX\n");
echo "ok\n";
