//! The platform of the specification, on one machine, over the sandbox's chains.
