//! The proxy of the allowed domains, served for one command.

use std::any::Any;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use robota_tools::NetworkProxy;
use robota_tools::confine::ServeProxy;
use tokio::runtime;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Serves a [`NetworkProxy`] in a thread of its own: the sandbox asks for it where there is no runtime.
#[derive(Debug)]
pub(super) struct ServedProxy(Arc<NetworkProxy>);

impl ServedProxy {
    pub(super) fn new(proxy: NetworkProxy) -> Self {
        Self(Arc::new(proxy))
    }
}

impl ServeProxy for ServedProxy {
    fn serve(&self, listener: TcpListener) -> io::Result<Box<dyn Any + Send>> {
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let cancel = CancellationToken::new();
        let (proxy, stopped) = (Arc::clone(&self.0), cancel.clone());
        let name = "sandbox proxy".to_owned();
        thread::Builder::new().name(name).spawn(move || runtime.block_on(proxy.serve(listener, stopped)))?;
        let served: DropGuard = cancel.drop_guard();
        Ok(Box::new(served))
    }
}
