//! An HTTP server on a loopback port, for the requests of agents. Connections, heads and bodies have limits.
//!
//! Start at [`serve`].

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The maximum length of a body, in bytes: a body holds a conversation with all its files.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// The maximum number of concurrent connections; further connections wait.
const MAX_CONNECTIONS: usize = 1024;
/// The timeout for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// The timeout for the body of a request.
const BODY: Duration = Duration::from_secs(60);

/// The body of an answer.
pub type HttpBody = UnsyncBoxBody<Bytes, Infallible>;

/// A service that answers HTTP requests.
pub trait HttpService: Send + Sync + 'static {
    /// Answers a request.
    fn answer(
        self: Arc<Self>,
        request: hyper::Request<Incoming>,
    ) -> impl Future<Output = hyper::Response<HttpBody>> + Send;
}

/// Serves connections until the future is dropped.
pub async fn serve<S: HttpService>(listener: TcpListener, service: Arc<S>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let service = Arc::clone(&service);
                    tasks.spawn(async move {
                        connection(stream, service).await;
                        drop(place);
                    });
                }
            }
            Some(_) = tasks.join_next() => {}
        }
    }
}

async fn connection<S: HttpService>(stream: TcpStream, service: Arc<S>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    // An agent that cancels a request closes the connection, so an error here is not a failure.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Returns the whole body of a request.
///
/// # Errors
/// Returns the answer to send if the body is too long or takes too long.
pub async fn body(body: Incoming) -> Result<Bytes, hyper::Response<HttpBody>> {
    match timeout(BODY, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(whole(413, "the body is longer than 64 MiB")),
        Err(_) => Err(whole(408, "the body took longer than a minute")),
    }
}

/// Returns an answer with this status and text.
pub fn whole(status: u16, text: &str) -> hyper::Response<HttpBody> {
    let mut response = hyper::Response::new(Full::from(text.to_owned()).boxed_unsync());
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response
}
