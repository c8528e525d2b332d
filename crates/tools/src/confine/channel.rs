//! What a helper and its host tell each other, over the socket that is the helper's standard input.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::status::SandboxStatus;

/// The longest message.
const LONGEST: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// The helper is confined and about to become the command.
    Confined {
        /// The inode of its mount namespace, when it has one of its own.
        mount_namespace: Option<u64>,
    },
    /// The helper did not become the command.
    Failed(String),
    /// A listener comes with this message and wants to be served.
    Listening,
    /// The listener is served.
    Serving,
    /// What a probing helper found.
    Found(SandboxStatus),
}

/// One end; messages are JSON, each ended by a line feed.
#[derive(Debug)]
pub(super) struct Channel {
    socket: UnixStream,
    pending: Vec<u8>,
    descriptor: Option<OwnedFd>,
}

impl Channel {
    pub(super) fn over(socket: UnixStream) -> Self {
        Self { socket, pending: Vec::new(), descriptor: None }
    }

    pub(super) fn send(&mut self, message: &Message) -> io::Result<()> {
        self.socket.write_all(&encode(message)?)
    }

    /// Sends `message` with an open file.
    pub(super) fn send_with(&mut self, message: &Message, descriptor: impl AsFd) -> io::Result<()> {
        let bytes = encode(message)?;
        let (first, rest) = bytes.split_at(1);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor.as_fd()];
        if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no room for an open file"));
        }
        sendmsg(&self.socket, &[IoSlice::new(first)], &mut control, SendFlags::empty())?;
        self.socket.write_all(rest)
    }

    /// The next message; `None` when the other end is closed.
    pub(super) fn receive(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if self.pending.len() > LONGEST {
                return Err(io::Error::other("the message is too long"));
            }
            if self.take_some()? == 0 {
                return Ok(None);
            }
        }
    }

    /// The open file that came with the messages so far.
    pub(super) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptor.take()
    }

    fn take_some(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC);
        let count = match received {
            Ok(received) => received.bytes,
            // What a closed end had not read yet is lost with it.
            Err(rustix::io::Errno::CONNRESET) => 0,
            Err(error) => return Err(error.into()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptor = descriptors.last();
            }
        }
        self.pending.extend_from_slice(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn encode(message: &Message) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn messages_and_files_cross() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut helper, mut host) = (Channel::over(one), Channel::over(other));
        let (mut reader, writer) = io::pipe().unwrap();
        let failed = Message::Failed("line\nfeed".into());
        helper.send(&failed).unwrap();
        helper.send_with(&Message::Listening, &writer).unwrap();
        drop((helper, writer));
        assert_eq!(host.receive().unwrap(), Some(failed));
        assert_eq!(host.receive().unwrap(), Some(Message::Listening));
        let mut received = std::fs::File::from(host.take_descriptor().unwrap());
        received.write_all(b"through").unwrap();
        drop(received);
        assert_eq!(host.receive().unwrap(), None);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }
}
