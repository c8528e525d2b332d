//! What a command cannot change or read.

use std::fs;
use std::os::unix::fs::symlink;

use robota_tools::confine::Layer;
use robota_tools::process::Ending;

use crate::confine_setup::{Confined, has, status};

/// Ways to `$OUT/victim` and beside it.
const WRITES: [&str; 24] = [
    "echo owned > $OUT/victim",
    "echo owned >> ../outside/victim",
    ": > $OUT/victim",
    "truncate -s 0 $OUT/victim",
    "ln -s $OUT/victim link; echo owned > link",
    "ln -s $OUT folder; echo owned > folder/victim",
    "echo owned > /proc/self/root$OUT/victim",
    "echo owned > /proc/self/cwd/../outside/victim",
    "echo owned > /proc/1/root$OUT/victim",
    "echo owned > /proc/$PPID/root$OUT/victim",
    "echo owned > /proc/$PPID/cwd/$OUT/victim",
    "exec 3<$OUT; echo owned > /proc/self/fd/3/victim",
    "exec 3<..; echo owned > /proc/self/fd/3/outside/victim",
    "dd if=/dev/zero of=/proc/$PPID/mem bs=1 count=1",
    "ln $OUT/victim hard && echo owned > hard",
    "mv $OUT/victim .",
    "rm -f $OUT/victim",
    "mv ../outside ../elsewhere",
    "touch new; mv -f new $OUT/victim",
    "mv ../work ../moved",
    "mount -t tmpfs none $OUT",
    "unshare -Urm sh -c 'mount -o remount,rw,bind /; echo owned > '$OUT/victim",
    "umount -l / ; umount -l . ; echo owned > $OUT/victim",
    "chroot .. /bin/sh -c 'echo owned > /outside/victim'",
];

#[tokio::test]
async fn nothing_outside_is_written() {
    let confined = Confined::new();
    for command in WRITES {
        confined.sh(&format!("{{ {command} ; }} 2>&1; rm -rf link folder hard new")).await;
        let left: Vec<_> = fs::read_dir(confined.path("outside")).unwrap().flatten().collect();
        assert_eq!((confined.content("outside/victim").as_str(), left.len()), ("kept", 1), "{command}");
        assert!(confined.path("work").is_dir(), "{command}");
    }
    assert_ne!(confined.sh("chmod 777 $OUT/victim").await.1, 0);
}

#[tokio::test]
async fn a_swapped_link_leads_nowhere() {
    let confined = Confined::new();
    let command = "mkdir in; (while :; do ln -sfn $OUT d; ln -sfn in d; done) & \
                   { until [ -e in/victim ]; do echo owned > d/victim; done; for i in $(seq 300); do echo owned > d/victim; done; } 2>/dev/null; kill %1; cat in/victim";
    assert_eq!(confined.ok(command).await, "owned");
    assert_eq!(confined.content("outside/victim"), "kept");
}

#[tokio::test]
async fn protected_files_stay_as_they_are() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |_, _| {});
    let files = [
        ".git/HEAD",
        ".git/config",
        ".git/hooks/pre-commit",
        ".vscode/tasks.json",
        "pkg/.envrc",
        "pkg/a/.npmrc",
    ];
    files.iter().for_each(|file| confined.put(&format!("work/{file}"), "kept"));
    confined.put("work/scripts/pre-push", "kept");
    symlink("scripts", confined.path("work/.husky")).unwrap();
    let attempts = [
        "for f in .git/config .git/hooks/pre-commit .vscode/tasks.json pkg/.envrc pkg/a/.npmrc .husky/pre-push scripts/pre-push; do \
         echo owned > $f; echo owned > n; mv -f n $f; rm -f $f; ln -f $f hard && echo owned > hard; done",
        "echo owned > .git/hooks/post-commit; echo owned > .vscode/settings.json; echo owned > .git/config.lock && mv .git/config.lock .git/config",
        "mv .git gone; mv .git/hooks .git/gone; mv pkg gone; mv pkg/a gone; mv .vscode gone; rm -rf .git/hooks .vscode pkg",
        "ln -sfn $OUT .husky; rm .husky; mv .husky gone; mv scripts gone",
        "ln -sfn $OUT .vscode; mkdir evil; mv -T evil .git/hooks; mv -T --exchange evil .vscode",
    ];
    for attempt in attempts {
        confined.sh(&format!("{{ {attempt} ; }} 2>&1")).await;
        for file in
            files.iter().filter(|file| **file != ".git/HEAD").chain(&["scripts/pre-push", ".husky/pre-push"])
        {
            assert_eq!(confined.content(&format!("work/{file}")), "kept", "{attempt}: {file}");
        }
        assert!(!confined.path("work/.git/hooks/post-commit").exists(), "{attempt}");
        assert!(!confined.path("work/.vscode/settings.json").exists(), "{attempt}");
    }
}

