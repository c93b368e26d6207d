<?php
/**
 * The merchant's side of the interface in one file, for 64-bit PHP 8.1 and later, without dependencies
 * and without extensions beyond the usual ones:
 *
 *   sign, verifyCallback   the signature of requests and callbacks
 *   eventKey               the name of the event of a callback, the same for each of its deliveries
 *   verifyAnswer           the proof that an answer is the Signer's
 *   parse, dump            JSON without loss: numbers that PHP would round keep their text
 *   Platform               every call of the platform: links, what is due, users, recharges, withdrawals
 *   Signer                 bills it: splits, repeats what got no answer, sorts the verdicts
 *   RETRY                  what to do about a subscription that could not be charged
 *
 * docs/merchant.md says how to use it, docs/vectors/signing.json what it is held to.
 */

declare(strict_types=1);

namespace Merchant;

/** The version of this file; what it asks says so as its User-Agent. */
const VERSION = '0.1.0';

const CLOCK_WINDOW_SECONDS = 60;
/** How far a clock may be ahead of the Signer's. */
const SIGNER_AHEAD_SECONDS = 5;
/** A clock that is behind seems less so by what a Date header in whole seconds and the way here hide. */
const HIDDEN_SECONDS = 5;
/** The most entries that the Signer takes in one request, unless it is configured otherwise. */
const MOST_ENTRIES = 500;
/** The longest body that the Signer reads is 1 MiB, unless it is configured otherwise. */
const MOST_BYTES = 1_000_000;

/** By the `retry` of a failure: whether to post it again, who has to act first, and how. */
const RETRY = [
    'USER' => ['again' => true, 'who' => 'customer', 'what' => 'ask for an allowance or a balance, then post it again, with growing pauses'],
    'WAIT' => ['again' => true, 'who' => 'nobody', 'what' => 'post it again with the next list'],
    'RETRY' => ['again' => true, 'who' => 'nobody', 'what' => 'post it again after a pause'],
    'DONE' => ['again' => false, 'who' => 'nobody', 'what' => 'treat it as paid; the callback follows'],
    'LOST' => ['again' => false, 'who' => 'nobody', 'what' => 'not paid, and not to be billed for this period'],
    'STOP' => ['again' => false, 'who' => 'merchant', 'what' => 'end the subscription'],
    'FIX' => ['again' => false, 'who' => 'operator', 'what' => 'look at it: nothing will change by itself'],
];

/** What to do about a failure; a word that is not known is for a person to look at. */
function whatToDo(\stdClass $failure): array
{
    return RETRY[$failure->retry ?? ''] ?? RETRY['FIX'];
}

// ---- signature

/** base64(HMAC-SHA256(secret, timestamp + METHOD + path with query + body)). */
function sign(string $secret, string $timestamp, string $method, string $pathAndQuery, string $body = ''): string
{
    return base64_encode(hash_hmac('sha256', $timestamp . $method . $pathAndQuery . $body, $secret, true));
}

/** Why a callback or an answer is not accepted. */
class NotVerified extends \RuntimeException
{
}

/**
 * Checks a callback and returns its body, parsed. Throws NotVerified for everything else.
 *
 * $headers: as getallheaders() gives them. $body: file_get_contents('php://input'). $pathAndQuery: of
 * the notify address as it was given to the platform. $credentials: [key => secret] or
 * [key => [secret, former secret]]. $now: Unix seconds.
 */
function verifyCallback(array $headers, string $pathAndQuery, string $body, array $credentials, string $method = 'POST', ?int $now = null): \stdClass
{
    $headers = array_change_key_case($headers);
    $key = headerOf($headers, 'x-pay-key');
    $secrets = (array) ($credentials[$key] ?? []);
    foreach ($secrets as $secret) {
        if (!is_string($secret) || $secret === '') {
            throw new \InvalidArgumentException("the secret of $key is empty");
        }
    }
    proven($headers, $now, fn (string $timestamp): array => array_map(fn (string $secret) => sign($secret, $timestamp, $method, $pathAndQuery, $body), $secrets));
    try {
        $event = parse($body);
    } catch (\JsonException) {
        throw new NotVerified('the signature holds, but the body is no JSON');
    }
    if (!$event instanceof \stdClass) {
        throw new NotVerified('the signature holds, but the body is no JSON object');
    }
    return $event;
}

/**
 * What all deliveries of one event have in common, and no two events: keep it with a unique index, and take what is
 * there already for a repeat. $event: what verifyCallback() returned. $body: the raw bytes that it was given.
 */
