// SPDX-License-Identifier: MIT OR Apache-2.0

/// One look at the chain before a batch is signed: what the billing call would do and use, what the
/// contract's lookup says, and what wallets hold and allow. Nothing is deployed. It runs in two ways:
///
/// - As the code of the signing account, which `eth_call` puts there for the one call (a state
///   override). Called by that account, so that the billing contract sees the real caller.
/// - As creation code with its input behind it, where a node takes no override: then it only reads,
///   since the caller would be the contract that is being made.
///
/// All numbers are big-endian. The input:
///
///   1  the way: 0; 1 from itself to itself, see `run`
///   8  how much gas the billing call may use; 0 for none
///  20  the billing contract: whom lookups ask, and whose allowance is read
///   4  the length of the billing call, and then the call
///   4  how many questions follow, a wallet counting for two
///   4  how many lookups: 4 for the length of each, and then the call
///      the rest: wallets by token: 20 for the token, 4 for how many, and 20 for each
///
/// The output: of the billing call, where there is one, 1 for whether it passed, 8 for the gas that it
/// used, 4 for the length of what it returned or reverted with, and that. Of each lookup, 1 for the
/// count of words (255: it failed), and each word. Of each wallet, its balance and its allowance, each
/// a word, or 255 for one that the token did not tell. A word is 1 for its length without leading
/// zeros, and then so many bytes.
object "Reader" {
    code {
        {
            let program := datasize("Reader")
            let size := sub(codesize(), program)
            switch size
            case 0 {
                // Whoever else calls the signing account meets what it would meet: nobody who answers.
                if sub(caller(), address()) { stop() }
                size := calldatasize()
                calldatacopy(0, 0, size)
            }
            default { codecopy(0, program, size) }

            if byte(0, mload(0)) { run(size) }

            let contract := shr(96, mload(9))
            let at := add(33, shr(224, mload(29)))
            let scratch := and(add(size, 63), not(31))
            let start := add(scratch, 128)
            let out := start

            if shr(192, mload(1)) {
                mstore8(0, 1)
                pop(call(gas(), address(), 0, 0, at, 0, 0))
                // A frame that used up all its gas has returned nothing.
                mstore(out, 0)
                let said := returndatasize()
                returndatacopy(out, 0, said)
                if lt(said, 13) { said := 13 }
                out := add(out, said)
            }

            let left := shr(224, mload(at))
            let lookups := shr(224, mload(add(at, 4)))
            at := add(at, 8)
            for { } lookups { lookups := sub(lookups, 1) } {
                let length := shr(224, mload(at))
                at := add(at, 4)
                out := look(contract, at, length, left, scratch, out)
                at := add(at, length)
                left := sub(left, 1)
            }
            for { } lt(at, size) { } {
                let token := shr(96, mload(at))
                let wallets := shr(224, mload(add(at, 20)))
                at := add(at, 24)
                for { } wallets { wallets := sub(wallets, 1) } {
                    let wallet := shr(96, mload(at))
                    at := add(at, 20)
                    // balanceOf(address)
                    mstore(scratch, shl(224, 0x70a08231))
                    mstore(add(scratch, 4), wallet)
                    out := tell(token, scratch, 36, left, out)
                    // allowance(address,address)
                    mstore(scratch, shl(224, 0xdd62ed3e))
                    mstore(add(scratch, 4), wallet)
                    mstore(add(scratch, 36), contract)
                    out := tell(token, scratch, 68, sub(left, 1), out)
                    left := sub(left, 2)
                }
            }
            return(start, sub(out, start))
        }

        /// The billing call, in a frame that always reverts: what it changed, and which slots it has
        /// touched, is undone before anything is read. What it used includes 2,600 for an account that a
        /// transaction finds touched.
        function run(size) {
            let wanted := shr(192, mload(1))
            let before := gas()
            let passed := call(wanted, shr(96, mload(9)), 0, 33, sub(size, 33), 0, 0)
            let used := sub(before, gas())
            mstore8(0, passed)
            mstore(1, shl(192, used))
            mstore(9, shl(224, returndatasize()))
            returndatacopy(13, 0, returndatasize())
            revert(0, add(13, returndatasize()))
        }

        /// How much gas one of `left` questions may use. A hostile contract must not spoil the answers of
        /// the others: each has its share, and what it leaves goes to those behind it.
        function share(left) -> fair {
            fair := div(gas(), left)
            if lt(fair, 200000) { fair := 200000 }
        }

        function look(contract, at, length, left, scratch, out) -> behind {
            let passed := staticcall(share(left), contract, at, length, 0, 0)
            let words := div(returndatasize(), 32)
            if or(or(iszero(passed), iszero(words)), gt(words, 128)) {
                mstore8(out, 255)
                behind := add(out, 1)
                leave
            }
            mstore8(out, words)
            behind := add(out, 1)
            for { let word := 0 } lt(word, words) { word := add(word, 1) } {
                returndatacopy(scratch, mul(word, 32), 32)
                behind := put(mload(scratch), behind)
            }
        }

        function tell(token, scratch, length, left, out) -> behind {
            let passed := staticcall(share(left), token, scratch, length, add(scratch, 96), 32)
            if or(iszero(passed), lt(returndatasize(), 32)) {
                mstore8(out, 255)
                behind := add(out, 1)
                leave
            }
            behind := put(mload(add(scratch, 96)), out)
        }

        function put(word, out) -> behind {
            let length := shl(4, gt(word, 0xffffffffffffffffffffffffffffffff))
            let rest := shr(shl(3, length), word)
            let half := shl(3, gt(rest, 0xffffffffffffffff))
            length := add(length, half)
            rest := shr(shl(3, half), rest)
            for { } rest { rest := shr(8, rest) } { length := add(length, 1) }
            mstore8(out, length)
            mstore(add(out, 1), shl(sub(256, shl(3, length)), word))
            behind := add(add(out, 1), length)
        }
    }
}
