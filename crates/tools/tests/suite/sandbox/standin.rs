//! A stand-in for E2B: the control API and the daemon of one machine on a port of loopback, over a real folder, with
//! real commands. It answers as the provider documents it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use robota_tools::sandbox::{E2bOptions, E2bSandbox};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::{Notify, mpsc};

pub(crate) const KEY: &str = "e2b_0123456789abcdef";

pub(crate) struct Standin {
    pub(crate) state: Arc<State>,
    address: String,
    _folder: TempDir,
}

pub(crate) struct State {
    /// Holds the machine's folder and the snapshots.
    base: PathBuf,
    pub(crate) machines: Mutex<HashMap<String, Machine>>,
    /// What the next request whose path begins so gets in place of its answer.
    faults: Mutex<Vec<(&'static str, Vec<u8>)>>,
    /// Method, path and headers of every request.
    pub(crate) requests: Mutex<Vec<String>>,
    made: Mutex<u32>,
    /// A command has been started.
    pub(crate) started: Notify,
    /// Streams of commands end after this many frames.
    pub(crate) cut_after: Mutex<Option<usize>>,
    /// Whether snapshots can be taken, other than by pausing.
    pub(crate) snapshots: Mutex<bool>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub(crate) paused: bool,
    pub(crate) timeout: u64,
    pub(crate) template: String,
}

struct Request {
    method: String,
    path: String,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Status and JSON.
type Answer = (u16, Value);

impl Standin {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            base,
            machines: Mutex::default(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            made: Mutex::new(0),
            started: Notify::new(),
            cut_after: Mutex::default(),
            snapshots: Mutex::new(true),
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&serving), stream));
            }
        });
        Self { state, address, _folder: folder }
    }

    pub(crate) fn options(&self) -> E2bOptions {
        let mut options = E2bOptions::new(SecretString::from(KEY));
        options.api_url = Some(self.address.clone());
        options.sandbox_url = Some(self.address.clone());
        options.root = self.state.root();
        options
    }

    pub(crate) async fn sandbox(&self) -> E2bSandbox {
        E2bSandbox::create(self.options()).await.unwrap()
    }

    /// The next request to `path` gets `raw`.
    pub(crate) fn fail(&self, path: &'static str, raw: impl Into<Vec<u8>>) {
        self.state.faults.lock().unwrap().push((path, raw.into()));
    }
}

impl State {
    pub(crate) fn root(&self) -> PathBuf {
        self.base.join("workspace")
    }

    fn make(&self, template: &str, timeout: u64) -> Answer {
        if template != "base" {
            let Some(name) = template.strip_suffix(":default") else { return missing("no such template") };
            let kept = self.base.join(name);
            if !kept.is_dir() {
                return missing("no such template");
            }
            fs::remove_dir_all(self.root()).unwrap();
            copy(&kept, &self.root());
        }
        let mut made = self.made.lock().unwrap();
        *made += 1;
        let id = format!("machine-{made}");
        let machine = Machine { paused: false, timeout, template: template.to_owned() };
        self.machines.lock().unwrap().insert(id.clone(), machine);
        (201, told(&id))
    }

