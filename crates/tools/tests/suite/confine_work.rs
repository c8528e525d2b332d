//! What goes on as without the sandbox.

use std::time::Duration;

use robota_tools::process::Ending;

use crate::confine_setup::{Confined, has, status};

#[tokio::test]
async fn endings_and_outputs_are_those_of_the_command() {
    let confined = Confined::new();
    assert_eq!(confined.sh("echo out; echo err >&2; exit 125").await, ("out\nerr".into(), 125));
    let killed = confined.run_for("kill -SEGV $$", Duration::from_secs(30)).await.unwrap();
    assert_eq!(killed.ending, Ending::Signalled(11));
    let late = confined
        .run_for("trap '' TERM; echo $$; while :; do sleep 1; done", Duration::from_secs(1))
        .await
        .unwrap();
    assert_eq!(late.ending, Ending::TimedOut);
    assert!(!crate::session::is_running(&late.output));
    let large = confined
        .run_for("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last", Duration::from_secs(60))
        .await;
    let large = large.unwrap();
    assert!(large.output.ends_with("last\n") && large.omitted_bytes > 19_000_000);
}

#[tokio::test]
async fn input_environment_and_folder_are_those_of_the_command() {
    let confined = Confined::new();
    let output = confined
        .ok("cat; tty; pwd -P; env | cut -d= -f1 | sort | tr '\\n' ' '; ls -l /proc/self/fd | wc -l")
        .await;
    let folder = confined.path("work").canonicalize().unwrap();
    // Besides the three there is the listing itself, and a line for the total.
    let expected = format!("not a tty\n{}\nHOME LC_ALL OUT PATH PWD SHLVL TERM _ 5", folder.display());
    assert_eq!(output, expected);
    let error = confined.run_for("exit 0", Duration::from_secs(30)).await;
    assert!(error.is_ok());
}

#[tokio::test]
async fn usual_shell_work_goes_on() {
    let confined = Confined::with(status(), |folder, policy| policy.scratch = vec![folder.join("outside")]);
    let command = "set -e; echo a | tee /dev/null > /dev/stderr; echo b > /dev/stdout; (exit 3) || echo $?; \
                   f=$(TMPDIR=$OUT mktemp); echo temp > $f; cat $f; sleep 100 & jobs -p | wc -l; kill %1; \
                   mkfifo p; (echo pipe > p &) ; cat p; head -c4 /dev/urandom | wc -c; cat <(echo sub); ulimit -n 64; mv p q; ln q r; ls /root >/dev/null";
    assert_eq!(confined.ok(command).await, "a\nb\n3\ntemp\n1\npipe\n4\nsub");
}

#[tokio::test]
async fn git_commits() {
    let confined = Confined::new();
    if !has(&confined, "git").await {
        return;
    }
    confined.outside("git init -q -b main . && git config user.email a@b.c && git config user.name n").await;
    let command = "set -e; mkdir a b; echo x > a/f; git add .; git commit -qm one; git mv a/f b/f; git commit -qm two; git checkout -q -b topic; \
                   echo y >> b/f; git stash -q; git stash pop -q; git commit -qam three; git checkout -q main; git merge -q topic; git gc -q; \
                   git status --short; git log --format=%s; git worktree add -q ../work/tree topic; ls tree";
    assert_eq!(confined.ok(command).await, "three\ntwo\none\nb");
    assert_ne!(confined.sh("git config core.fsmonitor ./evil").await.1, 0);
}

#[tokio::test]
async fn programs_are_compiled() {
    let confined = Confined::with(status(), |folder, policy| policy.scratch = vec![folder.join("outside")]);
    if !has(&confined, "gcc").await {
        return;
    }
    confined.put("work/hello.c", "#include <stdio.h>\nint main(void) { return !puts(\"hello\"); }\n");
    assert_eq!(confined.ok("TMPDIR=$OUT gcc -pthread hello.c -o hello && ./hello").await, "hello");
}

#[tokio::test]
async fn interpreters_start_processes_and_threads() {
    let confined = Confined::new();
    if has(&confined, "python3").await {
        confined.put(
            "work/pool.py",
            "import multiprocessing, subprocess, threading\n\
             def square(x): return x * x\n\
             if __name__ == '__main__':\n\
             \x20   multiprocessing.set_start_method('spawn')\n\
             \x20   with multiprocessing.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))\n\
             \x20   print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n\
             \x20   t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n",
        );
        assert_eq!(confined.ok("python3 pool.py").await, "[1, 4, 9]\nchild\nthread");
    }
    if has(&confined, "node").await {
        let script = "const c = require('child_process'); console.log(c.execSync('echo child').toString().trim()); \
                      const { Worker } = require('worker_threads'); \
                      new Worker('require(\"worker_threads\").parentPort.postMessage(1)', { eval: true }).on('message', m => console.log(m));";
        assert_eq!(confined.ok(&format!("node -e '{}'", script.replace('\'', "'\\''"))).await, "child\n1");
    }
}
