//! A question about a call, from the moment the log knows of it until it is settled.

use robota_core::{EventKind, EventSink, GateRequest, PermissionResolution, Verdict};

/// A question that the log knows of until it is settled, in whatever way.
pub(super) struct Question<'a> {
    sink: &'a dyn EventSink,
    tool_call_id: &'a str,
    settled: bool,
}

impl<'a> Question<'a> {
    pub(super) fn open(sink: &'a dyn EventSink, request: &GateRequest<'a>, verdict: &Verdict) -> Self {
        let call = request.call;
        sink.emit(EventKind::PermissionRequest {
            tool_name: call.name.clone(),
            tool_call_id: call.id.clone(),
            parameters: call.parameters(),
            reason: verdict.reason.clone(),
            allow_rules: verdict.allow_rules.clone(),
        });
        Self { sink, tool_call_id: &call.id, settled: false }
    }

    /// Tells how it was settled; `note` is for a person.
    pub(super) fn settle(mut self, resolution: PermissionResolution, note: Option<String>) {
        self.tell(resolution, note);
    }

    fn tell(&mut self, resolution: PermissionResolution, note: Option<String>) {
        self.settled = true;
        let tool_call_id = self.tool_call_id.to_owned();
        self.sink.emit(EventKind::PermissionResolved { tool_call_id, resolution, note });
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.tell(PermissionResolution::Aborted, None);
        }
    }
}
