// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// The reference contract: plans that two admins agree on, subscriptions that a wallet takes, and
/// charges that a biller pulls in batches.
///
/// Three rules carry the rest. A charge names its period, so that a late transaction can never take
/// the next one. One subscriber's failure is an answer, never a revert. The payee comes from the
/// plan, so that a stolen biller key can only pay the merchant.
contract Billing {
    // ------------------------------------------------------------------ words

    /// What a plan version asks for. Never changes once proposed.
    struct Terms {
        address token;
        uint128 amount;
        address payee;
        /// Seconds in a period.
        uint32 interval;
        /// How many periods a subscription lasts; 0 is without end.
        uint32 periods;
        /// Seconds from subscribing to the first due period.
        uint32 delay;
    }

    struct Version {
        Terms terms;
        address proposer;
        bool approved;
    }

    struct Plan {
        bool paused;
        uint32 newest;
        mapping(uint32 => Version) versions;
    }

    /// The record of (merchant, plan, user). It outlives a cancellation: a later subscription
    /// reuses it, and counts its periods on from where the earlier one stopped.
    struct Subscription {
        address wallet;
        uint40 start;
        uint32 planVersion;
        bool cancelled;
        uint64 subscribeId;
        /// The number of the period that begins at `start`.
        uint32 first;
        /// The newest charged period; bit i of `charges` is period `newest - i`.
        uint32 newest;
        uint128 charges;
    }

    /// What the merchant allows one wallet to subscribe to. Signed by an issuer (EIP-712).
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

    /// What one plan version asks for at present.
    struct Offered {
        uint64 planId;
        uint32 planVersion;
        bool paused;
        Terms terms;
        /// Whether `had` is what the payee has: the charge before told it, and nothing but questions was asked since.
        bool known;
        uint256 had;
    }

    // Reasons, in the order in which they win when several hold.
    uint8 private constant CHARGED = 0;
    uint8 private constant NOT_FOUND = 1;
    uint8 private constant CANCELLED = 2;
    uint8 private constant TERMS_MISMATCH = 3;
    uint8 private constant ALREADY_CHARGED = 4;
    uint8 private constant ENDED = 5;
    uint8 private constant NOT_DUE_YET = 6;
    uint8 private constant PERIOD_PASSED = 7;
    uint8 private constant PLAN_INACTIVE = 8;
    uint8 private constant TOKEN_PAUSED = 9;
    uint8 private constant HOLDER_BLOCKED = 10;
    uint8 private constant PAYEE_BLOCKED = 11;
    uint8 private constant ALLOWANCE_INSUFFICIENT = 12;
    uint8 private constant BALANCE_INSUFFICIENT = 13;
    uint8 private constant TRANSFER_FAILED = 14;

    uint8 private constant ADMIN = 1;
    uint8 private constant BILLER = 2;
    uint8 private constant ISSUER = 4;

    uint256 private constant FREE = 1;
    uint256 private constant TAKEN = 2;

    // A token gets this much gas and no more. Its failure is believed only when it was offered all
    // of it: the second figure is what must be left before the call (63/64 go along, and the call
    // itself costs something). Otherwise whoever picks the gas limit could fake failures.
    uint256 private constant ASK_GAS = 100_000;
    uint256 private constant ASK_NEEDS = 107_000;
    uint256 private constant MOVE_GAS = 400_000;
    uint256 private constant MOVE_NEEDS = 412_000;

    bytes4 private constant BALANCE_OF = bytes4(keccak256("balanceOf(address)"));
    bytes4 private constant ALLOWANCE = bytes4(keccak256("allowance(address,address)"));
    bytes4 private constant TRANSFER_FROM = bytes4(keccak256("transferFrom(address,address,uint256)"));
    bytes4 private constant PAUSED = bytes4(keccak256("paused()"));
    bytes4 private constant IS_BLACK_LISTED = bytes4(keccak256("isBlackListed(address)"));
    bytes4 private constant IS_BLACKLISTED = bytes4(keccak256("isBlacklisted(address)"));

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant OFFER_TYPE = keccak256(
        "Offer(address merKey,uint64 planId,uint32 planVersion,bytes32 userHash,uint64 subscribeId,address wallet,uint256 expiry)"
    );

    event MerchantRegistered(address indexed merKey, address owner);
    event OwnerChanged(address indexed merKey, address owner);
    event RolesChanged(address indexed merKey, address indexed who, uint8 roles);
    event PlanProposed(address indexed merKey, uint64 indexed planId, uint32 version, address proposer);
    event PlanApproved(address indexed merKey, uint64 indexed planId, uint32 version, address approver);
    event PlanPaused(address indexed merKey, uint64 indexed planId, bool paused);
    event SubscriptionRegister(
        address indexed merKey,
        uint64 indexed subscribeId,
        uint64 planId,
        bytes32 userHash,
        uint32 planVersion,
        address userWallet,
        uint32 firstPeriod
    );
    event SubscriptionCancel(
        address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, address userWallet
    );
    event SubscriptionBilling(
        address indexed merKey,
        uint64 indexed subscribeId,
        uint64 planId,
        bytes32 userHash,
        uint32 period,
        uint128 amount,
        address userWallet,
        address tokenAddress
    );
    event SubscriptionBillingFailed(
        address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason
    );

    error AlreadyRegistered();
    error NotOwner();
    error NotAdmin();
    error NotBiller(address merKey, address caller);
    error BadTerms();
    error NoSuchVersion();
    error AlreadyApproved();
    error NeedsSecondAdmin();
    error PlanNotActive();
    error NotYourOffer();
    error OfferExpired();
    error OfferNotSigned();
    error SubscribeIdUsed();
    error AlreadySubscribed();
    error NotYourSubscription();
    error DeadlinePassed(uint256 deadline);
    error Busy();
    error LowGas();
    error NotMoved();
    error OnlySelf();

    mapping(address merKey => address) public ownerOf;
    mapping(address merKey => mapping(address who => uint8)) private _roles;
    mapping(address merKey => mapping(uint64 planId => Plan)) private _plans;
    mapping(bytes32 record => Subscription) private _subscriptions;
    /// Which record a subscribeId was used for. An id is used once per merchant, ever.
    mapping(address merKey => mapping(uint64 subscribeId => bytes32 record)) private _recordOf;
    /// Never zero again after the first batch: to one and back to zero is two and a half times as dear on TRON.
    uint256 private _busy;

    // -------------------------------------------------------------- merchants

    /// The caller becomes a merchant under its own address, so nobody can take another's merKey.
    function registerMerchant(address owner) external {
        if (ownerOf[msg.sender] != address(0)) revert AlreadyRegistered();
        if (owner == address(0)) revert NotOwner();
        ownerOf[msg.sender] = owner;
        emit MerchantRegistered(msg.sender, owner);
    }

    function setOwner(address merKey, address owner) external {
        _onlyOwner(merKey);
        if (owner == address(0)) revert NotOwner();
        ownerOf[merKey] = owner;
        emit OwnerChanged(merKey, owner);
    }

    /// Admins propose, approve and pause plans.
    function setAdmin(address merKey, address who, bool allowed) external {
        _setRole(merKey, who, ADMIN, allowed);
    }

    /// Billers charge. This is the Signer's address.
    function setBiller(address merKey, address who, bool allowed) external {
        _setRole(merKey, who, BILLER, allowed);
    }

    /// Issuers sign offers. A role of its own, because this key sits in the merchant's backend while
    /// an admin's should not.
    function setIssuer(address merKey, address who, bool allowed) external {
        _setRole(merKey, who, ISSUER, allowed);
    }

    function isBiller(address merKey, address who) public view returns (bool) {
        return _roles[merKey][who] & BILLER != 0;
    }

    function isAdmin(address merKey, address who) public view returns (bool) {
        return _roles[merKey][who] & ADMIN != 0;
    }

    function isIssuer(address merKey, address who) public view returns (bool) {
        return _roles[merKey][who] & ISSUER != 0;
    }

    function _setRole(address merKey, address who, uint8 role, bool allowed) private {
        _onlyOwner(merKey);
        uint8 roles = _roles[merKey][who];
        roles = allowed ? roles | role : roles & ~role;
        _roles[merKey][who] = roles;
        emit RolesChanged(merKey, who, roles);
    }

    function _onlyOwner(address merKey) private view {
        if (msg.sender != ownerOf[merKey]) revert NotOwner();
    }

    function _onlyAdmin(address merKey) private view {
        if (!isAdmin(merKey, msg.sender)) revert NotAdmin();
    }

    // ------------------------------------------------------------------ plans

    /// Every proposal is a new version. Earlier ones keep their subscribers and their terms.
    function proposePlan(address merKey, uint64 planId, Terms calldata terms) external returns (uint32 version) {
        _onlyAdmin(merKey);
        if (terms.amount == 0 || terms.interval == 0 || terms.payee == address(0) || terms.token.code.length == 0) {
            revert BadTerms();
        }
        Plan storage plan = _plans[merKey][planId];
        version = ++plan.newest;
        plan.versions[version].terms = terms;
        plan.versions[version].proposer = msg.sender;
        emit PlanProposed(merKey, planId, version, msg.sender);
    }

    /// The approver must be another admin, and the proposer must still be one.
    function approvePlan(address merKey, uint64 planId, uint32 version) external {
        _onlyAdmin(merKey);
        Version storage proposed = _plans[merKey][planId].versions[version];
        if (proposed.proposer == address(0)) revert NoSuchVersion();
        if (proposed.approved) revert AlreadyApproved();
        if (proposed.proposer == msg.sender || !isAdmin(merKey, proposed.proposer)) revert NeedsSecondAdmin();
        proposed.approved = true;
        emit PlanApproved(merKey, planId, version, msg.sender);
    }

    /// Stops new subscriptions and all charges of the plan. Periods go on passing meanwhile.
    function pausePlan(address merKey, uint64 planId, bool paused) external {
        _onlyAdmin(merKey);
        _plans[merKey][planId].paused = paused;
        emit PlanPaused(merKey, planId, paused);
    }

    function planOf(address merKey, uint64 planId, uint32 version)
        external
        view
        returns (Terms memory terms, bool approved, bool paused)
    {
        Plan storage plan = _plans[merKey][planId];
        return (plan.versions[version].terms, plan.versions[version].approved, plan.paused);
    }

    // ---------------------------------------------------------- subscriptions

    /// Takes up an offer. Without the merchant's signature anybody could claim a userHash first and
    /// lock its owner out, or have the wrong wallet pay for it.
    function subscribe(Offer calldata offer, bytes calldata signature) external {
        if (offer.wallet != msg.sender) revert NotYourOffer();
        if (block.timestamp > offer.expiry) revert OfferExpired();
        if (!isIssuer(offer.merKey, _signerOf(offerDigest(offer), signature))) revert OfferNotSigned();
        Plan storage plan = _plans[offer.merKey][offer.planId];
        Version storage version = plan.versions[offer.planVersion];
        if (!version.approved || plan.paused) revert PlanNotActive();
        if (version.terms.payee == msg.sender) revert BadTerms();

        // One id, one incarnation: a charge in flight names the old id and cannot touch the new
        // subscription, and an offer cannot be taken up twice.
        if (_recordOf[offer.merKey][offer.subscribeId] != 0) revert SubscribeIdUsed();
        bytes32 record = _record(offer.merKey, offer.planId, offer.userHash);
        _recordOf[offer.merKey][offer.subscribeId] = record;

        Subscription storage sub = _subscriptions[record];
        uint32 first = 1;
        if (sub.wallet != address(0)) {
            Terms storage old = plan.versions[sub.planVersion].terms;
            uint32 current = _current(sub, old);
            if (!sub.cancelled && !_ended(sub, old, current)) revert AlreadySubscribed();
            // Numbers go on, so (plan, user, period) means one charge for all time.
            first = current + 1;
        }
        sub.wallet = msg.sender;
        sub.start = uint40(block.timestamp + version.terms.delay);
        sub.planVersion = offer.planVersion;
        sub.cancelled = false;
        sub.subscribeId = offer.subscribeId;
        sub.first = first;
        emit SubscriptionRegister(
            offer.merKey, offer.subscribeId, offer.planId, offer.userHash, offer.planVersion, msg.sender, first
        );
    }

    function cancel(address merKey, uint64 planId, bytes32 userHash) external {
        Subscription storage sub = _subscriptions[_record(merKey, planId, userHash)];
        if (sub.wallet != msg.sender || sub.cancelled) revert NotYourSubscription();
        sub.cancelled = true;
        emit SubscriptionCancel(merKey, sub.subscribeId, planId, userHash, msg.sender);
    }

    /// What a charge would be made of now. All zero when there is no such subscription. `period` is
    /// the current one, charged or not; before the first it is the first. It does not move on to the
    /// next when charged: whoever asks learns "already charged", not a period that is not due.
    function subscribeOf(address merKey, uint64 planId, bytes32 userHash)
        external
        view
        returns (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, uint32 period)
    {
        Subscription storage sub = _subscriptions[_record(merKey, planId, userHash)];
        if (sub.wallet == address(0)) return (address(0), address(0), 0, 0, 0);
        Terms storage terms = _plans[merKey][planId].versions[sub.planVersion].terms;
        return (sub.wallet, terms.token, terms.amount, sub.planVersion, _current(sub, terms));
    }

    /// Whether a period was charged, in this incarnation or an earlier one. Remembers 128 periods
    /// back from the newest charge.
    function wasCharged(address merKey, uint64 planId, bytes32 userHash, uint32 period) external view returns (bool) {
        return _wasCharged(_subscriptions[_record(merKey, planId, userHash)], period);
    }

    function offerDigest(Offer calldata offer) public view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                DOMAIN_TYPE, keccak256("SubscriptionBilling"), keccak256("1"), block.chainid, address(this)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, keccak256(abi.encode(OFFER_TYPE, offer))));
    }

    // ---------------------------------------------------------------- billing

    /// Charges every item that can be charged and says why for the rest; 0 is charged.
    ///
    /// Reverts as a whole, and charges nobody, only when the caller may not bill, when the deadline
    /// has passed, or when the gas does not suffice to treat every item fairly.
    function processSubscribePlan(address merKey, Item[] calldata items, uint256 deadline)
        external
        returns (uint8[] memory reasons)
    {
        if (!isBiller(merKey, msg.sender)) revert NotBiller(merKey, msg.sender);
        if (block.timestamp > deadline) revert DeadlinePassed(deadline);
        if (_busy == TAKEN) revert Busy();
        _busy = TAKEN;
        reasons = new uint8[](items.length);
        Offered memory offered;
        for (uint256 i = 0; i < items.length; ++i) {
            reasons[i] = _bill(merKey, items[i], offered);
        }
        _busy = FREE;
    }

    /// `offered` is left over from the item before: neighbours mostly share a plan, whose terms are
    /// then read once.
    function _bill(address merKey, Item memory item, Offered memory offered) private returns (uint8 reason) {
        bytes32 record = _record(merKey, item.planId, item.userHash);
        Subscription memory sub = _subscriptions[record];
        if (offered.planId != item.planId || offered.planVersion != sub.planVersion) {
            Plan storage plan = _plans[merKey][item.planId];
            offered.planId = item.planId;
            offered.planVersion = sub.planVersion;
            offered.paused = plan.paused;
            offered.terms = plan.versions[sub.planVersion].terms;
            offered.known = false;
        }
        Terms memory terms = offered.terms;

        reason = _refusal(merKey, record, item, sub, terms);
        if (reason == CHARGED && offered.paused) reason = PLAN_INACTIVE;
        if (reason == CHARGED) reason = _charge(record, item.period, sub.wallet, offered);

        if (reason == CHARGED) {
            emit SubscriptionBilling(
                merKey, item.subscribeId, item.planId, item.userHash, item.period, terms.amount, sub.wallet, terms.token
            );
        } else {
            emit SubscriptionBillingFailed(
                merKey, item.subscribeId, item.planId, item.userHash, item.period, reason
            );
        }
    }

    /// Why the subscription itself refuses the charge, before any token is asked.
    function _refusal(
        address merKey,
        bytes32 record,
        Item memory item,
        Subscription memory sub,
        Terms memory terms
    ) private view returns (uint8) {
        if (sub.wallet == address(0)) return NOT_FOUND;
        if (sub.subscribeId != item.subscribeId) {
            // An earlier incarnation of this record was cancelled or ended; anything else is unknown.
            return _recordOf[merKey][item.subscribeId] == record ? CANCELLED : NOT_FOUND;
        }
        if (sub.cancelled) return CANCELLED;
        if (item.planVersion != sub.planVersion || item.amount != terms.amount) return TERMS_MISMATCH;
        if (_wasCharged(sub, item.period)) return ALREADY_CHARGED;
        uint32 current = _current(sub, terms);
        if (_ended(sub, terms, item.period > current ? item.period : current)) return ENDED;
        if (block.timestamp < sub.start || item.period > current) return NOT_DUE_YET;
        if (item.period < current) return PERIOD_PASSED;
        return CHARGED;
    }

    /// Moves the money, or says why it did not move. The token is asked only after nothing moved, so
    /// that a good charge does not pay for questions.
    function _charge(bytes32 record, uint32 period, address wallet, Offered memory offered) private returns (uint8) {
        Terms memory terms = offered.terms;
        if (!offered.known) (, offered.had) = _balance(terms.token, terms.payee);
        try this.markAndCollect(record, period, terms.token, wallet, terms.payee, terms.amount, offered.had) returns (
            uint256 has
        ) {
            (offered.known, offered.had) = (true, has);
            return CHARGED;
        } catch (bytes memory why) {
            // Only this contract's own errors arrive here; nothing at all means that its frame ran
            // out of gas.
            if (bytes4(why) != NotMoved.selector) revert LowGas();
        }
        offered.known = false;
        if (_says(terms.token, PAUSED, address(0))) return TOKEN_PAUSED;
        if (_blocked(terms.token, wallet)) return HOLDER_BLOCKED;
        if (_blocked(terms.token, terms.payee)) return PAYEE_BLOCKED;
        (bool told, uint256 allowance) = _ask(terms.token, ALLOWANCE, wallet, address(this), 68);
        if (told && allowance < terms.amount) return ALLOWANCE_INSUFFICIENT;
        (bool counted, uint256 balance) = _balance(terms.token, wallet);
        if (counted && balance < terms.amount) return BALANCE_INSUFFICIENT;
        return TRANSFER_FAILED;
    }

    /// One charge in a frame of its own: the mark and the money stay or go together. Marked first, so
    /// that a token that calls back finds the period charged. `had` is what the payee has before; the
    /// answer is what it has then. The name's selector is the lowest, which is compared first.
    function markAndCollect(
        bytes32 record,
        uint32 period,
        address token,
        address wallet,
        address payee,
        uint256 amount,
        uint256 had
    ) external returns (uint256 has) {
        if (msg.sender != address(this)) revert OnlySelf();
        _mark(_subscriptions[record], period);
        (, uint256 held) = _balance(token, wallet);
        uint256 left = gasleft();
        _transferFrom(token, wallet, payee, amount);
        // What the token says about its own success is not asked: some return nothing, some false.
        (bool counted, uint256 holds) = _balance(token, wallet);
        bool countedToo;
        (countedToo, has) = _balance(token, payee);
        if (!counted || !countedToo || has < had || has - had < amount || held < holds || held - holds > amount) {
            if (left < MOVE_NEEDS) revert LowGas();
            revert NotMoved();
        }
    }

    // ----------------------------------------------------------------- periods

    function _current(Subscription memory sub, Terms memory terms) private view returns (uint32) {
        if (block.timestamp < sub.start) return sub.first;
        return sub.first + uint32((block.timestamp - sub.start) / terms.interval);
    }

    function _ended(Subscription memory sub, Terms memory terms, uint32 period) private pure returns (bool) {
        return terms.periods != 0 && period >= sub.first && period - sub.first >= terms.periods;
    }

    function _wasCharged(Subscription memory sub, uint32 period) private pure returns (bool) {
        return period <= sub.newest && (sub.charges >> (sub.newest - period)) & 1 == 1;
    }

    /// Only the current period is ever charged, and only once: it is newer than the newest.
    function _mark(Subscription storage sub, uint32 period) private {
        sub.charges = (sub.charges << (period - sub.newest)) | 1;
        sub.newest = period;
    }

    // ------------------------------------------------------------------ tokens

    function _balance(address token, address who) private view returns (bool, uint256) {
        return _ask(token, BALANCE_OF, who);
    }

    /// The two spellings in use.
    function _blocked(address token, address who) private view returns (bool) {
        return _says(token, IS_BLACK_LISTED, who) || _says(token, IS_BLACKLISTED, who);
    }

    function _says(address token, bytes4 question, address about) private view returns (bool) {
        (bool ok, uint256 answer) = _ask(token, question, about);
        return ok && answer == 1;
    }

    function _ask(address token, bytes4 question, address about) private view returns (bool, uint256) {
        return _ask(token, question, about, address(0), 36);
    }

    /// Reads one word. Question and answer stay outside of the memory that has to be paid for, and a
    /// longer answer stays where it is: copying it could use up our gas.
    function _ask(address token, bytes4 question, address first, address second, uint256 size)
        private
        view
        returns (bool ok, uint256 answer)
    {
        uint256 left = gasleft();
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, question)
            mstore(add(free, 4), first)
            mstore(add(free, 36), second)
            ok := staticcall(ASK_GAS, token, free, size, 0, 32)
            ok := and(ok, gt(returndatasize(), 31))
            answer := mload(0)
        }
        if (!ok && left < ASK_NEEDS) revert LowGas();
    }

    function _transferFrom(address token, address from, address to, uint256 amount) private {
        bytes4 order = TRANSFER_FROM;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, order)
            mstore(add(free, 4), from)
            mstore(add(free, 36), to)
            mstore(add(free, 68), amount)
            pop(call(MOVE_GAS, token, 0, free, 100, 0, 0))
        }
    }

    // -------------------------------------------------------------- signatures

    function _record(address merKey, uint64 planId, bytes32 userHash) private pure returns (bytes32) {
        return keccak256(abi.encode(merKey, planId, userHash));
    }

    /// The zero address, which has no role, when the signature is not one. The other of the two valid
    /// `s` is refused as well: one offer, one signature.
    function _signerOf(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0) return address(0);
        return ecrecover(digest, uint8(signature[64]), r, s);
    }
}
