//! What a proxy listens at.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Where commands connect to reach a [`NetworkProxy`](super::NetworkProxy): a port of loopback, or a socket in a
/// folder when the sandbox has no network at all.
pub trait ProxyListener: Send {
    /// One connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Waits for the next connection; may be dropped while it waits.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl ProxyListener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}

impl ProxyListener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<UnixStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}
