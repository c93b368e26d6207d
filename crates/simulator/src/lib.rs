//! The Signer in a world where everything goes wrong, from one seed.
