//! `robota tool list`.

use robota_core::{ToolClass, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value};

use super::toolbox::Toolbox;
use crate::exit::{Exit, Failure};
use crate::harmless::one_line;
use crate::report::print;
use crate::stdout::{Output, complain};
use crate::tool_args::ToolListArgs;

#[derive(Serialize)]
struct Listing<'a> {
    tools: Vec<Listed<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    class: &'static str,
    description: &'a str,
    input_schema: &'a Value,
}

pub(super) fn run(args: &ToolListArgs) -> Result<Exit, Failure> {
    let toolbox = Toolbox::open(&args.policy)?;
    toolbox.notices.iter().for_each(|notice| complain(&format!("note: {notice}")));
    let tools = toolbox.assembly.options.tools.iter().map(|tool| Listed::of(tool.spec())).collect();
    let listing = Listing { tools };
    print(&listing, args.json, |output| listing.tools.iter().for_each(|tool| tool.tell(output)))
}

impl<'a> Listed<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self {
            name: &spec.name,
            class: class_name(spec.class),
            description: &spec.description,
            input_schema: &spec.input_schema,
        }
    }

    fn tell(&self, output: &mut Output) {
        let first = self.description.split_inclusive(". ").next().unwrap_or_default().trim_end();
        output.line(&format!("{:16} {:9} {}", self.name, self.class, one_line(first)));
        let none = Map::new();
        let properties = self.input_schema["properties"].as_object().unwrap_or(&none);
        let required = self.input_schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let shown = |name: &String| if is_required(name) { name.clone() } else { format!("[{name}]") };
        let names: Vec<String> = properties.keys().map(shown).collect();
        output.line(&format!("{:26} {}", "", one_line(&names.join(" "))));
    }
}

const fn class_name(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Inspect => "inspect",
        ToolClass::Modify => "modify",
        ToolClass::Execute => "execute",
        ToolClass::Network => "network",
        _ => "other",
    }
}