#[tokio::test]
async fn protected_names_cannot_be_made() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined =
        Confined::with(status, |folder, policy| policy.deny_write = vec![folder.join("work/precious")]);
    confined.put("work/sub/file", "");
    let command = "for f in .mcp.json .envrc precious; do echo owned > $f; rmdir $f; ln -s $OUT $f; done; \
                   mkdir -p .claude; echo owned > .claude/settings.json; git init -q .; \
                   rmdir .idea; mv .idea sub; mv sub .idea; mkdir -p .idea/runConfigurations";
    confined.sh(&format!("{{ {command} ; }} 2>&1")).await;
    let mut left: Vec<_> =
        fs::read_dir(confined.path("work")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    // An existing folder of this name takes what is moved to it; ours does not.
    assert_eq!(left, ["sub"]);
}

#[tokio::test]
async fn a_name_that_was_left_behind_is_kept_from_what_still_runs() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |_, _| {});
    // The session that started it is gone, and the lock of the name with it.
    let program = crate::confine_setup::helper().program;
    let waits = "until [ -e stop ]; do sleep 0.05; done; mkdir .husky; echo owned > .husky/hook";
    let started = format!(
        "{} bash -c 'sh -c \"echo \\$\\$; {waits}\" 2> /dev/null > pid & until [ -s pid ]; do sleep 0.05; done'",
        program.display()
    );
    let (told, ending) = confined.outside(&started).await;
    assert_eq!(ending, Ending::Exited(0), "{told}");
    confined.ok("true").await;
    assert!(confined.path("work/.husky").is_dir());
    confined.outside("touch stop; tail --pid=$(cat pid) -f /dev/null").await;
    assert!(!confined.path("work/.husky/hook").exists());
    confined.ok("true").await;
    assert!(!confined.path("work/.husky").exists());
}

#[tokio::test]
async fn git_is_not_redirected() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |_, _| {});
    confined.put("work/.git/HEAD", "ref: refs/heads/main\n");
    confined
        .ok("echo ../evil > .git/commondir; rm .git/HEAD; echo ref: refs/heads/x > HEAD; mkdir objects refs")
        .await;
    assert!(!confined.path("work/.git/commondir").exists());
    assert!(!confined.path("work/HEAD").exists());
}

#[tokio::test]
async fn memory_of_the_agent_is_open_inside_of_its_state() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |_, _| {});
    confined.put("work/.robota/memory/MEMORY.md", "");
    confined.put("work/.robota/settings.json", "kept");
    confined.sh("echo note > .robota/memory/MEMORY.md; echo owned > .robota/settings.json").await;
    assert_eq!(confined.content("work/.robota/memory/MEMORY.md"), "note\n");
    assert_eq!(confined.content("work/.robota/settings.json"), "kept");
}

#[tokio::test]
async fn hidden_files_are_not_read() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |folder, policy| {
        fs::create_dir(folder.join("keys")).unwrap();
        fs::write(folder.join("keys/id"), "secret").unwrap();
        fs::write(folder.join("token"), "secret").unwrap();
        fs::write(folder.join("work/.env"), "secret").unwrap();
        policy.deny_read = vec![folder.join("keys"), folder.join("token"), folder.join("work/.env")];
    });
    let command = "for f in ../keys/id ../keys ../token .env /proc/self/root$PWD/.env /proc/self/cwd/../token; do \
                   cat $f; exec 3<$f; cat <&3; cat /proc/self/fd/3; ln -f $f hard; cat hard; cp $f copy; cat copy; done 2>&1";
    let (output, _) = confined.sh(command).await;
    assert!(!output.contains("secret"), "{output}");
}

