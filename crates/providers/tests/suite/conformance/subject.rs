//! The providers under test, and what they cannot be asked for.

use robota_providers::{HttpProvider, ProviderKind, ProviderSpec};
use robota_testkit::Dialect;

use crate::api::spec;

/// A provider under test.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) make: Make,
    stride: usize,
    thorough: bool,
}

/// Where a subject comes from.
pub(crate) enum Make {
    Http(ProviderKind, fn(&mut ProviderSpec)),
    /// The scripted provider of the test kit.
    Script,
    /// Answers of the same, given again from a recording.
    Recording,
}

/// What a case asks for that not every subject has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// A connection.
    Http,
    /// Proofs of thinking, or thinking that only the provider can read.
    Proofs,
    /// Thinking that only the provider can read.
    Redaction,
    /// Tools that the service runs by itself.
    ServerTools,
    /// Arguments that arrive as text, in pieces and as the model wrote them.
    ArgumentText,
    /// Counts of what was written to the prompt cache.
    CacheWrites,
    /// A pause of the provider's own in a long answer.
    PauseTurn,
    /// The word `stop` for answers that end with calls.
    StopForCalls,
    /// Choices of tools in the request.
    ToolChoice,
    /// Answers that take their time, and calls that can be cancelled meanwhile.
    Waiting,
    /// All that an error says, whoever may try again.
    WholeErrors,
    /// A wire of its own, which is worth long answers and many calls.
    OwnWire,
}

impl Subject {
    /// A provider of `kind`, which speaks `dialect` over HTTP.
    pub(crate) const fn http(kind: ProviderKind, dialect: Dialect) -> Self {
        Self { name: kind.id(), dialect, make: Make::Http(kind, |_| {}), stride: 1, thorough: true }
    }

    /// A provider without HTTP.
    pub(crate) const fn in_process(name: &'static str, make: Make) -> Self {
        Self { name, dialect: Dialect::InProcess, make, stride: 1, thorough: true }
    }

    /// The same subject with other options.
    pub(crate) const fn with(self, options: fn(&mut ProviderSpec)) -> Self {
        match self.make {
            Make::Http(kind, _) => Self { make: Make::Http(kind, options), ..self },
            Make::Script | Make::Recording => self,
        }
    }

    /// The same subject, whose wire is that of another one: of the places where an answer can be torn, a sample is
    /// tried, and nothing that takes long.
    pub(crate) const fn sampled(self) -> Self {
        Self { thorough: false, ..self.sampled_every(41) }
    }

    /// The same subject, whose answers are long: one of so many places where they can be torn is tried.
    pub(crate) const fn sampled_every(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Of how many places in an answer one is tried.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    pub(crate) fn has_http(&self) -> bool {
        matches!(self.make, Make::Http(..))
    }

    /// How to reach the subject's API at `base_url`.
    pub(crate) fn spec(&self, base_url: impl Into<String>) -> ProviderSpec {
        let Make::Http(kind, options) = self.make else { panic!("{} has no HTTP", self.name) };
        let mut spec = spec(kind, base_url);
        options(&mut spec);
        spec
    }

    /// The provider for the API at `base_url`, without retries.
    pub(crate) fn connect(&self, base_url: impl Into<String>) -> HttpProvider {
        self.spec(base_url).connect().unwrap()
    }

    /// Why the subject cannot be asked for it.
    pub(crate) fn lacks(&self, need: Need) -> Option<&'static str> {
        use Dialect::{
            AnthropicMessages as Anthropic, InProcess, OpenAiChat as Chat, OpenAiResponses as Responses,
        };
        let dialect = self.dialect;
        match need {
            Need::Http => (dialect == InProcess).then_some("there is no HTTP in process"),
            Need::Proofs => (dialect == Chat).then_some("Chat Completions know no proof of thinking"),
            Need::Redaction => (!matches!(dialect, Anthropic | InProcess))
                .then_some("only Anthropic has hidden blocks by themselves"),
            Need::ServerTools => (!matches!(dialect, Anthropic | Responses | InProcess))
                .then_some("the API, or the test kit's form of it, knows no tools of the service"),
            Need::ArgumentText => (!matches!(dialect, Anthropic | Chat | Responses | InProcess))
                .then_some("the API has arguments as objects, not as text"),
            Need::CacheWrites => {
                (!matches!(dialect, Anthropic | InProcess)).then_some("the API does not count what it caches")
            }
            Need::PauseTurn => {
                (!matches!(dialect, Anthropic | InProcess)).then_some("only Anthropic pauses its answers")
            }
            Need::StopForCalls => {
                (dialect != Chat).then_some("a quirk of servers that speak Chat Completions")
            }
            Need::Waiting => {
                matches!(self.make, Make::Recording).then_some("a recording has all of its answer at once")
            }
            Need::WholeErrors => matches!(self.make, Make::Recording)
                .then_some("a recording has what a failure was, not the pause"),
            Need::OwnWire => (!self.thorough).then_some("openai_chat has the same wire and is asked for it"),
            Need::ToolChoice => (dialect == InProcess).then_some("a script answers whatever it may choose"),
        }
    }
}
