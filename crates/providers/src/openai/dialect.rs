//! What a server has turned out not to understand, and how requests are written after that (protocols F4, quirks 14
//! and 15).

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api_error::ApiError;
use crate::wire::Dialect;

/// One thing that requests do no more, or otherwise than is usual of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Departure {
    /// No `stream_options`.
    NoStreamOptions = 1,
    /// The other name of the field that limits the output.
    OtherMaxTokens = 1 << 1,
    /// No `parallel_tool_calls`.
    NoParallelCalls = 1 << 2,
    /// The tool choice in words.
    NoToolChoice = 1 << 3,
    /// `json_object` in place of a schema.
    NoSchema = 1 << 4,
    /// The form of the answer in words.
    NoAnswerForm = 1 << 5,
    /// No more than high effort.
    HighEffort = 1 << 6,
    /// No word about effort and thinking.
    NoThinking = 1 << 7,
    /// Neither a name of the conversation nor a wish to cache.
    NoCacheKey = 1 << 8,
    /// The role `system` for the system prompt.
    SystemRole = 1 << 9,
    /// The role `user` for the system prompt.
    UserRole = 1 << 10,
    /// Neighbours of one role are joined.
    Alternate = 1 << 11,
    /// Calls and results are written as text.
    TextTools = 1 << 12,
    /// A sentence in the place of images.
    Blind = 1 << 13,
}

/// The departures in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Departures(u32);

impl Departures {
    /// Whether `departure` is in use.
    pub(super) const fn has(self, departure: Departure) -> bool {
        self.0 & departure as u32 != 0
    }

    /// What `refusal` of a request with these departures asks for besides; `None` when it is about something else,
    /// or nothing is left to try.
    fn corrected(self, refusal: &ApiError) -> Option<Departure> {
        let complaint = Complaint::of(refusal)?;
        RULES.iter().filter(|rule| rule.applies(&complaint)).find_map(|rule| {
            let mut steps = rule.steps.iter().copied();
            // A value that is not taken may have a lower one; a field that is not known has none.
            steps.find(|step| {
                !self.has(*step) && (*step != Departure::HighEffort || complaint.is_about_a_value)
            })
        })
    }
}

impl FromIterator<Departure> for Departures {
    fn from_iter<T: IntoIterator<Item = Departure>>(departures: T) -> Self {
        Self(departures.into_iter().fold(0, |all, departure| all | departure as u32))
    }
}

/// Departures that a complaint about one matter leads to, one after the other.
struct Rule {
    /// Words of which a complaint about the matter has one.
    names: &'static [&'static str],
    /// Whether a complaint must also say that something is not supported.
    supported: bool,
    steps: &'static [Departure],
}

/// In the order in which they are looked at: the more telling words first.
const RULES: [Rule; 10] = [
    Rule {
        names: &["roles must alternate", "alternate user/assistant", "after role tool", "after role 'tool'"],
        supported: false,
        steps: &[Departure::Alternate, Departure::TextTools],
    },
    Rule {
        names: &[
            "developer",
            "system role",
            "role 'system'",
            "message role",
            "only one system",
            "multiple system",
        ],
        supported: true,
        steps: &[Departure::SystemRole, Departure::UserRole],
    },
    Rule { names: &["stream_options"], supported: true, steps: &[Departure::NoStreamOptions] },
    // Named as what is unknown, or as what should be used instead.
    Rule {
        names: &["max_completion_tokens", "max_tokens"],
        supported: true,
        steps: &[Departure::OtherMaxTokens],
    },
    Rule { names: &["parallel_tool_calls"], supported: true, steps: &[Departure::NoParallelCalls] },
    Rule { names: &["tool_choice"], supported: true, steps: &[Departure::NoToolChoice] },
    Rule {
        names: &["response_format", "json_schema", "structured output", "json mode"],
        supported: true,
        steps: &[Departure::NoSchema, Departure::NoAnswerForm],
    },
    Rule {
        names: &["prompt_cache_key", "session_id", "cache_control"],
        supported: true,
        steps: &[Departure::NoCacheKey],
    },
    Rule {
        names: &["image_url", "image input", "images", "multimodal", "vision"],
        supported: true,
        steps: &[Departure::Blind],
    },
    Rule {
        names: &[
            "reasoning_effort",
            "reasoning effort",
            "enable_thinking",
            "thinking",
            "chat_template_kwargs",
            "reasoning",
        ],
        supported: true,
        steps: &[Departure::HighEffort, Departure::NoThinking],
    },
];

/// A refusal that may be about an optional field.
struct Complaint {
    /// What it says, in lower case, after the field it names.
    text: String,
    says_unsupported: bool,
    is_about_a_value: bool,
}

impl Complaint {
    fn of(refusal: &ApiError) -> Option<Self> {
        const UNSUPPORTED: [&str; 22] = [
            "unsupported",
            "not support",
            "n't support",
            "no endpoints found that support",
            "unrecognized",
            "unknown",
            "unexpected",
            "not permitted",
            "not allowed",
            "extra",
            "invalid tool_choice",
            "incompatible",
            "not a multimodal",
            "not implemented",
            "is unavailable",
            "only one system",
            "multiple system",
            "not one of",
            "unavailable now",
            "only support",
            "cannot be used",
            "not available",
        ];
        let text = refusal.message.to_ascii_lowercase();
        // Some servers answer with 500 when their chat template fails, and gateways with 404 when no model fits.
        let about_request = match refusal.status {
            Some(400 | 415 | 422) => true,
            Some(404) => text.contains("no endpoints found"),
            Some(500) => ["role", "image", "template"].iter().any(|word| text.contains(word)),
            _ => false,
        };
        let named = refusal.param.as_deref().unwrap_or_default().to_ascii_lowercase();
        let says_unsupported = refusal.code.as_deref().is_some_and(|code| code.starts_with("unsupported"))
            || UNSUPPORTED.iter().any(|phrase| text.contains(phrase));
        let is_about_a_value = text.contains("value") || refusal.code.as_deref() == Some("unsupported_value");
        about_request.then(|| Self { text: format!("{named} {text}"), says_unsupported, is_about_a_value })
    }
}