function eventKey(\stdClass $event, string $body): string
{
    $has = fn (string $name): mixed => $event->{$name} ?? null;
    if (is_string($has('subscriptionType')) && is_string($has('outTradeNo'))) {
        $hash = is_string($has('transferHash')) ? strtolower($event->transferHash) : '';
        $time = is_int($has('blockTime')) ? $event->blockTime : 0;
        $when = $hash !== '' ? $hash : "$time/" . ($has('createTime') ?? '');
        return "{$event->subscriptionType}/{$event->outTradeNo}/" . ($has('chainId') ?? '') . "/$when";
    }
    foreach (['recharge' => 'recharge', 'withdrawal' => 'withdraw'] as $word => $name) {
        [$number, $status] = [$has("{$name}Id"), $has("{$name}Status")];
        if ($number !== null && is_int($status)) {
            return "$word/$number/$status";
        }
    }
    return 'unknown/' . hash('sha256', trim($body, " \t\r\n"));
}

/**
 * Checks that the Signer has made this answer, to the request that was sent with $requestSign (its X-PAY-SIGN).
 * Throws NotVerified: without this proof it is no answer, whatever it says. $headers, $now: as above.
 */
function verifyAnswer(array $headers, int $status, string $body, string $secret, string $requestSign, ?int $now = null): void
{
    $made = fn (string $timestamp): array => [base64_encode(hash_hmac('sha256', $timestamp . $status . $requestSign . $body, $secret, true))];
    proven(array_change_key_case($headers), $now, $made);
}

/** Checks time and form of a signature, and that it is one of those that $made says for its timestamp. */
function proven(array $headers, ?int $now, callable $made): void
{
    [$timestamp, $given] = array_map(fn (string $name) => headerOf($headers, $name), ['x-pay-timestamp', 'x-pay-sign']);
    if (!preg_match('/\A[0-9]{10}\z/', $timestamp)) {
        throw new NotVerified('X-PAY-TIMESTAMP is not 10 digits');
    }
    $off = (int) $timestamp - ($now ?? time());
    if (abs($off) > CLOCK_WINDOW_SECONDS) {
        throw new NotVerified("signed $off s away from the time here; at most " . CLOCK_WINDOW_SECONDS . ' s are allowed');
    }
    if (!preg_match('/\A[A-Za-z0-9+\/]{43}=\z/', $given)) {
        throw new NotVerified('X-PAY-SIGN is not the base64 of 32 bytes');
    }
    $good = false;
    foreach ($made($timestamp) as $one) {
        $good = hash_equals(base64_decode($one), base64_decode($given)) || $good;
    }
    if (!$good) {
        throw new NotVerified('signature or key is wrong');
    }
}

function headerOf(array $headers, string $name): string
{
    $value = $headers[$name] ?? '';
    if (!is_string($value) || $value === '' || str_contains($value, ',')) {
        throw new NotVerified("header $name is missing, or there more than once");
    }
    return $value;
}

// ---- JSON without loss

/** A JSON number that PHP has no exact type for, as it was written. */
final class JsonNumber
{
    public function __construct(public readonly string $text)
    {
    }

    public function __toString(): string
    {
        return $this->text;
    }
}

/** So many objects and lists may be within each other. */
const DEEPEST = 100;

/** Reads JSON. Integers of 64 bits become int, every other number a JsonNumber, objects a stdClass. */
function parse(string $text): mixed
{
    // PHP decides what is JSON; what it would round is found by the reader below.
    json_decode($text, false, DEEPEST + 1, JSON_THROW_ON_ERROR);
    $at = 0;
    return value($text, $at);
}

function value(string $text, int &$at): mixed
{
    [$mark, $token] = token($text, $at);
    if ($mark === '{') {
        $fields = new \stdClass();
        for ([$mark, $token] = token($text, $at); $mark !== '}'; [$mark, $token] = token($text, $at)) {
            if ($mark === ',') {
                continue;
            }
            $name = json_decode($token, false, 2, JSON_THROW_ON_ERROR);
            token($text, $at);
            if (property_exists($fields, $name)) {
                throw new \JsonException("the field $name is there twice");
            }
            $fields->{$name} = value($text, $at);
        }
        return $fields;
    }
    if ($mark === '[') {
        $list = [];
        for ($before = $at, [$mark] = token($text, $at); $mark !== ']'; $before = $at, [$mark] = token($text, $at)) {
            if ($mark !== ',') {
                $at = $before;
                $list[] = value($text, $at);
            }
        }
        return $list;
    }
    if (preg_match('/\A-?[0-9]/', $token)) {
        return (string) (int) $token === $token ? (int) $token : new JsonNumber($token);
    }
    return json_decode($token, false, 2, JSON_THROW_ON_ERROR);
}

/** The next token of text that is known to be JSON: its first character, and all of it. */
function token(string $text, int &$at): array
{
    $at += strspn($text, " \t\r\n", $at);
    $first = $text[$at];
    if ($first === '"') {
        $end = $at + 1;
        while (($end += strcspn($text, '"\\', $end)) && $text[$end] === '\\') {
            $end += 2;
        }
        $length = $end + 1 - $at;
    } else {
        $length = str_contains('{}[],:', $first) ? 1 : strcspn($text, " \t\r\n{}[],:\"", $at);
    }
    $token = substr($text, $at, $length);
    $at += $length;
    return [$first, $token];
}

