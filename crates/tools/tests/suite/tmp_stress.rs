use serde_json::json;
use crate::session::Session;
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stress() {
    let rss = || std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap().to_owned();
    eprintln!("start {}", rss());
    let s = Session::new();
    let t = std::time::Instant::now();
    let out = s.call("Bash", json!({"command": "yes", "timeout": 3000})).await;
    eprintln!("{} {:?} {}", out.content.len(), t.elapsed(), rss());
    let t = std::time::Instant::now();
    for i in 0..300 {
        let mut c = Box::pin(s.call("Bash", json!({"command": "sleep 777.7 & (sleep 777.7 & exec sleep 777.7) & wait", "timeout": 20 + i % 7})));
        if i % 3 == 0 { let _ = tokio::time::timeout(std::time::Duration::from_millis(5), &mut c).await; drop(c); }
        else { let o = c.await; assert_eq!(o.error_code, Some("timed_out")); }
    }
    eprintln!("300 {:?} {}", t.elapsed(), rss());
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|e| std::fs::read_to_string(e.path().join("cmdline")).is_ok_and(|c| c.contains("777.7"))).count();
    let z = std::fs::read_dir("/proc").unwrap().flatten().filter(|e| std::fs::read_to_string(e.path().join("stat")).is_ok_and(|c| c.contains(") Z") && c.contains(&format!(" {} ", std::process::id())))).count();
    eprintln!("left {left} zombies {z}");
    let big = "0123456789 some line of text\n".repeat(1_800_000);
    s.put("big", &big);
    let t = std::time::Instant::now();
    let r = s.ok("Read", json!({"filePath": "big", "offset": 1_700_000, "limit": 3})).await;
    eprintln!("read {r} {:?}", t.elapsed());
    let t = std::time::Instant::now();
    s.put("big2", big.replacen("some", "NEEDLE", 1)); s.ok("Read", json!({"filePath": "big2", "limit": 3})).await;
    let o = s.ok("Edit", json!({"filePath": "big2", "oldString": "NEEDLE", "newString": "x"})).await;
    eprintln!("edit {o} {:?}", t.elapsed());
}
