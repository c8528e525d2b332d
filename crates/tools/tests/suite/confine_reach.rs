//! Processes, system calls and networks that a command cannot reach.

use std::any::Any;
use std::io::{self, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use robota_tools::confine::{Demand, Helper, Layer, LinuxSandbox, NetworkPolicy, SandboxPolicy, ServeProxy};
use robota_tools::process::{Ending, RunError};

use crate::confine_setup::{Confined, has, helper, status};
use crate::session::is_running;

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let confined = Confined::new();
    if confined_signals() {
        assert_ne!(confined.sh("kill -CONT $PPID").await.1, 0);
    }
    for file in ["mem", "environ", "maps", "root/etc/passwd"] {
        assert_ne!(
            confined.sh(&format!("head -c1 /proc/$PPID/{file} > /dev/null 2>&1")).await.1,
            0,
            "{file}"
        );
    }
    let own = confined.ok("sleep 100 & kill $! && wait $!; echo $?").await;
    assert_eq!(own, "143");
}

fn confined_signals() -> bool {
    status().landlock_abi >= 6
}

/// Calls by number and prints the error of each; `EPERM` is 1, `ENOSYS` 38.
const CALLS: &str = r#"
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
def call(name, number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    print(name, ctypes.get_errno())
call("ptrace", 101 if x86 else 117, 16, 1, 0, 0)
call("process_vm_readv", 310 if x86 else 270, 1, 0, 0, 0, 0, 0)
call("unshare", 272 if x86 else 97, 0x10000000)
call("setns", 308 if x86 else 268, 0, 0)
call("clone_user", 56 if x86 else 220, 0x10000011, 0, 0, 0, 0)
call("mount", 165 if x86 else 40, 0, 0, 0, 0, 0)
call("open_tree", 428, -100, 0, 0)
call("io_uring_setup", 425, 1, 0)
call("bpf", 321 if x86 else 280, 0, 0, 0)
call("keyctl", 250 if x86 else 219, 0, 0)
call("open_by_handle_at", 304 if x86 else 265, 0, 0, 0)
call("userfaultfd", 323 if x86 else 282, 0)
call("tiocsti", 16 if x86 else 29, 0, 0x5412, 0)
call("tiocsti_high", 16 if x86 else 29, 0, 0x100005412, 0)
call("personality", 135 if x86 else 92, 0x0400000)
call("packet", 41 if x86 else 198, 17, 3, 0)
call("vsock", 41 if x86 else 198, 40, 1, 0)
call("alg", 41 if x86 else 198, 38, 5, 0)
call("unix", 41 if x86 else 198, 1, 1, 0)
call("unix_pair_datagram", 53 if x86 else 199, 1, 2, 0, (ctypes.c_int * 2)())
call("netlink_audit", 41 if x86 else 198, 16, 3, 9)
limits = (ctypes.c_uint64 * 2)(1 << 30, 1 << 30)
call("prlimit_other", 302 if x86 else 261, 1, 0, limits, 0)
call("clone3", 435, 0, 0)
call("prlimit_own", 302 if x86 else 261, 0, 0, limits, 0)
call("unix_pair", 53 if x86 else 199, 1, 1, 0, (ctypes.c_int * 2)())
call("netlink_route", 41 if x86 else 198, 16, 3, 0)
"#;

#[tokio::test]
async fn dangerous_system_calls_fail() {
    let confined = Confined::new();
    if !status().system_calls.is_enforced() || !has(&confined, "python3").await {
        return;
    }
    confined.put("work/calls.py", CALLS);
    let output = confined.ok("python3 calls.py").await;
    for line in output.lines() {
        let expected = if line.starts_with("clone3") {
            "38"
        } else if ["unix_pair ", "netlink_route", "prlimit_own"].iter().any(|name| line.starts_with(name)) {
            "0"
        } else {
            "1"
        };
        assert_eq!(line.rsplit(' ').next(), Some(expected), "{line}");
    }
    assert_eq!(output.lines().count(), 26);
}

#[tokio::test]
async fn programs_with_the_rights_of_others_have_none() {
    let confined = Confined::new();
    let output = confined.ok("grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status").await;
    assert_eq!(output, "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1");
    // It has the rights of its owner outside, and keeps its own here.
    confined.outside("cp /bin/cat suid; chmod u+s suid").await;
    assert_eq!(confined.ok("./suid /proc/self/status | grep CapEff").await, "CapEff:\t0000000000000000");
}

#[tokio::test]
async fn terminals_are_its_own() {
    let confined = Confined::new();
    let both = std::fs::File::options().read(true).write(true).open("/dev/ptmx");
    let Ok(_terminal) = both.inspect_err(|error| println!("skipped: no terminal could be made: {error}"))
    else {
        return;
    };
    if !status().mounts.is_enforced() || !has(&confined, "python3").await {
        return;
    }
    assert_eq!(confined.ok("ls /dev/pts").await, "ptmx");
    let made =
        "import os, pty; a, b = pty.openpty(); os.write(a, b'typed\\n'); print(os.read(b, 9), os.ttyname(b))";
    assert_eq!(confined.ok(&format!("python3 -c \"{made}\"")).await, "b'typed\\n' /dev/pts/0");
}

#[tokio::test]
async fn without_network_only_its_own_loopback_is_there() {
    let confined = Confined::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let _unix = UnixListener::bind(confined.path("outside/socket")).unwrap();
    udp.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    assert_ne!(confined.sh(&format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}")).await.1, 0);
    confined.sh(&format!("echo x > /dev/udp/127.0.0.1/{udp_port}")).await;
    assert_ne!(confined.sh("exec 3<>/dev/tcp/192.0.2.1/80").await.1, 0);
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(tcp.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    if !has(&confined, "python3").await {
        return;
    }
    let connect = "import socket\n\
                   for a in ['../outside/socket', '\\0abstract']:\n\
                   \x20   try: socket.socket(socket.AF_UNIX).connect(a); print('reached')\n\
                   \x20   except OSError as e: print(e.errno)\n";
    confined.put("work/connect.py", connect);
    assert_eq!(confined.ok("python3 connect.py").await, "1\n1");
    if status().network_namespace.is_enforced() {
        let serve = "import socket,threading;s=socket.create_server(('127.0.0.1',0));\
                     threading.Thread(target=lambda:s.accept()[0].sendall(b'inside')).start();\
                     print(socket.create_connection(s.getsockname()).recv(9).decode())";
        assert_eq!(confined.ok(&format!("python3 -c {}", shell_quoted(serve))).await, "inside");
    }
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Answers every connection with one word.
#[derive(Debug)]
struct Greeter;

impl ServeProxy for Greeter {
    fn serve(&self, listener: TcpListener) -> io::Result<Box<dyn Any + Send>> {
        std::thread::spawn(move || {
            while let Ok((mut connection, _)) = listener.accept() {
                let mut request = [0; 5];
                if connection.read_exact(&mut request).is_ok() {
                    connection.write_all(b"greetings\n").unwrap();
                }
            }
        });
        Ok(Box::new(()))
    }
}

#[tokio::test]
async fn the_proxy_is_all_that_is_reached() {
    let with_namespace = status();
    let mut without = with_namespace.clone();
    without.mounts = Layer::Unavailable { reason: "switched off".into() };
    without.network_namespace = Layer::Unavailable { reason: "switched off".into() };
    let other = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for status in [with_namespace, without] {
        if !status.network_namespace.is_enforced() && status.landlock_abi < 4 {
            continue;
        }
        let confined =
            Confined::with(status, |_, policy| policy.network = NetworkPolicy::Proxy(Arc::new(Greeter)));
        let command = "port=${HTTPS_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/$port; echo hello >&3; head -n1 <&3; readlink /proc/self/fd/0";
        assert_eq!(confined.ok(command).await, "greetings\n/dev/null");
        assert_ne!(confined.sh(&format!("exec 3<>/dev/tcp/127.0.0.1/{other}")).await.1, 0);
    }
}

#[tokio::test]
async fn a_proxy_that_fails_runs_nothing() {
    #[derive(Debug)]
    struct Broken;
    impl ServeProxy for Broken {
        fn serve(&self, _: TcpListener) -> io::Result<Box<dyn Any + Send>> {
            Err(io::Error::other("out of order"))
        }
    }
    let confined =
        Confined::with(status(), |_, policy| policy.network = NetworkPolicy::Proxy(Arc::new(Broken)));
    let error = confined.run_for("touch ran", Duration::from_secs(30)).await.unwrap_err();
    assert!(matches!(&error, RunError::Confine(_)) && error.to_string().contains("out of order"), "{error}");
    assert!(!confined.path("work/ran").exists());
}

#[tokio::test]
async fn what_cannot_be_confined_does_not_run() {
    let mut policy = SandboxPolicy::new(vec!["/tmp".into()]);
    policy.demand = Demand::Required;
    let missing = Helper { program: "/nowhere/helper".into(), leading: Vec::new() };
    let error = LinuxSandbox::new(&policy, missing).unwrap_err().to_string();
    assert!(error.contains("demand") && error.contains("/nowhere/helper"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let policy = SandboxPolicy::new(vec![folder.path().to_owned()]);
    let stranger = Helper { program: "/bin/true".into(), leading: Vec::new() };
    let sandbox = LinuxSandbox::with_status(&policy, stranger, status()).unwrap();
    let command = robota_tools::process::CommandLine {
        program: "/bin/true".into(),
        arguments: Vec::new(),
        directory: folder.path().to_owned(),
        environment: Vec::new(),
        timeout: Duration::from_secs(30),
    };
    let run = robota_tools::process::run(command, Some(&sandbox), &Default::default(), |_| {}).await;
    let error = run.unwrap_err().to_string();
    assert_eq!(error, "cannot confine the command: the sandbox's helper ended before it had confined itself");
}

#[tokio::test]
async fn a_process_that_stays_behind_stays_confined() {
    let confined = Confined::new();
    if !status().mounts.is_enforced() {
        return;
    }
    let command = "mkfifo gate end; setsid bash -c 'read < gate; echo owned > $OUT/victim; mkdir .husky; echo owned > .husky/hook; \
                   echo done > end' </dev/null >/dev/null 2>&1 & echo $!";
    let process = confined.ok(command).await;
    assert!(is_running(&process));
    // The name is still taken, as somebody could use it.
    assert!(confined.path("work/.husky").is_dir());
    assert_eq!(confined.outside("echo go > gate; cat end").await.0, "done");
    assert_eq!(confined.content("outside/victim"), "kept");
    assert!(!confined.path("work/.husky/hook").exists());
    while is_running(&process) {
        tokio::task::yield_now().await;
    }
    confined.ok("true").await;
    assert!(!confined.path("work/.husky").exists());
}

#[tokio::test]
async fn people_without_privileges_are_confined_as_well() {
    let confined = Confined::new();
    if !has(&confined, "setpriv").await {
        return;
    }
    let program = helper().program;
    let script = format!(
        "chmod 755 .. && cp {} ../confined && chown 65534:65534 . $OUT $OUT/victim && \
         setpriv --reuid 65534 --regid 65534 --clear-groups ../confined bash -c \
         'id -u; echo in > f; cat f; echo owned > '$OUT'/victim; cat /proc/$PPID/environ; echo owned > .envrc; kill -CONT $PPID; mktemp -p .>/dev/null && echo made' | grep -v ': '",
        program.display()
    );
    let (output, ending) = confined.outside(&script).await;
    if output.is_empty() && ending != Ending::Exited(0) {
        println!("skipped: cannot become another user");
        return;
    }
    assert_eq!(output, "65534\nin\nmade");
    assert_eq!(confined.content("outside/victim"), "kept");
    assert!(!confined.path("work/.envrc").exists());
}
