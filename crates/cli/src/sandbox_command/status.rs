//! `robota sandbox status`.

use robota_framework::{Sandbox, SandboxNetwork, SandboxPlan, SandboxState, system_sandbox_status};
use robota_tools::confine::{Layer, SandboxStatus};
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::host::sandbox_helper;
use crate::permissions_command::Effective;
use crate::report::print;
use crate::sandbox_args::SandboxStatusArgs;
use crate::stdout::Output;

/// What there is to say, as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    enabled: bool,
    fail_if_unavailable: bool,
    auto_allow_bash_if_sandboxed: bool,
    excluded_commands: Vec<String>,
    writable: Vec<String>,
    temporary: Vec<String>,
    deny_write: Vec<String>,
    deny_read: Vec<String>,
    network: &'static str,
    allowed_domains: Vec<String>,
    allow_unix_sockets: bool,
    /// Whether all that the settings ask for would be enforced.
    enforced: bool,
    weaknesses: Vec<String>,
    layers: SandboxStatus,
    advice: String,
}

pub(super) fn run(args: &SandboxStatusArgs) -> Result<Exit, Failure> {
    let effective = Effective::of(&args.policy)?;
    let helper = sandbox_helper();
    let layers = system_sandbox_status(helper.as_deref().unwrap_or("robota".as_ref()));
    let asked = effective.permissions.sandbox.plan;
    let report = Report::of(&asked, layers);
    print(&report, args.json, |output| report.tell(output))
}

impl Report {
    /// The report on `asked`, tried as if it were switched on.
    fn of(asked: &SandboxPlan, layers: SandboxStatus) -> Self {
        let mut tried = asked.clone();
        tried.enabled = true;
        tried.demanded = false;
        let weaknesses = match Sandbox::prepare(tried, sandbox_helper().as_ref()).state {
            SandboxState::On { weaknesses, .. } => weaknesses,
            SandboxState::Unavailable { reason } | SandboxState::Refused { reason } => vec![reason],
            _ => Vec::new(),
        };
        let shown = |paths: &[std::path::PathBuf]| {
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let (network, allowed_domains) = match &asked.network {
            SandboxNetwork::Off => ("off", Vec::new()),
            SandboxNetwork::Open => ("open", Vec::new()),
            SandboxNetwork::Domains(domains) => ("domains", domains.clone()),
        };
        Self {
            enabled: asked.enabled,
            fail_if_unavailable: asked.demanded,
            auto_allow_bash_if_sandboxed: asked.unasked,
            excluded_commands: asked.excluded.iter().map(ToString::to_string).collect(),
            writable: shown(&asked.writable),
            temporary: shown(&asked.scratch),
            deny_write: shown(&asked.deny_write),
            deny_read: shown(&asked.deny_read),
            network,
            allowed_domains,
            allow_unix_sockets: asked.allow_unix_sockets,
            enforced: weaknesses.is_empty(),
            advice: advice(asked, &weaknesses, &layers),
            weaknesses,
            layers,
        }
    }

    fn tell(&self, output: &mut Output) {
        let state = match (self.enabled, self.fail_if_unavailable) {
            (false, _) => "off",
            (true, false) => "on",
            (true, true) => "on, and without it Bash runs nothing",
        };
        output.line(&format!("{:12} {state}", "settings"));
        let network = match self.network {
            "domains" => self.allowed_domains.join(", "),
            other => other.to_owned(),
        };
        output.line(&format!("{:12} {}", "network", one_line(&network)));
        for (title, list) in [
            ("writable", &self.writable),
            ("temporary", &self.temporary),
            ("not writable", &self.deny_write),
            ("not readable", &self.deny_read),
            ("outside", &self.excluded_commands),
        ] {
            list.iter().for_each(|item| output.line(&format!("{title:12} {}", one_line(item))));
        }
        if self.auto_allow_bash_if_sandboxed {
            output.line(&format!("{:12} without asking", "commands"));
        }
        output.line("\nlayers");
        for (title, layer) in self.layers() {
            let state =
                layer.reason().map_or_else(|| "enforced".to_owned(), |why| format!("not available: {why}"));
            output.line(&format!("  {title:18} {}", one_line(&state)));
        }
        if !self.weaknesses.is_empty() {
            output.line("\nnot enforced");
            self.weaknesses.iter().for_each(|weakness| output.line(&format!("  {}", one_line(weakness))));
        }
        output.line(&format!("\n{}", one_line(&self.advice)));
    }

    fn layers(&self) -> [(&'static str, &Layer); 6] {
        let layers = &self.layers;
        [
            ("read-only mounts", &layers.mounts),
            ("user namespace", &layers.user_namespace),
            ("network namespace", &layers.network_namespace),
            ("Landlock", &layers.landlock),
            ("system calls", &layers.system_calls),
            ("capabilities", &layers.capabilities),
        ]
    }
}

/// What to do, in one line.
fn advice(asked: &SandboxPlan, weaknesses: &[String], layers: &SandboxStatus) -> String {
    let can_all = weaknesses.is_empty();
    if can_all && asked.enabled {
        return "Commands of Bash run in the sandbox, and all that the settings ask for is enforced."
            .to_owned();
    }
    if can_all {
        return r#"Switch it on with {"sandbox": {"enabled": true}} in your settings, or with --sandbox for a run."#
            .to_owned();
    }
    if !layers.mounts.is_enforced() {
        return "Let users make namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 or \
                user.max_user_namespaces), or run robota where that is allowed."
            .to_owned();
    }
    "Use a newer kernel (Linux 6.12 has all of it), or loosen what the settings ask for.".to_owned()
}