    fn control(&self, request: &Request) -> Answer {
        if request.headers.get("x-api-key").map(String::as_str) != Some(KEY) {
            return (401, json!({"code": 401, "message": "invalid API key"}));
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut parts = request.path.split('/').skip(2);
        let (id, verb) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if id.is_empty() {
            assert_eq!(body["secure"], true, "the daemon is to want a token");
            return self.make(body["templateID"].as_str().unwrap(), body["timeout"].as_u64().unwrap());
        }
        let mut machines = self.machines.lock().unwrap();
        let Some(machine) = machines.get_mut(id) else { return missing("no such sandbox") };
        match (request.method.as_str(), verb) {
            ("POST", "connect") => {
                machine.paused = false;
                machine.timeout = body["timeout"].as_u64().unwrap();
                (200, told(id))
            }
            ("POST", "pause") if machine.paused => (409, json!({"code": 409, "message": "paused already"})),
            ("POST", "pause") => {
                machine.paused = true;
                (204, Value::Null)
            }
            ("POST", "timeout") => {
                machine.timeout = body["timeout"].as_u64().unwrap();
                (204, Value::Null)
            }
            ("POST", "snapshots") if *self.snapshots.lock().unwrap() => {
                let mut made = self.made.lock().unwrap();
                *made += 1;
                copy(&self.root(), &self.base.join(format!("kept{made}")));
                (201, json!({"snapshotID": format!("kept{made}:default"), "names": []}))
            }
            ("DELETE", "") => {
                machines.remove(id);
                (204, Value::Null)
            }
            _ => missing("no such route"),
        }
    }

    fn machine_of(&self, request: &Request) -> Result<(), Answer> {
        let id = request.headers.get("e2b-sandbox-id").cloned().unwrap_or_default();
        let running = self.machines.lock().unwrap().get(&id).is_some_and(|machine| !machine.paused);
        if !running {
            return Err((502, json!({"sandboxId": id, "message": "The sandbox was not found", "code": 502})));
        }
        assert_eq!(request.headers["e2b-sandbox-port"], "49983");
        assert_eq!(request.headers["authorization"], "Basic dXNlcjo=");
        if request.headers.get("x-access-token") != Some(&format!("token-of-{id}")) {
            return Err((401, json!({"code": "unauthenticated", "message": "wrong access token"})));
        }
        Ok(())
    }
}

fn told(id: &str) -> Value {
    json!({
        "sandboxID": id, "templateID": "base", "clientID": "c", "envdVersion": "0.4.0", "domain": null,
        "envdAccessToken": format!("token-of-{id}"),
    })
}

fn missing(message: &str) -> Answer {
    (404, json!({"code": 404, "message": message}))
}

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

async fn serve(state: Arc<State>, mut stream: TcpStream) {
    let Some(request) = read(&mut stream).await else { return };
    let shown = format!("{} {} {:?}", request.method, request.path, request.headers);
    state.requests.lock().unwrap().push(shown);
    let fault = {
        let mut faults = state.faults.lock().unwrap();
        let found = faults.iter().position(|(path, _)| request.path.starts_with(path));
        found.map(|found| faults.remove(found).1)
    };
    if let Some(raw) = fault {
        let _gone = stream.write_all(&raw).await;
        return;
    }
    if request.path.starts_with("/sandboxes") {
        return answer(&mut stream, state.control(&request)).await;
    }
    if let Err(refusal) = state.machine_of(&request) {
        return answer(&mut stream, refusal).await;
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/files") => match fs::metadata(&request.query["path"]) {
            Err(_) => answer(&mut stream, missing("path does not exist")).await,
            Ok(found) if found.is_dir() => {
                answer(&mut stream, (400, json!({"code": 400, "message": "path is a directory"}))).await;
            }
            Ok(_) => {
                let content = fs::read(&request.query["path"]).unwrap();
                send(&mut stream, "200 OK", "application/octet-stream", &content).await;
            }
        },
        ("POST", "/files") => answer(&mut stream, upload(&request)).await,
        ("POST", "/process.Process/Start") => start(&state, &mut stream, &request.body).await,
        ("POST", path) => {
            let body = serde_json::from_slice(&request.body).unwrap();
            answer(&mut stream, call(path, &body)).await;
        }
        _ => answer(&mut stream, missing("no such route")).await,
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: HashMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let url = reqwest::Url::parse(&format!("http://x/?{query}")).unwrap();
    let query = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    Some(Request { method, path: path.to_owned(), query, headers, body })
}

async fn answer(stream: &mut TcpStream, (status, body): Answer) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(stream, &format!("{status} Said"), "application/json", body.as_bytes()).await;
}

async fn send(stream: &mut TcpStream, status: &str, content_type: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The client may have gone away.
    let _gone = stream.write_all(head.as_bytes()).await;
    let _gone = stream.write_all(body).await;
}

fn upload(request: &Request) -> Answer {
    let boundary = request.headers["content-type"].split_once("boundary=").unwrap().1;
    let begin = request.body.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let end = request.body.len() - format!("\r\n--{boundary}--\r\n").len();
    assert!(request.body.ends_with(format!("\r\n--{boundary}--\r\n").as_bytes()));
    let path = PathBuf::from(&request.query["path"]);
    assert_eq!(request.query["username"], "user");
    if fs::create_dir_all(path.parent().unwrap()).is_err() {
        return (400, json!({"code": 400, "message": "a parent is not a directory"}));
    }
    fs::write(&path, &request.body[begin..end]).unwrap();
    (200, json!([{"name": path.file_name().unwrap().to_str(), "type": "file", "path": path}]))
}

/// The methods with one answer.
fn call(method: &str, body: &Value) -> Answer {
    let path = PathBuf::from(body["path"].as_str().unwrap_or_default());
    let refuse = |status: u16, code: &str, message: &str| (status, json!({"code": code, "message": message}));
    match method {
        "/filesystem.Filesystem/Stat" => match entry(&path) {
            Some(entry) => (200, json!({"entry": entry})),
            None => refuse(404, "not_found", "no such file or directory"),
        },
        "/filesystem.Filesystem/ListDir" => {
            assert_eq!(body["depth"], 1);
            match fs::read_dir(&path) {
                Ok(listed) => {
                    let entries: Vec<_> = listed.filter_map(|found| entry(&found.unwrap().path())).collect();
                    // Empty lists are left out of the JSON of Protocol Buffers.
                    if entries.is_empty() { (200, json!({})) } else { (200, json!({"entries": entries})) }
                }
                Err(_) if path.exists() => refuse(400, "invalid_argument", "path is not a directory"),
                Err(_) => refuse(404, "not_found", "no such file or directory"),
            }
        }
        "/filesystem.Filesystem/MakeDir" if path.is_dir() => {
            refuse(409, "already_exists", "directory exists")
        }
        "/filesystem.Filesystem/MakeDir" => {
            fs::create_dir_all(&path).unwrap();
            (200, json!({"entry": entry(&path)}))
        }
        "/filesystem.Filesystem/Move" => {
            let (from, to) = (body["source"].as_str().unwrap(), body["destination"].as_str().unwrap());
            match fs::rename(from, to) {
                Ok(()) => (200, json!({"entry": entry(Path::new(to))})),
                Err(error) => refuse(500, "internal", &error.to_string()),
            }
        }
        "/filesystem.Filesystem/Remove" => {
            fs::remove_file(&path).unwrap();
            (200, json!({}))
        }
        "/process.Process/SendSignal" => refuse(404, "not_found", "no such process"),
        _ => refuse(404, "unimplemented", "no such method"),
    }
}

