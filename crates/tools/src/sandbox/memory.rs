//! A sandbox in memory: for tests, and for tools that need no programs.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::ready;
use tokio_util::sync::CancellationToken;

use super::error::{SandboxError, SandboxErrorKind};
use super::manifest::{ManifestApplier, ManifestReport, Plan, Step, WorkspaceManifest, plan};
use super::place;
use super::port::{
    OutputListener, OutputStream, Sandbox, SandboxEntry, SandboxFileKind, SandboxFuture, SandboxRunOptions,
    SandboxRunResult, SandboxStat, Snapshots,
};
use crate::process::Ending;

/// Runs the commands of a [`MemorySandbox`]: command, options, and its files to read and change.
pub type RunHandler =
    Arc<dyn Fn(&str, &SandboxRunOptions, &mut MemoryFiles) -> SandboxRunResult + Send + Sync>;

/// A sandbox whose files are kept in memory below `/workspace`, without symlinks.
///
/// Commands go to its [`RunHandler`]; without one, each writes nothing and ends with 0. Snapshots are named
/// `snapshot-1`, `snapshot-2` and so on, and last as long as the sandbox. Of a manifest, `gitRepo` entries are
/// reported as unsupported, symlinks of a `localDir` refused.
#[derive(Clone)]
pub struct MemorySandbox {
    state: Arc<Mutex<State>>,
    handler: Option<RunHandler>,
}

#[derive(Default)]
struct State {
    files: MemoryFiles,
    snapshots: Vec<MemoryFiles>,
}

/// The files and folders of a [`MemorySandbox`]. Paths are as in [`Sandbox`].
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    /// By absolute path; the root itself is not told.
    nodes: BTreeMap<PathBuf, Node>,
    changes: u64,
}

#[derive(Clone, Debug)]
struct Node {
    /// `None` for a folder.
    content: Option<Arc<[u8]>>,
    /// The number of the change that made it what it is.
    change: u64,
}

const ROOT: &str = "/workspace";

