// Hardhat as it comes: what tests need of it, they find.
module.exports = {};
