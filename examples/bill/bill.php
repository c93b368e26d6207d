<?php
// Bills what is due and verifies one callback: merchant-sandbox --ci -- php bill.php
require 'vendor/autoload.php';

$sandbox = json_decode(getenv('SANDBOX'));
$free = stream_socket_server('tcp://127.0.0.1:0');
$host = stream_socket_get_name($free, false);
fclose($free);
$hooks = proc_open([PHP_BINARY, '-q', '-S', $host, 'hooks.php'], [1 => ['pipe', 'w']], $pipes);
$platform = new Merchant\Platform(new Merchant\Peer($sandbox->baseUrl, $sandbox->api->key, $sandbox->api->secret), $sandbox->paymentUrl);
$platform->createLink(139, 7, 'user-1', 'https://shop.example/thanks', "http://$host/hooks");
$due = array_values(array_filter($platform->chargeable(), fn ($entry) => $entry->chainId === 139));
$signer = new Merchant\Signer(new Merchant\Peer($sandbox->signerUrl, $sandbox->scheduler->key, $sandbox->scheduler->secret));
echo 'sent ', $signer->bill($due, (array) $sandbox->families)['sent'][0]['txHash'], "\n";
echo fgets($pipes[1]);
proc_terminate($hooks);
