//! The platform's calls to the reference contract and to tokens, and the events that it reads from them.

#![expect(
    clippy::too_many_arguments,
    reason = "the contract's own calls and events have that many fields"
)]

use alloy::sol;

sol! {
    /// The reference contract.
    #[derive(Debug)]
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

        function proposePlan(address merKey, uint64 planId, Terms terms) external returns (uint32 version);
        function approvePlan(address merKey, uint64 planId, uint32 version) external;
        function pausePlan(address merKey, uint64 planId, bool paused) external;
        function planOf(address merKey, uint64 planId, uint32 version) external view returns (Terms terms, bool approved, bool paused);
        function setBiller(address merKey, address who, bool allowed) external;
        function subscribe(Offer offer, bytes signature) external;
        function cancel(address merKey, uint64 planId, bytes32 userHash) external;

        event PlanProposed(address indexed merKey, uint64 indexed planId, uint32 version, address proposer);
        event PlanApproved(address indexed merKey, uint64 indexed planId, uint32 version, address approver);
        event SubscriptionRegister(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 planVersion, address userWallet, uint32 firstPeriod);
        event SubscriptionCancel(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, address userWallet);
        event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress);
        event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason);
    }

    /// A token in the style of USDT. Anybody may mint, drain and block: it is worth nothing.
    #[derive(Debug)]
    interface Token {
        function mint(address to, uint256 value) external;
        function setBalance(address who, uint256 value) external;
        function setBlackListed(address who, bool blocked) external;
        function approve(address spender, uint256 value) external;
        function transfer(address to, uint256 value) external;
        function balanceOf(address who) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);

        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
    }
}
