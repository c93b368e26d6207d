// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

interface IPlainToken {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// The worst contract a merchant could bring: no period, so a repeated call charges again; no
/// isolation, so one poor subscriber fails the batch; the caller says how much.
contract PlainCharge {
    IPlainToken public immutable token;
    address public immutable payee;
    mapping(bytes32 userHash => address) public walletOf;
    bool public onlyPeople;

    event Charged(bytes32 indexed userHash, uint256 amount);

    error CannotPay(uint256 index);
    error CallerHasCode();

    constructor(IPlainToken token_, address payee_) {
        token = token_;
        payee = payee_;
    }

    function setWallet(bytes32 userHash, address wallet) external {
        walletOf[userHash] = wallet;
    }

    /// From now on no contract may call.
    function serveOnlyPeople() external {
        onlyPeople = true;
    }

    function charge(bytes32[] calldata userHash, uint256[] calldata amount) external {
        if (onlyPeople && msg.sender.code.length != 0) revert CallerHasCode();
        for (uint256 i = 0; i < userHash.length; ++i) {
            try token.transferFrom(walletOf[userHash[i]], payee, amount[i]) returns (bool moved) {
                if (!moved) revert CannotPay(i);
            } catch {
                revert CannotPay(i);
            }
            emit Charged(userHash[i], amount[i]);
        }
    }
}
