//! What can happen to a session.

use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// Kept in files, or in memory.
    pub(crate) files: bool,
    /// In tokens; 0 when unknown.
    pub(crate) window: u64,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Turn(TurnPlan),
    Compact(Summary),
    Clear,
    /// To the turn with this number, counted round.
    Rewind(u32),
    Inject(Odd),
    Reopen(Way),
    Fork(Option<u32>),
    Import {
        log: bool,
        fresh: bool,
    },
    Conversation,
    Rename,
}

#[derive(Clone, Debug)]
pub(crate) struct TurnPlan {
    pub(crate) prompt: Size,
    pub(crate) rounds: Vec<Vec<Call>>,
    pub(crate) end: End,
    pub(crate) hook: Hook,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Short,
    Page,
    /// Goes into a payload of its own.
    Large,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Look,
    Act,
    Large,
    Failing,
    Forbidden,
    Unknown,
    Malformed,
    /// Two calls with one id.
    Twice,
    /// With the id of the first call of the turn.
    Again,
    Nameless,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Text,
    Nothing,
    OutputLimit,
    /// The provider refuses before it says anything.
    Refused,
    /// The provider breaks off in the middle of a text, or of a call.
    BrokenText,
    BrokenCall,
    TooLong,
    /// The user says something while the model speaks.
    Steered,
    Aborted(At),
    /// The future of the turn is dropped.
    Dropped(At),
    /// The process is killed, and the log ends this far, in 255ths, behind what was acknowledged.
    Killed(At, Cut),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Text,
    Call,
    Tool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) at: u8,
    pub(crate) snapshot: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    Silent,
    BlocksPrompt,
    BlocksCompaction,
    SendsOn,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Summary {
    Works,
    Empty,
    Fails,
    Aborted,
    Dropped,
    Blocked,
}

/// Messages that a host may put in, and that no turn would leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odd {
    User,
    Assistant,
    System,
    Note,
    Large,
    EmptyAnswer,
    OpenCalls,
    SameIds,
    OldIds,
    NoIds,
    StrayResult,
    ResultsInDisorder,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Shutdown,
    Dropped,
    Killed(Cut),
}

pub(crate) fn life() -> impl Strategy<Value = Life> {
    let window = prop_oneof![3 => Just(0), 2 => Just(6_000_u64), 1 => Just(200_000)];
    (any::<bool>(), window, prop::collection::vec(step(), 1..9)).prop_map(|(files, window, steps)| Life {
        files,
        window,
        steps,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => turn().prop_map(Step::Turn),
        2 => summary().prop_map(Step::Compact),
        1 => Just(Step::Clear),
        2 => (0u32..6).prop_map(Step::Rewind),
        3 => odd().prop_map(Step::Inject),
        3 => way().prop_map(Step::Reopen),
        1 => prop::option::of(0u32..6).prop_map(Step::Fork),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(log, fresh)| Step::Import { log, fresh }),
        1 => Just(Step::Conversation),
        1 => Just(Step::Rename),
    ]
}

fn turn() -> impl Strategy<Value = TurnPlan> {
    let prompt = prop_oneof![4 => Just(Size::Short), 2 => Just(Size::Page), 1 => Just(Size::Large)];
    let rounds = prop::collection::vec(prop::collection::vec(call(), 1..4), 0..3);
    let hook = prop_oneof![
        8 => Just(Hook::Silent),
        1 => Just(Hook::BlocksPrompt),
        1 => Just(Hook::BlocksCompaction),
        1 => Just(Hook::SendsOn),
    ];
    (prompt, rounds, end(), hook).prop_map(|(prompt, rounds, end, hook)| TurnPlan {
        prompt,
        rounds,
        end,
        hook,
    })
}

fn call() -> impl Strategy<Value = Call> {
    use Call::{Act, Again, Failing, Forbidden, Large, Look, Malformed, Nameless, Twice, Unknown};
    prop::sample::select(vec![
        Look, Look, Act, Large, Failing, Forbidden, Unknown, Malformed, Twice, Again, Nameless,
    ])
}

fn at() -> impl Strategy<Value = At> {
    prop::sample::select(vec![At::Text, At::Call, At::Tool])
}

fn cut() -> impl Strategy<Value = Cut> {
    (any::<u8>(), any::<bool>()).prop_map(|(at, snapshot)| Cut { at, snapshot })
}

fn end() -> impl Strategy<Value = End> {
    let plain = vec![
        End::Text,
        End::Nothing,
        End::OutputLimit,
        End::Refused,
        End::BrokenText,
        End::BrokenCall,
        End::TooLong,
        End::Steered,
    ];
    prop_oneof![
        3 => Just(End::Text),
        4 => prop::sample::select(plain),
        2 => at().prop_map(End::Aborted),
        1 => at().prop_map(End::Dropped),
        3 => (at(), cut()).prop_map(|(at, cut)| End::Killed(at, cut)),
    ]
}

fn summary() -> impl Strategy<Value = Summary> {
    use Summary::{Aborted, Blocked, Dropped, Empty, Fails, Works};
    prop::sample::select(vec![Works, Works, Works, Empty, Fails, Aborted, Dropped, Blocked])
}

fn odd() -> impl Strategy<Value = Odd> {
    prop::sample::select(vec![
        Odd::User,
        Odd::Assistant,
        Odd::System,
        Odd::Note,
        Odd::Large,
        Odd::EmptyAnswer,
        Odd::OpenCalls,
        Odd::SameIds,
        Odd::OldIds,
        Odd::NoIds,
        Odd::StrayResult,
        Odd::ResultsInDisorder,
    ])
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        2 => Just(Way::Shutdown),
        1 => Just(Way::Dropped),
        2 => cut().prop_map(Way::Killed),
    ]
}