#[tokio::test]
async fn hidden_files_stay_hidden_for_the_next_command() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |folder, policy| {
        policy.deny_read = vec![folder.join("work/conf/deep/key"), folder.join("work/later")];
    });
    confined.put("work/conf/deep/key", "secret");
    let moved = "mv conf gone; mv conf/deep gone; mv conf/deep/key gone; rm -rf conf/deep; ";
    confined.sh(&format!("{{ {moved} }} 2>&1")).await;
    confined.put("work/later", "secret");
    let (output, _) = confined.sh("find . -type f -exec cat {} + 2>&1").await;
    assert!(!output.contains("secret"), "{output}");
    assert_eq!(confined.content("work/conf/deep/key"), "secret");
}

#[tokio::test]
async fn state_that_the_policy_names_is_not_open() {
    let status = status();
    if !status.mounts.is_enforced() {
        return;
    }
    let confined = Confined::with(status, |folder, policy| {
        fs::create_dir_all(folder.join("work/.robota/agents")).unwrap();
        policy.deny_write = vec![folder.join("work/.robota")];
    });
    confined.sh("echo owned > .robota/agents/a.md").await;
    assert!(!confined.path("work/.robota/agents/a.md").exists());
}

#[tokio::test]
async fn nested_and_linked_folders_are_as_the_policy_says() {
    let confined = Confined::with(status(), |folder, policy| {
        fs::create_dir_all(folder.join("work/a/inner")).unwrap();
        symlink(folder.join("outside"), folder.join("link")).unwrap();
        policy.writable.extend([folder.join("work/a/inner"), folder.join("gone"), folder.join("link")]);
        policy.scratch = vec![folder.to_owned()];
        policy.deny_write = vec![folder.join("outside/victim")];
    });
    let command = "echo 1 > a/inner/f; echo 2 > ../f; echo 3 > $OUT/f; echo owned > $OUT/victim; mv a b; mv ../work ../moved";
    confined.sh(command).await;
    let contents = ["work/a/inner/f", "f", "outside/f"].map(|file| confined.content(file));
    assert_eq!(contents, ["1\n", "2\n", "3\n"]);
    if confined.path("b").exists() || status().mounts.is_enforced() {
        assert_eq!(confined.content("outside/victim"), "kept");
        assert!(confined.path("work/a").exists());
    }
}

#[tokio::test]
async fn the_same_folder_mounted_elsewhere_is_outside() {
    let confined = Confined::new();
    if !(has(&confined, "unshare").await && has(&confined, "mount").await) {
        return;
    }
    let program = crate::confine_setup::helper().program;
    let script = format!(
        "cd {folder}; mkdir second; mount --bind outside second && mkdir -p work/inner && mount --bind outside work/inner \
         && cd work && {program} bash -c 'echo owned > ../second/victim; echo owned > ../outside/new; cat inner/victim'",
        folder = confined.path("").display(),
        program = program.display()
    );
    let (output, _) = confined.outside(&format!("unshare -m bash -c \"{script}\" 2>&1")).await;
    if !output.contains("kept") {
        println!("skipped: no mount could be made: {output}");
        return;
    }
    assert_eq!(confined.content("outside/victim"), "kept");
    assert!(!confined.path("outside/new").exists());
}

#[tokio::test]
async fn folders_that_were_open_before_are_closed() {
    let confined = Confined::new();
    let program = crate::confine_setup::helper().program;
    let script = "exec 7<../outside; $P bash -c 'echo owned > /proc/self/fd/7/victim; ls /proc/self/fd | wc -l' 2>&1 | tail -n1";
    let (open, _) = confined.outside(&script.replace("$P", &program.display().to_string())).await;
    assert_eq!((open.as_str(), confined.content("outside/victim").as_str()), ("4", "kept"));
}

#[tokio::test]
async fn without_namespaces_landlock_still_holds() {
    let mut status = status();
    if status.landlock_abi < 3 {
        return;
    }
    status.mounts = Layer::Unavailable { reason: "switched off".into() };
    status.network_namespace = Layer::Unavailable { reason: "switched off".into() };
    let confined = Confined::with(status, |_, _| {});
    for command in WRITES {
        confined.sh(&format!("{{ {command} ; }} 2>&1; rm -rf link folder hard new")).await;
        assert_eq!(confined.content("outside/victim"), "kept", "{command}");
    }
    assert_eq!(confined.ok("echo x > f; cat f; echo y > /dev/null").await, "x");
    assert_ne!(confined.sh("exec 3<>/dev/tcp/127.0.0.1/1; exec 3<>/dev/udp/127.0.0.1/1").await.1, 0);
}