impl Rule {
    fn applies(&self, complaint: &Complaint) -> bool {
        (complaint.says_unsupported || !self.supported)
            && self.names.iter().any(|name| complaint.text.contains(name))
    }
}

/// What has been learned of each model that was asked for. What one model refuses, another may need.
#[derive(Default)]
pub(super) struct Learned(Mutex<Vec<(String, Departures)>>);

/// Most models of one server that are told apart; those beyond are not learned about.
const MAX_MODELS: usize = 1000;

impl Learned {
    /// What requests for `model` depart in, and the same as a number that [`Self::learn`] understands.
    pub(super) fn about(&self, model: &str) -> (Departures, Dialect) {
        let mut models = self.models();
        let known = models.iter().position(|(name, _)| name == model);
        let at = known.unwrap_or_else(|| {
            let next = models.len();
            if next < MAX_MODELS {
                models.push((model.to_owned(), Departures::default()));
            }
            next
        });
        let departures = models.get(at).map(|(_, departures)| *departures).unwrap_or_default();
        (departures, Dialect((at as u64) << 32 | u64::from(departures.0)))
    }

    /// Learns from the refusal of a request in `dialect`. True when it should be written again.
    pub(super) fn learn(&self, refusal: &ApiError, dialect: Dialect) -> bool {
        let (at, spoken) = (dialect.0 >> 32, Departures(dialect.0 as u32));
        let Some(correction) = spoken.corrected(refusal) else { return false };
        let mut models = self.models();
        let Some((_, known)) = usize::try_from(at).ok().and_then(|at| models.get_mut(at)) else {
            return false;
        };
        // Departures are only ever added, so a request is corrected no more often than there are departures.
        known.0 |= correction as u32;
        true
    }

    fn models(&self) -> MutexGuard<'_, Vec<(String, Departures)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(status: u16, message: &str) -> ApiError {
        ApiError::from_body(status, json!({"error": {"message": message}}).to_string().as_bytes())
    }

    /// What the refusals lead to, one after the other.
    fn led_to(refusals: &[&str]) -> Vec<Option<Departure>> {
        let mut spoken = Departures::default();
        let step = |message: &&str| {
            let correction = spoken.corrected(&refusal(400, message));
            spoken.0 |= correction.map_or(0, |departure| departure as u32);
            correction
        };
        refusals.iter().map(step).collect()
    }

    #[test]
    fn quirk_14_each_refused_field_is_corrected_once() {
        use Departure as D;
        for (message, steps) in [
            ("Unrecognized request argument supplied: stream_options", vec![D::NoStreamOptions]),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                vec![D::OtherMaxTokens],
            ),
            ("Unknown parameter: 'parallel_tool_calls'", vec![D::NoParallelCalls]),
            ("deepseek-reasoner does not support this tool_choice", vec![D::NoToolChoice]),
            (
                "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
                vec![D::NoToolChoice],
            ),
            ("This response_format type is unavailable now", vec![D::NoSchema, D::NoAnswerForm]),
            ("Unrecognized request argument supplied: reasoning_effort", vec![D::NoThinking]),
            (
                "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.",
                vec![D::HighEffort, D::NoThinking],
            ),
            ("Extra inputs are not permitted: prompt_cache_key", vec![D::NoCacheKey]),
            ("image input is not supported by this model", vec![D::Blind]),
        ] {
            let expected: Vec<_> = steps.iter().copied().map(Some).chain([None]).collect();
            assert_eq!(led_to(&vec![message; steps.len() + 1]), expected, "{message}");
        }
    }

    #[test]
    fn quirk_15_roles_that_a_template_refuses_are_changed() {
        use Departure as D;
        let unknown = "Unexpected message role: developer is unknown";
        assert_eq!(led_to(&[unknown, unknown, unknown]), [Some(D::SystemRole), Some(D::UserRole), None]);
        let alternate = "Conversation roles must alternate user/assistant/user/assistant/...";
        assert_eq!(
            led_to(&[alternate, alternate, alternate]),
            [Some(D::Alternate), Some(D::TextTools), None]
        );
        let failed = Departures::default().corrected(&refusal(500, "System role not supported"));
        assert_eq!(failed, Some(D::SystemRole));
    }

    #[test]
    fn what_is_no_complaint_about_a_field_is_none() {
        for message in [
            "max_completion_tokens is too large: 900000",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "invalid schema for function 'Read'",
        ] {
            assert_eq!(led_to(&[message]), [None], "{message}");
        }
        assert_eq!(Departures::default().corrected(&refusal(401, "unknown stream_options")), None);
    }

    #[test]
    fn each_model_is_learned_about_by_itself_and_nothing_is_forgotten() {
        let learned = Learned::default();
        let (_, one) = learned.about("one");
        let (_, same) = learned.about("one");
        // Two requests are refused at the same time, for different reasons.
        assert!(learned.learn(&refusal(400, "unknown stream_options"), one));
        assert!(learned.learn(&refusal(400, "unknown prompt_cache_key"), same));
        let (both, dialect) = learned.about("one");
        assert!(both.has(Departure::NoStreamOptions) && both.has(Departure::NoCacheKey));
        assert!(!learned.learn(&refusal(400, "unknown stream_options"), dialect));
        assert_eq!(learned.about("two").0, Departures::default());
    }
}
