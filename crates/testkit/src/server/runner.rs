//! The server's thread: accepts connections and serves each.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::endpoint;
use crate::director::Director;

/// How long a client may take to fetch what is ready for it when the server stops.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) fn spawn(
    listener: StdListener,
    director: Arc<Director>,
    stop: CancellationToken,
) -> io::Result<JoinHandle<()>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _context = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let serve = move || runtime.block_on(serve(listener, director, stop));
    thread::Builder::new().name("fake-model-server".to_owned()).spawn(serve)
}

async fn serve(listener: TcpListener, director: Arc<Director>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => {
                // A connection that failed before it was accepted concerns nobody else.
                if let Ok((socket, _)) = accepted {
                    number += 1;
                    connections.spawn(serve_connection(socket, number, director.clone(), stop.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    let farewell = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn serve_connection(
    socket: TcpStream,
    number: usize,
    director: Arc<Director>,
    stop: CancellationToken,
) {
    let _ = socket.set_nodelay(true);
    let service = service_fn(|request| endpoint::answer(request, number, director.clone(), stop.clone()));
    // HTTP/1.1, or HTTP/2 when the client begins with it.
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(socket), service);
    let mut connection = std::pin::pin!(connection);
    // Errors are wanted here (cuts) or the client's affair (it went away).
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
