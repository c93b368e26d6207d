// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Many reads in one `eth_call`, on chains where no aggregator is deployed.
///
/// Sent as creation code without `to`. The constructor makes the calls and returns their results in
/// the place of code, so nothing needs to be deployed and nothing is. A node checks what is returned as
/// it would check code: 24,576 bytes at most, and 49,152 bytes of creation code with its arguments.
/// A caller splits its reads accordingly.
contract Aggregate {
    struct Call {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    error CallFailed(uint256 index);

    constructor(Call[] memory calls) {
        Result[] memory results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _make(calls[i], calls.length - i);
            if (!results[i].success && !calls[i].allowFailure) revert CallFailed(i);
        }
        bytes memory answer = abi.encode(results);
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }

    /// One hostile contract must not spoil the others' answers. So each call gets its share of the
    /// gas (unspent shares go to those behind it) but never less than 200,000, and an answer of more
    /// than 4,096 bytes counts as a failure and is not copied.
    function _make(Call memory call_, uint256 remaining) private returns (Result memory result) {
        uint256 share = gasleft() / remaining;
        if (share < 200_000) share = 200_000;
        address target = call_.target;
        bytes memory data = call_.callData;
        bool success;
        uint256 size;
        assembly ("memory-safe") {
            success := call(share, target, 0, add(data, 32), mload(data), 0, 0)
            size := returndatasize()
            if gt(size, 4096) {
                success := 0
                size := 0
            }
        }
        result.success = success;
        result.returnData = new bytes(size);
        bytes memory copy = result.returnData;
        assembly ("memory-safe") {
            returndatacopy(add(copy, 32), 0, size)
        }
    }
}
