//! The command line: one table for parsing, help, completions and the man page.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use robota_core::{PermissionMode, Rule};

use crate::permissions_args::PermissionsCommand;
use crate::provider_args::ProviderCommand;
use crate::sandbox_args::SandboxCommand;
use crate::session_args::SessionCommand;
use crate::tool_args::ToolCommand;
use crate::tuning_args::TuningArgs;

/// A coding agent for your terminal: it reads, edits and runs things in your project, and asks first.
#[derive(Debug, Parser)]
#[command(
    name = "robota",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const AFTER_HELP: &str = "\
Exit codes:
    0  the turn completed
    1  the turn failed or reached a limit (--max-turns, full window), or a log is not valid
    2  the command line or the prompt cannot be used
    3  configuration: no key, unreadable settings, unknown provider or session
    4  files: the session's log cannot be written or read, or standard output cannot be written
  130  interrupted by Ctrl-C
  143  ended by SIGTERM";

/// What `robota` does besides running a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole loop on a scratch project; needs no key (the model is scripted, all else is real)
    Demo(DemoArgs),
    /// Look at recorded sessions, check, copy, move and remove them
    #[command(subcommand)]
    Session(SessionCommand),
    /// Show which rules are in force, what they make of a command, and test rule files
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// List the tools of a session, and run one by hand
    #[command(subcommand)]
    Tool(ToolCommand),
    /// Show what the sandbox is on this system, and run a command in it
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// List the model providers that are set up, test one, and list its models
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Trust a project: let its own settings run hooks, allow tools and choose provider and model
    Trust(TrustArgs),
    /// Print a shell completion script
    Completions {
        /// The shell to print it for
        shell: Shell,
    },
    /// Print the manual page in roff format (robota man | man -l -)
    Man,
}

/// `robota demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Do the task with the real model of your configuration instead of the scripted one
    #[arg(long)]
    pub(crate) live: bool,
    /// Keep the scratch project here (an empty or new folder) instead of a temporary folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// `robota trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A folder of the project [default: the working directory]
    #[arg(value_name = "DIR", conflicts_with = "list")]
    pub(crate) dir: Option<PathBuf>,
    /// Only show what its settings would set with trust, and whether it is trusted
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub(crate) show: bool,
    /// Do not trust it any more
    #[arg(long)]
    pub(crate) revoke: bool,
    /// List the projects that are trusted
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// One JSON object instead of lines for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// Everything a run can be told.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do; joined with standard input when both are there
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,

    /// Answer the prompt on standard output and exit
    #[arg(short, long)]
    pub(crate) print: bool,

    /// How to write the answer: text as it arrives, one JSON result, or one JSON object per event
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,

    /// Answer with JSON that is valid against this JSON Schema, given as it is or as the path of a file
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) json_schema: Option<String>,

    /// Model id
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Provider: the name of a profile in your settings, or a type such as anthropic, openai or ollama
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    #[command(flatten)]
    pub(crate) tuning: TuningArgs,

    /// What may run without asking: plan, default, acceptEdits or bypassPermissions
    #[arg(long, value_name = "MODE", value_parser = permission_modes())]
    pub(crate) permission_mode: Option<PermissionMode>,

    /// Rules that allow calls, such as 'Bash(git *),Read(~/notes/**)'; may be repeated
    #[arg(long, visible_alias = "allowedTools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,

    /// Rules that deny calls; a bare tool name takes the tool away; may be repeated
    #[arg(long, visible_aliases = ["disallowed-tools", "disallowedTools"], value_name = "RULES")]
    pub(crate) denied_tools: Vec<String>,

    /// Most model calls in this turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,

    /// Use this system prompt instead of the built-in one and the project's instructions
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,

    /// Add this to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,

    /// A further folder the tools may work in; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Go on with the latest session of this folder
    #[arg(short, long = "continue", group = "earlier")]
    pub(crate) continue_latest: bool,

    /// Go on with a session, by id, beginning of an id, or name
    #[arg(short, long, value_name = "SESSION", group = "earlier")]
    pub(crate) resume: Option<String>,

    /// Name the session
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// With -c or -r: go on in a copy and leave the session as it is
    #[arg(long, requires = "earlier")]
    pub(crate) fork_session: bool,

    /// Keep nothing on disk
    #[arg(long, conflicts_with_all = ["continue_latest", "resume", "name"])]
    pub(crate) no_session_persistence: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    /// Trust this folder for one run: let its own settings run hooks, allow tools, choose provider and model
    #[arg(long)]
    pub(crate) trust: bool,

    /// Show what the run does on standard error, also when that is no terminal
    #[arg(long)]
    pub(crate) verbose: bool,

    /// Write diagnostics to standard error
    #[arg(long)]
    pub(crate) debug: bool,
}

