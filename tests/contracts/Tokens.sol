// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Tokens to test with, the well-behaved one first. Anybody may mint, block and pause: they are worth
/// nothing.
abstract contract Ledger {
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error NotEnough();

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    /// Makes somebody rich or poor without a history.
    function setBalance(address who, uint256 value) external {
        totalSupply = totalSupply - balanceOf[who] + value;
        balanceOf[who] = value;
    }

    function _approve(address spender, uint256 value) internal {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }

    function _move(address from, address to, uint256 value) internal {
        if (balanceOf[from] < value) revert NotEnough();
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function _spend(address from, uint256 value) internal {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert NotEnough();
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
    }
}

/// An ERC-20 as the standard has it.
contract PlainToken is Ledger {
    string public constant name = "Plain";
    string public constant symbol = "PLN";

    constructor(uint8 decimals_) Ledger(decimals_) {}

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spend(from, value);
        _move(from, to, value);
        return true;
    }
}

/// In the style of USDT: returns nothing, and its owner can pause it and block a holder.
contract NoReturnToken is Ledger {
    string public constant name = "NoReturn";
    string public constant symbol = "NRT";

    bool public paused;
    mapping(address => bool) public isBlackListed;

    error Paused();
    error Blocked(address who);

    constructor(uint8 decimals_) Ledger(decimals_) {}

    function setPaused(bool paused_) external {
        paused = paused_;
    }

    function setBlackListed(address who, bool blocked) external {
        isBlackListed[who] = blocked;
    }

    function approve(address spender, uint256 value) external {
        _approve(spender, value);
    }

    function transfer(address to, uint256 value) external {
        _guarded(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        _spend(from, value);
        _guarded(from, to, value);
    }

    function _guarded(address from, address to, uint256 value) private {
        if (paused) revert Paused();
        if (isBlackListed[from]) revert Blocked(from);
        if (isBlackListed[to]) revert Blocked(to);
        _move(from, to, value);
    }
}

/// Says false where others revert. When `liar` it also says false after moving the money.
contract FalseToken is Ledger {
    string public constant name = "False";
    string public constant symbol = "FLS";

    bool public stuck;
    bool public liar;

    constructor(uint8 decimals_) Ledger(decimals_) {}

    function setStuck(bool stuck_) external {
        stuck = stuck_;
    }

    function setLiar(bool liar_) external {
        liar = liar_;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        if (stuck || balanceOf[from] < value || allowance[from][msg.sender] < value) return false;
        _spend(from, value);
        _move(from, to, value);
        return !liar;
    }
}

/// Keeps one percent of every transfer; when `onTop`, takes it from the sender besides.
contract FeeToken is Ledger {
    string public constant name = "Fee";
    string public constant symbol = "FEE";

    bool public onTop;

    constructor(uint8 decimals_) Ledger(decimals_) {}

    function setOnTop(bool onTop_) external {
        onTop = onTop_;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spend(from, value);
        _move(from, address(0xFEE), value / 100);
        _move(from, to, onTop ? value : value - value / 100);
        return true;
    }
}

/// Hostile in the way that was asked for.
contract BombToken is Ledger {
    string public constant name = "Bomb";
    string public constant symbol = "BMB";

    /// 0 moves the money, then returns 200 kB; 1 reverts with 200 kB; 2 burns all its gas; 3 calls
    /// `target` first, and then moves the money; 4 answers `paused` with 200 kB and moves nothing; 5 burns all gas on `paused` and moves
    /// nothing.
    uint8 public mode;
    address public target;
    bytes public message;
    /// What the call to `target` came to: 0 not made, 1 refused, 2 done.
    uint8 public outcome;

    constructor(uint8 decimals_) Ledger(decimals_) {}

    function setMode(uint8 mode_) external {
        mode = mode_;
    }

    function setMessage(address target_, bytes calldata message_) external {
        target = target_;
        message = message_;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        _approve(spender, value);
        return true;
    }

    function paused() external view {
        if (mode == 4) _burst(false);
        if (mode == 5) _burn();
    }

    function transferFrom(address from, address to, uint256 value) external {
        if (mode == 1 || mode > 3) _burst(true);
        if (mode == 2) _burn();
        if (mode == 3) {
            (bool done,) = target.call(message);
            outcome = done ? 2 : 1;
        }
        _spend(from, value);
        _move(from, to, value);
        if (mode == 0) _burst(false);
    }

    function _burn() private pure {
        assembly {
            invalid()
        }
    }

    function _burst(bool fails) private pure {
        assembly {
            if fails { revert(0, 200000) }
            return(0, 200000)
        }
    }
}

/// Takes every call and answers with nothing.
contract SilentToken {
    fallback() external {}
}
