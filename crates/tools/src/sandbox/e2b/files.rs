//! Files of a machine: `/files` of `spec/envd/envd.yaml`, and `filesystem.Filesystem`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::port::{SandboxEntry, SandboxFileKind, SandboxStat};
use super::super::tree;
use super::envd::{Envd, text};
use super::{answer, times};

/// Bytes of a file that are held in memory.
const MAX_FILE: usize = 256 * 1024 * 1024;
/// Puts the file `$1` in the place of `$2`, which is there, and gives it its mode.
const TAKE_PLACE: &str =
    "[ ! -d \"$2\" ] || exit 21; chmod --reference=\"$2\" -- \"$1\" && mv -f -- \"$1\" \"$2\"";

/// `EntryInfo` of the service.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EntryInfo {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "whole_number")]
    size: u64,
    modified_time: Option<String>,
    symlink_target: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    entries: Vec<EntryInfo>,
}

#[derive(Deserialize)]
struct Found {
    entry: EntryInfo,
}

impl Envd {
    pub(super) async fn read(&self, path: &Path) -> Result<Vec<u8>, SandboxError> {
        let written = text(path)?;
        let action = format!("read {written}");
        let request = self.client.get(self.file_url(written)?).timeout(self.request_timeout);
        let response = answer::succeeded(&action, self.signed(request).send().await).await?;
        answer::body(&action, response, MAX_FILE).await
    }

