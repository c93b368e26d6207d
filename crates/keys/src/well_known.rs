//! Keys that everybody has. Listed by address, so that there is no key in this file.
//!
//! Catches mistakes, not malice: a key that is missing here is not thereby a good one.

use alloy::primitives::{Address, address};

use super::secret::Secret;

/// Accounts that development tools create the same everywhere: on a real chain, whatever they hold
/// is taken within seconds.
const PUBLISHED: [Address; 41] = [
    // anvil (the first ten) and hardhat: "test test ... test junk"
    address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
    address!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    address!("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    address!("0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"),
    address!("0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"),
    address!("0x976EA74026E726554dB657fA54763abd0C3a0aa9"),
    address!("0x14dC79964da2C08b23698B3D3cc7Ca32193d9955"),
    address!("0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"),
    address!("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"),
    address!("0xBcd4042DE499D14e55001CcbB24a551F3b954096"),
    address!("0x71bE63f3384f5fb98995898A86B02Fb2426c5788"),
    address!("0xFABB0ac9d68B0B445fB7357272Ff202C5651694a"),
    address!("0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec"),
    address!("0xdF3e18d64BC6A983f673Ab319CCaE4f1a57C7097"),
    address!("0xcd3B766CCDd6AE721141F452C550Ca635964ce71"),
    address!("0x2546BcD3c84621e976D8185a91A922aE77ECEc30"),
    address!("0xbDA5747bFD65F08deb54cb465eB87D40e51B197E"),
    address!("0xdD2FD4581271e230360230F9337D5c0430Bf44C0"),
    address!("0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"),
    // ganache --deterministic: "myth like bonus ... female collect"
    address!("0x90F8bf6A479f320ead074411a4B0e7944Ea8c9C1"),
    address!("0xFFcf8FDEE72ac11b5c542428B35EEF5769C409f0"),
    address!("0x22d491Bde2303f2f43325b2108D26f1eAbA1e32b"),
    address!("0xE11BA2b4D45Eaed5996Cd0823791E0C93114882d"),
    address!("0xd03ea8624C8C5987235048901fB614fDcA89b117"),
    address!("0x95cED938F7991cd0dFcb48F0a06a40FA1aF46EBC"),
    address!("0x3E5e9111Ae8eB78Fe1CC3bb8915d5D461F3Ef9A9"),
    address!("0x28a8746e75304c0780E011BEd21C72cD78cd535E"),
    address!("0xACa94ef8bD5ffEE41947b4585a84BdA5a3d3DA6E"),
    address!("0x1dF62f291b2E969fB0849d99D9Ce41e2F137006e"),
    // truffle develop: "candy maple cake ... sweet treat"
    address!("0x627306090abaB3A6e1400e9345bC60c78a8BEf57"),
    address!("0xf17f52151EbEF6C7334FAD080c5704D77216b732"),
    address!("0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"),
    address!("0x821aEa9a577a9b44299B9c15c88cf3087F3b5544"),
    address!("0x0d1d4e623D10F9FBA5Db95830F7d3839406C6AF2"),
    address!("0x2932b7A2355D6fecc4b5c0B6BD44cC31df247a2e"),
    address!("0x2191eF87E392377ec08E7c08Eb105Ef5448eCED5"),
    address!("0x0F4F2Ac550A1b4e2280d04c21cEa7EBD822934b5"),
    address!("0x6330A553Fc93768F612722BB8c2eC78aC90B3bbc"),
    address!("0x5AEDA56215b167893e80B4fE645BA6d5Bab767DE"),
    // the witness in java-tron's private-network configuration, TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY
    address!("0x928C9af0651632157ef27A2cf17Ca72c575a4d21"),
];

/// Returns true if the key is published with a development tool, or is one that people type: a number below 2^64,
/// or one byte repeated.
pub(super) fn is_published(secret: &Secret, address: Address) -> bool {
    let secret = secret.as_slice();
    let (high, _) = secret.split_at(24);
    let small = high.iter().all(|byte| *byte == 0);
    let repeated = secret.iter().zip(secret.iter().skip(1)).all(|(a, b)| a == b);
    small || repeated || PUBLISHED.contains(&address)
}