impl MemorySandbox {
    /// An empty one without programs.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::default(), handler: None }
    }

    /// The same with `handler` for its commands. It runs on the caller's thread and holds all files meanwhile.
    #[must_use]
    pub fn with_run_handler(self, handler: RunHandler) -> Self {
        Self { handler: Some(handler), ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(
        &self,
        command: &str,
        options: &SandboxRunOptions,
        listener: Option<&OutputListener>,
        cancel: &CancellationToken,
    ) -> Result<SandboxRunResult, SandboxError> {
        if cancel.is_cancelled() {
            return Ok(SandboxRunResult::ended(Ending::Cancelled));
        }
        let mut state = self.state();
        if let Some(folder) = &options.working_directory
            && state.files.stat(folder)?.kind != SandboxFileKind::Folder
        {
            return Err(wrong_kind(folder, "a folder"));
        }
        let Some(handler) = &self.handler else { return Ok(SandboxRunResult::exited(0)) };
        let mut result = handler(command, options, &mut state.files);
        drop(state);
        if options.merge_output {
            let stderr = std::mem::take(&mut result.stderr);
            result.stdout.push_str(&stderr);
        }
        let outputs = [(OutputStream::Stdout, &result.stdout), (OutputStream::Stderr, &result.stderr)];
        for (stream, text) in outputs.into_iter().filter(|(_, text)| !text.is_empty()) {
            if let Some(listener) = listener {
                listener(stream, text);
            }
        }
        Ok(result)
    }
}

impl MemoryFiles {
    /// The content of a file.
    ///
    /// # Errors
    ///
    /// When it is not there or is a folder.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Arc<[u8]>, SandboxError> {
        let path = inside(path)?;
        let node = self.nodes.get(&path).ok_or_else(|| self.missing(&path))?;
        node.content.clone().ok_or_else(|| wrong_kind(&path, "a file"))
    }

    /// Puts a file at `path`, with its folders.
    ///
    /// # Errors
    ///
    /// When a folder is there, or a file stands on the way.
    pub fn write(
        &mut self,
        path: impl AsRef<Path>,
        content: impl Into<Arc<[u8]>>,
    ) -> Result<SandboxStat, SandboxError> {
        let path = inside(path)?;
        if self.kind(&path) == Some(SandboxFileKind::Folder) {
            return Err(wrong_kind(&path, "a file"));
        }
        self.make_folder(path.parent().unwrap_or(Path::new(ROOT)))?;
        self.changes += 1;
        let node = Node { content: Some(content.into()), change: self.changes };
        let stat = node.stat();
        self.nodes.insert(path, node);
        Ok(stat)
    }

    /// Makes a folder, with those above it; it may exist.
    ///
    /// # Errors
    ///
    /// When a file stands there or on the way.
    pub fn make_folder(&mut self, path: impl AsRef<Path>) -> Result<(), SandboxError> {
        let path = inside(path)?;
        let above = path.ancestors().take_while(|above| *above != Path::new(ROOT));
        let missing: Vec<_> =
            above.take_while(|above| self.kind(above) != Some(SandboxFileKind::Folder)).collect();
        if let Some(file) = missing.iter().find(|above| self.nodes.contains_key(**above)) {
            return Err(wrong_kind(file, "a folder"));
        }
        for folder in missing {
            self.changes += 1;
            self.nodes.insert(folder.to_owned(), Node { content: None, change: self.changes });
        }
        Ok(())
    }

    /// Takes away what is at `path` with all that is in it; tells whether something was there.
    ///
    /// # Errors
    ///
    /// When it is the root or no path of the sandbox.
    pub fn remove(&mut self, path: impl AsRef<Path>) -> Result<bool, SandboxError> {
        let path = inside(path)?;
        if path == Path::new(ROOT) {
            return Err(SandboxError::new(SandboxErrorKind::NotPermitted, "the root cannot be removed"));
        }
        let before = self.nodes.len();
        self.nodes.retain(|other, _| !other.starts_with(&path));
        Ok(self.nodes.len() != before)
    }

    /// What is at `path`.
    ///
    /// # Errors
    ///
    /// When nothing is.
    pub fn stat(&self, path: impl AsRef<Path>) -> Result<SandboxStat, SandboxError> {
        let path = inside(path)?;
        if path == Path::new(ROOT) {
            return Ok(SandboxStat::new(SandboxFileKind::Folder, 0, None));
        }
        self.nodes.get(&path).map(Node::stat).ok_or_else(|| self.missing(&path))
    }

    /// What is in the folder `path`, by name.
    ///
    /// # Errors
    ///
    /// When it is no folder.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<SandboxEntry>, SandboxError> {
        let path = inside(path)?;
        match self.kind(&path) {
            Some(SandboxFileKind::Folder) => {}
            Some(_) => return Err(wrong_kind(&path, "a folder")),
            None => return Err(self.missing(&path)),
        }
        let below = self.nodes.range::<Path, _>((Bound::Excluded(path.as_path()), Bound::Unbounded));
        let below = below.take_while(|(other, _)| other.starts_with(&path));
        let children = below.filter(|(other, _)| other.parent() == Some(&path));
        let named =
            children.filter_map(|(other, node)| Some(SandboxEntry::new(other.file_name()?, node.kind())));
        Ok(named.collect())
    }

    fn kind(&self, path: &Path) -> Option<SandboxFileKind> {
        if path == Path::new(ROOT) {
            return Some(SandboxFileKind::Folder);
        }
        self.nodes.get(path).map(Node::kind)
    }

    fn missing(&self, path: &Path) -> SandboxError {
        let file = path.ancestors().skip(1).find(|above| self.kind(above) == Some(SandboxFileKind::File));
        file.map_or_else(|| SandboxError::not_found(path), |file| wrong_kind(file, "a folder"))
    }

    fn make(&mut self, plan: Plan) -> Result<ManifestReport, SandboxError> {
        for path in &plan.fresh {
            if self.kind(&Path::new(ROOT).join(path)).is_some() {
                let message = format!("{} is there already and is not overwritten", path.display());
                return Err(SandboxError::new(SandboxErrorKind::AlreadyExists, message));
            }
        }
        for (path, step) in plan.steps {
            match step {
                Step::Folder => self.make_folder(&path)?,
                Step::File { content, .. } => drop(self.write(&path, content)?),
                Step::Link { .. } | Step::Clone(_) => {
                    let message =
                        format!("{} is a symlink, and a sandbox in memory has none", path.display());
                    return Err(SandboxError::new(SandboxErrorKind::Unsupported, message));
                }
            }
        }
        Ok(plan.report)
    }
}

