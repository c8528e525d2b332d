//! Running a recorded session again.

use robota_session::{Session, replay};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::scene::{Scene, TestTool};

#[tokio::test]
async fn lines_that_stand_twice_in_a_log_happened_once() {
    let script =
        Script::new().reply(Reply::new().tool_call("c1", "Look", json!({}))).reply("Seen.").reply("And on.");
    let scene = Scene::new(script).with_tools([TestTool::prompt("Look")]);
    let session = Session::create(scene.options()).await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    session.shutdown("other").await.unwrap();
    let events = scene.events();
    let doubled: Vec<_> = events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
    let report = replay(&doubled).await;
    assert_eq!(report.first_divergence(), None);
    assert_eq!(report.turns.iter().map(|turn| turn.requests).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(report, replay(&events).await);
}
