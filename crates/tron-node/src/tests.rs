#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod answers;
mod limits;
mod recorded;
mod unjudged;

use super::Api;
use node::NodeId;
use recorded::Lone;

impl Lone {
    fn api(&self) -> Api<'_> {
        Api::of(&self.0, NodeId(0))
    }
}