    /// Uploads beside `path` and then moves into its place: an upload itself may end in the middle.
    pub(super) async fn write(
        &self,
        path: &Path,
        root: &Path,
        content: Vec<u8>,
    ) -> Result<SandboxStat, SandboxError> {
        let found = match self.look(path).await {
            Ok(found) => Some(found),
            Err(error) if error.kind() == SandboxErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let linked = found.as_ref().is_some_and(EntryInfo::is_link);
        let path = if linked { self.real_path(path, root).await? } else { path.to_owned() };
        if found.as_ref().is_some_and(|found| found.kind() == SandboxFileKind::Folder && !found.is_link()) {
            let message = format!("cannot write {}: it is a folder", path.display());
            return Err(SandboxError::new(SandboxErrorKind::WrongKind, message));
        }
        let (written, beside) = (text(&path)?, path.with_file_name(tree::unique(".robota-upload-")));
        let temporary = text(&beside)?;
        self.upload(temporary, &content).await?;
        let placed = if found.is_some() {
            self.take_place(temporary, written).await
        } else {
            let body = json!({"source": temporary, "destination": written});
            let action = format!("write {written}");
            self.call(&action, "/filesystem.Filesystem/Move", &body).await.map(drop)
        };
        if let Err(error) = placed {
            let body = json!({"path": temporary});
            if let Err(error) = self.call("remove an upload", "/filesystem.Filesystem/Remove", &body).await {
                tracing::warn!(%error, path = temporary, "an upload was left behind");
            }
            return Err(error);
        }
        self.stat(&path, root).await
    }

    async fn take_place(&self, temporary: &str, written: &str) -> Result<(), SandboxError> {
        let result = self.program("/bin/sh", &["-c", TAKE_PLACE, "sh", temporary, written]).await?;
        match result.exit_code() {
            Some(0) => Ok(()),
            Some(21) => {
                let message = format!("cannot write {written}: it is a folder");
                Err(SandboxError::new(SandboxErrorKind::WrongKind, message))
            }
            _ => {
                let message = format!("cannot write {written}: {}", result.stderr.trim());
                Err(SandboxError::new(SandboxErrorKind::NotPermitted, message))
            }
        }
    }

    async fn upload(&self, path: &str, content: &[u8]) -> Result<(), SandboxError> {
        let boundary = tree::unique("robota-");
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let mut body = Vec::with_capacity(head.len() + content.len() + tail.len());
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(tail.as_bytes());
        let request = self.client.post(self.file_url(path)?).timeout(self.request_timeout);
        let request =
            request.header("Content-Type", format!("multipart/form-data; boundary={boundary}")).body(body);
        answer::succeeded(&format!("write {path}"), self.signed(request).send().await).await.map(drop)
    }

    /// What is at `path`, symlinks followed.
    pub(super) async fn stat(&self, path: &Path, root: &Path) -> Result<SandboxStat, SandboxError> {
        let found = self.look(path).await?;
        // A daemon may tell what the symlink leads to, or only that it is one.
        if found.is_link() && found.kind() == SandboxFileKind::Symlink {
            let real = self.real_path(path, root).await?;
            let found = self.look(&real).await?;
            return Ok(found.stat());
        }
        Ok(SandboxStat { kind: found.target_kind(), ..found.stat() })
    }

    async fn look(&self, path: &Path) -> Result<EntryInfo, SandboxError> {
        let written = text(path)?;
        let action = format!("look at {written}");
        let answered = self.call(&action, "/filesystem.Filesystem/Stat", &json!({"path": written})).await?;
        Ok(answer::json::<Found>(&action, answered).await?.entry)
    }

    pub(super) async fn list(&self, path: &Path) -> Result<Vec<SandboxEntry>, SandboxError> {
        let written = text(path)?;
        let action = format!("list {written}");
        let body = json!({"path": written, "depth": 1});
        let answered = self.call(&action, "/filesystem.Filesystem/ListDir", &body).await?;
        let listed: Listed = answer::json(&action, answered).await?;
        let is_name =
            |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        let named = listed.entries.into_iter().filter(|entry| is_name(&entry.name));
        Ok(named.map(|entry| SandboxEntry { kind: entry.kind(), name: entry.name.into() }).collect())
    }

    pub(super) async fn make_folder(&self, path: &Path) -> Result<(), SandboxError> {
        let written = text(path)?;
        let action = format!("make the folder {written}");
        match self.call(&action, "/filesystem.Filesystem/MakeDir", &json!({"path": written})).await {
            Err(error) if error.kind() == SandboxErrorKind::AlreadyExists => Ok(()),
            done => done.map(drop),
        }
    }

    /// Asks the machine itself where `path` leads, and `root` with it: that may be a symlink, too.
    pub(super) async fn real_path(&self, path: &Path, root: &Path) -> Result<PathBuf, SandboxError> {
        let result = self.program("realpath", &["-mz", "--", text(root)?, text(path)?]).await?;
        let mut lines = result.stdout.split('\0');
        let (Some(0), Some(real_root), Some(real)) = (result.exit_code(), lines.next(), lines.next()) else {
            let message = format!("cannot follow {}: {}", path.display(), result.stderr.trim());
            return Err(SandboxError::new(SandboxErrorKind::Failed, message));
        };
        let inside = Path::new(real).strip_prefix(real_root).map_err(|error| {
            let message = format!("a symlink leads from {} out of {}", path.display(), root.display());
            SandboxError::new(SandboxErrorKind::NotPermitted, message).with_source(error)
        })?;
        Ok(root.join(inside).components().collect())
    }
}

impl EntryInfo {
    fn is_link(&self) -> bool {
        self.symlink_target.is_some() || self.kind == "FILE_TYPE_SYMLINK"
    }

    /// What it is, a symlink before all.
    fn kind(&self) -> SandboxFileKind {
        if self.is_link() { SandboxFileKind::Symlink } else { self.target_kind() }
    }

    /// What it is or leads to, as far as the daemon tells.
    fn target_kind(&self) -> SandboxFileKind {
        match self.kind.as_str() {
            "FILE_TYPE_FILE" => SandboxFileKind::File,
            "FILE_TYPE_DIRECTORY" => SandboxFileKind::Folder,
            _ => SandboxFileKind::Other,
        }
    }

    fn stat(&self) -> SandboxStat {
        SandboxStat::new(self.target_kind(), self.size, self.modified_time.as_deref().and_then(times::parse))
    }
}

/// 64-bit numbers of Protocol Buffers are strings in JSON, and numbers are taken, too.
fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(from)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(|| serde::de::Error::custom("a size is a whole number"))
}
