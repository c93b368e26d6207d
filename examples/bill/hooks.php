<?php
// Takes the callbacks of bill.php.
require 'vendor/autoload.php';

$api = json_decode(getenv('SANDBOX'))->api;
$event = Merchant\verifyCallback(getallheaders(), $_SERVER['REQUEST_URI'], file_get_contents('php://input'), [$api->key => $api->secret]);
if ($event->subscriptionType === 'SubscriptionBilling') {
    file_put_contents('php://stdout', "verified $event->transferHash\n");
}
echo 'success';
