//! Whatever a session goes through, it stays one that can go on: its next request is valid, what was
//! acknowledged is there, no call runs twice, and its log is whole.

mod life;
mod model;
mod steps;
mod turn;
mod world;

use proptest::prelude::*;

use self::steps::{Life, life};
use self::world::World;
use crate::cases::cases;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(80), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_session_goes_through_it_can_go_on(life in life()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(lived(&life));
    }
}

async fn lived(life: &Life) {
    let mut world = World::new(life).await;
    for step in &life.steps {
        world.take(step).await;
        world.check();
    }
    world.end().await;
}