fn entry(path: &Path) -> Option<Value> {
    let found = fs::symlink_metadata(path).ok()?;
    let target = fs::metadata(path).ok();
    let kind = match &target {
        Some(target) if target.is_dir() => "FILE_TYPE_DIRECTORY",
        Some(target) if target.is_file() => "FILE_TYPE_FILE",
        _ => "FILE_TYPE_UNSPECIFIED",
    };
    // Seconds are enough for the format; the nanoseconds tell changes apart.
    let time = format!(
        "2026-01-01T00:{:02}:{:02}.{:09}Z",
        found.mtime() / 60 % 60,
        found.mtime() % 60,
        found.mtime_nsec()
    );
    let mut entry = json!({
        "name": path.file_name()?.to_str()?, "type": kind, "path": path, "mode": found.permissions().mode(),
        "permissions": "-rw-r--r--", "owner": "user", "group": "user", "modifiedTime": time,
    });
    if let Some(size) = target.filter(|target| target.is_file() && target.len() > 0) {
        entry["size"] = size.len().to_string().into();
    }
    if found.is_symlink() {
        entry["symlinkTarget"] = fs::read_link(path).unwrap().to_str().unwrap().into();
    }
    Some(entry)
}

async fn start(state: &State, stream: &mut TcpStream, body: &[u8]) {
    let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
    assert_eq!((body[0], body.len()), (0, length + 5), "one frame");
    let process = &serde_json::from_slice::<Value>(&body[5..]).unwrap()["process"];
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let _gone = stream.write_all(head.as_bytes()).await;
    let mut command = Command::new(process["cmd"].as_str().unwrap());
    let arguments = process["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
    // A login shell would read files of this machine.
    command.args(arguments.filter(|argument| *argument != "-l"));
    command.current_dir(process["cwd"].as_str().unwrap_or("/")).process_group(0);
    for (name, value) in process["envs"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap());
    }
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let end = json!({"error": {"code": "invalid_argument", "message": error.to_string()}});
            frame(stream, 2, &end).await;
            let _gone = stream.write_all(b"0\r\n\r\n").await;
            return;
        }
    };
    frame(stream, 0, &json!({"event": {"start": {"pid": child.id().unwrap()}}})).await;
    state.started.notify_one();
    let (tell, mut told) = mpsc::channel(8);
    tokio::spawn(pass_on("stdout", child.stdout.take().unwrap(), tell.clone()));
    tokio::spawn(pass_on("stderr", child.stderr.take().unwrap(), tell));
    let mut frames = 0;
    while let Some((name, piece)) = told.recv().await {
        frame(stream, 0, &json!({"event": {"data": {name: STANDARD.encode(piece)}}})).await;
        frames += 1;
        if *state.cut_after.lock().unwrap() == Some(frames) {
            return;
        }
    }
    let status = child.wait().await.unwrap();
    let end = match status.code() {
        Some(0) => json!({"exited": true, "status": "exit status 0"}),
        Some(code) => json!({"exitCode": code, "exited": true, "status": format!("exit status {code}")}),
        None => {
            let name = if status.signal() == Some(15) { "terminated" } else { "killed" };
            let status = format!("signal: {name}");
            json!({"exitCode": -1, "status": status, "error": status})
        }
    };
    frame(stream, 0, &json!({"event": {"keepalive": {}}})).await;
    frame(stream, 0, &json!({"event": {"end": end}})).await;
    frame(stream, 2, &json!({})).await;
    let _gone = stream.write_all(b"0\r\n\r\n").await;
}

async fn pass_on(
    name: &'static str,
    mut pipe: impl AsyncReadExt + Unpin,
    tell: mpsc::Sender<(&'static str, Vec<u8>)>,
) {
    let mut piece = vec![0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let _gone = tell.send((name, piece[..count].to_vec())).await;
    }
}

/// A frame as a chunk, in two pieces so that it never arrives at once.
async fn frame(stream: &mut TcpStream, flags: u8, message: &Value) {
    let message = message.to_string();
    let mut bytes = vec![flags];
    bytes.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    bytes.extend(message.as_bytes());
    for piece in [&bytes[..3], &bytes[3..]] {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend(piece);
        chunk.extend(b"\r\n");
        let _gone = stream.write_all(&chunk).await;
        let _gone = stream.flush().await;
    }
}