/** Writes what parse() has read, digit for digit. Refuses floats. */
function dump(mixed $value): string
{
    $plain = fn (mixed $one): string => json_encode($one, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    if (is_float($value)) {
        throw new \InvalidArgumentException('a float is not exact: write the amount as a string of digits');
    }
    if ($value instanceof JsonNumber) {
        return $value->text;
    }
    if ($value instanceof \stdClass || (is_array($value) && !array_is_list($value))) {
        $fields = [];
        foreach ((array) $value as $name => $field) {
            $fields[] = $plain((string) $name) . ':' . dump($field);
        }
        return '{' . implode(',', $fields) . '}';
    }
    return is_array($value) ? '[' . implode(',', array_map(dump(...), $value)) . ']' : $plain($value);
}

// ---- calls

/** A call without the answer that it wants. status is null if there was none. */
class CallError extends \RuntimeException
{
    public function __construct(string $message, public readonly ?int $status = null, public readonly ?int $envelopeCode = null, public readonly ?int $retryAfter = null, public readonly ?int $maxBatch = null)
    {
        parent::__construct($message);
    }

    /** Whether what was to be changed may have been changed: no answer, one without an envelope, or one of a peer in trouble. */
    public function mayHaveHappened(): bool
    {
        $inTrouble = $this->status === 408 || $this->status >= 500 || ($this->envelopeCode >= 500 && $this->envelopeCode < 600);
        return $this->status === null || $this->envelopeCode === null || $inTrouble;
    }

    /** Whether it passes by itself: no answer, half an answer, 408, 429, 5xx. */
    public function passes(): bool
    {
        return $this->status === null || in_array($this->status, [200, 408, 429], true) || $this->status >= 500;
    }
}

/** An answer that does not prove to be the Signer's, and so is none: nobody knows what became of the request. Post the same again. */
final class NotProven extends CallError
{
}

/** Nobody knows whether a withdrawal was taken: ask again with the same outTradeNo. */
final class NotKnown extends CallError
{
}

/** The outTradeNo belongs to another payment, which withdrawId names: nothing was applied for. */
final class Conflict extends CallError
{
    public int|string|null $withdrawId = null;
}

/**
 * Where and as whom to call: what Platform and Signer share. $client: a PSR-18 client to call by, which has a time-out of its
 * own and follows no redirects, with $requests and $streams, PSR-17 factories; without one PHP's own streams are used.
 */
final class Peer
{
    public readonly string $url;

    public function __construct(
        string $url,
        public readonly string $key,
        #[\SensitiveParameter] private readonly string $secret,
        private readonly int $timeout = 15,
        private readonly int $tries = 4,
        private readonly float $pause = 0.5,
        private readonly ?\Closure $clock = null,
        private readonly ?\Psr\Http\Client\ClientInterface $client = null,
        private readonly ?\Psr\Http\Message\RequestFactoryInterface $requests = null,
        private readonly ?\Psr\Http\Message\StreamFactoryInterface $streams = null,
    ) {
        if ($url === '' || $key === '' || $secret === '') {
            throw new \InvalidArgumentException('url, key and secret are needed');
        }
        if ($client !== null && ($requests === null || $streams === null)) {
            throw new \InvalidArgumentException('a PSR-18 client needs PSR-17 factories of requests and streams');
        }
        $this->url = rtrim($url, '/');
    }

    /** One request: [status, envelope, a function that makes the error]. $signed: whether the peer signs its answers, as the Signer does. */
    public function call(bool $signed, string $method, string $pathAndQuery, string $body = ''): array
    {
        $timestamp = (string) $this->now();
        $sign = sign($this->secret, $timestamp, $method, $pathAndQuery, $body);
        $fields = ['User-Agent' => 'merchant-php/' . VERSION, 'X-PAY-KEY' => $this->key, 'X-PAY-TIMESTAMP' => $timestamp, 'X-PAY-SIGN' => $sign];
        if ($method === 'POST') {
            $fields['Content-Type'] = 'application/json';
        }
        [$status, $headers, $text] = $this->client === null ? $this->byStreams($method, $pathAndQuery, $fields, $body) : $this->byClient($method, $pathAndQuery, $fields, $body);
        $wait = $headers['retry-after'] ?? '';
        $wait = preg_match('/\A[0-9]{1,9}\z/', $wait) ? (int) $wait : null;
        $off = $this->clockOff($signed, $status, $headers['date'] ?? '');
        $envelope = self::envelope($text);
        if ($signed) {
            try {
                verifyAnswer($headers, $status, $text, $this->secret, $sign, $this->now());
            } catch (NotVerified $why) {
                $said = $envelope === null ? '' : '; it says: ' . ($envelope->msg ?? '');
                // Whose clock is off, to him the Signer can prove nothing.
                $said .= $status === 401 ? $off : '';
                throw new NotProven("HTTP $status without the Signer's proof, which is no answer ({$why->getMessage()})$said", $status);
            }
        }
        if ($envelope === null) {
            throw new CallError("HTTP $status with an answer that is no envelope", $status, null, $wait);
        }
        $most = ($envelope->data ?? null) instanceof \stdClass ? ($envelope->data->maxBatch ?? null) : null;
        $most = is_int($most) ? $most : null;
        $refused = fn (): CallError => new CallError(($envelope->msg ?? '') . " (code {$envelope->code}, HTTP $status)$off", $status, $envelope->code, $wait, $most);
        return [$status, $envelope, $refused];
    }

    /** One request by PHP's own streams: status, headers, body. */
    private function byStreams(string $method, string $pathAndQuery, array $fields, string $body): array
    {
        $headers = ['Connection: close'];
        foreach ($fields as $name => $value) {
            $headers[] = "$name: $value";
        }
        $http = ['method' => $method, 'header' => $headers, 'content' => $body, 'timeout' => $this->timeout, 'ignore_errors' => true, 'follow_location' => 0, 'protocol_version' => 1.1];
        // Of what goes wrong with a connection, the cause is told first and the consequence last.
        $why = [];
        set_error_handler(static function (int $_, string $words) use (&$why): bool {
            $why[] = preg_replace(['/\Afile_get_contents\([^)]*\): /', '/\s+/'], ['', ' '], $words);
            return true;
        });
        try {
            $text = file_get_contents($this->url . $pathAndQuery, false, stream_context_create(['http' => $http]));
        } finally {
            restore_error_handler();
        }
        $answered = $http_response_header ?? [];
        if ($text === false || !preg_match('/\AHTTP\/\S+ ([0-9]{3})/', $answered[0] ?? '', $line)) {
            throw new CallError("no answer from {$this->url}: " . ($why === [] ? 'nothing came' : implode('; ', $why)));
        }
        return [(int) $line[1], self::fields($answered), $text];
    }

    /** One request by the client that was given: status, headers, body. */
    private function byClient(string $method, string $pathAndQuery, array $fields, string $body): array
    {
        $request = $this->requests->createRequest($method, $this->url . $pathAndQuery);
        foreach ($fields as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        try {
            $answer = $this->client->sendRequest($request->withBody($this->streams->createStream($body)));
            $text = (string) $answer->getBody();
        } catch (\Psr\Http\Client\ClientExceptionInterface | \RuntimeException $why) {
            throw new CallError("no answer from {$this->url}: {$why->getMessage()}");
        }
        $headers = array_map(fn (array $values): string => implode(', ', $values), array_change_key_case($answer->getHeaders()));
        return [$answer->getStatusCode(), $headers, $text];
    }

    /** Calls again while what failed passes by itself; not if $final says that it is of no use. */
    public function persistently(callable $attempt, ?callable $final = null): mixed
    {
        for ($failures = 1; ; $failures++) {
            try {
                return $attempt();
            } catch (CallError $error) {
                if (!$error->passes() || ($final !== null && $final($error)) || $failures >= $this->tries || $error->retryAfter > 30) {
                    throw $error;
                }
                $grown = $this->pause * 2 ** ($failures - 1) * (1 + random_int(0, 500) / 1000);
                usleep((int) (1e6 * max($error->retryAfter ?? 0, $grown)));
            }
        }
    }

    private function now(): int
    {
        return $this->clock === null ? time() : ($this->clock)();
    }

    /** Says that the clock here is off, if that alone explains a refusal. */
    private function clockOff(bool $signed, int $status, string $date): string
    {
        $theirs = $date === '' ? false : strtotime($date);
        $off = $theirs === false ? 0 : $this->now() - $theirs;
        $allowed = $signed && $off > 0 ? SIGNER_AHEAD_SECONDS : CLOCK_WINDOW_SECONDS;
        // An answer that was long on its way makes a clock seem ahead: of the Signer's, 401 alone is put down to that.
        $suspected = $allowed === SIGNER_AHEAD_SECONDS ? $status === 401 && $off > $allowed : abs($off) + HIDDEN_SECONDS >= $allowed;
        $way = $off > 0 ? 'ahead' : 'behind';
        return $suspected ? '; the clock here is ' . abs($off) . " s $way, and at most $allowed s are allowed" : '';
    }

    /** The envelope in a body, if there is one. */
    private static function envelope(string $text): ?\stdClass
    {
        try {
            $envelope = parse($text);
        } catch (\JsonException) {
            return null;
        }
        return $envelope instanceof \stdClass && is_int($envelope->code ?? null) ? $envelope : null;
    }

    /** The fields of a head by their names; of a name that is there twice the values are joined by a comma. */
    private static function fields(array $lines): array
    {
        $fields = [];
        foreach (array_slice($lines, 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $name = strtolower($name);
            $fields[$name] = isset($fields[$name]) ? "{$fields[$name]}, " . trim($value) : trim($value);
        }
        return $fields;
    }
}

/**
 * The platform. $paymentUrl is needed for links. $notFoundCodes: the codes of your platform for "no such record" beside
 * 404. Only reads are repeated. Records are the platform's own, read by parse(); null is one that it does not have.
 */
final class Platform
{
    public function __construct(private readonly Peer $peer, private readonly ?string $paymentUrl = null, private readonly array $notFoundCodes = [])
    {
    }

    /** A link on which one user can subscribe to one plan: [url, expiration, subscriptionId, answer]. Each call makes a new order. */
    public function createLink(int|string $chainId, int|string $planId, string $externalUserId, string $redirectionUrl, string $notifyUrl): array
    {
        return $this->link('/api/mer/subscribe/payment/create', ['chainId' => $chainId, 'planId' => $planId, 'externalUserId' => $externalUserId, 'redirectionUrl' => $redirectionUrl, 'notifyUrl' => $notifyUrl]);
    }

    /** A link on which the user can end a subscription. */
    public function createCancelLink(string $outTradeNo, string $redirectionUrl, string $notifyUrl): array
    {
        return $this->link('/api/mer/subscribe/cancel/create', ['outTradeNo' => $outTradeNo, 'redirectionUrl' => $redirectionUrl, 'notifyUrl' => $notifyUrl]);
    }

    private function link(string $path, array $request): array
    {
        if ($this->paymentUrl === null) {
            throw new \InvalidArgumentException('paymentUrl is missing');
        }
        $answer = $this->change($path, $request);
        $page = $answer instanceof \stdClass ? ($answer->paymentUrl ?? null) : null;
        // "//host" would be another host's page.
        if (!is_string($page) || !preg_match('~\A/(?!/)~', $page)) {
            throw new CallError("paymentUrl $page is no path that begins with one /", 200);
        }
        return ['url' => rtrim($this->paymentUrl, '/') . $page, 'expiration' => $answer->expiration ?? null, 'subscriptionId' => $answer->subscriptionId ?? null, 'answer' => $answer];
    }

    /** Every subscription, each once; read like what is due. @return list<\stdClass> */
    public function subscriptions(int $size = 500): array
    {
        return $this->whole('/api/mer/subscribe/list', $size);
    }

    /** The chains of the platform, with its own ids for them. */
    public function chains(): array
    {
        return $this->read('/api/mer/conf/list/chain');
    }

    /** The currencies of one chain. */
    public function currencies(int|string $chainId): array
    {
        return $this->read(question('/api/mer/conf/list/currency', ['chainId' => $chainId]));
    }

    /** Makes a user, or names the one that is there: the platform's id. */
    public function createUser(string $uuid): mixed
    {
        return $this->change('/api/mer/user/create', ['uuid' => $uuid]);
    }

    /** A user, with recharge addresses. */
    public function user(string $uuid): ?\stdClass
    {
        return $this->find(question('/api/mer/user/detail', ['uuid' => $uuid]));
    }

    /** A recharge. */
    public function recharge(int|string $rechargeId): ?\stdClass
    {
        return $this->find(question('/api/mer/recharge/detail', ['rechargeId' => $rechargeId]));
    }

    /** A withdrawal, by the platform's id or by the number that it was applied for with. */
    public function withdrawal(int|string|null $withdrawId = null, ?string $outTradeNo = null): ?\stdClass
    {
        if (($withdrawId === null) === ($outTradeNo === null)) {
            throw new \InvalidArgumentException('name a withdrawal by withdrawId or by outTradeNo');
        }
        return $this->find(question('/api/mer/withdraw/detail', ['withdrawId' => $withdrawId, 'outTradeNo' => $outTradeNo]));
    }

    /**
     * Applies for a withdrawal, unless one with this $outTradeNo is there: [withdrawId, found]. $withdrawAmount is a decimal
     * in text. May be repeated after any failure: it looks first. Throws Conflict where the number belongs to another
     * payment, NotKnown where nobody can tell whether it was taken, by this call or before.
     */
    public function withdraw(int|string $chainId, int|string $currencyId, string $withdrawAddress, string $withdrawAmount, string $outTradeNo, ?string $notifyUrl = null): array
    {
        if (trim($outTradeNo) === '') {
            throw new \InvalidArgumentException('outTradeNo is what keeps a payment from being made twice');
        }
        $currency = array_values(array_filter($this->looked(fn () => $this->currencies($chainId)), fn ($one) => (string) $one->currencyId === (string) $currencyId))[0] ?? null;
        if ($currency === null) {
            throw new \InvalidArgumentException("chain $chainId has no currency $currencyId");
        }
        $units = baseUnits($withdrawAmount, (int) (string) $currency->decimals);
        $wanted = ['chainId' => (string) $chainId, 'currencyId' => (string) $currencyId, 'withdrawAddress' => spelling($withdrawAddress), 'withdrawAmount' => $units];
        if ($before = $this->looked(fn () => $this->applied($outTradeNo, $wanted))) {
            return $before;
        }
        $request = ['chainId' => $chainId, 'currencyId' => $currencyId, 'withdrawAddress' => $withdrawAddress, 'withdrawAmount' => $withdrawAmount, 'outTradeNo' => $outTradeNo];
        try {
            $answer = $this->change('/api/mer/withdraw/apply', $request + ($notifyUrl === null ? [] : ['notifyUrl' => $notifyUrl]));
            if (!isset($answer->withdrawId)) {
                throw new CallError('the answer names no withdrawal', 200);
            }
            return ['withdrawId' => $answer->withdrawId, 'found' => false];
        } catch (CallError $error) {
            // A refusal may be for a number that was taken between the look and the application.
            try {
                [$after, $looked] = [$this->applied($outTradeNo, $wanted), true];
            } catch (Conflict $conflict) {
                throw $conflict;
            } catch (CallError) {
                [$after, $looked] = [null, false];
            }
            if ($after !== null) {
                return $after;
            }
            throw $error->mayHaveHappened() || !$looked ? new NotKnown("whether the withdrawal was taken is not known; ask again with the same outTradeNo: {$error->getMessage()}") : $error;
        }
    }

    /** What is seen before anything is applied for. Without that nobody knows what an earlier application has done. */
    private function looked(callable $look): ?array
    {
        try {
            return $look();
        } catch (Conflict $conflict) {
            throw $conflict;
        } catch (CallError $error) {
            throw new NotKnown("whether there is a withdrawal of this number is not known, and nothing was applied for; ask again with the same outTradeNo: {$error->getMessage()}");
        }
    }

    private function applied(string $number, array $wanted): ?array
    {
        $found = $this->withdrawal(outTradeNo: $number);
        if ($found === null) {
            return null;
        }
        $has = (string) ($found->outTradeNo ?? '');
        if ($has !== $number) {
            throw new CallError("the record is of outTradeNo $has, and not of $number", 200);
        }
        foreach ($wanted as $field => $value) {
            $has = (string) ($found->{$field} ?? '');
            if (($field === 'withdrawAddress' ? spelling($has) : $has) !== $value) {
                $conflict = new Conflict("outTradeNo $number is withdrawal $found->withdrawId already, with another $field");
                $conflict->withdrawId = $found->withdrawId;
                throw $conflict;
            }
        }
        return ['withdrawId' => $found->withdrawId, 'found' => true];
    }

    /** A read, repeated while what failed passes by itself. */
    private function read(string $path): mixed
    {
        return $this->peer->persistently(fn () => $this->once('GET', $path));
    }

    /** A read of one record. */
    private function find(string $path): ?\stdClass
    {
        try {
            return $this->read($path);
        } catch (CallError $error) {
            // A 404 without the platform's envelope is of somebody in between, who knows of no record.
            if ($error->envelopeCode === null) {
                throw $error;
            }
            if ($error->status === 404 || in_array($error->envelopeCode, [404, ...$this->notFoundCodes], true)) {
                return null;
            }
            throw $error;
        }
    }

    /** What changes something is sent once. */
    private function change(string $path, array $request): mixed
    {
        return $this->once('POST', $path, dump($request));
    }

    private function once(string $method, string $path, string $body = ''): mixed
    {
        [$status, $envelope, $refused] = $this->peer->call(false, $method, $path, $body);
        if ($envelope->code !== 200 || $status >= 300) {
            throw $refused();
        }
        return $envelope->data ?? null;
    }

    /**
     * Everything that is due, each subscription once. Reads the pages from the first to the last and
     * back, and again until that brings nothing new: entries change pages while they are read.
     *
     * @return list<\stdClass>
     */
    public function chargeable(int $size = 500): array
    {
        return $this->whole('/api/mer/subscribe/chargeable/list', $size);
    }

    private function whole(string $path, int $size): array
    {
        $entries = [];
        for ($pass = 1; $pass <= 5; $pass++) {
            $before = count($entries);
            [$length, $count] = $this->page($path, 1, $size, $entries);
            if ($length === 0 && $count > 0) {
                // The last entry may have gone between the two; what stays so is no list that is empty.
                if ($pass === 5) {
                    throw new CallError("the list has $count entries, and its first page none", 200);
                }
                continue;
            }
            if ($length < $size && $count <= $length) {
                if ($pass === 1) {
                    break;
                }
            } else {
                for ($last = 2; $length > 0; $last++) {
                    [$length] = $this->page($path, $last, $size, $entries);
                }
                for ($page = $last - 2; $page >= 1; $page--) {
                    $this->page($path, $page, $size, $entries);
                }
            }
            if (count($entries) === $before) {
                break;
            }
        }
        return array_values($entries);
    }

    private function page(string $path, int $page, int $size, array &$entries): array
    {
        $data = $this->read("$path?page=$page&size=$size");
        $list = $data instanceof \stdClass ? ($data->list ?? null) : $data;
        if (!is_array($list)) {
            throw new CallError('data has no list', 200);
        }
        foreach ($list as $entry) {
            $entries['id ' . idOf($entry)] = $entry;
        }
        $count = $data instanceof \stdClass ? ($data->count ?? 0) : 0;
        return [count($list), is_int($count) ? $count : 0];
    }
}

/** The Signer. */
final class Signer
{
    public function __construct(private readonly Peer $peer, private readonly int $mostEntries = MOST_ENTRIES, private readonly int $mostBytes = MOST_BYTES)
    {
    }

    /**
     * Bills entries of the chargeable list. $families: [139 => 'EVM', 136 => 'TVM'].
     *
     * Every entry comes back in exactly one of three lists: sent ([txHash, subscriptionIds], also
     * where an earlier request has sent it: at finality the chain decides), failed (the Signer's words and todo), open ([entry, why]: no verdict; post it
     * again, as often as it takes). Nothing is ever charged twice by posting it again.
     */
    public function bill(array $entries, array $families, bool $dryRun = false): array
    {
        $result = ['sent' => [], 'failed' => [], 'open' => []];
        foreach ($this->parts($entries, $families) as [$family, $part]) {
            $this->post($family, $part, $dryRun, $result);
        }
        return $result;
    }

    /** Every billing that has this transaction hash or request id, newest first. Throws NotProven for what the Signer has not signed. */
    public function status(string $billing): array
    {
        return $this->peer->persistently(function () use ($billing) {
            [$status, $envelope, $refused] = $this->peer->call(true, 'GET', '/PayTool/billings/' . rawurlencode($billing));
            if ($status === 404 && $envelope->code === 0) {
                return [];
            }
            if ($envelope->code !== 1) {
                throw $refused();
            }
            return $envelope->data;
        });
    }

    /** One page of the ledger: charges, next. $asked: the parameters of GET /PayTool/charges, ['wallet' => '0x…', 'state' => 'charged']. */
    public function charges(array $asked = []): \stdClass
    {
        return $this->peer->persistently(fn () => $this->told('GET', question('/PayTool/charges', $asked)));
    }

    /** How the chains stand with whoever controls them. This and what follows need the key of a caller that may control. */
    public function control(): array
    {
        return $this->told('GET', '/PayTool/control');
    }

    /** Has nothing new signed, on one chain or on all; $why is kept in the history. */
    public function pause(?int $chainId = null, ?string $why = null): array
    {
        return $this->told('POST', '/PayTool/control/pause', dump((object) array_filter(['chainId' => $chainId, 'why' => $why], fn ($one) => $one !== null)));
    }

    /** Ends pauses, each named by its chain and its pausedSince of control(): [139 => 1767225600000]. */
    public function resume(array $pauses): array
    {
        return $this->told('POST', '/PayTool/control/resume', dump(['pauses' => (object) $pauses]));
    }

    private function told(string $method, string $path, string $body = ''): mixed
    {
        [, $envelope, $refused] = $this->peer->call(true, $method, $path, $body);
        if ($envelope->code !== 1) {
            throw $refused();
        }
        return $envelope->data ?? null;
    }

    private function parts(array $entries, array $families): array
    {
        [$chains, $seen, $parts] = [[], [], []];
        foreach ($entries as $entry) {
            [$chain, $id] = [(string) ($entry->chainId ?? ''), 'id ' . idOf($entry)];
            if (!in_array($families[$chain] ?? null, ['EVM', 'TVM'], true)) {
                throw new \InvalidArgumentException("families does not say whether chain $chain is EVM or TVM");
            }
            if (isset($seen[$id])) {
                throw new \InvalidArgumentException("subscription $id is in the list twice");
            }
            $seen[$id] = true;
            $chains[$chain][] = $entry;
        }
        foreach ($chains as $chain => $list) {
            foreach ($this->split($list) as $part) {
                $parts[] = [$families[$chain], $part];
            }
        }
        return $parts;
    }

    private function split(array $list): array
    {
        [$parts, $part, $bytes] = [[], [], 0];
        foreach ($list as $entry) {
            $length = strlen(dump($entry)) + 1;
            if ($part !== [] && (count($part) >= $this->mostEntries || $bytes + $length > $this->mostBytes - 200)) {
                $parts[] = $part;
                [$part, $bytes] = [[], 0];
            }
            $part[] = $entry;
            $bytes += $length;
        }
        return $part === [] ? $parts : [...$parts, $part];
    }

    private function post(string $family, array $part, bool $dryRun, array &$result): void
    {
        $text = dump($part);
        // The same entries make the same request, whenever they are posted.
        $request = substr(hash('sha256', $text), 0, 32);
        $flag = $dryRun ? 'true' : 'false';
        $body = "{\"requestId\":\"$request\",\"mode\":\"partial\",\"dryRun\":$flag,\"list\":$text}";
        $tooLarge = fn (CallError $error): bool => count($part) > 1 && ($error->status === 413 || ($error->maxBatch ?? PHP_INT_MAX) < count($part));
        try {
            $envelope = $this->peer->persistently(function () use ($family, $body, $dryRun) {
                [$status, $envelope, $refused] = $this->peer->call(true, 'POST', "/PayTool/$family/subscribe/signProcessSubscribePlan", $body);
                $rehearsed = $dryRun && $envelope->code === 0 && isset($envelope->data);
                if ($status >= 300 || !(in_array($envelope->code, [1, 2], true) || $rehearsed)) {
                    throw $refused();
                }
                return $envelope;
            }, $tooLarge);
        } catch (CallError $error) {
            if ($tooLarge($error)) {
                $most = max(1, min($error->maxBatch ?? PHP_INT_MAX, intdiv(count($part) + 1, 2)));
                foreach (array_chunk($part, $most) as $fewer) {
                    $this->post($family, $fewer, $dryRun, $result);
                }
                return;
            }
            foreach ($part as $entry) {
                $result['open'][] = ['entry' => $entry, 'why' => $error->getMessage()];
            }
            return;
        }
        sortOut($envelope, $part, $result);
    }
}

/** Puts every entry where the verdict says; one that the Signer does not speak of is open. */
function sortOut(\stdClass $envelope, array $part, array &$result): void
{
    $waiting = [];
    foreach ($part as $entry) {
        $waiting['id ' . idOf($entry)] = $entry;
    }
    [$code, $data] = [$envelope->code, $envelope->data];
    foreach ($code === 2 ? $data : ($data->failed ?? []) as $failure) {
        $id = 'id ' . ($failure->subscribeId ?? '');
        if (isset($waiting[$id])) {
            unset($waiting[$id]);
            $failure->todo = whatToDo($failure);
            $result['failed'][] = $failure;
        }
    }
    if ($code !== 2) {
        $named = ($code === 1 ? $data->subscriptionIds : $data->wouldCharge) ?? [];
        $sent = array_values(array_filter($named, fn ($id) => isset($waiting["id $id"])));
        foreach ($sent as $id) {
            unset($waiting["id $id"]);
        }
        if ($sent !== []) {
            $result['sent'][] = ['txHash' => $data->txHash ?? null, 'address' => $data->address ?? null, 'subscriptionIds' => $sent];
        }
    }
    foreach (($code === 2 ? ($envelope->earlier ?? null) : ($data->earlier ?? null)) ?? [] as $one) {
        if (isset($waiting["id $one->subscribeId"])) {
            unset($waiting["id $one->subscribeId"]);
            $result['sent'][] = ['txHash' => $one->txHash, 'state' => $one->state, 'subscriptionIds' => [$one->subscribeId]];
        }
    }
    foreach ($waiting as $entry) {
        $result['open'][] = ['entry' => $entry, 'why' => 'the Signer said nothing about it'];
    }
}

/** A path with its query, encoded as it is signed and sent. */
function question(string $path, array $asked): string
{
    return $path . '?' . http_build_query(array_filter($asked, fn ($one) => $one !== null), '', '&', PHP_QUERY_RFC3986);
}

/** A decimal in text as base units, digits. Refuses what is finer than the currency. */
function baseUnits(string $decimal, int $decimals): string
{
    if (!preg_match('/\A([0-9]+)(?:\.([0-9]+))?\z/', $decimal, $parts)) {
        throw new \InvalidArgumentException("$decimal is no decimal such as \"10.5\"");
    }
    $part = $parts[2] ?? '';
    if (trim(substr($part, $decimals), '0') !== '') {
        throw new \InvalidArgumentException("$decimal is finer than $decimals decimals");
    }
    $digits = ltrim($parts[1] . str_pad(substr($part, 0, $decimals), $decimals, '0'), '0');
    return $digits === '' ? '0' : $digits;
}

/** Hex addresses may be spelled in capitals for their checksum; base58 ones differ by case. */
function spelling(string $address): string
{
    return stripos($address, '0x') === 0 ? strtolower($address) : $address;
}

/** The digits of an entry's id. */
function idOf(mixed $entry): string
{
    $id = $entry instanceof \stdClass ? ($entry->subscribeId ?? $entry->subscriptionId ?? null) : null;
    if (!(is_int($id) || is_string($id)) || !preg_match('/\A[0-9]{1,19}\z/', (string) $id)) {
        throw new \InvalidArgumentException('an entry has no subscribeId');
    }
    return (string) $id;
}
