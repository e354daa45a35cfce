//! Connections: taken, bounded, and brought to an end.

use crate::error::ServeError;
use crate::folder::Folder;
use crate::gate::Gate;
use crate::site::Site;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Connections at once. Further ones wait in the kernel's queue until one ends.
const CONNECTIONS: usize = 128;
/// A request's head must be there within this time, and the next one's on a connection that is kept.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head in bytes, and what is buffered of an answer.
const BUFFER: usize = 16 << 10;
/// What was sent must be taken within this time.
const UNTAKEN: Duration = Duration::from_secs(20);
/// The longest that a connection is kept, so that nobody holds one by taking an answer byte by byte.
const LONGEST: Duration = Duration::from_secs(120);
/// What an answer under way may take beyond that.
const LAST: Duration = Duration::from_secs(10);
/// What answers under way may take when the server ends.
const GRACE: Duration = Duration::from_secs(2);
/// Threads for reading and rendering. They end when there is nothing to do.
const THREADS: usize = 8;
const THREADS_KEPT: Duration = Duration::from_secs(5);
/// After an error of accepting, such as too many open files.
const RETRY: Duration = Duration::from_millis(50);

/// What is served, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of runs.
    pub folder: PathBuf,
    /// Where to listen; port 0: any free one.
    pub listen: SocketAddr,
    /// Names that the server answers to, beside `localhost` and its address.
    pub hosts: Vec<String>,
    /// Other machines may reach it.
    pub network: bool,
}

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    gate: Gate,
    site: Arc<Site>,
    stop: CancellationToken,
}

/// Ends a server from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(CancellationToken);

impl Stopper {
    /// No new connection is taken; answers under way may end within two seconds.
    pub fn stop(&self) {
        self.0.cancel();
    }
}

impl Server {
    /// Opens the folder and takes the port.
    ///
    /// # Errors
    ///
    /// When the folder is none of runs, when the address could be reached from other machines and that is
    /// not asked for, or when the port is taken.
    pub fn bind(options: &Options) -> Result<Server, ServeError> {
        let address = options.listen;
        if !options.network && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::NotLoopback { address });
        }
        let folder = Folder::open(&options.folder)?;
        let failed = |source| ServeError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Server {
            address: listener.local_addr().map_err(failed)?,
            listener,
            gate: Gate::new(options.hosts.clone()),
            site: Arc::new(Site::new(folder, &options.folder)),
            stop: CancellationToken::new(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until it is stopped; returns at the latest two seconds after that.
    ///
    /// # Errors
    ///
    /// When it cannot start.
    pub fn run(self) -> Result<(), ServeError> {
        // One thread serves what is made; only what reads and renders takes others.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .thread_keep_alive(THREADS_KEPT)
            .thread_name("dyno-serve")
            .build()
            .map_err(ServeError::Start)?;
        let result = runtime.block_on(self.serve());
        // A report that is being made is of no use to anybody.
        runtime.shutdown_background();
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let listener = TcpListener::from_std(self.listener).map_err(ServeError::Start)?;
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let gate = Arc::new(self.gate);
        let mut connections = JoinSet::new();
        loop {
            let (stream, slot) = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = accept(&listener, &slots) => accepted,
            };
            let served = connection(stream, gate.clone(), self.site.clone(), self.stop.clone());
            connections.spawn(async move {
                served.await;
                drop(slot);
            });
        }
        drop(listener);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        // What has not ended by then is dropped with the set.
        let _ = timeout(GRACE, all_ended).await;
        Ok(())
    }
}

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            // The client is gone, or this process has no room; either passes.
            Err(_) => sleep(RETRY).await,
        }
    }
}

/// Answers the requests of one connection until its end.
async fn connection(stream: TcpStream, gate: Arc<Gate>, site: Arc<Site>, stop: CancellationToken) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    // Both are improvements only.
    let _ = stream.set_nodelay(true);
    let untaken = u32::try_from(UNTAKEN.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, untaken);
    let answer = service_fn(move |request| {
        let (gate, site) = (gate.clone(), site.clone());
        async move { Ok::<_, Infallible>(answer(request, &gate, site, local.ip()).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), answer)
    );
    // What goes wrong with a connection is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => {}
        () = sleep(LONGEST) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST, connection).await;
}

async fn answer(
    request: hyper::Request<hyper::body::Incoming>,
    gate: &Gate,
    site: Arc<Site>,
    local: IpAddr,
) -> hyper::Response<http_body_util::Full<bytes::Bytes>> {
    let (head, _unread) = request.into_parts();
    let answer = match gate.check(&head, local) {
        Ok(()) => {
            site.answer(head.uri.path(), head.uri.query().unwrap_or_default())
                .await
        }
        Err(refusal) => crate::answer::Answer::refused(refusal),
    };
    answer.into_response(&head.headers)
}
