//! How soon a lane opens after a kill, and what is said meanwhile. The times are printed and depend on the machine.

use super::*;
use parking_lot::Mutex;
use std::time::Instant;

/// What the process before left behind, and how many blocks have been made since it was sent.
const LEFT: [(&str, u64); 3] =
    [("a billing that waits in a pool", 0), ("one in a block", 1), ("one that is irrevocable", 6)];

#[tokio::test]
async fn after_a_kill_a_lane_opens_as_soon_as_its_blocks_are_read() {
    let mut scene = Scene::set(1).await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    for (what, blocks) in LEFT {
        scene.node().steps(blocks);
        let began = Instant::now();
        scene = scene.killed().await;
        let listens = began.elapsed();
        let said = Mutex::new(Vec::new());
        eventually("the lane is open", async || {
            let status = scene.health().await["status"].as_str().unwrap().to_owned();
            let open = status == "ok";
            let mut said = said.lock();
            if said.last() != Some(&status) {
                said.push(status);
            }
            open
        })
        .await;
        let (open, said) = (began.elapsed(), said.into_inner());
        println!("{what}: listens after {listens:?}, is open after {open:?}; says {said:?}");
        assert!(
            !scene.signer.log().contains("used without this journal"),
            "{}",
            scene.signer.log()
        );
    }
    scene.ends_with(&[1]).await;
}
