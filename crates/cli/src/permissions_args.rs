//! The command line of `robota permissions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use robota_core::PermissionMode;

use crate::args::{SandboxArgs, permission_modes};

/// What `check` reads and prints.
const CHECK_ROWS: &str = "\
A row and its verdict, each on one line; `rules` and `mode` may be missing:
  {\"id\": 1, \"rules\": {\"allow\": [\"Bash(git *)\"], \"ask\": [], \"deny\": []},
   \"mode\": \"default\", \"cwd\": \".\",
   \"tool\": \"Bash\", \"args\": {\"command\": \"git status\"}}
  {\"id\": 1, \"verdict\": \"allow|ask|deny\", \"reason\": \"…\", \"rule\": \"Bash(git *)\"}
A row that cannot be used gets {\"id\", \"error\"}.
`cwd` is the workspace; no settings are read.";

/// What `check-url` reads and prints.
const URL_ROWS: &str = "\
A row and its verdict, each on one line; all but `id` and `url` may be missing:
  {\"id\": 1, \"url\": \"https://docs.rs/\",
   \"dns\": {\"docs.rs\": [[\"13.32.99.1\"]]}, \"env\": {},
   \"redirects\": [{\"from\": \"https://docs.rs/\", \"status\": 302, \"location\": \"/x\"}]}
  {\"id\": 1, \"verdict\": \"allow|block\", \"reason\": \"…\"}
A row that cannot be used gets {\"id\", \"error\"}.
`dns` has the answers of successive look-ups of each host.";

/// `robota permissions …`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Decide the calls that standard input describes, one JSON object a line, and print a verdict for each
    #[command(after_help = CHECK_ROWS)]
    Check,
    /// Judge the web addresses that standard input describes, one JSON object a line; nothing is fetched or looked up
    #[command(after_help = URL_ROWS)]
    CheckUrl,
    /// Take a command line apart and show what the rules in force make of each part
    Explain(ExplainArgs),
    /// Show the rules in force with the files they come from, the mode and the workspace
    List(ListArgs),
}

/// `robota permissions explain`.
#[derive(Debug, Args)]
#[command(override_usage = "robota permissions explain [OPTIONS] -- COMMAND...\n       \
                            robota permissions explain [OPTIONS] --tool NAME --args JSON")]
pub(crate) struct ExplainArgs {
    /// The command line, behind `--`; several words are joined as they would reach a program
    #[arg(value_name = "COMMAND", required_unless_present = "tool", conflicts_with = "tool")]
    pub(crate) command: Vec<String>,
    /// Decide a call of this tool instead of a command line
    #[arg(long, value_name = "NAME", requires = "args")]
    pub(crate) tool: Option<String>,
    /// The arguments of the call as a model writes them, such as '{"filePath":"notes.txt"}'
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// `robota permissions list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a run would be told about permissions.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// As in this folder instead of the working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// As with this mode: plan, default, acceptEdits or bypassPermissions
    #[arg(long, value_name = "MODE", value_parser = permission_modes())]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// As with these further rules that allow; may be repeated
    #[arg(long, visible_alias = "allowedTools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,
    /// As with these further rules that deny; may be repeated
    #[arg(long, visible_aliases = ["disallowed-tools", "disallowedTools"], value_name = "RULES")]
    pub(crate) denied_tools: Vec<String>,
    /// As with this further folder; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
    /// As if this folder were trusted
    #[arg(long)]
    pub(crate) trust: bool,
}