impl Node {
    fn kind(&self) -> SandboxFileKind {
        if self.content.is_some() { SandboxFileKind::File } else { SandboxFileKind::Folder }
    }

    fn stat(&self) -> SandboxStat {
        let size = self.content.as_ref().map_or(0, |content| content.len() as u64);
        // No clock tells when it was; that it changed is what matters.
        let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(self.change));
        SandboxStat::new(self.kind(), size, modified)
    }
}

impl Default for MemorySandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemorySandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySandbox")
            .field("files", &self.state().files.nodes.len())
            .finish_non_exhaustive()
    }
}

impl Sandbox for MemorySandbox {
    fn root(&self) -> &Path {
        Path::new(ROOT)
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        options: SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, SandboxRunResult> {
        async move { self.command(command, &options, listener.as_ref(), cancel) }.boxed()
    }

    fn read_file<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<u8>> {
        ready(self.state().files.read(path).map(|content| content.to_vec())).boxed()
    }

    fn write_file<'a>(&'a self, path: &'a Path, content: Vec<u8>) -> SandboxFuture<'a, SandboxStat> {
        async move { self.state().files.write(path, content) }.boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, SandboxStat> {
        ready(self.state().files.stat(path)).boxed()
    }

    fn list<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, Vec<SandboxEntry>> {
        ready(self.state().files.list(path)).boxed()
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> SandboxFuture<'a, PathBuf> {
        ready(inside(path)).boxed()
    }

    fn manifests(&self) -> Option<&dyn ManifestApplier> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

impl ManifestApplier for MemorySandbox {
    fn apply<'a>(
        &'a self,
        manifest: &'a WorkspaceManifest,
        host_root: &'a Path,
        cancel: &'a CancellationToken,
    ) -> SandboxFuture<'a, ManifestReport> {
        async move {
            let mut plan = plan(manifest, host_root).await?;
            plan.without_clones("a sandbox in memory has no git; nothing was made at the path");
            if cancel.is_cancelled() {
                return Err(SandboxError::cancelled());
            }
            let mut state = self.state();
            // Contents are shared, so that this copies names only.
            let mut files = state.files.clone();
            let report = files.make(plan)?;
            state.files = files;
            Ok(report)
        }
        .boxed()
    }
}

impl Snapshots for MemorySandbox {
    fn snapshot<'a>(&'a self, _: &'a CancellationToken) -> SandboxFuture<'a, String> {
        let mut state = self.state();
        let files = state.files.clone();
        state.snapshots.push(files);
        ready(Ok(format!("snapshot-{}", state.snapshots.len()))).boxed()
    }

    fn restore<'a>(&'a self, id: &'a str, _: &'a CancellationToken) -> SandboxFuture<'a, ()> {
        let mut state = self.state();
        let number = id.strip_prefix("snapshot-").and_then(|number| number.parse::<usize>().ok());
        let kept = number.and_then(|number| state.snapshots.get(number.checked_sub(1)?)).cloned();
        let Some(mut files) = kept else {
            let message = format!("there is no snapshot {id:?} of this sandbox");
            return ready(Err(SandboxError::new(SandboxErrorKind::NotFound, message))).boxed();
        };
        // Changes go on being told apart from those before.
        files.changes = files.changes.max(state.files.changes);
        state.files = files;
        ready(Ok(())).boxed()
    }
}

fn inside(path: impl AsRef<Path>) -> Result<PathBuf, SandboxError> {
    place::inside(Path::new(ROOT), path.as_ref())
}

fn wrong_kind(path: &Path, wanted: &str) -> SandboxError {
    SandboxError::new(SandboxErrorKind::WrongKind, format!("{} is not {wanted}", path.display()))
}
