//! The contracts' interfaces, written out: a test that the artefacts have them is every test.

#![expect(clippy::too_many_arguments, reason = "generated from events that have this many fields")]

use alloy::sol;

sol! {
    #[derive(Debug, PartialEq)]
    interface Billing {
        struct Terms {
            address token;
            uint128 amount;
            address payee;
            uint32 interval;
            uint32 periods;
            uint32 delay;
        }

        struct Offer {
            address merKey;
            uint64 planId;
            uint32 planVersion;
            bytes32 userHash;
            uint64 subscribeId;
            address wallet;
            uint256 expiry;
        }

        struct Item {
            uint64 subscribeId;
            uint64 planId;
            uint32 planVersion;
            bytes32 userHash;
            uint32 period;
            uint128 amount;
        }

        event SubscriptionRegister(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 planVersion, address userWallet, uint32 firstPeriod);
        event SubscriptionCancel(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, address userWallet);
        event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress);
        event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason);

        error AlreadyRegistered();
        error NotOwner();
        error NotAdmin();
        error NotBiller(address merKey, address caller);
        error BadTerms();
        error NoSuchVersion();
        error NeedsSecondAdmin();
        error PlanNotActive();
        error NotYourOffer();
        error OfferExpired();
        error OfferNotSigned();
        error SubscribeIdUsed();
        error AlreadySubscribed();
        error NotYourSubscription();
        error DeadlinePassed(uint256 deadline);
        error LowGas();
        error OnlySelf();

        function registerMerchant(address owner) external;
        function setAdmin(address merKey, address who, bool allowed) external;
        function setBiller(address merKey, address who, bool allowed) external;
        function setIssuer(address merKey, address who, bool allowed) external;
        function isBiller(address merKey, address who) external view returns (bool);
        function proposePlan(address merKey, uint64 planId, Terms terms) external returns (uint32 version);
        function approvePlan(address merKey, uint64 planId, uint32 version) external;
        function pausePlan(address merKey, uint64 planId, bool paused) external;
        function subscribe(Offer offer, bytes signature) external;
        function cancel(address merKey, uint64 planId, bytes32 userHash) external;
        function subscribeOf(address merKey, uint64 planId, bytes32 userHash) external view returns (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, uint32 period);
        function wasCharged(address merKey, uint64 planId, bytes32 userHash, uint32 period) external view returns (bool);
        function offerDigest(Offer offer) external view returns (bytes32);
        function processSubscribePlan(address merKey, Item[] items, uint256 deadline) external returns (uint8[] reasons);
        function pull(bytes32 record, uint32 period, address wallet, Terms terms) external;
    }

    interface AnyToken {
        function mint(address to, uint256 value) external;
        function setBalance(address who, uint256 value) external;
        function approve(address spender, uint256 value) external;
        function balanceOf(address who) external view returns (uint256);
        function setPaused(bool paused) external;
        function setBlackListed(address who, bool blocked) external;
        function setStuck(bool stuck) external;
        function setOnTop(bool onTop) external;
        function setLiar(bool liar) external;
        function setMode(uint8 mode) external;
        function setMessage(address target, bytes message) external;
        function outcome() external view returns (uint8);
    }

    #[derive(Debug, PartialEq)]
    interface PlainCharge {
        event Charged(bytes32 indexed userHash, uint256 amount);
        error CannotPay(uint256 index);
        function setWallet(bytes32 userHash, address wallet) external;
        function charge(bytes32[] userHash, uint256[] amount) external;
    }

    #[derive(Debug, PartialEq)]
    interface CollectOne {
        struct Plan {
            address token;
            address payee;
            uint128 amount;
            uint32 interval;
        }

        event Collected(uint64 indexed planId, bytes32 indexed userHash, uint32 period, uint256 amount);
        error NotFound();
        error Cancelled();
        error NotDue();
        error CannotPay();
        function setPlan(uint64 planId, Plan plan) external;
        function join(uint64 planId, bytes32 userHash) external;
        function quit(uint64 planId, bytes32 userHash) external;
        function terms(uint64 planId, bytes32 userHash) external view returns (address userWallet, address tokenAddress, uint128 amount, uint32 period);
        function collect(uint64 planId, bytes32 userHash) external;
    }

    interface Multicall3 {
        struct Call3 {
            address target;
            bool allowFailure;
            bytes callData;
        }

        struct Result {
            bool success;
            bytes returnData;
        }

        function aggregate3(Call3[] calls) external payable returns (Result[] results);
    }
}