/// What a run is told about the sandbox.
#[derive(Debug, Default, Args)]
pub(crate) struct SandboxArgs {
    /// Run commands in the sandbox, whatever the settings say
    #[arg(long, conflicts_with = "no_sandbox")]
    sandbox: bool,

    /// Run commands without the sandbox, whatever the settings say
    #[arg(long)]
    no_sandbox: bool,
}

impl SandboxArgs {
    /// Whether commands are to run in it; `None` leaves it to the settings.
    pub(crate) const fn asked(&self) -> Option<bool> {
        match (self.sandbox, self.no_sandbox) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text, as it arrives.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line, as things happen.
    StreamJson,
}

impl OutputFormat {
    /// True for the formats that programs read.
    pub(crate) const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::StreamJson)
    }
}

pub(crate) fn permission_modes() -> impl clap::builder::TypedValueParser<Value = PermissionMode> {
    use clap::builder::TypedValueParser;
    let names = PermissionMode::ALL.map(PermissionMode::as_str);
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<PermissionMode>())
}

/// The rules of comma-separated lists. A comma inside a rule belongs to it.
pub(crate) fn split_rules(lists: &[String]) -> Vec<String> {
    lists.iter().flat_map(|list| split_list(list)).collect()
}

/// Takes pieces until they are a rule; what never becomes one is left whole, for the error to show.
fn split_list(list: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut rule = String::new();
    for piece in list.split(',') {
        if !rule.is_empty() {
            rule.push(',');
        }
        rule.push_str(piece);
        if rule.trim().is_empty() {
            rule.clear();
        } else if rule.parse::<Rule>().is_ok() {
            rules.push(std::mem::take(&mut rule).trim().to_owned());
        }
    }
    let rest = rule.trim();
    rules.extend((!rest.is_empty()).then(|| rest.to_owned()));
    rules
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &[&str]) -> Cli {
        Cli::try_parse_from(std::iter::once("robota").chain(words.iter().copied())).unwrap()
    }

    #[test]
    fn the_table_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_word_after_p_is_a_prompt_even_when_it_names_a_command() {
        let cli = parse(&["-p", "demo"]);
        assert!(cli.command.is_none());
        assert_eq!(cli.run.prompt, ["demo"]);
        assert!(matches!(parse(&["demo"]).command, Some(Command::Demo(_))));
        assert_eq!(parse(&["-p", "/etc/hosts", "explain"]).run.prompt, ["/etc/hosts", "explain"]);
    }

    #[test]
    fn values_may_be_joined_by_an_equals_sign_and_stand_anywhere() {
        let cli = parse(&[
            "-p",
            "x",
            "--output-format=stream-json",
            "--allowedTools=Bash(a,b),Read",
            "--max-turns=3",
        ]);
        assert_eq!(cli.run.output_format, OutputFormat::StreamJson);
        assert_eq!(split_rules(&cli.run.allowed_tools), ["Bash(a,b)", "Read"]);
        assert_eq!(cli.run.max_turns, Some(3));
    }

    #[test]
    fn a_comma_inside_a_rule_belongs_to_it() {
        let split = |list: &str| split_rules(&[list.to_owned()]);
        assert_eq!(split("Bash(echo ')' , x),Read, "), ["Bash(echo ')' , x)", "Read"]);
        assert_eq!(split("Bash(a,b),Edit(src/{a,b}.rs)"), ["Bash(a,b)", "Edit(src/{a,b}.rs)"]);
        assert_eq!(split("Read,Bash(a"), ["Read", "Bash(a"]);
    }

    #[test]
    fn nonsense_is_refused_with_the_allowed_values() {
        let error = Cli::try_parse_from(["robota", "--permission-mode", "yolo"]).unwrap_err().to_string();
        assert!(error.contains("plan, default, acceptEdits, bypassPermissions"), "{error}");
        assert!(Cli::try_parse_from(["robota", "-p", "x", "--max-turns", "0"]).is_err());
        assert!(Cli::try_parse_from(["robota", "-c", "-r", "x"]).is_err());
        assert!(Cli::try_parse_from(["robota", "-p", "x", "--fork-session"]).is_err());
    }
}
