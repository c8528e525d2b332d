//! `robota trust`: decide whether the files of a project may set more than what they deny.

use std::sync::Arc;

use robota_core::SystemClock;
use robota_framework::{FileClaims, ProjectPaths, TrustError, TrustStore, TrustedFolder, project_claims};
use serde::Serialize;

use crate::args::TrustArgs;
use crate::exit::{Exit, Failure};
use crate::harmless::{json as harmless_json, one_line};
use crate::host::Host;
use crate::stdout::Output;

/// Runs `robota trust`.
pub(crate) fn run(args: &TrustArgs) -> Result<Exit, Failure> {
    let mut host = Host::of_process()?;
    // A project that is gone can still be named.
    let gone = args.dir.as_ref().filter(|dir| args.revoke && !dir.exists()).map(|dir| host.cwd.join(dir));
    if let Some(dir) = args.dir.as_ref().filter(|_| gone.is_none()) {
        host.cwd = host.cwd.join(dir);
    }
    let paths = host.paths()?;
    let store = TrustStore::new(&paths, Arc::new(SystemClock));
    let mut output = Output::new();
    if args.list {
        list(&store, args.json, &mut output)?;
    } else if args.revoke {
        let root = gone.as_ref().unwrap_or(&paths.root);
        let changed = store.revoke(root).map_err(|error| failure(&error))?;
        let root = root.display().to_string();
        let said = if changed { "is not trusted any more" } else { "was not trusted" };
        tell(
            &Decision { project: root, trusted: false, changed, files: None },
            said,
            args.json,
            &mut output,
        )?;
    } else {
        trust(&store, &paths, args, &mut output)?;
    }
    output.finish().map_err(|error| Failure::output(&error))?;
    Ok(Exit::Success)
}

/// What became of a project.
#[derive(Serialize)]
struct Decision {
    project: String,
    trusted: bool,
    /// Whether it was otherwise before.
    changed: bool,
    /// What its files set.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileClaims>>,
}

/// Shows what takes effect with trust, and trusts the project unless it is only to be looked at.
fn trust(
    store: &TrustStore,
    paths: &ProjectPaths,
    args: &TrustArgs,
    output: &mut Output,
) -> Result<(), Failure> {
    let files = project_claims(paths)
        .map_err(|error| Failure::from_error(Exit::Configuration, &error).with_hint(TRUST_SETTINGS_HINT))?;
    if !args.json {
        show(&files, output);
        // Whatever happens next: what was to be seen first has been.
        output.flush();
    }
    let (trusted, changed, said) = if args.show {
        let trusted = store.is_trusted(&paths.root).map_err(|error| failure(&error))?;
        (trusted, false, if trusted { "is trusted" } else { "is not trusted" })
    } else if store.trust(&paths.root).map_err(|error| failure(&error))? {
        (true, true, "is trusted from now on; `robota trust --revoke` takes it back")
    } else {
        (true, false, "is trusted already")
    };
    let project = paths.root.display().to_string();
    tell(&Decision { project, trusted, changed, files: Some(files) }, said, args.json, output)
}

/// What to do about a project's settings that cannot be read.
const TRUST_SETTINGS_HINT: &str = "Nothing was trusted, because what that file would let happen cannot be told. Correct it or move it away.";

fn show(files: &[FileClaims], output: &mut Output) {
    let files: Vec<_> = files.iter().filter(|file| !file.claims.is_empty()).collect();
    if files.is_empty() {
        output.line("Its settings set nothing yet that needs trust.");
    }
    for file in files {
        output.line(&format!("{} sets", one_line(&file.file.to_string_lossy())));
        for claim in &file.claims {
            output.line(&format!("  {}: {}", claim.kind, one_line(&claim.detail)));
        }
    }
}

fn tell(decision: &Decision, said: &str, json: bool, output: &mut Output) -> Result<(), Failure> {
    if json {
        return json_line(decision, output);
    }
    output.line(&format!("{} {said}", one_line(&decision.project)));
    Ok(())
}

#[derive(Serialize)]
struct List {
    trusted: Vec<TrustedFolder>,
}

fn list(store: &TrustStore, json: bool, output: &mut Output) -> Result<(), Failure> {
    let trusted = store.list().map_err(|error| failure(&error))?;
    if json {
        return json_line(&List { trusted }, output);
    }
    if trusted.is_empty() {
        output.line("No project is trusted.");
    }
    for project in trusted {
        output.line(&format!("{}  {}", project.since, one_line(&project.folder)));
    }
    Ok(())
}

fn json_line(value: &impl Serialize, output: &mut Output) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(|error| {
        Failure::new(Exit::Failed, format!("the answer cannot be written as JSON: {error}"))
    })?;
    output.line(&harmless_json(json));
    Ok(())
}

fn failure(error: &TrustError) -> Failure {
    Failure::from_error(Exit::Configuration, error).with_hint(error.hint())
}
