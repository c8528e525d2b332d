//! What providers said of the models they offer, kept for runs that do not ask.

use std::io;
use std::path::PathBuf;

use robota_core::{ModelEntry, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{ProjectPaths, ResolvedProvider, files};

/// Largest list that is read, in bytes.
const LIMIT: u64 = 16 * 1024 * 1024;

/// The lists of models of all providers, one file each in `cache/models` of the user's folder, private to the user.
#[derive(Clone, Debug)]
pub struct ModelLists {
    folder: Option<PathBuf>,
}

/// A list of models as a provider gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelList {
    /// The kind of the provider.
    pub r#type: String,
    /// Its address; `None` for the vendor's own.
    #[serde(rename = "baseURL", default)]
    pub base_url: Option<String>,
    /// When it was asked.
    pub fetched_at: Timestamp,
    /// The models, in its order.
    pub models: Vec<OfferedModel>,
}

/// A model that a provider offers. What it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "plain data, built with `..Default::default()`")]
pub struct OfferedModel {
    /// The id to ask for.
    pub id: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The most tokens a request and its answer may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The most tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl ModelList {
    /// What `provider` said at `fetched_at`.
    #[must_use]
    pub fn new(provider: &ResolvedProvider, fetched_at: Timestamp, models: Vec<OfferedModel>) -> Self {
        let (r#type, base_url) = (provider.kind.clone(), provider.base_url.clone());
        Self { r#type, base_url, fetched_at, models }
    }

    /// The models whose window it tells, for a [`ModelTable`](robota_core::ModelTable). Where it does not tell how long an answer
    /// may be, `output` is assumed, or the window when that is smaller.
    pub fn entries(&self, output: u64) -> impl Iterator<Item = ModelEntry> {
        self.models.iter().filter_map(move |model| {
            let context = model.context.filter(|context| *context > 0)?;
            let output = model.output.filter(|output| *output > 0).unwrap_or(output).min(context);
            let (id, provider) = (model.id.clone(), Some(self.r#type.clone()));
            Some(ModelEntry { id, provider, context, output, ..ModelEntry::default() })
        })
    }
}

impl ModelLists {
    /// The lists of the user of `paths`; without a folder of the user's nothing is kept.
    #[must_use]
    pub fn new(paths: &ProjectPaths) -> Self {
        Self { folder: paths.user_dir.as_ref().map(|dir| dir.join("cache").join("models")) }
    }

    /// What `provider` said last; `None` when it was not asked, or the list is that of another kind or address, or
    /// cannot be read: a list can always be had again.
    #[must_use]
    pub fn load(&self, provider: &ResolvedProvider) -> Option<ModelList> {
        let (_, text) = files::read(&self.path(provider)?, LIMIT).ok()??;
        let list: ModelList = serde_json::from_str(&text).ok()?;
        (list.r#type == provider.kind && list.base_url == provider.base_url).then_some(list)
    }

    /// Keeps what `provider` said.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn keep(&self, provider: &ResolvedProvider, list: &ModelList) -> io::Result<()> {
        let Some((folder, path)) = self.folder.as_ref().zip(self.path(provider)) else { return Ok(()) };
        files::make_folder(folder)?;
        files::replace(&path, &serde_json::to_vec(list)?)
    }

    fn path(&self, provider: &ResolvedProvider) -> Option<PathBuf> {
        // Any text may be the name of a profile; what is no letter, digit, `-` or `_` is written as its number.
        let mut name = String::new();
        for byte in provider.name.bytes() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
                _ => name.push_str(&format!("%{byte:02x}")),
            }
        }
        name.truncate(200);
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }
}
