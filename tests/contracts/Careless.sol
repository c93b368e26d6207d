// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IAnyToken {
    function transferFrom(address from, address to, uint256 value) external;
}

/// Charges whatever it is told as often as it is told: only its caller stands between a subscriber and
/// a second charge. One subscriber who cannot pay does not keep the others from paying.
contract Careless {
    struct Item {
        uint64 subscribeId;
        uint64 planId;
        bytes32 userHash;
        uint32 period;
        uint128 amount;
        address userWallet;
        address tokenAddress;
        uint64 tag;
    }

    struct Bare {
        uint64 subscribeId;
        uint32 period;
        uint128 amount;
        address userWallet;
        address tokenAddress;
        uint64 tag;
    }

    struct Terms {
        address userWallet;
        address tokenAddress;
        uint128 amount;
    }

    /// How long a period is (s).
    uint256 public constant PERIOD = 64;

    mapping(uint64 subscribeId => Terms) public terms;
    mapping(uint64 subscribeId => bool) public mute;
    bool public refusing;

    event Charged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount);
    event NotCharged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason);
    /// Whenever money has moved: what a bank statement says, which the caller is not shown.
    event Moved(uint64 subscribeId, uint32 period, uint64 tag);

    function enrol(uint64 subscribeId, address userWallet, address tokenAddress, uint128 amount) external {
        terms[subscribeId] = Terms(userWallet, tokenAddress, amount);
    }

    /// From now on charges of this subscription are told to nobody.
    function silence(uint64 subscribeId, bool muted) external {
        mute[subscribeId] = muted;
    }

    /// From now on every call to charge reverts.
    function refuse(bool all) external {
        refusing = all;
    }

    function termsOf(uint64 subscribeId)
        external
        view
        returns (address userWallet, address tokenAddress, uint128 amount, uint32 period)
    {
        Terms memory known = terms[subscribeId];
        if (known.userWallet == address(0)) return (address(0), address(0), 0, 0);
        return (known.userWallet, known.tokenAddress, known.amount, uint32(block.timestamp / PERIOD));
    }

    function charge(Item[] calldata items) external {
        require(!refusing);
        for (uint256 i = 0; i < items.length; ++i) {
            Item calldata item = items[i];
            bool moved = move(item.tokenAddress, item.userWallet, item.amount);
            if (moved) emit Moved(item.subscribeId, item.period, item.tag);
            if (mute[item.subscribeId]) continue;
            if (moved) emit Charged(item.subscribeId, item.planId, item.userHash, item.period, item.amount);
            else emit NotCharged(item.subscribeId, item.planId, item.userHash, item.period, 1);
        }
    }

    /// The same without the names of plan and user.
    function chargeBare(Bare[] calldata items) external {
        for (uint256 i = 0; i < items.length; ++i) {
            Bare calldata item = items[i];
            bool moved = move(item.tokenAddress, item.userWallet, item.amount);
            if (moved) emit Moved(item.subscribeId, item.period, item.tag);
            if (mute[item.subscribeId]) continue;
            if (moved) emit Charged(item.subscribeId, 0, 0, item.period, item.amount);
            else emit NotCharged(item.subscribeId, 0, 0, item.period, 1);
        }
    }

    function move(address token, address from, uint256 amount) private returns (bool) {
        try IAnyToken(token).transferFrom(from, address(this), amount) {
            return true;
        } catch {
            return false;
        }
    }
}
