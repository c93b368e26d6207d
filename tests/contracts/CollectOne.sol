// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface ICollectedToken {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// One subscription per call, and the clock picks the period: a call that lands late charges the next
/// one. Still, no period is charged twice.
contract CollectOne {
    struct Plan {
        ICollectedToken token;
        address payee;
        uint128 amount;
        uint32 interval;
    }

    struct Member {
        address wallet;
        uint64 since;
        uint32 paid;
        bool left;
    }

    mapping(uint64 planId => Plan) public plans;
    mapping(uint64 planId => mapping(bytes32 userHash => Member)) public members;

    event Collected(uint64 indexed planId, bytes32 indexed userHash, uint32 period, uint256 amount);

    error NotFound();
    error Cancelled();
    error NotDue();
    error CannotPay();

    function setPlan(uint64 planId, Plan calldata plan) external {
        plans[planId] = plan;
    }

    function join(uint64 planId, bytes32 userHash) external {
        members[planId][userHash] = Member(msg.sender, uint64(block.timestamp), 0, false);
    }

    function quit(uint64 planId, bytes32 userHash) external {
        members[planId][userHash].left = true;
    }

    function terms(uint64 planId, bytes32 userHash)
        public
        view
        returns (address userWallet, address tokenAddress, uint128 amount, uint32 period)
    {
        Member storage member = members[planId][userHash];
        if (member.wallet == address(0)) return (address(0), address(0), 0, 0);
        Plan storage plan = plans[planId];
        period = uint32((block.timestamp - member.since) / plan.interval) + 1;
        return (member.wallet, address(plan.token), plan.amount, period);
    }

    function collect(uint64 planId, bytes32 userHash) external {
        (address wallet, address token, uint128 amount, uint32 period) = terms(planId, userHash);
        Member storage member = members[planId][userHash];
        if (wallet == address(0)) revert NotFound();
        if (member.left) revert Cancelled();
        if (member.paid >= period) revert NotDue();
        member.paid = period;
        try ICollectedToken(token).transferFrom(wallet, plans[planId].payee, amount) returns (bool moved) {
            if (!moved) revert CannotPay();
        } catch {
            revert CannotPay();
        }
        emit Collected(planId, userHash, period, amount);
    }
}
